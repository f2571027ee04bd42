"""What the commands of docs/git.md that only look must print: said by the journals' JSON and by the world's rule."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from support import repos, training
from support.documented import Scene
from support.training import BEST, BEST_REF, BRANCH, SKILL
from support.truth import passed, share

Check = Callable[[Scene], None]
CHECKS: dict[str, Check] = {}
"""A part of a command's text, and what is to be seen once it has run."""
V1 = f"skill/{SKILL}/v1"


def shows(part: str) -> Callable[[Check], Check]:
    """Register a check for the command that has this part."""

    def register(check: Check) -> Check:
        assert part not in CHECKS
        CHECKS[part] = check
        return check

    return register


def decimal(score: Fraction) -> str:
    return f"{float(score):.6f}"


def scored(scene: Scene, rev: str) -> str:
    """A document's true score, as trailers have it."""
    return decimal(share(scene.world, scene.text(rev)))


def accepted(scene: Scene) -> list[dict[str, Any]]:
    """The steps of all runs whose candidates were accepted, newest first."""
    entries = [entry for run in reversed(scene.runs) for _, entry in scene.journal(run)]
    return [entry for entry in entries if entry["kind"] == "step" and entry["decision"].startswith("accept")]


def rejected(scene: Scene) -> dict[str, dict[str, Any]]:
    """Rejected candidates by the rest of their ref's name."""
    return {
        f"{run}/{entry['step']:05d}-{entry['candidate']:02d}": entry
        for run in scene.runs
        for _, entry in scene.journal(run)
        if entry["decision"] == "reject"
    }


def brought(scene: Scene) -> dict[str, tuple[str, int]]:
    """The line that each accepted edit added: its commit and step."""
    found = {}
    for entry in accepted(scene):
        for commit, edit in zip(entry["commits"], entry["edits"], strict=True):
            found[edit["content"]] = (commit, entry["step"])
    return found


@shows("refname:lstrip=4)' refs/skillgit/runs/triage")
def _runs(scene: Scene) -> None:
    assert scene.lines == scene.runs
    assert scene.runs[-1] == training.journal(scene.root).info.run


@shows("git log --first-parent --grep='^Skill-Decision: '")
def _accepted(scene: Scene) -> None:
    tips = [str(entry["commits"][-1]) for entry in accepted(scene)]
    wanted = [f"{scene.short(c)} {scored(scene, c)} {scene.git('log', '-1', '--format=%s', c)}" for c in tips]
    assert scene.lines == wanted
    assert len(wanted) == 3


@shows("git log --graph --oneline skill/triage --glob=")
def _graph(scene: Scene) -> None:
    shown = set(re.findall(r"^[ |/\\_*]*\*[ |/\\_]+([0-9a-f]{7,}) ", scene.out, re.MULTILINE))
    entries = [*accepted(scene), *rejected(scene).values()]
    commits = {scene.short(c) for entry in entries for c in entry["commits"]}
    assert commits - shown == set(), commits - shown


@shows("grep -E '^ \"(step|kind|decision|score|maximum|before)\"' | paste")
def _entries(scene: Scene) -> None:
    shown = [json.loads("{" + line.strip().rstrip(",") + "}") for line in scene.lines]
    keys = ("before", "decision", "kind", "maximum", "score", "step")
    assert shown == [{key: entry[key] for key in keys} for _, entry in scene.journal(scene.run_id)]


@shows("'refs/tags/skill/triage/*/epoch-*'")
def _epochs(scene: Scene) -> None:
    for run in scene.runs:
        for _, entry in scene.journal(run):
            assert entry["kind"] != "step" or re.search(rf"^ +{entry['step']}  {entry['decision']} ", scene.out, re.M)


@shows("--format=%H --grep='^skillgit journal: triage step STEP '")
def _entry(scene: Scene) -> None:
    assert scene.out == scene.entry[0]


