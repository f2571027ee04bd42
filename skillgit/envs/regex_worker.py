"""Searches for patterns, one JSON line per request, in a process of its own (started by `skillgit.envs.patterns`).

Python's `re` cannot be interrupted from Python. faulthandler's watchdog can end the process, though: it is a thread
that needs no interpreter. So a search that takes too long ends the worker, and the caller reads the end of the pipe.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import signal
import sys


def serve() -> None:
    """Answer `[pattern, text, seconds]` with `true` or `false` until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller decides when to stop
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        for line in sys.stdin.buffer:
            pattern, text, seconds = json.loads(line)
            faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
            found = re.search(pattern, text) is not None
            faulthandler.cancel_dump_traceback_later()
            sys.stdout.buffer.write(json.dumps(found).encode() + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve()
