"""skillgit.yaml: the one configuration file, read strictly (DESIGN, section 5).

Settings carry SkillOpt's names; where a default differs, docs/skillopt.md says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from skillgit import strictyaml
from skillgit.errors import ConfigError

FILE_NAME = "skillgit.yaml"
BEST_FILE = "best_skill.md"
NAME_PATTERN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
# Device names that Windows cannot have as a file; refs are files.
_RESERVED = {"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(10))}


def check_name(name: str) -> str:
    """A skill's name as it may stand in a ref (DESIGN, section 2).

    Raises:
        ValueError: with the rule in words.
    """
    if not NAME_PATTERN.fullmatch(name) or len(name) > 64 or name in _RESERVED:
        rule = "lower-case letters, digits and inner hyphens, at most 64, no device name"
        raise ValueError(f"{name!r} is no skill name: {rule}")
    return name


def _document(path: str) -> str:
    """A file of the repository, in POSIX form, that stays inside it."""
    posix = path.replace("\\", "/")
    pure = PurePosixPath(posix)
    if not path.strip() or pure.is_absolute() or ".." in pure.parts or re.match(r"[A-Za-z]:", path):
        raise ValueError(f"{path!r} does not lie inside the repository")
    if not path.isprintable() or path != path.strip() or posix.endswith("/") or not pure.name:
        raise ValueError(f"{path!r} is no file name")
    if any(part.lower() == ".git" for part in pure.parts):
        raise ValueError(f"{path!r} lies in git's own folder")
    if pure.name.casefold() == BEST_FILE:  # file systems that fold case keep only one of the two
        raise ValueError(f"{BEST_FILE} is what a merge writes beside the document; name the document itself")
    return str(pure)


def _env(spec: str) -> str:
    """A path in the repository or `builtin/<name>`; what it leads to is looked at when it is loaded."""
    if not spec.strip() or not spec.isprintable():
        raise ValueError(f"{spec!r} is no path")
    return spec


def _branch(name: str) -> str:
    """A branch's short name, as `git check-ref-format --branch` takes it."""
    if name.startswith("refs/"):
        raise ValueError(f"{name!r} is a whole ref; write the branch's short name, such as main")
    parts = name.split("/")
    odd = re.search(r"[\s~^:?*\[\\]|\.\.|@\{|^-|^@$", name)
    if (
        odd
        or not name.isprintable()
        or not all(part and not part.startswith(".") and not part.endswith((".", ".lock")) for part in parts)
    ):
        raise ValueError(f"{name!r} is no branch name")
    return name


def _model_name(spec: str) -> str:
    provider, slash, model = spec.partition("/")
    tidy = spec.isprintable() and [provider, model] == [provider.strip(), model.strip()]
    if not (slash and provider and model and tidy):
        example = "openai/gpt-5.5-mini or local/qwen2.5-coder-0.5b"
        raise ValueError(f"{spec!r} is no model: write provider/model, for example {example}")
    return spec


Count = Annotated[int, Field(ge=1, le=1_000_000)]
OrNone = Annotated[int, Field(ge=0, le=1_000_000)]
"""A count where 0 turns the rule off."""


def _plugin(name: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,63}", name):
        raise ValueError(f"{name!r} is no name: lower-case letters, digits, _ and -")
    return name


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


class ModelSettings(_Strict):
    """A model and what changes its replies; in the file also just `provider/model`."""

    model: Annotated[str, AfterValidator(_model_name)]
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Count | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        if not isinstance(value, (str, Mapping, ModelSettings)):
            raise ValueError("not a model: write provider/model, or a mapping with model, temperature and max_tokens")
        return {"model": value} if isinstance(value, str) else value


class Models(_Strict):
    """The roles. A skill's own entry wins over the file's."""

    target: ModelSettings | None = None
    optimizer: ModelSettings | None = None


