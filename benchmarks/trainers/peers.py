"""The Python that SkillOpt and gepa run in: a virtual environment of their own, made when it is first needed."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import platformdirs

PACKAGES = ("skillopt==0.2.0", "gepa==0.1.4")


def default_folder() -> Path:
    """Where the environment is kept between runs."""
    return platformdirs.user_cache_path("skillgit") / "benchmarks" / "-".join(PACKAGES).replace("==", "-")


def python(folder: Path) -> Path:
    """The environment's interpreter. What is missing is installed from the package index; nothing is removed."""
    found = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not found.is_file():
        print(f"making a virtual environment in {folder}", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True)
    if not _has_all(found):
        print(f"installing {', '.join(PACKAGES)}", file=sys.stderr, flush=True)
        subprocess.run([found, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return found


def _has_all(interpreter: Path) -> bool:
    wanted = dict(package.split("==") for package in PACKAGES)
    code = f"import importlib.metadata as m; print(all(m.version(n) == v for n, v in {wanted!r}.items()))"
    asked = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=False)
    return asked.stdout.strip() == "True"
