"""skillgit.yaml: what it accepts, what it refuses and how it says so, and that every key is one that does something."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import skillgit
from skillgit import config
from skillgit.config import Config, check_name, parse
from skillgit.errors import ConfigError

PACKAGE = Path(skillgit.__file__).parent
HEAD = "version: 1\nmodels: {target: openai/a, optimizer: anthropic/b}\nskills:\n"
SKILL = "  topics:\n    document: skills/topics/SKILL.md\n    env: envs/topics\n"
BASE = HEAD + SKILL


def refusal(text: str, *settings: tuple[str, str]) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text, overrides=[("topics", key, value) for key, value in settings])
    assert caught.value.mend, caught.value.message
    return str(caught.value)


def test_defaults() -> None:
    found = parse(BASE)
    skill = found.skill("topics")
    # Those of single keys are held to docs/skillopt.md and docs/configuration.md by test_docs_options.py.
    assert (skill.train.num_epochs, skill.train.batch_size, skill.train.seed) == (4, 40, 42)
    assert (skill.optimizer.learning_rate, skill.optimizer.min_learning_rate) == (4, 2)
    assert (skill.optimizer.lr_scheduler, skill.optimizer.rate_control) == ("cosine", "fixed")
    assert skill.merge.into is None
    assert found.limits.model_dump() == {"in_flight": 16, "timeout_s": 120.0, "hedge": True}
    assert found.model("topics", "target").model == "openai/a"


def test_the_example_of_the_docs_is_valid() -> None:
    page = (PACKAGE.parent / "docs/configuration.md").read_text(encoding="utf-8")
    example = page.split("```yaml\n")[1].split("```")[0]
    assert parse(example).skill("triage").train.num_epochs == 3


class TestFile:
    @pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n", "word\n", "1\n"])
    def test_not_a_mapping(self, text: str) -> None:
        assert refusal(text) == "skillgit.yaml:1: the file is not a mapping; see `skillgit init`"

    @pytest.mark.parametrize("version", ["true", "1.0", "'1'", "2", "0", "-1", "null"])
    def test_version_is_the_number_1(self, version: str) -> None:
        assert refusal(BASE.replace("version: 1", f"version: {version}")).startswith("skillgit.yaml:1: version: ")

    def test_version_is_required(self) -> None:
        assert refusal(BASE.replace("version: 1\n", "")) == "skillgit.yaml:1: 'version' is missing; add it"

    @pytest.mark.parametrize("form", ["\ufeff{}", "{}"])
    def test_windows_files(self, form: str) -> None:
        assert parse(form.format(BASE.replace("\n", "\r\n"))) == parse(BASE)

    def test_no_skills_yet(self) -> None:
        assert parse("version: 1\nskills: {}\n").skills == {}

    @pytest.mark.parametrize("skills", ["", "[topics]", "topics"])
    def test_skills_is_a_mapping(self, skills: str) -> None:
        assert refusal(f"version: 1\nskills: {skills}\n").startswith("skillgit.yaml:2: skills: not a mapping")


class TestUnknownKeys:
    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("    documnt: x", "unknown key 'skills.topics.documnt'; did you mean 'document'?"),
            ("    train: {batchsize: 3}", "unknown key 'skills.topics.train.batchsize'; did you mean 'batch_size'?"),
            ("    train: {zzz: 3}", "unknown key 'skills.topics.train.zzz'; known keys: accumulation, batch_size, "),
            ("    train: {<<: {seed: 1}}", "unknown key 'skills.topics.train.<<'; known keys: "),
            ("    models: {targt: openai/x}", "unknown key 'skills.topics.models.targt'; did you mean 'target'?"),
            (
                "    models: {judge: openai/x}",
                "unknown key 'skills.topics.models.judge'; known keys: optimizer, target",
            ),
            ("skils: {}", "unknown key 'skils'; did you mean 'skills'?"),
            ("limits: {in_flght: 1}", "unknown key 'limits.in_flght'; did you mean 'in_flight'?"),
        ],
    )
    def test_the_nearest_is_named(self, line: str, message: str) -> None:
        assert refusal(f"{BASE}{line}\n").startswith(f"skillgit.yaml:7: {message}")

    # SkillOpt has these, and skillgit has nothing for them to do (docs/skillopt.md): each is an error, never ignored.
    @pytest.mark.parametrize(
        ("section", "key"),
        [
            ("train", "steps_per_epoch: 4"),
            ("gradient", "analyst_workers: 16"),
            ("gradient", "max_analyst_rounds: 3"),
            ("optimizer", "meta_learning_rate: 4"),
            ("optimizer", "slow_update_gate_with_selection: true"),  # of evaluation here
            ("evaluation", "use_slow_update: true"),  # of optimizer
            ("models", "reasoning_effort: high"),
        ],
    )
    def test_what_has_no_effect_is_refused(self, section: str, key: str) -> None:
        name = key.partition(":")[0]
        message = refusal(f"{BASE}    {section}: {{{key}}}\n")
        assert message.startswith(f"skillgit.yaml:7: unknown key 'skills.topics.{section}.{name}'; ")

    @pytest.mark.parametrize("section", ["train", "gradient", "optimizer", "evaluation", "merge", "models"])
    def test_every_section_refuses_what_it_does_not_know(self, section: str) -> None:
        message = refusal(f"{BASE}    {section}: {{qqqq: 1}}\n")
        assert message.startswith(f"skillgit.yaml:7: unknown key 'skills.topics.{section}.qqqq'; known keys: ")


class TestValues:
    @pytest.mark.parametrize(
        "setting",
        [
            "train: {batch_size: true}",
            "train: {batch_size: '4'}",
            "train: {batch_size: 4.0}",
            "train: {batch_size: 0}",
            "train: {batch_size: 1000001}",
            "train: {batch_size: 010}",
            "train: {batch_size: 1_0}",
            "train: {batch_size: 1:30}",
            "train: {num_epochs: -1}",
            "train: {seed: }",
            "train: {seed: yes}",
            "train:",
            "train: [1]",
            "gradient: {minibatch_size: 0}",
            "gradient: {failure_only: 1}",
            "gradient: {prompts: short}",
            "optimizer: {learning_rate: 0}",
            "optimizer: {lr_scheduler: cosin}",
            "optimizer: {learning_rate: 1, min_learning_rate: 2}",
            "optimizer: {min_learning_rate: 5}",
            "evaluation: {racing: no}",
            "evaluation: {racing: 0}",
            "evaluation: {min_coverage: 0}",
            "evaluation: {min_coverage: 1.1}",
            "evaluation: {min_coverage: .nan}",
            "evaluation: {min_coverage: .inf}",
            "evaluation: {min_coverage: true}",
            "evaluation: {repeats: 0}",
            "evaluation: {gate_metric: mix}",
            "evaluation: {gate_mode: Paired}",
            "evaluation: {gate_mixed_weight: 1.5}",
            "evaluation: {z: -1}",
            "evaluation: {epsilon: .nan}",
            "evaluation: {sel_env_num: -1}",
            "evaluation: {use_gate: 1}",
            "evaluation: {semantic_density: 2}",
            "train: {parent: best}",
            "train: {accumulation: 0}",
            "train: {patience: -1}",
            "train: {train_size: all}",
            "gradient: {merge_batch_size: 1}",
            "gradient: {proposer: Model}",
            "optimizer: {lr_control_mode: auto}",
            "optimizer: {skill_update_mode: rewrite}",
            "optimizer: {proposals: 17}",
            "optimizer: {longitudinal_pair_policy: all}",
            "optimizer: {skill_aware_appendix_source: none}",
            "optimizer: {max_growth: -0.5}",
            "merge: {into: 1.2}",
            "merge: {into: true}",
            "merge:",
        ],
    )
    def test_wrong_ones_name_their_line_and_section(self, setting: str) -> None:
        section = setting.partition(":")[0]
        assert refusal(f"{BASE}    {setting}\n").startswith(f"skillgit.yaml:7: skills.topics.{section}")

    @pytest.mark.parametrize(
        "limits",
        ["{in_flight: 0}", "{in_flight: 1.5}", "{timeout_s: 0}", "{timeout_s: .inf}", "{timeout_s: .nan}", "[]", ""],
    )
    def test_wrong_limits(self, limits: str) -> None:
        assert refusal(f"{BASE}limits: {limits}\n").startswith("skillgit.yaml:7: limits")

    def test_whole_numbers_are_numbers(self) -> None:
        found = parse(f"{BASE}    evaluation: {{min_coverage: 1}}\nlimits: {{timeout_s: 3}}\n")
        assert (found.skill("topics").evaluation.min_coverage, found.limits.timeout_s) == (1.0, 3.0)

    def test_a_learning_rate_below_the_default_minimum_is_fine(self) -> None:
        assert parse(f"{BASE}    optimizer: {{learning_rate: 1}}\n").skill("topics").optimizer.learning_rate == 1

    def test_duplicate_keys(self) -> None:
        assert refusal(f"{BASE}    train: {{seed: 1, seed: 2}}\n").startswith("skillgit.yaml:7: the key 'seed' stands")
        assert refusal(BASE + SKILL).startswith("skillgit.yaml:7: the key 'topics' stands twice")


REWRITES = (
    "optimizer.skill_update_mode=rewrite_from_suggestions",
    "optimizer.skill_update_mode=full_rewrite_minibatch",
)
NOTES = "optimizer.use_skill_aware_reflection=true"
CLASHES = [
    *((mode, f"gradient.proposer={name}") for mode in REWRITES for name in ("examples", "both", "mine")),
    *((NOTES, mode) for mode in REWRITES),
    *(("train.one_shot=true", other) for other in (*REWRITES, NOTES)),
    *(("train.one_shot=true", f"gradient.proposer={name}") for name in ("examples", "both", "mine")),
    *((NOTES, f"gradient.proposer={name}") for name in ("examples", "mine")),
    (NOTES, "gradient.prompts=compact"),
    *((f"optimizer.{key}=autonomous", other) for key in ("lr_scheduler", "lr_control_mode") for other in (
        "gradient.proposer=examples", "gradient.prompts=compact", REWRITES[1])),
]  # fmt: skip
"""Of the two settings one would do nothing."""
PAIRS = [
    (NOTES, "gradient.proposer=both"),
    (REWRITES[0], "optimizer.lr_scheduler=autonomous"),
    (REWRITES[0], "gradient.prompts=compact"),
    ("optimizer.lr_control_mode=autonomous", "gradient.proposer=mine"),
    ("gradient.proposer=examples", "optimizer.lr_control_mode=none"),
]


class TestTogether:
    @pytest.mark.parametrize(("one", "other"), CLASHES)
    def test_what_would_do_nothing_is_refused_by_name(self, one: str, other: str) -> None:
        said = refusal(BASE, *([key, value] for key, _, value in (each.partition("=") for each in (one, other))))
        for each in (one, other):
            key, _, value = each.partition("=")
            assert f"{key} {value}" in said or (value == "true" and key in said)
            assert key.rpartition(".")[2] in said.partition("; set ")[2]
        lines = "".join(_lines(each) for each in (one, other)) if one.split(".")[0] != other.split(".")[0] else ""
        assert not lines or refusal(BASE + lines).startswith("skillgit.yaml:4: skills.topics: ")

    @pytest.mark.parametrize(("one", "other"), PAIRS)
    def test_what_works_together(self, one: str, other: str) -> None:
        assert parse(BASE, overrides=[("topics", *each.split("=")) for each in (one, other)])  # type: ignore[misc]


def _lines(setting: str) -> str:
    key, _, value = setting.partition("=")
    section, _, name = key.partition(".")
    return f"    {section}: {{{name}: {value}}}\n"


class TestNames:
    @pytest.mark.parametrize("name", ["a", "7", "a-b", "a--b", "no", "on", "2026-01-02", "c3po", "com10", "a" * 64])
    def test_good_ones(self, name: str) -> None:
        text = BASE.replace("  topics:", f"  '{name}':")
        assert list(parse(text).skills) == [name]
        check_name(name)

    @pytest.mark.parametrize("name", ["no", "on", "2026-01-02", "0x10"])
    def test_what_yaml_1_1_would_not_read_as_a_name(self, name: str) -> None:
        assert list(parse(BASE.replace("  topics:", f"  {name}:")).skills) == [name]

    @pytest.mark.parametrize(
        "name",
        [
            "con",
            "nul",
            "prn",
            "aux",
            "com1",
            "lpt9",
            "lpt0",
            "Topics",
            "naïve",
            "ａ",
            "技能",
            "-a",
            "a-",
            "a_b",
            "a.b",
            "a/b",
            "a b",
            "..",
            "",
            " a",
            "a\\n",
            "a\\0",
            "a.lock",
            "a" * 65,
            "٣",
        ],
    )
    def test_bad_ones(self, name: str) -> None:
        message = refusal(BASE.replace("  topics:", f'  "{name}":'))
        assert message.startswith("skillgit.yaml:4: skills.")
        assert "is no skill name: lower-case letters, digits and inner hyphens, at most 64, no device name" in message

    @pytest.mark.parametrize("name", ["12", "true", "null", "~", "1e3"])
    def test_names_that_yaml_reads_as_something_else(self, name: str) -> None:
        assert refusal(BASE.replace("  topics:", f"  {name}:")) == (
            f"skillgit.yaml:4: the key {name!r} is not a text; put it in quotes"
        )

    @given(st.from_regex(config.NAME_PATTERN, fullmatch=True) | st.text(max_size=8))
    def test_a_name_can_stand_in_a_ref_and_in_a_file(self, name: str) -> None:
        try:
            check_name(name)
        except ValueError:
            return
        assert name.isascii()
        assert name == name.lower()
        assert 1 <= len(name) <= 64
        assert not set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789-")


class TestDocument:
    @pytest.mark.parametrize(
        ("path", "posix"),
        [
            ("SKILL.md", "SKILL.md"),
            ("a/SKILL.md", "a/SKILL.md"),
            ("./a//SKILL.md", "a/SKILL.md"),
            ("a\\\\SKILL.md", "a/SKILL.md"),
            ("技能/é.md", "技能/é.md"),
            ("a b/c d.md", "a b/c d.md"),
            (".claude/skills/x/SKILL.md", ".claude/skills/x/SKILL.md"),
            ("a..b/..c.md", "a..b/..c.md"),
        ],
    )
    def test_good_ones(self, path: str, posix: str) -> None:
        text = BASE.replace("skills/topics/SKILL.md", f'"{path}"')
        assert parse(text).skill("topics").document == posix

    @pytest.mark.parametrize(
        "path",
        [
            "",
            " ",
            "/etc/x.md",
            "../x.md",
            "a/../x.md",
            "a/../../x.md",
            "C:\\\\x.md",
            "C:/x.md",
            "c:x.md",
            "\\\\\\\\srv\\\\x",
            "a/",
            ".",
            "./",
            "a\\n.md",
            "a\\0b",
            "\\u202ea.md",
            " a.md",
            ".git/x.md",
            "a/.GIT/x.md",
            "a/best_skill.md",
        ],
    )
    def test_bad_ones(self, path: str) -> None:
        text = BASE.replace("skills/topics/SKILL.md", f'"{path}"')
        assert refusal(text).startswith("skillgit.yaml:5: skills.topics.document: ")

    def test_both_are_required(self) -> None:
        text = HEAD + "  topics:\n    document: a.md\n"
        assert refusal(text) == "skillgit.yaml:4: 'skills.topics.env' is missing; add it"
        assert refusal(HEAD + "  topics:\n") == (
            "skillgit.yaml:4: skills.topics: not a mapping; write keys below it, or remove the line"
        )

    @pytest.mark.parametrize("env", ['""', '" "', '"a\\0b"', "1", '"a\\nb"'])
    def test_env_is_a_path(self, env: str) -> None:
        assert refusal(BASE.replace("envs/topics", env)).startswith("skillgit.yaml:6: skills.topics.env: ")


BRANCHES = ["main", "no", "2026-01-02", "a/b", "feature/x-1", "träume", "@a", "a@b", "skill/other", "#1", "v1.0"]
NO_BRANCHES = ["", " ", "a b", "-x", "a..b", "a~b", "a^b", "a:b", "a?b", "a*b", "a[b", "a\\\\b", "/a", "a/", "a//b"]
NO_BRANCHES += ["a.lock", "a.lock/b", ".a", "a/.b", "a.", "@", "a@{b", "a\\nb", "a\\0b"]  # git itself wavers about "@"


class TestMergeInto:
    @pytest.mark.parametrize("name", BRANCHES)
    def test_good_ones(self, name: str) -> None:
        assert parse(f'{BASE}    merge: {{into: "{name}"}}\n').skill("topics").merge.into == name

    @pytest.mark.parametrize("name", [*NO_BRANCHES, "refs/heads/main"])
    def test_bad_ones(self, name: str) -> None:
        message = refusal(f'{BASE}    merge: {{into: "{name}"}}\n')
        assert message.startswith("skillgit.yaml:7: skills.topics.merge.into: ")

    @pytest.mark.parametrize("name", [*BRANCHES, *(n for n in NO_BRANCHES if "\\" not in n and n != "@")])
    def test_git_is_of_the_same_mind(self, name: str, tmp_path: Path) -> None:
        asked = ["git", "check-ref-format", "--branch", name]
        done = subprocess.run(asked, cwd=tmp_path, capture_output=True, check=False)
        assert (done.returncode == 0) == (name in BRANCHES)


class TestModels:
    @pytest.mark.parametrize(
        "spec", ["openai/a", "openai/org/a:1", "local/my models/x.gguf", "local//abs/x.gguf", "other/x"]
    )
    def test_good_ones(self, spec: str) -> None:
        found = parse(BASE.replace("openai/a", f'"{spec}"'))
        assert found.model("topics", "target").model == spec

    @pytest.mark.parametrize(
        "spec",
        [
            "openai",
            "openai/",
            "/a",
            "''",
            "1",
            "true",
            "' openai/a'",
            "'openai/a '",
            '"openai/a\\nb"',
            '"openai/ a"',
            "[openai/a]",
            "{}",
            "{model: a}",
            "{temperature: 1}",
        ],
    )
    def test_bad_ones(self, spec: str) -> None:
        assert refusal(BASE.replace("openai/a", spec)).startswith("skillgit.yaml:2: ")

    @pytest.mark.parametrize(
        "more", ["temperature: 3", "temperature: -1", "temperature: .nan", "max_tokens: 0", "temprature: 1"]
    )
    def test_bad_settings(self, more: str) -> None:
        text = BASE.replace("openai/a", f"{{model: openai/a, {more}}}")
        assert "models.target.temp" in refusal(text) or "models.target.max_tokens" in refusal(text)

    def test_a_skill_may_have_its_own(self) -> None:
        found = parse(f"{BASE}    models: {{target: {{model: local/x, temperature: 1}}}}\n")
        assert found.model("topics", "target").model == "local/x"
        assert found.model("topics", "target").temperature == 1.0
        assert found.model("topics", "optimizer").model == "anthropic/b"

    def test_a_role_without_a_model(self) -> None:
        found = parse(BASE.replace(", optimizer: anthropic/b", ""))
        with pytest.raises(ConfigError) as caught:
            found.model("topics", "optimizer")
        assert str(caught.value) == (
            "skillgit.yaml: no optimizer model for 'topics'; set models.optimizer to provider/model"
        )


def test_an_unknown_skill_names_the_nearest() -> None:
    found = parse(BASE)
    for name, mend in (("topic", "did you mean 'topics'?"), ("zzz", "known skills: topics")):
        with pytest.raises(ConfigError) as caught:
            found.skill(name)
        assert str(caught.value) == f"skillgit.yaml: no skill {name!r}; {mend}"
    with pytest.raises(ConfigError, match="known skills: none"):
        parse("version: 1\nskills: {}\n").skill("a")


class TestSet:
    def test_it_wins_over_file_and_default(self) -> None:
        settings = [
            ("train.seed", "7"),
            ("train.batch_size", "2"),
            ("evaluation.racing", "false"),
            ("merge.into", "no"),
        ]
        text = f"{BASE}    train: {{num_epochs: 3, seed: 1}}\n"
        found = parse(text, overrides=[("topics", *setting) for setting in settings]).skill("topics")
        assert found.train.model_dump(exclude_unset=True) == {"num_epochs": 3, "seed": 7, "batch_size": 2}
        assert found.train.accumulation == 1
        assert (found.evaluation.racing, found.merge.into) == (False, "no")

    def test_the_last_one_counts(self) -> None:
        both = [("topics", "train.seed", "7"), ("topics", "train.seed", "8")]
        assert parse(BASE, overrides=both).skill("topics").train.seed == 8

    def test_models(self) -> None:
        change = ("topics", "models.target", "{model: openai/z, temperature: 1}")
        found = parse(BASE, overrides=[change])
        assert (found.model("topics", "target").model, found.model("topics", "target").temperature) == ("openai/z", 1.0)
        assert found.model("topics", "optimizer").model == "anthropic/b"

    def test_another_skill_stays_as_it_is(self) -> None:
        text = BASE + SKILL.replace("topics", "other")
        found = parse(text, overrides=[("topics", "train.seed", "7")])
        assert (found.skill("topics").train.seed, found.skill("other").train.seed) == (7, 42)

    @pytest.mark.parametrize(
        ("key", "value", "message"),
        [
            ("train.seed", "yes", "train.seed: input should be a valid integer; write a whole number"),
            ("train.seed", "", "train.seed: input should be a valid integer; write a whole number"),
            ("train.seed", "{", "the value is not valid YAML; quote it"),
            ("train.seed", "*a", "the value is not valid YAML; quote it"),
            ("train.seed", "!!python/none x", "the value is not valid YAML; quote it"),
            ("train.sed", "7", "unknown key 'train.sed'; did you mean 'seed'?"),
            ("trian.seed", "7", "unknown section 'trian'; did you mean 'train'?"),
            ("limits.in_flight", "7", "unknown section 'limits'; known sections: models, train, gradient, "),
            ("document.x", "7", "unknown section 'document'; known sections: "),
            ("seed", "7", "write section.key=value; for example train.num_epochs=2"),
            ("train.", "7", "write section.key=value; for example train.num_epochs=2"),
            (".seed", "7", "write section.key=value; for example train.num_epochs=2"),
            ("train.seed.x", "7", "write section.key=value; for example train.num_epochs=2"),
            ("optimizer.min_learning_rate", "9", "optimizer: min_learning_rate is above learning_rate"),
            ("evaluation.gate_mode", "Paired", "evaluation.gate_mode: 'Paired' is no name: lower-case letters, "),
            ("train.parent", "best", "train.parent: input should be 'tip' or 'pareto'; correct the value"),
        ],
    )
    def test_mistakes(self, key: str, value: str, message: str) -> None:
        assert refusal(BASE, (key, value)).startswith(f"--set {key}={value}: {message}")

    def test_those_of_a_command_count_together(self) -> None:
        """In either order, over a file that each of them alone would clash with."""
        text = f"{BASE}    optimizer: {{skill_update_mode: full_rewrite_minibatch, learning_rate: 3}}\n"
        both = [("optimizer.skill_update_mode", "patch"), ("gradient.proposer", "examples")]
        rates = [("optimizer.min_learning_rate", "5"), ("optimizer.learning_rate", "6")]
        for chosen in (both, both[::-1], rates, rates[::-1]):
            found = parse(text, overrides=[("topics", *one) for one in chosen]).skill("topics")
            assert found.gradient.proposer == ("examples" if chosen[0] in both else "model")
        assert refusal(text, both[1]) == (
            "--set gradient.proposer=examples: gradient.proposer examples does nothing with"
            " optimizer.skill_update_mode full_rewrite_minibatch; set proposer: model or skill_update_mode: patch"
        )

    def test_an_unknown_skill(self) -> None:
        with pytest.raises(ConfigError, match="no skill 'topic'; did you mean 'topics'"):
            parse(BASE, overrides=[("topic", "train.seed", "7")])


def leaves(model: type[BaseModel]) -> Iterator[str]:
    """The names of all keys below a model."""
    for name, field in model.model_fields.items():
        arguments = [field.annotation, *getattr(field.annotation, "__args__", ())]
        inner = next((a for a in arguments if isinstance(a, type) and issubclass(a, BaseModel)), None)
        yield name
        if inner is not None:
            yield from leaves(inner)


def attributes_read() -> set[str]:
    """Every attribute name that the package's code reads, outside of config.py; and what a property of config.py that
    is read there reads in turn."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        if path != PACKAGE / "config.py":
            found |= attributes_of(ast.parse(path.read_text(encoding="utf-8")))
    for node in ast.walk(ast.parse((PACKAGE / "config.py").read_text(encoding="utf-8"))):
        decorators = [ast.unparse(d) for d in node.decorator_list] if isinstance(node, ast.FunctionDef) else []
        if isinstance(node, ast.FunctionDef) and "property" in decorators and node.name in found:
            found |= attributes_of(node)
    return found


def attributes_of(tree: ast.AST) -> set[str]:
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def test_every_key_is_read_by_the_code_and_named_in_the_docs() -> None:
    keys = set(leaves(Config)) - {"version", "target", "optimizer"}
    assert {"racing", "in_flight", "max_tokens"} <= keys
    assert keys - attributes_read() <= {"models"}, "a key without an effect"
    page = (PACKAGE.parent / "docs/configuration.md").read_text(encoding="utf-8")
    assert [
        key for key in sorted(keys) if f"{key}`" not in page and f"`{key}:" not in page and f"`{key}." not in page
    ] == []


def test_two_documents_in_one_folder_would_share_a_best_skill_file() -> None:
    text = "version: 1\nskills:\n  a: {document: p/a.md, env: e}\n  b: {document: p/b.md, env: e}\n"
    with pytest.raises(ConfigError, match=r"'a' and 'b' lie in one folder"):
        config.parse(text)
    same = config.parse(text.replace("p/b.md", "p/a.md"))
    assert set(same.skills) == {"a", "b"}
