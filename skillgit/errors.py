"""The one exception tree of skillgit.

Each class carries the exit code that the command line ends with (DESIGN, section 3):
2 usage, configuration or refused; 3 models or environment failed; 4 a bug of ours; 130 interrupted.
A message is one line that names the file, key or ref; `mend` says what to do about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class SkillgitError(Exception):
    """Everything that skillgit raises on purpose.

    Args:
        message: one line that names the file, key or ref concerned.
        mend: what the person can do, as an imperative without a full stop.
    """

    exit_code: ClassVar[int] = 4

    def __init__(self, message: str, *, mend: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.mend = mend

    def __str__(self) -> str:
        return f"{self.message}; {self.mend}" if self.mend else self.message


class UsageError(SkillgitError):
    """The call, the repository or a file is not as it has to be (exit code 2)."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting, an environment's file or a check is wrong: names file, line and key where they are known."""


class DocumentError(UsageError):
    """The document is missing, empty, not UTF-8, or its frontmatter does not parse."""


class RepositoryError(UsageError):
    """No git repository, an unborn branch, no identity, a git that is too old, or a git command that failed."""


class RefusedError(UsageError):
    """Something would have been lost or overwritten, or a hook, the disk or a remote said no."""


class LockedError(RefusedError):
    """Another process holds the lock of this skill."""


class RefMovedError(RefusedError):
    """A ref no longer had the value that a transaction expected; nothing was moved."""


class UnfitChangeError(RefusedError):
    """A change that cannot be tried on a document: it is there already, is gone, or may not be made. Nothing moved."""


class ConflictError(RefusedError):
    """A three-way merge of the document conflicts.

    Args:
        shown: each conflict for people, in lines: both sides between markers, and what brought them.
        conflicts: the same as plain JSON.
    """

    def __init__(
        self, message: str, *, mend: str | None = None, shown: str = "", conflicts: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        super().__init__(message, mend=mend)
        self.shown = shown
        self.conflicts = conflicts


class OutsideError(SkillgitError):
    """Models or an environment failed: the run stops, resumable (exit code 3)."""

    exit_code = 3


class ModelError(OutsideError):
    """A model call failed for good: timeouts, overload, a cut connection, after the retries."""


class ModelRefusedError(ModelError):
    """No other call can succeed either: a wrong key, no permission, an unknown model. Stops a run at once."""


class OverloadedError(ModelError):
    """The server has too much to do (429, 503, 529): the same call may succeed later.

    Args:
        wait_s: the seconds that the server asks to wait; None where it does not say.
    """

    def __init__(self, message: str, *, mend: str | None = None, wait_s: float | None = None) -> None:
        super().__init__(message, mend=mend)
        self.wait_s = wait_s


class ModelUnavailableError(ModelError):
    """The embedded model cannot run: the extra is missing, or weights cannot be had or loaded."""


class ReplyError(ModelError):
    """A model's reply cannot be used: empty, cut off, or not what was asked for."""


class UnfitReplyError(ReplyError):
    """A reply is what was asked for, but what it brings breaks a rule of the skill's own, such as its length budget."""


class EnvironmentFailedError(OutsideError):
    """A scorer or an environment's own code failed on one attempt."""


class MeasurementError(OutsideError):
    """Scores that cannot be compared: not finite, outside 0..1, or of different tasks."""


class InterruptedRunError(SkillgitError):
    """Stopped by the person (exit code 130); the run can be resumed."""

    exit_code = 130
