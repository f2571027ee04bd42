"""Runs a user's `score.py`, one score after the other; started by path as `python -I -B score_worker.py`.

Standard library only, and nothing of skillgit: it is the program of the child process. Arguments: the scorer's file,
the memory limit in bytes. One JSON object per line comes in (`reply`, `task`), one goes out; the first one out says
that the code was loaded. What user code raises ends the process with a traceback: the parent reads its last line.
"""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import shutil
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

LONGEST_REASON = 2000  # characters
_LARGEST_FILE = 256 * 2**20  # bytes


def limit(memory: int) -> None:
    """Cap memory, file sizes and core dumps, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_FSIZE, _LARGEST_FILE), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(kind)
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (soft, hard))
        except (ValueError, OSError):  # macOS refuses RLIMIT_AS
            continue


def private_channel() -> tuple[int, BinaryIO]:
    """Take the protocol's two pipes away from user code: what it prints goes to standard error."""
    incoming, outgoing = os.dup(0), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return incoming, outgoing


def listen(incoming: int, requests: queue.SimpleQueue[bytes], home: Path) -> None:
    """Pass requests on; when the parent is gone, so are we and our folder, even in the middle of a score.

    It reads the bare descriptor: a buffered file held by a thread would block the interpreter's end.
    """
    pending = bytearray()
    while chunk := os.read(incoming, 2**16):
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            requests.put(bytes(pending + end))
            pending.clear()
        pending += rest
    shutil.rmtree(home, ignore_errors=True)
    os._exit(0)


def load(path: Path) -> Any:
    """The user's `score` function. A fault of theirs is raised as it is."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location("skillgit_user_score", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    function = getattr(module, "score", None)
    if not callable(function):
        raise AttributeError(f"{path.name} has no function score(reply, task)")
    return function


def number(value: Any) -> str:
    """A score as text that a Fraction reads; finite and 0..1 are the parent's to check."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str):
        raise TypeError(f"a score is a number, not the text {value!r}")
    if hasattr(value, "numerator") and hasattr(value, "denominator"):  # int, Fraction
        return f"{int(value.numerator)}/{int(value.denominator)}"
    return repr(float(value))


def answer(result: Any) -> dict[str, str]:
    """What a score function may return, in one form.

    A number is both scores, so `hard` is 1 only where it is 1. An object has `hard`, `soft` or both, and `reason`.
    """
    if isinstance(result, dict):
        unknown = sorted(set(map(str, result)) - {"hard", "soft", "reason"})
        if unknown or not {"hard", "soft"} & set(result):
            raise ValueError(f"score returned an object with {sorted(map(str, result))}: use hard, soft, reason")
        reason = str(result.get("reason") or "")
        soft = number(result["soft"] if "soft" in result else result["hard"])
        hard = number(result["hard"]) if "hard" in result else whole(soft)
    else:
        soft, reason = number(result), ""
        hard = whole(soft)
    return {"hard": hard, "soft": soft, "reason": reason[:LONGEST_REASON]}


def whole(soft: str) -> str:
    """`hard` where only a share is known: all or nothing."""
    return "1" if soft in ("1.0", "1/1", "1") else ("0" if soft not in ("nan", "inf", "-inf") else soft)


def clear(folder: Path) -> None:
    """Empty the working folder: one score must not see what another left there."""
    os.chdir(folder)
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def main() -> None:
    """Serve until the parent closes the pipe."""
    path, memory, home = Path(sys.argv[1]), int(sys.argv[2]), Path.cwd()
    incoming, outgoing = private_channel()
    limit(memory)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(incoming, requests, home), daemon=True).start()
    score = load(path)
    outgoing.write(b'{"ready":true}\n')
    outgoing.flush()
    while True:
        request = json.loads(requests.get())
        result = answer(score(request["reply"], request["task"]))
        clear(home)
        outgoing.write(json.dumps(result).encode() + b"\n")
        outgoing.flush()


if __name__ == "__main__":
    main()
