"""Models for any environment with known answers, on a loopback server."""

from __future__ import annotations

import json
import re

from support.server import Answer, Call


class Copyist:
    """A target that finds a task's answer on the document's line about it, and an optimizer that writes such lines."""

    def __call__(self, call: Call) -> Answer:
        if "<attempt" in call.user:
            pairs = re.findall(r"<input>(.*?)</input>.*?<expected>(.*?)</expected>", call.user, re.DOTALL)
            edits = [{"op": "append", "content": f"- {task}: {answer}"} for task, answer in pairs[:4]]
            return Answer(json.dumps({"edits": edits}))
        lines = [line for line in call.system.splitlines() if call.user.strip() in line]
        return Answer(lines[-1].rpartition(": ")[2] if lines else "no idea")
