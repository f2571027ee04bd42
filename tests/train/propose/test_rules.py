"""What a whole document has to keep to."""

from __future__ import annotations

import pytest

from skillgit.config import EvaluationSettings, OptimizerSettings, SkillSettings
from skillgit.train.propose.rules import Rules

BEFORE = "---\nname: x\ndescription: y\n---\n\n# Rules\n\nAnswer well.\n"


def rules(*, max_tokens: int = 0, max_growth: float = 0.0, density: float = 0.0) -> Rules:
    settings = SkillSettings(
        document="SKILL.md",
        env="env",
        optimizer=OptimizerSettings(max_tokens=max_tokens, max_growth=max_growth),
        evaluation=EvaluationSettings(semantic_density=density),
    )
    return Rules(settings, BEFORE, 6)  # "# Rules\n\nAnswer well.\n" has 22 characters


def test_without_a_rule_everything_is_taken_and_nothing_is_said() -> None:
    assert (rules()(BEFORE + "x" * 9000), rules().most_tokens, rules().said) == (None, None, "")


@pytest.mark.parametrize(("given", "most"), [({"max_tokens": 20}, 20), ({"max_growth": 0.5}, 9)])
def test_the_length_budget_is_held_and_said(given: dict[str, float], most: int) -> None:
    one = rules(**given)  # type: ignore[arg-type]
    assert one.most_tokens == most
    assert one.said == f"The new document has at most {4 * most} characters."
    fits, too_long = BEFORE + "x" * (4 * most - 23), BEFORE + "x" * (4 * most - 20)
    assert one(fits) is None
    assert f"above optimizer.{next(iter(given))}" in str(one(too_long)) or "max_growth allows" in str(one(too_long))


def test_new_words_have_to_carry_meaning() -> None:
    assert "carry meaning" in str(rules(density=0.5)(BEFORE + "\nit is the one that is the one of the ones\n"))
    assert rules(density=0.5)(BEFORE + "\nRestart billing on staging.\n") is None