class TrainSettings(_Strict):
    num_epochs: Count = 4
    train_size: OrNone = 0
    """Train tasks that a run uses, a seeded choice; 0 for all."""
    batch_size: Count = 40
    accumulation: Count = 1
    """Mini-batches whose proposals make one step."""
    seed: int = 42
    patience: OrNone = 0
    """Steps in a row without an accepted candidate after which a run ends; 0 for no such end."""
    speculate: bool = True
    """Roll the next mini-batch out while the gate runs, on the document that the gate seems to decide for."""
    one_shot: bool = False
    """A baseline: one step that rewrites the whole document from all train tasks, gated like any other."""
    parent: Literal["tip", "pareto"] = "tip"
    """What a step starts from: the branch's tip, or a document that is best on some val tasks."""


class GradientSettings(_Strict):
    minibatch_size: Count = 8
    merge_batch_size: Annotated[int, Field(ge=2, le=1_000_000)] = 8
    """Conflicting proposals that one optimizer call merges."""
    failure_only: bool = False
    success_minibatches: OrNone = 1
    """Minibatches of successes that a step reflects on, where failures leave room in its budget; 0 for all, always."""
    proposer: Annotated[str, AfterValidator(_plugin)] = "model"
    """`model`, `examples` (failed tasks with their answers, no model call), `both`, or an installed plugin's name."""
    prompts: Literal["auto", "full", "compact"] = "auto"
    """`compact` is the form that small local models can follow; `auto` takes it for `local/` optimizers."""


class OptimizerSettings(_Strict):
    learning_rate: Count = 4
    min_learning_rate: Count = 2
    lr_scheduler: Literal["constant", "linear", "cosine", "autonomous"] = "cosine"
    lr_control_mode: Literal["fixed", "autonomous", "none"] = "fixed"
    """`fixed`: the scheduler; `autonomous`: the optimizer chooses each step's budget; `none`: no budget."""
    skill_update_mode: Literal["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"] = "patch"
    proposals: Annotated[int, Field(ge=1, le=16)] = 1
    """Candidates of a step; the gate takes the best."""
    use_slow_update: bool = True
    slow_update_samples: Count = 20
    longitudinal_pair_policy: Literal["mixed", "changed", "unchanged"] = "mixed"
    use_meta_skill: bool = True
    use_skill_aware_reflection: bool = False
    skill_aware_appendix_source: Literal["both", "failure", "success"] = "both"
    skill_aware_consolidate_threshold: OrNone = 0
    """Notes in the appendix above which the optimizer shortens it; 0 for never."""
    max_tokens: OrNone = 0
    """The document's length budget in tokens (four characters each); 0 for none."""
    max_growth: Annotated[float, Field(ge=0, le=1000)] = 0.0
    """How far a document may grow in one run, as a share of its length at the start; 0 for no limit."""

    @model_validator(mode="after")
    def _ordered(self) -> OptimizerSettings:
        if self.min_learning_rate > self.learning_rate and "min_learning_rate" in self.model_fields_set:
            raise ValueError("min_learning_rate is above learning_rate")
        return self

    @property
    def rate_control(self) -> Literal["fixed", "autonomous", "none"]:
        """Who chooses a step's budget. A full rewrite has none (SkillOpt's `engine/trainer.py`)."""
        if self.skill_update_mode == "full_rewrite_minibatch":
            return "none"
        return "autonomous" if self.lr_scheduler == "autonomous" else self.lr_control_mode


class EvaluationSettings(_Strict):
    use_gate: bool = True
    """Without it every candidate is measured and then accepted; best is still the best measured one."""
    gate_mode: Annotated[str, AfterValidator(_plugin)] = "strict"
    """`strict`, `paired`, `margin`, or the name of an installed plugin."""
    gate_metric: Literal["hard", "soft", "mixed"] = "hard"
    gate_mixed_weight: Annotated[float, Field(ge=0, le=1)] = 0.5
    """The weight of `soft` in the `mixed` metric."""
    z: Annotated[float, Field(ge=0, le=100)] = 2.0
    """Standard errors that the `paired` gate asks for."""
    epsilon: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The lead that the `margin` gate asks for."""
    no_regression: bool = False
    min_coverage: Annotated[float, Field(gt=0, le=1)] = 0.9
    repeats: Count = 1
    racing: bool = True
    sel_env_num: OrNone = 0
    """Val tasks that the gate measures on, a seeded choice; 0 for all."""
    eval_test: bool = False
    """Score the first and the best document on test at the end of a run."""
    test_env_num: OrNone = 0
    """Test tasks that `eval_test` scores, a seeded choice; 0 for all."""
    slow_update_gate_with_selection: bool = True
    """Gate the slow update as any candidate; without it, it is forced, and then measured."""
    semantic_density: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The least share of a candidate's new words that carry meaning; 0 for no such rule."""