@shows("--all-match --grep='^Skill-Run: RUN$'")
def _edits_of_a_step(scene: Scene) -> None:
    _, entry = scene.entry
    heads = [scene.git("log", "-1", "--format=%h %s", commit) for commit in entry["commits"]]
    assert [line for line in scene.lines if re.match(r"[0-9a-f]{7,} skill\(", line)] == heads
    assert all(edit["reason"] in scene.lines for edit in entry["edits"])
    assert f"Skill-Score: {scored(scene, entry['commits'][-1])}" in scene.lines


@shows("""ENTRY:step.json | sed -n '/^ "edits"/""")
def _edits(scene: Scene) -> None:
    _, entry = scene.entry
    assert scene.fields() == {"edits": entry["edits"]}
    had, has = (set(scene.text(rev).splitlines()) for rev in (f"{entry['commits'][0]}^", entry["commits"][-1]))
    assert {edit["content"] for edit in scene.fields()["edits"]} == has - had


@shows("""ENTRY:step.json | grep '^ "reason"'""")
def _reason(scene: Scene) -> None:
    assert scene.fields() == {"reason": scene.entry[1]["reason"]}


@shows("""$ git show ENTRY:step.json | sed -n '/^ "gained": \\[$/""")
def _flips(scene: Scene) -> None:
    commits = scene.entry[1]["commits"]
    before, after = (passed(scene.world, scene.text(rev)) for rev in (f"{commits[0]}^", commits[-1]))
    assert scene.fields() == {"gained": sorted(t for t in after if after[t] > before[t])}
    assert not [t for t in after if after[t] < before[t]]


@shows("-- val.jsonl")
def _attempts(scene: Scene) -> None:
    rows = [json.loads(line) for line in scene.lines]
    assert [(row["task"], row["document"]) for row in rows] == [(scene.words["TASK"], scene.entry[1]["document"])]
    (answer,) = [t["answer"] for t in scene.world.tasks["val"] if t["id"] == scene.words["TASK"]]
    assert answer in rows[0]["reply"]


@shows("ENTRY:step.json | grep -E '^  \"(calls|tokens|usd)\"'")
def _cost(scene: Scene) -> None:
    cost = scene.entry[1]["cost"]
    assert scene.fields() == {key: cost[key] for key in ("calls", "tokens", "usd")}


@shows("git diff skill/triage/v1 skill/triage --")
def _diff(scene: Scene) -> None:
    had, has = (scene.text(rev).splitlines() for rev in (V1, BRANCH))
    assert {line[1:] for line in scene.lines if re.match(r"\+[^+]", line)} == set(has) - set(had)


@shows("git rev-parse skill/triage/v1:skills/triage/SKILL.md skill")
def _blobs(scene: Scene) -> None:
    assert scene.lines == [hashed(scene, scene.text(rev)) for rev in (V1, BRANCH)]


def hashed(scene: Scene, text: str) -> str:
    """The blob of a text, by its bytes."""
    return scene.git("hash-object", "--stdin", input=text)


@shows('git grep -l "\\"document\\": ')
def _measured_by(scene: Scene) -> None:
    blob = hashed(scene, scene.text(BEST_REF))
    entries = [commit for commit, entry in scene.journal(scene.run_id) if entry["document"] == blob]
    assert scene.lines == [f"{commit}:step.json" for commit in entries]
    assert scene.entry[0] in entries


@shows("""ENTRY:step.json | sed -n '/^ "scores"/""")
def _scores(scene: Scene) -> None:
    solved = passed(scene.world, scene.text(scene.entry[1]["commits"][-1]))
    assert scene.fields() == {"scores": {task: [[f"{n}/1", f"{n}/1"]] for task, n in solved.items()}}


