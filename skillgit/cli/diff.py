"""`skillgit diff`: two revisions of a document: text, scores, and the tasks that flipped."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from skillgit.cli.output import is_terminal, many_lines, one_line, print_json

if TYPE_CHECKING:
    from fractions import Fraction

    from skillgit.store.repository import Repository
    from skillgit.train.archive.comparing import Compared
    from skillgit.train.archive.known import Known
    from skillgit.train.archive.revisions import Revision
    from skillgit.train.scoring.scores import Metric
    from skillgit.train.session import Session


@click.command("diff")
@click.argument("name")
@click.argument("revisions", metavar="[A [B]]", nargs=-1)
@click.option("--eval", "measures", is_flag=True, help="Measure what has no score, and keep it in the notes.")
@click.option(
    "--split", type=click.Choice(["val", "test"]), default="val", show_default=True, help="The scores to compare."
)
@click.option("--target", metavar="MODEL", help="Scores of this target, as provider/model; any unless given.")
@click.option("--word-diff", is_flag=True, help="Show the text word by word, as git does.")
@click.option("--stat", "only_scores", is_flag=True, help="Only the scores and tasks, without the text.")
@click.option("--yes", is_flag=True, help="Fetch the embedded model's weights without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(
    name: str,
    revisions: tuple[str, ...],
    measures: bool,
    split: str,
    target: str | None,
    word_diff: bool,
    only_scores: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Show what changed in the document of skill NAME from A to B, with both scores and the tasks that flipped.

    A and B (or A..B) are commits, branches or tags; a step as STEP, RUN/STEP or STEP-KK for its candidate KK; or
    best, tip and base. B is the training branch's tip unless given; without A, it is from base to best. Scores are
    looked up in the journals and notes.
    """
    from skillgit.cli import opened
    from skillgit.envs.contract import SPLITS
    from skillgit.train.archive import comparing
    from skillgit.train.archive.revisions import find
    from skillgit.train.scoring.scores import metric_of

    chosen = next(s for s in SPLITS if s == split)
    with opened.project() as project:
        repo, settings = project.repo, project.config.skill(name)
        metric = metric_of(settings.evaluation)
        a, b = (find(repo, name, settings, text) for text in _sides(revisions))
        found = comparing.compare(repo, name, (a.blob, b.blob), metric, chosen, target)
        if measures and found.paired is None:

            async def work(session: Session) -> list[str]:
                session.repo.identity()  # the note needs one
                return await comparing.measure(session, (a, b), chosen)

            opened.run(opened.with_session(project, name, work, target=target, yes=yes))
            found = comparing.compare(repo, name, (a.blob, b.blob), metric, chosen, target)
        text = _text(repo, settings.document, a, b, word_diff=word_diff, coloured=not as_json)
    if as_json:
        print_json({"skill": name, **_facts(a, b, found, metric, split), "diff": text})
        return
    if text and not only_scores:
        print(text)
    for line in _lines(name, a, b, found, metric, split):
        print(one_line(line))


def _sides(revisions: tuple[str, ...]) -> tuple[str, str]:
    """What is compared: A and B, A..B, A to the tip, or base to best.

    Raises:
        UsageError: more than two revisions.
    """
    from skillgit.errors import UsageError

    if len(revisions) == 1 and ".." in revisions[0]:
        a, _, b = revisions[0].partition("..")
        revisions = (a or "tip", b.removeprefix(".") or "tip")
    if len(revisions) > 2:
        raise UsageError(f"diff compares two revisions, not {len(revisions)}", mend="name A and B")
    if not revisions:
        return "base", "best"
    return revisions[0], revisions[1] if len(revisions) == 2 else "tip"


def _text(repo: Repository, path: str, a: Revision, b: Revision, *, word_diff: bool, coloured: bool) -> str:
    """git's own diff of the two documents, without the newline at its end; empty where they are equal."""
    contents = [repo.objects.read_blob(side.blob).decode(errors="replace") for side in (a, b)]
    # Colours of git's own only where no text brings others.
    clean = all(many_lines(content.replace("\r\n", "\n")) == content.replace("\r\n", "\n") for content in contents)
    quiet = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    colour = "always" if coloured and clean and not quiet and is_terminal(sys.stdout) else "never"
    options = ["--no-ext-diff", "--no-textconv", f"--color={colour}", *(["--word-diff"] if word_diff else [])]
    sides = [a.commit, b.commit, "--", f":(top,literal){path}"] if a.commit and b.commit else [a.blob, b.blob]
    found = repo.git("diff", *options, *sides).out.decode(errors="replace").rstrip("\n")
    return found if colour == "always" or not coloured else many_lines(found.replace("\r\n", "\n"))


def _facts(a: Revision, b: Revision, found: Compared, metric: Metric, split: str) -> dict[str, Any]:
    sides = [
        {**side.to_json(), "known": known.to_json(metric) if known else None}
        for side, known in zip((a, b), found.known, strict=True)
    ]
    return {
        "split": split,
        "metric": str(metric),
        "a": sides[0],
        "b": sides[1],
        "comparable": found.comparable,
        "paired": found.paired.to_json() if found.paired else None,
    }


def _lines(name: str, a: Revision, b: Revision, found: Compared, metric: Metric, split: str) -> list[str]:
    """The scores with where they are from, and what flipped; or why nothing can be said."""
    lines = [f"{a.shown} and {b.shown} are the same document"] if a.blob == b.blob else []
    for side, known in zip((a, b), found.known, strict=True):
        lines.append(f"{split} {side.shown}: {_score(known, metric)}")
    mend = f"`skillgit diff {name} {a.named} {b.named}{' --split test' if split == 'test' else ''} --eval`"
    if not found.comparable:
        if any(found.missing):
            measured = "measures it" if sum(found.missing) == 1 else "measures them"
            return [*lines, f"{mend} {measured}"]
        return [
            *lines,
            f"the scores are of other tasks or with another target, so they do not compare; {mend} measures",
        ]
    if found.paired is None:
        return [*lines, f"which tasks flipped is not known; {mend} measures them"]
    change = f"{float(found.paired.difference) * 100:+.1f} on {found.paired.tasks} tasks"
    return [*lines, change, *_flips("better", found.paired.gained), *_flips("worse", found.paired.lost)]


def _score(known: Known | None, metric: Metric) -> str:
    from skillgit.cli.progress import points

    if known is None:
        return "not measured"
    failed = f", {known.errors} attempts failed" if known.errors else ""
    return f"{points(known.score(metric))} {metric} ({known.source}, {known.target}{failed})"


def _flips(word: str, changes: tuple[tuple[str, Fraction], ...]) -> list[str]:
    """`2 better: t-1, t-5 +0.25`: with by how much where a task did not flip wholly."""
    if not changes:
        return []
    named = [task if abs(by) == 1 else f"{task} {float(by):+.4g}" for task, by in changes]
    return [f"{len(changes)} {word}: {', '.join(named)}"]
