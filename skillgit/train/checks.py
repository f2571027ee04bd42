"""What of the settings can be refused before any call is made: what they name has to be there."""

from __future__ import annotations

from skillgit.errors import ConfigError
from skillgit.train.propose.proposers import BUILT_IN, find_proposer
from skillgit.train.session import Session


def check_settings(session: Session) -> None:
    """Look for the gate, the proposer and the tasks that the settings ask for.

    Raises:
        ConfigError: one of them is not there; names it.
    """
    _ = session.gate
    proposer = session.settings.gradient.proposer
    if proposer not in BUILT_IN:
        find_proposer(proposer)
    if session.settings.evaluation.eval_test and not session.test:
        raise ConfigError(f"{session.settings.env}: eval_test needs test tasks", mend="add tasks to the test split")


def check_resumed(session: Session) -> None:
    """The same for the settings that an unfinished run began with.

    Raises:
        ConfigError: says that the run, and not the file, asks for it.
    """
    try:
        check_settings(session)
    except ConfigError as error:
        mend = f"{error.mend}, or give the run up with --fresh" if error.mend else "give the run up with --fresh"
        raise ConfigError(f"the unfinished run began with it: {error.message}", mend=mend) from None
