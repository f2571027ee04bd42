"""The optimizer prompts of SkillOpt and gepa, told apart by the headings that their code writes, and their replies."""

from __future__ import annotations

import json
import re

from benchmarks.trainers.prompts_of_skillgit import budget
from benchmarks.trainers.proposer import HARMLESS, Failure, Line, Prompt, Proposer

_GEPA_START = "I provided an assistant with the following instructions"
_GEPA_DOCUMENT = re.compile(r"perform a task for me:\n```\n(.*?)\n```\n\nThe following are examples", re.DOTALL)


def reply(proposer: Proposer, prompt: Prompt) -> tuple[str, str] | None:
    """The kind of the call and the reply; None where the prompt is none of the two programs'."""
    user = prompt.user
    if user.startswith(_GEPA_START):
        return _gepa(proposer, prompt)
    if "## Longitudinal Comparison" in user and "## Previous Slow Update Guidance" in user:
        return "slow", json.dumps({"reasoning": "The codes decide.", "slow_update_content": HARMLESS})
    if "## Longitudinal Comparison" in user and "## Previous Optimizer Meta Skill" in user:
        return "meta", json.dumps({"reasoning": "The codes decide.", "meta_skill_content": HARMLESS})
    if "## Current Skill" not in user:
        return None
    if "Return their 0-based indices" in user:
        return "rank", _ranked(prompt)
    if "## Patches to merge (" in user or "## Two pre-merged patch groups" in user:
        return "merge", _merged(proposer, prompt)
    if "## Failed Trajectories (" in user:
        return "reflect", _proposed(proposer, prompt)
    if "## Successful Trajectories (" in user:
        return "reflect+", _proposed(proposer, prompt)
    return None


def _gepa(proposer: Proposer, prompt: Prompt) -> tuple[str, str] | None:
    """A whole new document, in a block; its prompt names no most number of lines."""
    document = _GEPA_DOCUMENT.search(prompt.user)
    if document is None:
        return None
    found: list[Failure] = []
    for block in re.split(r"^# Example \d+$", prompt.user[document.end() :], flags=re.MULTILINE)[1:]:
        quoted, _, rest = block.partition("## Generated Outputs")
        said, _, feedback = rest.partition("## Feedback")
        failure = proposer.failure(quoted, said, feedback)
        found += [failure] if failure else []
    added = "".join(line.text + "\n" for line in proposer.lines(found, prompt, None))
    return "reflect", f"{proposer.reason(found)}\n\n```\n{document[1].rstrip()}\n{added}```"


def _proposed(proposer: Proposer, prompt: Prompt) -> str:
    found: list[Failure] = []
    blocks = prompt.user.split("\n### Trajectory ")[1:]
    for block in blocks:
        said = re.search(r"^Predicted answer: (.*)$", block, re.MULTILINE)
        gold = re.search(r"^Gold answers: (.*)$", block, re.MULTILINE)
        failure = proposer.failure(block, said[1] if said else "", gold[1] if gold else "")
        found += [failure] if failure else []
    edits = [_appended(line) for line in proposer.lines(found, prompt, budget(prompt))]
    reason = proposer.reason(found)
    summary = [{"failure_type": "missing code", "count": len(found), "description": reason}] if found else []
    patch = {"reasoning": reason, "edits": edits}
    return json.dumps({"batch_size": len(blocks), "failure_summary": summary, "patch": patch})


def _appended(line: Line) -> dict[str, object]:
    return {"op": "append", "target": "", "content": line.text, "support_count": line.support}


def _merged(proposer: Proposer, prompt: Prompt) -> str:
    patches = json.loads(prompt.user[prompt.user.index("[\n", prompt.user.rindex("\n## ")) :])
    shown = [edit for patch in patches for edit in patch.get("edits", [])]
    lines = [Line(str(edit.get("content", "")).strip(), int(edit.get("support_count", 1))) for edit in shown]
    edits = [_appended(line) for line, _ in proposer.merged(lines)]
    return json.dumps({"reasoning": "One line for each machine.", "edits": edits})


def _ranked(prompt: Prompt) -> str:
    found = re.findall(r"^\[(\d+)\] (.*)$", prompt.user, re.MULTILINE)
    support = {int(index): int((re.findall(r"support=(\d+)", line) or ["0"])[-1]) for index, line in found}
    order = sorted(support, key=lambda index: -support[index])
    return json.dumps({"reasoning": "The most wanted first.", "selected_indices": order})
