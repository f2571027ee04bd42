"""The commit message of a skill branch: what its Skill- trailers may say. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from skillgit.redact import contains_secret
from skillgit.store.trailers import parse_trailers

MEND = "remove the Skill- trailers"
_SCORES = {"Skill-Score", "Skill-Score-Max", "Skill-Score-Before", "Skill-Score-Hard", "Skill-Score-Soft"}
_SCORE = r"0\.\d{6}|1\.000000"
_NUMBER = r"0|[1-9]\d{0,8}"
_MODEL = r"|[^\s/]+/\S+"
FORMS: Mapping[str, tuple[str, str]] = {
    "Skill-Name": (r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", "a skill's name"),
    "Skill-Run": (r"[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}", "a run's id of 26 lower-case characters"),
    "Skill-Step": (_NUMBER, "a number"),
    "Skill-Epoch": (_NUMBER, "a number"),
    "Skill-Kind": (r"[a-z]+(-[a-z]+)*", "a kind such as step or slow-update"),
    "Skill-Edit": (r"[1-9]\d*/[1-9]\d* [a-z_-]+", "such as `1/2 append`"),
    "Skill-Support": (r"\d+ [a-z]+", "such as `3 failures`"),
    "Skill-Decision": (r"accept-best|accept|forced|reject|indecisive", "a decision"),
    **dict.fromkeys(sorted(_SCORES), (_SCORE, "a score from 0.000000 to 1.000000, with six decimals")),
    "Skill-Blob": (r"[0-9a-f]{40}|[0-9a-f]{64}", "the id of a blob"),
    "Skill-Val": (r"sha256:[0-9a-f]{64}", "`sha256:` and 64 hex digits"),
    "Skill-Target": (_MODEL, "provider/model"),
    "Skill-Optimizer": (_MODEL, "provider/model"),
    "Skill-Cost": (r"calls=\d+ tokens=\d+( usd=\d+(\.\d+)?(E-?\d+)?)?", "such as `calls=212 tokens=182340 usd=0.43`"),
}
"""Key -> the form of its value as `train.archive.messages` writes it, and that form in words. Other Skill- keys may
say what they like, since a later skillgit may write them."""


def problems(message: str, skill: str, blobs: Sequence[str]) -> list[str]:
    """Why a commit on a skill's branch must not be made with this message; empty where all is well.

    A person's commit without Skill- trailers is always well.

    Args:
        message: as git will store it.
        skill: the skill of the branch.
        blobs: the ids that the document may have in the commit's tree: the one at its path; where the path is not
            known, those of all files.
    """
    kind = contains_secret(message)
    found = [f"the message holds a secret ({kind}); history cannot be taken back"] if kind else []
    trailers = [(key, value) for key, value in parse_trailers(message) if key.lower().startswith("skill-")]
    known = {key.lower(): key for key in FORMS}
    ours = [(known[key.lower()], value) for key, value in trailers if key.lower() in known]
    count = Counter(key for key, _ in ours)
    found += [f"{key} stands {number} times" for key, number in count.items() if number > 1]
    for key, value in ours:
        form, words = FORMS[key]
        if re.fullmatch(form, value, re.ASCII) is None:
            found.append(f"{key}: {value!r} is not {words}")
    return found + _claims(dict(ours), skill, blobs)


def _claims(said: Mapping[str, str], skill: str, blobs: Sequence[str]) -> list[str]:
    """What is well-formed and not true of this commit."""
    found = []
    if said.get("Skill-Name", skill) != skill:
        found.append(f"Skill-Name: {said['Skill-Name']!r} is not the skill of this branch, {skill}")
    number = re.fullmatch(r"(\d+)/(\d+) .*", said.get("Skill-Edit", ""))
    if number is not None and int(number[1]) > int(number[2]):
        found.append(f"Skill-Edit: there is no edit {number[1]} of {number[2]}")
    scored = sorted(_SCORES & said.keys())
    if scored and "Skill-Blob" not in said:
        found.append(f"{scored[0]} without Skill-Blob, which names the document that was measured")
    blob = said.get("Skill-Blob")
    if blob is not None and re.fullmatch(FORMS["Skill-Blob"][0], blob) and blob not in blobs:
        found.append(f"Skill-Blob: {blob[:12]} is not the document of this commit, so its score is another one's")
    return found


def stored(text: str) -> str:
    """A message file without the diff that `git commit --verbose` puts below its scissors line."""
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if re.fullmatch(r"\S{1,20} -{24} >8 -{24}", line):
            return "\n".join(lines[:index]) + "\n"
    return text