class MergeSettings(_Strict):
    into: Annotated[str, AfterValidator(_branch)] | None = None


class SkillSettings(_Strict):
    """One entry under `skills:`."""

    document: Annotated[str, AfterValidator(_document)]
    env: Annotated[str, AfterValidator(_env)]
    models: Models = Models()
    train: TrainSettings = TrainSettings()
    gradient: GradientSettings = GradientSettings()
    optimizer: OptimizerSettings = OptimizerSettings()
    evaluation: EvaluationSettings = EvaluationSettings()
    merge: MergeSettings = MergeSettings()

    @model_validator(mode="after")
    def _together(self) -> SkillSettings:
        """Two settings of which one would do nothing beside the other are refused, and the message names both."""
        clash = next(_clashes(self), None)
        if clash is not None:
            raise ValueError(clash)
        return self


def _clashes(chosen: SkillSettings) -> Iterator[str]:
    """Each as `what does nothing with what; which of the two to change`.

    Rewrites are the optimizer's alone. Notes come with the edits that a model proposes by the full prompts; whole
    rewrites have no rate, and worked examples and compact prompts ask nobody for one.
    """
    train, gradient, optimizer = chosen.train, chosen.gradient, chosen.optimizer
    proposer, mode, whole = gradient.proposer, optimizer.skill_update_mode, optimizer.skill_update_mode != "patch"
    by, how, short = f"gradient.proposer {proposer}", f"optimizer.skill_update_mode {mode}", "gradient.prompts compact"
    model, patch, full, many = "proposer: model", "skill_update_mode: patch", "prompts: full", "one_shot: false"
    compact, modelled, examples = gradient.prompts == "compact", proposer in ("model", "both"), proposer == "examples"
    noted, notes = optimizer.use_skill_aware_reflection, "use_skill_aware_reflection"
    key = "lr_control_mode" if optimizer.lr_control_mode == "autonomous" else "lr_scheduler"
    rated, rate, fixed = "autonomous" in (optimizer.lr_control_mode, optimizer.lr_scheduler), f"{key} autonomous", key
    for clash, one, other, mend in (
        (train.one_shot and proposer != "model", by, "train.one_shot", f"{model} or {many}"),
        (train.one_shot and whole, how, "train.one_shot", f"{patch} or {many}"),
        (whole and proposer != "model", by, how, f"{model} or {patch}"),
        (noted and train.one_shot, f"optimizer.{notes}", "train.one_shot", f"{notes}: false or {many}"),
        (noted and whole, f"optimizer.{notes}", how, f"{notes}: false or {patch}"),
        (noted and not modelled, f"optimizer.{notes}", by, f"{notes}: false or {model}"),
        (noted and compact, f"optimizer.{notes}", short, f"{notes}: false or {full}"),
        (rated and mode == "full_rewrite_minibatch", f"optimizer.{rate}", how, f"another {fixed} or {patch}"),
        (rated and examples, f"optimizer.{rate}", by, f"another {fixed} or {model}"),
        (rated and compact and not whole, f"optimizer.{rate}", short, f"another {fixed} or {full}"),
    ):
        if clash:
            yield f"{one} does nothing with {other}; set {mend}"


SECTIONS = tuple(name for name in SkillSettings.model_fields if name not in ("document", "env"))
"""What `--set` may change."""


class Limits(_Strict):
    """Per endpoint."""

    in_flight: Count = 16
    timeout_s: Annotated[float, Field(gt=0, le=86_400)] = 120.0
    hedge: bool = True
    """Send a hosted model's call once more where it takes a multiple of the usual time; the first answer counts."""


