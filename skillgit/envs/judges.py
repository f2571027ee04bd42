"""Scoring a reply by deterministic checks (DESIGN, section 5): `hard` where all pass, `soft` the share that do."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from skillgit.envs.checks import Check, load_checks
from skillgit.envs.contract import Score
from skillgit.envs.normalize import fold, normalize_text
from skillgit.envs.patterns import found
from skillgit.envs.refusals import is_refusal
from skillgit.envs.sections import find_sections
from skillgit.models.base import Json

__all__ = ["Check", "load_checks", "score"]


def score(checks: Sequence[Check | Mapping[str, Json]], reply: str, calls: Collection[str] = ()) -> Score:
    """Run the checks on a reply.

    Args:
        checks: as `load_checks` returns them, or as they are written.
        reply: what is judged: the reply, or the answer extracted from it.
        calls: names of the tools that were called.

    Returns: `reason` names the checks that failed by op or by their `name`, never what they look for: the optimizer may
        see it, and would teach the skill to please the check.

    Raises:
        ConfigError: a check that is written wrongly, or none at all.
        EnvironmentFailedError: a pattern that does not end in time on this reply.
    """
    loaded = [check for check in checks if isinstance(check, Check)]
    if len(loaded) < len(checks) or not checks:
        loaded = [*load_checks(list(checks), "checks")]
    failed = [(number, check) for number, check in enumerate(loaded, 1) if not _passes(check, reply, calls)]
    names = [check.name or f"{check.op} (check {number} of {len(loaded)})" for number, check in failed]
    reason = f"failed: {'; '.join(names)}" if names else ""
    return Score(Fraction(not failed), 1 - Fraction(len(failed), len(loaded)), reason)


def _passes(check: Check, reply: str, calls: Collection[str]) -> bool:
    match check.op:
        case "exact":
            return any(_plain(reply, check) == _plain(arg, check) for arg in check.args)
        case "contains":
            return _holds(reply, check.args[0], check)
        case "not_contains":
            return not _holds(reply, check.args[0], check)
        case "regex":
            return found(check.args[0], reply)
        case "section_present":
            return any(True for _ in find_sections(reply, check.args[0]))
        case "section_contains":
            sections = find_sections(reply, check.args[0])
            return any(_holds(one.body, check.text, check) if check.text else one.has_text for one in sections)
        case "min_chars":
            return _length(reply) >= check.count
        case "max_chars":
            return _length(reply) <= check.count
        case "no_refusal":
            return not is_refusal(reply)
        case "tool_called":
            return check.args[0] in calls


def _plain(text: str, check: Check) -> str:
    return normalize_text(text) if check.normalize == "text" else text.strip()


def _holds(text: str, part: str, check: Check) -> bool:
    return fold(part) in fold(text) if check.ignore_case else part in text


def _length(reply: str) -> int:
    """Characters as people count them, as far as composing goes, without white space at the ends."""
    return len(unicodedata.normalize("NFC", reply.strip()))
