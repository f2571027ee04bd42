"""`env.yaml`: what an environment says about itself, read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from skillgit import strictyaml
from skillgit.envs import splits, templates
from skillgit.envs.extract import check_rule
from skillgit.errors import ConfigError

FILE_NAME = "env.yaml"
PYTHON_PREFIX = "python:"
_SCORERS = ("exact", "f1", "numeric", "checks", "python:score.py")


def _file(path: str) -> str:
    pure = PurePosixPath(path)
    if not path.strip() or "\\" in path or ":" in path or pure.is_absolute() or ".." in pure.parts:
        raise ValueError(f"{path!r} is no file of the environment's folder; write a relative path with /")
    return str(pure)


def _scorer(name: str) -> str:
    if name == "judge":
        raise ValueError("'judge' needs a judge model, which this version cannot use yet")
    if name.startswith(PYTHON_PREFIX):
        file = _file(name.removeprefix(PYTHON_PREFIX))
        if not file.endswith(".py"):
            raise ValueError(f"{name!r} names no Python file; write python:score.py")
        return PYTHON_PREFIX + file
    if name not in _SCORERS:
        meant = strictyaml.nearest(name, list(_SCORERS))
        rest = f"did you mean {meant}?" if meant else f"known are {', '.join(_SCORERS)}"
        raise ValueError(f"{name!r} is no scorer; {rest}")
    return name


def _template(text: str) -> str:
    for leak in ("answer", "checks"):
        if leak in templates.placeholders(text):
            raise ValueError(f"{{{leak}}} would tell the target the truth; write {{{{{leak}}}}} for the text itself")
    return text


Relative = Annotated[str, AfterValidator(_file)]
Template = Annotated[str, AfterValidator(_template)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class TaskFiles(_Strict):
    """Either one file per split, of which `test` may be left out, or `all` with a ratio and a seed."""

    train: Relative | None = None
    val: Relative | None = None
    test: Relative | None = None
    all: Relative | None = None
    ratio: list[int | float] | None = None
    seed: int | None = None

    @model_validator(mode="after")
    def _one_form(self) -> TaskFiles:
        single = {"train": self.train, "val": self.val, "test": self.test}
        if self.all is not None:
            if mixed := [name for name, file in single.items() if file is not None]:
                raise ValueError(f"`all` stands beside `{mixed[0]}`; use one form")
            splits.check_ratio(splits.DEFAULT_RATIO if self.ratio is None else self.ratio)
            return self
        if self.ratio is not None or self.seed is not None:
            raise ValueError("`ratio` and `seed` belong to `all`")
        if self.train is None or self.val is None:
            raise ValueError(f"`{'val' if self.train else 'train'}` is missing; name train and val, or all")
        return self


class EnvironmentSettings(_Strict):
    """The keys of `env.yaml`; only `version` is required.

    version: 1.
    description: one line for people; the optimizer may see it.
    tasks: files of JSON lines: `train`, `val` and, optionally, `test`; or `all` with `ratio` (default 6:2:2) and `seed`
        (default 42), where each task's split is a hash of its id. Default: train.jsonl, val.jsonl, and test.jsonl
        where it exists. A file that ends in `.json` is read as an Agent Skills `evals.json`.
    system: what the target is told; only `{skill}` is filled in, so that its bytes depend on the document alone.
        Default `{skill}`.
    prompt: the user turn; `{input}` and the row's other texts and numbers are filled in (`{skill}` too). Default
        `{input}`. `{{name}}` stands for the text `{name}`; any other brace is itself.
    extract: `whole` (default), `answer_tag`, `last_line` or `json:<path>`; see `skillgit.envs.extract`.
    scorer: `exact` (default), `f1`, `numeric`, `checks` or `python:<file>`. A row's own `checks` come first.
    checks: with `scorer: checks`, the checks of every row that has none of its own.
    normalize: how `exact` and `f1`, and `exact` checks, compare: `text` (default) or `none`.
    tolerance: with `scorer: numeric`, the largest absolute difference that is still right. Default 0.
    reveal: what the optimizer sees of a task's truth: `answer` (default), `reason` or `nothing`.
    reply_tokens: the most tokens of one reply; default: the model's own limit.
    """

    version: Literal[1]
    description: str = ""
    tasks: TaskFiles | None = None
    system: Template = "{skill}"
    prompt: Template = "{input}"
    extract: Annotated[str, AfterValidator(check_rule)] = "whole"
    scorer: Annotated[str, AfterValidator(_scorer)] = "exact"
    checks: list[Any] | None = None
    normalize: Literal["text", "none"] = "text"
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    reveal: Literal["answer", "reason", "nothing"] = "answer"
    reply_tokens: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> EnvironmentSettings:
        if "\n" in self.description.strip():
            raise ValueError("`description` has more than one line")
        if self.tolerance is not None and self.scorer != "numeric":
            raise ValueError(f"`tolerance` belongs to scorer: numeric, not to {self.scorer}")
        if self.checks is not None and self.scorer != "checks":
            raise ValueError(f"`checks` belongs to scorer: checks, not to {self.scorer}")
        if "normalize" in self.model_fields_set and self.scorer.startswith((PYTHON_PREFIX, "numeric")):
            raise ValueError(f"`normalize` does nothing with scorer: {self.scorer}; leave it out")
        if foreign := [name for name in templates.placeholders(self.system) if name != templates.SKILL]:
            rule = f"write {{{{{foreign[0]}}}}} for the text itself, or move it to `prompt`"
            raise ValueError(f"`system` holds {{{foreign[0]}}}, but takes only {{skill}}; {rule}")
        in_prompt = templates.placeholders(self.prompt)
        if templates.SKILL not in templates.placeholders(self.system) + in_prompt:
            raise ValueError("neither `system` nor `prompt` holds {skill}, so that training could change nothing")
        if not set(in_prompt) - {templates.SKILL}:
            raise ValueError("`prompt` holds no field of the task, such as {input}; every task would be the same")
        return self


def parse(text: str, where: str) -> EnvironmentSettings:
    """Read the text of an `env.yaml`.

    Raises:
        ConfigError: names file, line and key.
    """
    value, lines = strictyaml.load(text, where)
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}:1: the file is not a mapping", mend="begin it with version: 1")
    return strictyaml.validate(EnvironmentSettings, value, where, lines)
