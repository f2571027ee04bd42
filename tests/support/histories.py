"""All of a training's history that does not depend on time, money, dates and ids, for comparing one with another."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from support import repos, training
from support.training import DOCUMENT

from skillgit.train.archive.journal import StepRecord

_LEFT_OUT = ("commits", "refs", "cost")
_OWN = ("tip", "best_commit", "target")  # the target with its port


def told(record: StepRecord) -> dict[str, Any]:
    """A step without run ids, commit ids, dates and costs; of commits only how many there are."""
    found = {key: value for key, value in asdict(record).items() if key not in _LEFT_OUT}
    found["edits_committed"] = len(record.commits)
    found["others"] = [{key: value for key, value in other.items() if key != "commits"} for other in record.others]
    return found


def story(root: Path) -> dict[str, Any]:
    """All that has to be equal of a repository with one run: steps, the state they end in, documents of every ref and
    commit, evidence, messages without what may differ."""
    (steps,) = training.journals(root)
    last = training.journal(root)
    state = {key: value for key, value in asdict(last.state).items() if key not in _OWN}
    found: dict[str, Any] = {"steps": [told(record) for record in steps], "state": state, "scores": last.scores}
    for ref in repos.refs(root):
        name = ref.replace(last.info.run, "RUN")
        if ref.startswith(("refs/skillgit/runs/", "refs/skillgit/evidence/")):
            # Evidence, step for step; the journal's own commits are compared by their records.
            shown = "%T %s" if "evidence" in ref else "%s"
            found[name] = repos.git(root, "log", "--first-parent", f"--format={shown}", ref).splitlines()
            continue
        commits = repos.git(root, "rev-list", "--first-parent", ref, "--not", "main").splitlines()
        found[name] = [(blob(root, commit), message(root, commit)) for commit in commits]
        if ref.startswith("refs/tags/"):
            found[f"{name} (message)"] = tag_message(root, ref, last.info.run)
    return found


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Where two stories differ, a line each; of steps, which keys of which step."""
    keys = (one.keys() | other.keys()) - {"steps", "state"}
    found = [key for key in keys if one.get(key) != other.get(key)]
    for key, mine in one["state"].items():
        if mine != other["state"][key]:
            found.append(f"state: {key}: {mine!r} and {other['state'][key]!r}")
    if len(one["steps"]) != len(other["steps"]):
        found.append(f"{len(one['steps'])} and {len(other['steps'])} entries")
    for number, (mine, theirs) in enumerate(zip(one["steps"], other["steps"], strict=False)):
        keys = [key for key in mine if mine[key] != theirs[key]]
        found += [f"entry {number}: {key}: {mine[key]!r} and {theirs[key]!r}" for key in keys]
    return sorted(found)


def blob(root: Path, commit: str) -> str:
    """The document's blob in a commit."""
    return repos.git(root, "rev-parse", f"{commit}:{DOCUMENT}")


def message(root: Path, commit: str) -> str:
    """A commit's message without its run and its cost."""
    text = repos.git(root, "log", "-1", "--format=%B", commit)
    return re.sub(r"^(Skill-Run|Skill-Cost): .*$", r"\1", text, flags=re.MULTILINE)


def tag_message(root: Path, ref: str, run: str) -> str:
    """An epoch tag's message without its run; the commit that it names, as the document there."""
    text = repos.git(root, "for-each-ref", "--format=%(contents)", ref).replace(run, "RUN")
    return re.sub(r"^(Skill-Best: )(\w+)$", lambda found: found[1] + blob(root, found[2]), text, flags=re.MULTILINE)
