"""The names of refs (DESIGN, section 2), as values: nothing here touches a repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from skillgit.config import check_name

NOTES = "refs/notes/skillgit"
HEADS = "refs/heads/"

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_RUN = r"[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}"
_NAME = r"[a-z0-9-]+"
_REJECTED_REF = re.compile(rf"refs/skillgit/rejected/({_NAME})/({_RUN})/([0-9]{{5,18}})-([0-9]{{2,18}})")
_JOURNAL_REF = re.compile(rf"refs/skillgit/runs/({_NAME})/({_RUN})")


def is_run_id(text: str) -> bool:
    """Whether the text is a 26-character lower-case ULID."""
    return re.fullmatch(_RUN, text) is not None


def new_run_id(now: datetime, randomness: bytes) -> str:
    """A new run's id: a ULID (48 bits of milliseconds, 80 bits of randomness), so ids sort by their time.

    Args:
        now: with its time zone.
        randomness: 10 bytes.

    Raises:
        ValueError: no time zone, before 1970, or not 10 bytes.
    """
    if now.tzinfo is None:
        raise ValueError("a run id needs a time with its zone")
    milliseconds = int(now.timestamp() * 1000)
    if not 0 <= milliseconds < 1 << 48 or len(randomness) != 10:
        raise ValueError("a run id needs a time from 1970 on and 10 bytes of randomness")
    number = milliseconds << 80 | int.from_bytes(randomness, "big")
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))


def run_time(run: str) -> datetime:
    """When a run's id was made, to the millisecond.

    Raises:
        ValueError: no run id.
    """
    number = 0
    for char in _check_run(run)[:10]:
        number = number << 5 | _CROCKFORD.index(char)
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=number)


def _check_run(run: str) -> str:
    if not is_run_id(run):
        raise ValueError(f"{run!r} is no run id: 26 characters of a lower-case ULID")
    return run


def _check_number(number: int, least: int) -> int:
    if number < least:
        raise ValueError(f"{number} is below {least}")
    return number


@dataclass(frozen=True, slots=True)
class SkillRefs:
    """The refs of one skill.

    Raises:
        ValueError: the name cannot stand in a ref.
    """

    name: str

    def __post_init__(self) -> None:
        check_name(self.name)

    @property
    def branch(self) -> str:
        """The training branch."""
        return f"{HEADS}skill/{self.name}"

    @property
    def best(self) -> str:
        """The commit of the best measured document."""
        return f"refs/skillgit/best/{self.name}"

    @property
    def published(self) -> str:
        """The tip last pushed for review."""
        return f"refs/skillgit/published/{self.name}"

    @property
    def tasks(self) -> str:
        """Reviewed tasks mined from sessions."""
        return f"refs/skillgit/tasks/{self.name}"

    @property
    def journals_prefix(self) -> str:
        """All journals of the skill lie under it."""
        return f"refs/skillgit/runs/{self.name}/"

    @property
    def rejected_prefix(self) -> str:
        """All rejected candidates of the skill lie under it."""
        return f"refs/skillgit/rejected/{self.name}/"

    @property
    def tags_prefix(self) -> str:
        """All epoch and release tags of the skill lie under it."""
        return f"refs/tags/skill/{self.name}/"

    def journal(self, run: str) -> str:
        """The journal of a run."""
        return f"{self.journals_prefix}{_check_run(run)}"

    def evidence(self, run: str) -> str:
        """The transcripts of a run."""
        return f"refs/skillgit/evidence/{self.name}/{_check_run(run)}"

    def rejected(self, run: str, step: int, k: int) -> str:
        """Candidate `k` of a step, rejected."""
        return f"{self.rejected_prefix}{_check_run(run)}/{_check_number(step, 0):05d}-{_check_number(k, 0):02d}"

    def epoch_tag(self, run: str, n: int) -> str:
        """The tag of a run's epoch, counted from 1."""
        return f"{self.tags_prefix}{_check_run(run)}/epoch-{_check_number(n, 1):02d}"

    def release_tag(self, n: int) -> str:
        """A release, counted from 1."""
        return f"{self.tags_prefix}v{_check_number(n, 1)}"


@dataclass(frozen=True, slots=True, order=True)
class RejectedRef:
    """What the name of a rejected ref says."""

    name: str
    run: str
    step: int
    k: int


@dataclass(frozen=True, slots=True, order=True)
class JournalRef:
    """What the name of a journal says."""

    name: str
    run: str


def parse_rejected(ref: str) -> RejectedRef | None:
    """The parts of a rejected ref's name; None for any other ref."""
    match = _REJECTED_REF.fullmatch(ref)
    if not match:
        return None
    parsed = RejectedRef(match[1], match[2], int(match[3]), int(match[4]))
    # The name has to be the one that we would have written: no second spelling of the same candidate.
    if not _ours(parsed.name) or SkillRefs(parsed.name).rejected(parsed.run, parsed.step, parsed.k) != ref:
        return None
    return parsed


def parse_journal(ref: str) -> JournalRef | None:
    """The parts of a journal's name; None for any other ref."""
    match = _JOURNAL_REF.fullmatch(ref)
    return JournalRef(match[1], match[2]) if match and _ours(match[1]) else None


def _ours(name: str) -> bool:
    try:
        check_name(name)
    except ValueError:
        return False
    return True
