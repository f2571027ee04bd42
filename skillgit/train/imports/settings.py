"""What of a SkillOpt configuration a journal keeps: names and numbers that say what the run was. Pure.

Its `config.json` holds endpoints, paths and keys as well (not all of them hidden), so what is kept is listed here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from skillgit.redact import redact_json
from skillgit.train.imports.values import RawRun
from skillgit.train.scoring.scores import Metric

KEPT = (
    "env",
    "num_epochs",
    "train_size",
    "steps_per_epoch",
    "batch_size",
    "accumulation",
    "minibatch_size",
    "merge_batch_size",
    "seed",
    "edit_budget",
    "min_edit_budget",
    "lr_scheduler",
    "lr_control_mode",
    "skill_update_mode",
    "use_gate",
    "gate_metric",
    "gate_mixed_weight",
    "sel_env_num",
    "use_slow_update",
    "slow_update_samples",
    "slow_update_gate_with_selection",
    "longitudinal_pair_policy",
    "use_meta_skill",
    "use_skill_aware_reflection",
)
_MOST_NAME = 200


def kept_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The kept ones that are there and plain, redacted."""
    found: dict[str, Any] = redact_json({key: config[key] for key in KEPT if _is_plain(config.get(key))})
    return found


def models_of(config: Mapping[str, Any]) -> dict[str, str]:
    """`backend/model` by role; what the configuration does not say is `unknown`."""
    found = {}
    for role in ("target", "optimizer"):
        backend, model = config.get(f"{role}_backend"), config.get(f"{role}_model")
        name = "/".join(part for part in (backend, model) if isinstance(part, str) and part)
        found[role] = redact_json({"model": name[:_MOST_NAME] or "unknown"})["model"]
    return found


def gate_of(config: Mapping[str, Any], metric: Metric) -> str:
    """The rule and the metric, as `Skill-Gate` begins."""
    return f"{'none' if config.get('use_gate') is False else 'strict'} {metric}"


def steps_in_epoch(config: Mapping[str, Any]) -> int:
    """0 where the configuration does not say it."""
    return _count(config.get("steps_per_epoch"))


def total_steps(raw: RawRun) -> int:
    """Of the whole run, as it was planned."""
    planned = _count(raw.config.get("num_epochs")) * steps_in_epoch(raw.config)
    return max(planned, len(raw.steps))


def _count(value: Any) -> int:
    return value if type(value) is int and 0 < value < 10**6 else 0


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))