def _version(number: int) -> int:
    if number != 1:
        raise ValueError(f"{number} is not known to this skillgit, which reads version 1")
    return number


class Config(_Strict):
    """The whole file."""

    version: Annotated[int, AfterValidator(_version)]
    models: Models = Models()
    skills: dict[Annotated[str, AfterValidator(check_name)], SkillSettings]
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _own_folders(self) -> Config:
        """`best_skill.md` lies beside the document: two documents of one folder would overwrite each other's."""
        seen: dict[PurePosixPath, tuple[str, str]] = {}
        for name, settings in self.skills.items():
            other, document = seen.setdefault(PurePosixPath(settings.document).parent, (name, settings.document))
            if document != settings.document:
                raise ValueError(f"the documents of {other!r} and {name!r} lie in one folder; give each its own")
        return self

    def skill(self, name: str) -> SkillSettings:
        """Settings of one skill.

        Raises:
            ConfigError: no such skill; names the nearest.
        """
        if name in self.skills:
            return self.skills[name]
        meant = strictyaml.nearest(name, list(self.skills))
        mend = f"did you mean {meant!r}?" if meant else f"known skills: {', '.join(sorted(self.skills)) or 'none'}"
        raise ConfigError(f"{FILE_NAME}: no skill {name!r}", mend=mend)

    def model(self, name: str, role: Literal["target", "optimizer"]) -> ModelSettings:
        """The model of a role for a skill.

        Raises:
            ConfigError: the role has none.
        """
        chosen = getattr(self.skill(name).models, role) or getattr(self.models, role)
        if chosen is None:
            raise ConfigError(f"{FILE_NAME}: no {role} model for {name!r}", mend=f"set models.{role} to provider/model")
        return chosen  # type: ignore[no-any-return]


def parse(text: str, where: str = FILE_NAME, overrides: Iterable[tuple[str, str, str]] = ()) -> Config:
    """Read the configuration.

    Args:
        overrides: `--set` as (skill, `section.key`, YAML value); they win over the file.

    Raises:
        ConfigError: names file, line and key.
    """
    value, lines = strictyaml.load(text, where)
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}:1: the file is not a mapping", mend="see `skillgit init`")
    config = strictyaml.validate(Config, value, where, lines)
    # Those of one skill count together: what clashes with the file alone may be right with the next one.
    together: dict[str, list[tuple[str, str]]] = {}
    for skill, key, raw in overrides:
        together.setdefault(skill, []).append((key, raw))
    for skill, chosen in together.items():
        config = _override(config, skill, chosen)
    return config


def _override(config: Config, skill: str, chosen: Sequence[tuple[str, str]]) -> Config:
    # Only what the file set is dumped, so that validators see what a person chose and what is a default.
    entry = config.skill(skill).model_dump(exclude_unset=True)
    for key, raw in chosen:
        section, name, value = _set(key, raw)
        entry[section] = {**entry.get(section, {}), name: value}
    where = " ".join(f"--set {key}={raw}" for key, raw in chosen)
    settings = strictyaml.validate(SkillSettings, entry, where, None)
    return config.model_copy(update={"skills": {**config.skills, skill: settings}})


def _set(key: str, raw: str) -> tuple[str, str, Any]:
    """One override: section, name and value."""
    where = f"--set {key}={raw}"
    section, _, name = key.partition(".")
    if not (section and name) or "." in name:
        raise ConfigError(f"{where}: write section.key=value", mend="for example train.num_epochs=2")
    if section not in SECTIONS:
        meant = strictyaml.nearest(section, list(SECTIONS))
        mend = f"did you mean {meant!r}?" if meant else f"known sections: {', '.join(SECTIONS)}"
        raise ConfigError(f"{where}: unknown section {section!r}", mend=mend)
    try:
        value, _ = strictyaml.load(raw, where)
    except ConfigError:
        raise ConfigError(f"{where}: the value is not valid YAML", mend="quote it") from None
    return section, name, value
