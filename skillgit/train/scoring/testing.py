"""The end of a run: the first and the best document on test, where `eval_test` asks for it."""

from __future__ import annotations

from fractions import Fraction

from skillgit.errors import ConfigError
from skillgit.train.archive import documents
from skillgit.train.archive.documents import Placed
from skillgit.train.archive.history import records
from skillgit.train.events import Note
from skillgit.train.run import Run
from skillgit.train.scoring import evaluate


async def score_test(run: Run) -> tuple[Fraction, Fraction]:
    """Scores on test by the gate metric: of the document that the run began with, and of the best one.

    Both go to the notes of their blobs, as `skillgit eval` leaves them.

    Raises:
        ConfigError: there are no test tasks. MeasurementError: too many attempts failed.
    """
    session, repo = run.session, run.session.repo
    if not session.test:
        raise ConfigError(f"{session.settings.env}: eval_test needs test tasks", mend="add tasks to the test split")
    first = records(repo, run.journal)[0].document if run.journal else run.state.incumbent
    best = documents.read(repo, run.state.best_commit, run.info.document)
    scores = [await _score(run, documents.read_blob(repo, first, best.mode, "the first document")), Fraction(0)]
    scores[1] = scores[0] if first == best.blob else await _score(run, best)
    session.tell(Note(f"test: {float(scores[0]) * 100:.1f}% -> {float(scores[1]) * 100:.1f}%"))
    return scores[0], scores[1]


async def _score(run: Run, placed: Placed) -> Fraction:
    session = run.session
    found = await evaluate.evaluate_document(session, placed, "", "test", tasks=session.test)
    evaluate.remember(session, found)
    return session.metric.value(found.hard, found.soft)