@shows("git blame -s skill/triage")
def _blame(scene: Scene) -> None:
    rows = [re.fullmatch(r"\^?([0-9a-f]+) +\d+\) ?(.*)", line) for line in scene.lines]
    known, person = brought(scene), scene.git("rev-parse", BRANCH)
    first = scene.git("rev-list", "--max-parents=0", BRANCH)
    assert [row and row[2] for row in rows] == scene.text().splitlines()
    for row in filter(None, rows):
        by = person if "and codes" in row[2] else known.get(row[2], (first, 0))[0]
        assert by.startswith(row[1]) or row[2] == ""


@shows("git blame -p skill/triage")
def _blamed(scene: Scene) -> None:
    steps = {scene.short(commit): step for commit, step in brought(scene).values()}
    shown = dict(re.findall(r"^([0-9a-f]+) step (\d*) by Test Person: .", scene.out, re.MULTILINE))
    assert len(shown) == len(scene.lines)
    assert {commit: int(step) for commit, step in shown.items() if step} == steps
    assert scene.short(BRANCH) in shown


@shows("-S'LINE'")
def _pickaxe(scene: Scene) -> None:
    commit = brought(scene)[scene.words["LINE"]][0]
    assert scene.lines == [scene.git("log", "-1", "--format=%h %s", commit)]


@shows("refs/skillgit/best/triage refs/skillgit/published/triage")
def _refs(scene: Scene) -> None:
    rows = {line.split()[0]: line.split()[1] for line in scene.lines}
    assert rows == {ref: scene.short(ref) for ref in ("refs/heads/main", BRANCH, BEST_REF)}


@shows("git rev-parse main:skills/triage/SKILL.md")
def _where(scene: Scene) -> None:
    assert scene.lines == [hashed(scene, scene.text(rev)) for rev in ("main", BRANCH, BEST_REF)]
    assert len(set(scene.lines)) == 3


@shows("(status|reason|step|epoch|accepted_count|rejected_count)")
def _state(scene: Scene) -> None:
    decisions = [entry["decision"] for _, entry in scene.journal(scene.run_id)]
    wanted = {
        "accepted_count": sum(decision.startswith("accept") for decision in decisions),
        "rejected_count": decisions.count("reject"),
    }
    shown = scene.fields()
    assert {key: shown[key] for key in wanted} == wanted
    assert (shown["status"], shown["reason"], shown["step"]) == ("running", "", 2)


@shows('git log --oneline "$(git show refs/skillgit/runs/triage/RUN:state.json')
def _unmeasured(scene: Scene) -> None:
    assert scene.lines == [f"{scene.short(BRANCH)} A better title"]


@shows("git for-each-ref refs/skillgit/rejected/triage | wc")
def _count(scene: Scene) -> None:
    assert int(scene.out) == len(rejected(scene)) == 3


@shows("git diff --stat main:")
def _released(scene: Scene) -> None:
    assert (scene.out == "") is (scene.text("main") == scene.text("main", BEST))


@shows("skillgit/locks/triage.lock")
def _lock(scene: Scene) -> None:
    assert scene.out == "" == (scene.root / f".git/skillgit/locks/{SKILL}.lock").read_text()


@shows('git grep -E \'^ "(best|val)"')
def _best_of_runs(scene: Scene) -> None:
    wanted = []
    for run in scene.runs:
        tip, state = scene.git("rev-parse", f"refs/skillgit/runs/{SKILL}/{run}"), scene.state(run)
        score = share(scene.world, scene.text(state["best_commit"]))
        wanted += [f'{tip}:state.json: "val": "{state["val"]}"', f'{tip}:step.json: "best": "{score}",']
    assert scene.lines == wanted


@shows("print calls, tokens}'")
def _costs(scene: Scene) -> None:
    costs = [entry["cost"] for _, entry in scene.journal(scene.run_id)]
    assert [int(word) for word in scene.out.split()] == [sum(c[key] for c in costs) for key in ("calls", "tokens")]


