"""The gate: rules of acceptance, their bounds and noise, and what a verdict moves."""

from skillgit.train.gate.rule import (
    MODES,
    Decision,
    GateSettings,
    Rule,
    Scores,
    Verdict,
    canonical_order,
    decide,
    gate_settings,
    race,
    verdict,
)

__all__ = [
    "MODES",
    "Decision",
    "GateSettings",
    "Rule",
    "Scores",
    "Verdict",
    "canonical_order",
    "decide",
    "gate_settings",
    "race",
    "verdict",
]
