"""`python -m skillgit`."""

from __future__ import annotations

from skillgit.cli.main import run

if __name__ == "__main__":
    run()
