"""TopicWorld in a process of its own, for tests that kill the trainer.

    python tests/support/world_server.py --port 0 --seed 1 --log calls.jsonl

prints the server's URL (without a path) on the first line and serves until it is ended by a signal.
Each answered call is one JSON line in the log: `n`, `protocol`, `role`, `model` and `key`, the digest of its body.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TextIO

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.server import Answer, Call, serve
from support.world import TopicWorld


def digest(call: Call) -> str:
    """Equal for equal requests."""
    return hashlib.sha256(json.dumps(call.body, sort_keys=True).encode()).hexdigest()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--port", type=int, default=0)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--topics", type=int, default=8)
    arguments.add_argument("--extract", choices=["answer_tag", "whole"], default="answer_tag")
    arguments.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    arguments.add_argument("--log", type=Path)
    given = arguments.parse_args()
    world = TopicWorld(given.topics, given.seed, extract=given.extract)
    log: TextIO | None = given.log.open("a", encoding="utf-8") if given.log else None

    def record(call: Call, answer: Answer) -> None:
        if log is None:
            return
        role = "optimizer" if any("<attempt" in text for _, text in call.turns) else "target"
        row = {"n": call.index, "protocol": call.protocol, "role": role, "model": call.model, "key": digest(call)}
        log.write(json.dumps(row) + "\n")
        log.flush()

    with serve(lambda call: replace(world(call), delay_s=given.delay), on_answered=record, port=given.port) as server:
        print(server.url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
    if log is not None:
        log.close()


if __name__ == "__main__":
    main()
