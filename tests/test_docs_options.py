"""The tables of options in the docs: every key, its real default, and tests that are there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import skillgit
from skillgit.config import SkillSettings

ROOT = Path(skillgit.__file__).parent.parent
TRAINING = ("train", "gradient", "optimizer", "evaluation")

# The structured options of SkillOpt 0.2.0 (its `config.py` maps them to flat names).
SKILLOPT = {
    "train": "num_epochs train_size steps_per_epoch batch_size accumulation seed",
    "gradient": "minibatch_size merge_batch_size analyst_workers failure_only max_analyst_rounds",
    "optimizer": "learning_rate min_learning_rate lr_scheduler lr_control_mode skill_update_mode meta_learning_rate"
    " use_slow_update slow_update_samples slow_update_gate_with_selection longitudinal_pair_policy use_meta_skill"
    " use_skill_aware_reflection skill_aware_appendix_source skill_aware_consolidate_threshold",
    "evaluation": "use_gate gate_metric gate_mixed_weight sel_env_num test_env_num eval_test",
    "env": "name skill_init out_root",
    "model": "backend optimizer target optimizer_backend target_backend reasoning_effort rewrite_reasoning_effort"
    " rewrite_max_completion_tokens codex_exec_path codex_exec_sandbox codex_exec_profile codex_exec_full_auto"
    " codex_exec_reasoning_effort codex_exec_use_sdk codex_exec_network_access codex_exec_web_search"
    " codex_exec_approval_policy claude_code_exec_path claude_code_exec_profile claude_code_exec_use_sdk"
    " claude_code_exec_effort claude_code_exec_max_thinking_tokens codex_trace_to_optimizer azure_endpoint"
    " azure_api_version azure_api_key minimax_base_url minimax_api_key minimax_model minimax_temperature"
    " minimax_max_tokens minimax_enable_thinking",
}
AZURE = "endpoint api_version api_key auth_mode ad_scope managed_identity_client_id"
QWEN = "base_url api_key temperature timeout_seconds max_tokens enable_thinking"


def skillopt() -> set[str]:
    found = {f"{section}.{key}" for section, keys in SKILLOPT.items() for key in keys.split()}
    for role in ("", "optimizer_", "target_"):
        found |= {f"model.{role}azure_openai_{key}" for key in AZURE.split()}
        found |= {f"model.{role}qwen_chat_{key}" for key in QWEN.split()}
    return found


def settings() -> dict[str, Any]:
    """Every key that training reads, with its default."""
    found = {}
    for section in TRAINING:
        model = SkillSettings.model_fields[section].annotation
        assert isinstance(model, type)
        assert issubclass(model, BaseModel)
        found.update({f"{section}.{name}": field.default for name, field in model.model_fields.items()})
    return found


def shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def tables(page: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """The tables of a page: head and rows, cells without spaces around."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in block.splitlines())
        assert all(len(row) == len(head) for row in rows), (page, head)
        yield head, rows


def codes(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def rows_here() -> dict[str, tuple[str, str]]:
    """Our keys in skillopt.md: the default that is told, and the cell of tests."""
    found = {}
    for head, rows in tables("skillopt.md"):
        if head[-1] != "proved by":
            continue
        for row in rows:
            (there,) = codes(row[0])
            key = there if len(head) == 4 or row[1] == "same" else codes(row[1])[0]
            assert key not in found, key
            found[key] = (row[1] if len(head) == 4 else row[3], row[-1])
    return found


def test_every_key_of_ours_stands_in_the_table_with_its_real_default() -> None:
    assert {key: default for key, (default, _) in rows_here().items()} == {
        key: shown(value) for key, value in settings().items()
    }


@pytest.mark.parametrize("key", sorted(settings()))
def test_a_named_test_proves_each_key(key: str) -> None:
    named = codes(rows_here()[key][1])
    assert named
    for node in named:
        name, _, function = node.partition("::")
        tree = ast.parse((ROOT / "tests/train" / name).read_text(encoding="utf-8"))
        functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert function in functions, node
    # At least one of them sets the key.
    sources = [(ROOT / "tests/train" / node.partition("::")[0]).read_text(encoding="utf-8") for node in named]
    assert any(re.search(rf"\b{key.partition('.')[2]}\b", source) for source in sources)


def test_every_option_of_skillopt_has_a_row() -> None:
    named: list[str] = []
    for head, rows in tables("skillopt.md"):
        if head[0] == "SkillOpt":
            named += [name for row in rows for name in codes(row[0])]
    assert len(named) == len(set(named))
    wanted = skillopt()
    assert len(wanted) == 102
    assert [name for name in sorted(wanted) if not any(fnmatch(name, pattern) for pattern in named)] == []
    assert [pattern for pattern in named if not any(fnmatch(name, pattern) for name in wanted)] == []


def test_a_default_that_differs_has_a_reason() -> None:
    for head, rows in tables("skillopt.md"):
        if "default there" in head and "default here" in head:
            for row in rows:
                there, here = row[head.index("default there")], row[head.index("default here")]
                assert there.partition(" (")[0] == here or row[4], row[0]


def test_configuration_md_has_every_key_with_its_default() -> None:
    (told,) = (rows for head, rows in tables("configuration.md") if head == ["key", "default", "meaning"])
    found = {row[0].strip("`"): row[1] for row in told}
    wanted = {key: shown(value) for key, value in settings().items()}
    assert {key: default for key, default in found.items() if key.partition(".")[0] in TRAINING} == wanted


def test_links_of_the_pages_lead_somewhere() -> None:
    for page in ("skillopt.md", "configuration.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+)", text):
            assert (ROOT / "docs" / target).is_file(), target
