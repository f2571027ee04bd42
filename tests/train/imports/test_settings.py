"""What a journal keeps of another trainer's configuration."""

from __future__ import annotations

from skillgit.train.imports.settings import gate_of, kept_settings, models_of
from skillgit.train.scoring.scores import HARD


def test_only_names_and_numbers_that_say_what_the_run_was() -> None:
    config = {
        "env": "searchqa",
        "batch_size": 16,
        "use_gate": False,
        "gate_mixed_weight": float("inf"),
        "seed": [1],
        "azure_openai_api_key": "none",
        "azure_openai_endpoint": "elsewhere",
        "out_root": "somewhere/outputs",
    }
    assert kept_settings(config) == {"env": "searchqa", "batch_size": 16, "use_gate": False}


def test_models_have_their_backend() -> None:
    config = {"target_backend": "openai_chat", "target_model": "a", "optimizer_model": "b" * 300}
    assert models_of(config) == {"target": "openai_chat/a", "optimizer": "b" * 200}
    assert models_of({"target_model": 3}) == {"target": "unknown", "optimizer": "unknown"}


def test_a_gate_that_was_off_is_none() -> None:
    assert (gate_of({}, HARD), gate_of({"use_gate": False}, HARD)) == ("strict hard", "none hard")
