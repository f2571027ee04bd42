"""An audit of one skill: every entry of its journals, every commit with a verdict, tags, notes and evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from skillgit.envs.contract import Environment
from skillgit.errors import RefusedError, RepositoryError, UsageError
from skillgit.store.refs import HEADS, SkillRefs
from skillgit.store.repository import Repository
from skillgit.store.trailers import trailer_values
from skillgit.train.archive import history
from skillgit.train.archive.journal import StepRecord
from skillgit.train.repair.audit import candidates, chain, evidence, strays
from skillgit.train.repair.audit.report import Difference, Report
from skillgit.train.repair.audit.verdicts import (
    GATED,
    Judged,
    Rules,
    UndecidedError,
    judged,
    rules_in,
    rules_of,
    told,
    whole,
    winner,
    with_costs,
)
from skillgit.train.repair.reading import Chain, Link, Reader, chain_of, commit_of, measurement
from skillgit.train.repair.scored import scored, tips_of


@dataclass(slots=True)
class Audit:
    """An audit under way.

    Args:
        replies: whether replies of the evidence are kept, to be scored again.
    """

    repo: Repository
    refs: SkillRefs
    replies: bool
    report: Report
    index: strays.Index = field(default_factory=strays.Index)
    evidence: evidence.Evidence = field(default_factory=evidence.Evidence)
    rules: dict[str, Rules] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)

    def add(self, found: Sequence[Difference]) -> None:
        """Take differences in."""
        self.report.differences += found

    def run(self, links: Chain) -> None:
        """One run's journal, from its beginning."""
        reader, before = Reader(self.repo), None
        shown: list[StepRecord] = []
        self.report.runs.append(links.run)
        if links.problem:
            self.add([Difference(f"journal of {links.run}", "chain", "broken", links.problem)])
        for number, commit in enumerate(links.commits):
            try:
                link = reader.link(commit)
                rules = self.rules.get(links.run) or rules_of(link.info)
            except (RefusedError, RepositoryError) as error:
                self.add([Difference(f"journal {commit[:12]}", "entry", "not readable", str(error))])
                before = None
                continue
            self.rules[links.run], self.paths[links.run] = rules, link.info.document
            self.report.entries += 1
            self.index.add(link, rules)
            shown.append(replace(link.record, scores={}, batch={}, others=[], edits=[]))
            whole_before = before is not None or number == 0
            self._entry(links, link, before if whole_before else None, rules, first=number == 0)
            self.add(list(strays.tags(self.repo, self.refs, link, shown)))
            evidence.compare(self.repo, self.refs, links.run, link, self.evidence, keep=self.replies)
            before = link

    def _entry(self, links: Chain, link: Link, before: Link | None, rules: Rules, *, first: bool) -> None:
        again = self._judged(link, before, rules)
        cut = links.cut or not first
        place = chain.Place(self.repo, self.refs, links.run, rules, link, before, cut, list(again.values()))
        self.add(list(chain.differences(place)))
        self._verdicts(place, again)
        for record in link.candidates:
            found = again.get(record.commits[-1])
            gate = None
            if found is not None:
                gate = found.rules.text(tasks=found.verdict.tasks, missing=found.verdict.missing)
            bout = candidates.Bout(link, before, gate, rules.imported)
            self.add(list(candidates.differences(self.repo, bout, with_costs(record, link.record))))

    def _judged(self, link: Link, before: Link | None, rules: Rules) -> dict[str, Judged]:
        """The step's candidates, judged again, by their last commit."""
        found: dict[str, Judged] = {}
        if before is None or rules.imported:
            return found
        for record in link.candidates:
            theirs = rules
            if record.kind not in GATED:
                named = None if record.decision == "forced" else self._named(record, rules)
                if named is None:
                    continue
                theirs = named
            forced = record.kind in GATED and rules.forced(record.kind)
            try:
                found[record.commits[-1]] = judged(record, before.scores, before, theirs, forced=forced)
            except UndecidedError as error:
                if error.plugin:
                    self.report.unchecked[f"verdicts: {error.message}"] += 1
                else:
                    self.add([Difference(f"journal {link.commit[:12]}", "scores", record.decision, error.message)])
        return found

    def _named(self, record: StepRecord, rules: Rules) -> Rules | None:
        """The rules of a change that a person asked for, by its commit."""
        try:
            message = commit_of(self.repo, record.commits[-1]).message
        except RepositoryError:
            return None  # said of the commits
        found = rules_in(next(trailer_values(message, "Skill-Gate"), ""), rules)
        if found is None:
            self.report.unchecked["verdicts whose Skill-Gate cannot be read"] += 1
        return found

    def _verdicts(self, place: chain.Place, again: dict[str, Judged]) -> None:
        link = place.link
        won = winner(list(again.values()))
        for one in again.values():
            before = place.before.scores.get(one.record.document_before, {}) if place.before is not None else {}
            self.report.scores += 1
            self._fields(place, list(told(one, won, before)), one.record.candidate)
        if won is not None and won.record.commits != link.record.commits:
            written, computed = f"candidate {link.record.candidate}", f"candidate {won.record.candidate}"
            self.add([place.difference("winner", written, computed)])
        if link.record.kind in chain.EVENTS and (link.record.scores or not place.rules.imported):
            try:
                measured = measurement(link.record.scores, "scores")
            except RefusedError as error:
                self.add([place.difference("scores", "not readable", error.message)])
                return
            self.report.scores += 1
            self._fields(place, list(whole(link.record, measured, place.rules.metric)), 0)

    def _fields(self, place: chain.Place, found: list[tuple[str, object, object]], candidate: int) -> None:
        which = f" of candidate {candidate}" if candidate > 1 else ""
        self.add([place.difference(f"{key}{which}", a, b) for key, a, b in found if a != b])

    def strays(self, base: str | None, document: str, only: str) -> None:
        """Commits that no journal lists, and notes."""
        tips = [*tips_of(self.repo, self.refs), *([base] if base else [])]
        found = scored(self.repo, self.refs, tips, self.paths, document)
        found = [one for one in found if one.run.startswith(only)]
        noted = strays.noted_scores(self.repo, list(self.rules.values()))
        self.add(list(strays.commits(self.index, found, noted)))
        names = {str(rules.metric) for rules in self.rules.values()}
        self.add(list(strays.notes(self.repo, self.index, set(self.report.runs), names)))
        self.report.commits = len(self.index.commits | {one.commit for one in found})