@shows('git notes --ref=skillgit show "$(git rev-parse refs/skillgit/best')
def _test_score(scene: Scene) -> None:
    (fact,) = [json.loads(line) for line in scene.lines]
    assert (fact["kind"], fact["split"], fact["target"]) == ("score", "test", "openai/sim")
    assert Fraction(fact["hard"]) == share(scene.world, scene.text(BEST_REF), "test")


@shows("git for-each-ref --sort=-committerdate")
def _by_day(scene: Scene) -> None:
    refs = scene.refs(f"refs/skillgit/rejected/{SKILL}/")
    wanted = {
        f"{repos.DATE[:10]} {ref.split('/', 4)[-1]} {scene.git('log', '-1', '--format=%s', oid)}"
        for ref, oid in refs.items()
    }
    assert set(scene.lines) == wanted
    assert {ref.split("/", 4)[-1] for ref in refs} == set(rejected(scene))


@shows("git log --no-walk --glob='refs/skillgit/rejected/triage/*'")
def _by_closeness(scene: Scene) -> None:
    shown = {ref.split("/", 4)[-1]: float(close) for close, ref in (line.split() for line in scene.lines)}
    wanted = {}
    for name, entry in rejected(scene).items():
        wanted[name] = Fraction(str(entry["maximum"] or entry["score"])) - Fraction(str(entry["before"]))
    assert shown == {name: round(float(close), 6) for name, close in wanted.items()}
    assert list(shown.values()) == sorted(shown.values(), reverse=True)


@shows("--grep='^skillgit journal: triage step [0-9]* reject$'")
def _by_reason(scene: Scene) -> None:
    assert sorted(scene.lines) == sorted(str(entry["reason"]) for entry in rejected(scene).values())
    assert len(set(scene.lines)) > 1


@shows("git log -p --format='%h %s%n%n%b' skill/triage..REJECTED")
def _one_rejected(scene: Scene) -> None:
    (entry,) = [e for name, e in rejected(scene).items() if name.startswith(scene.run_id)]
    for edit in entry["edits"]:
        assert edit["reason"] in scene.lines
        assert f"+{edit['content']}" in scene.lines
    assert sum(line.startswith("diff --git") for line in scene.lines) == len(entry["commits"])
    assert "Skill-Decision: reject" in scene.lines


@shows("""while read -r entry\ndo if git show""")
def _flipped(scene: Scene) -> None:
    task = scene.words["TASK"]
    entries = [c for c, e in scene.journal(scene.run_id) if task in (*e["gained"], *e["lost"])]
    assert scene.lines == [scene.git("log", "-1", "--format=%h %s", commit) for commit in entries]
    assert entries == [scene.entry[0]]


@shows("git bisect start ")
def _bisecting(scene: Scene) -> None:
    assert scene.git("rev-parse", "refs/bisect/solved") == scene.git("rev-parse", BEST_REF)


@shows("git bisect run ")
def _bisected(scene: Scene) -> None:
    line = scene.git("rev-list", "--first-parent", "--reverse", BEST_REF, f"^{V1}").split()
    first = next(c for c in line if passed(scene.world, scene.text(c))[scene.words["TASK"]])
    assert f"{first} is the first solved commit" in scene.lines
    assert first == scene.words["COMMIT"]


@shows("git bisect reset")
def _bisect_done(scene: Scene) -> None:
    assert scene.refs("refs/bisect/") == {}
    assert scene.git("symbolic-ref", "HEAD") == "refs/heads/main"


@shows("git log --first-parent --notes=skillgit")
def _attributed(scene: Scene) -> None:
    shown = re.findall(r"^([0-9a-f]+) .+\n(\{.*)$", scene.out, re.MULTILINE)
    facts = {commit: json.loads(text) for commit, text in shown}
    document = scene.text(BEST_REF)
    for content, (commit, _) in brought(scene).items():
        less = share(scene.world, document.replace(f"{content}\n", ""))
        falls = less < share(scene.world, document)
        fact = facts[scene.short(commit)]
        assert (fact["kind"], fact["effect"]) == ("attribution", "carries" if falls else "nothing")
