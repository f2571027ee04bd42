"""Secrets in many texts that are almost the same: thousands of documents that differ in a line or two.

Finding secrets takes milliseconds per kilobyte. But all of them, private keys and logins aside, stand on one line, so
each different line is looked at once, and only where it has something that every kind of secret has.
`tests/train/hooks/test_screening.py` holds both rules against `skillgit.redact`.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from skillgit.redact import PERSONAL, find

_LOGIN = re.compile(r"\blogin\s{1,8}\S{1,100}\s{1,8}password\s")
# Every name, scheme and command that a secret is known by, and the run of characters that the others need.
_WORDS = (
    *("pass", "pwd", "pw", "secret", "key", "token", "credential", "auth", "bearer", "basic", "cookie", "login"),
    *("curl", "wget", "http", "mysql", "sshpass", "://", "eyj", "xox", "sig"),
)
_RUN = re.compile(r"[\w./:%+=-]{15}")
# What our own trailers and journals have most of: ids and counts.
_ID = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
_OURS = re.compile(
    rf"Skill-(?:Blob: {_ID}|Val: sha256:[0-9a-f]{{64}}|Cost: calls=\d+ tokens=\d+(?: usd=[\d.]+)?)"
    rf"|\s*(?:\"(?:commit|document|incumbent|val|tip|base|best_commit)\": )?\"(?:sha256:)?{_ID}\",?"
)


class Screen:
    """Finds secrets in texts, and remembers the lines that it has seen to be clean."""

    def __init__(self) -> None:
        self._clean: set[str] = set()

    def find(self, text: str) -> list[tuple[int, str]]:
        """Line (from 1) and kind of each secret, in order. E-mail addresses are none."""
        if _spans_lines(text):
            return _found(text)
        lines = text.split("\n")
        new = [index for index, line in enumerate(lines) if line not in self._clean]
        doubtful = [index for index in new if may_hold_secret(lines[index])]
        found = _found("\n".join(lines[index] for index in doubtful)) if doubtful else []
        found = [(doubtful[line - 1] + 1, kind) for line, kind in found]
        bad = {line - 1 for line, _ in found}
        self._clean.update(lines[index] for index in new if index not in bad)
        return found


def _spans_lines(text: str) -> bool:
    """Whether a secret of the text may go over more than one line: a key in its text form, a .netrc's login."""
    if "PRIVATE KEY" in text or "Private-Lines" in text:
        return True
    return "login" in text and "password" in text and _LOGIN.search(text) is not None


def may_hold_secret(line: str) -> bool:
    """False only where a line certainly holds none."""
    lower = line.lower()
    if _RUN.search(line) is None and not any(word in lower for word in _WORDS):
        return False
    return _OURS.fullmatch(line) is None


def _found(text: str) -> list[tuple[int, str]]:
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return [(bisect_right(starts, one.start), one.kind) for one in find(text) if one.kind not in PERSONAL]