async def audit(
    repo: Repository,
    name: str,
    document: str,
    into: str | None,
    *,
    only: str = "",
    environment: Environment | None = None,
) -> Report:
    """Compute again what a skill's history says of itself. Moves and writes nothing, asks no model.

    Args:
        document: its path, for commits of runs whose journal is not here.
        into: the base branch, whose merges are looked at as well; None for HEAD.
        only: the run, or the beginning of its id; empty for all.
        environment: scores the replies of the evidence again; None leaves them.

    Raises:
        UsageError: there is no such run here.
    """
    refs = SkillRefs(name)
    runs = [(run, tip) for run, tip in history.runs(repo, name) if run.startswith(only)]
    if not runs:
        what = f"run {only}" if only else "journal"
        raise UsageError(
            f"there is no {what} of {name} here", mend=f"run `skillgit fetch`, or see `skillgit log {name}`"
        )
    found = Audit(repo, refs, environment is not None, Report(name))
    for run, tip in runs:
        found.run(chain_of(repo, run, tip))
    found.strays(repo.resolve(f"{HEADS}{into}" if into else "HEAD"), document, only)
    report = found.report
    report.differences += found.evidence.differences
    report.attempts = found.evidence.compared
    if found.evidence.missing:
        report.unchecked["entries whose evidence is not here"] = found.evidence.missing
    if environment is not None:
        report.replies, again, left = await evidence.score_again(environment, found.evidence.transcripts)
        report.differences += again
        if left:
            report.unchecked[f"replies: {left}"] = len(found.evidence.transcripts) - report.replies
    return report
