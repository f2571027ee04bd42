"""What Skill- trailers may say in a commit's message."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.hooked import TOKEN, message

from skillgit.train.archive.journal import StepRecord
from skillgit.train.archive.messages import Place, plain_message, verdict_trailers
from skillgit.train.hooks.commit_message import problems, stored

BLOB = "5f" * 20


def wrong(**changed: str | None) -> list[str]:
    return problems(message(BLOB, **changed), "ops", [BLOB])


def test_what_training_writes_is_well() -> None:
    assert wrong() == []
    assert problems(message("5f" * 32), "ops", ["5f" * 32]) == []


def test_a_person_s_message_is_well() -> None:
    assert problems("Say it shorter\n\nNobody read it.\n\nSigned-off-by: A <a@example.com>\n", "ops", []) == []


def test_the_forms_are_those_of_the_messages_module() -> None:
    record = StepRecord(kind="step", step=7, epoch=2, decision="accept", reason="", document=BLOB, document_before="")
    record.score, record.before, record.score_hard, record.score_soft = "1/1", "0/1", "1/3", "2/3"
    record.models = {"target": "local/a", "optimizer": ""}
    record.cost = {"calls": 3, "tokens": 4, "usd": "1E-7"}
    place = Place("ops", "01k9x0c5v2m8q4t7b3n6r1d9sf", 0, 0)
    verdict = verdict_trailers(record, gate="strict hard n=1 repeats=1", val=f"sha256:{'0' * 64}")
    for kind in ("step", "slow-update", "merge", "release", "revert", "cherry-pick", "retry", "import"):
        assert problems(plain_message(place, kind, "what", "why", verdict), "ops", [BLOB]) == []
    record.maximum = str(Fraction(2, 3))
    verdict = verdict_trailers(record, gate="strict hard n=1 repeats=1", val=f"sha256:{'0' * 64}")
    assert problems(plain_message(place, "step", "what", "why", verdict), "ops", [BLOB]) == []


@pytest.mark.parametrize(
    "value", ["nan", "inf", "-0.100000", "1.100000", "0.8", "8e-1", "1/2", "0,812500", "", "0.٨١٢٥٠٠", "2.000000"]
)
@pytest.mark.parametrize("key", ["Score", "Score_Max", "Score_Before", "Score_Hard", "Score_Soft"])
def test_a_score_is_finite_from_0_to_1_with_six_decimals(key: str, value: str) -> None:
    (said,) = wrong(**{key: value})
    assert said.startswith(f"Skill-{key.replace('_', '-')}: ")
    assert "a score from 0.000000 to 1.000000" in said


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("Run", "01K9X0C5V2M8Q4T7B3N6R1D9SF"),
        ("Run", "8" * 26),
        ("Run", "latest"),
        ("Step", "-1"),
        ("Step", "seven"),
        ("Epoch", "2.0"),
        ("Kind", "Step 1"),
        ("Edit", "1 of 2"),
        ("Edit", "0/2 append"),
        ("Support", "many"),
        ("Decision", "accepted"),
        ("Blob", "5f2c"),
        ("Val", "md5:aa"),
        ("Target", "gpt"),
        ("Cost", "free"),
        ("Name", "Ops!"),
    ],
)
def test_every_other_key_has_its_form(key: str, value: str) -> None:
    said = wrong(**{key: value})
    assert said[0].startswith(f"Skill-{key}: {value!r} is not ")


def test_a_key_of_a_later_skillgit_may_say_what_it_likes() -> None:
    assert wrong(Weather="fine") == []


def test_keys_are_read_without_case_as_git_reads_them() -> None:
    text = message(BLOB).replace("Skill-Score:", "skill-score:").replace("0.812500", "nan")
    assert problems(text, "ops", [BLOB])[0].startswith("Skill-Score: 'nan'")


def test_a_key_that_stands_twice_is_refused() -> None:
    text = message(BLOB) + "Skill-Score: 0.900000\n"
    assert problems(text, "ops", [BLOB]) == ["Skill-Score stands 2 times"]


def test_a_score_of_another_document_is_refused() -> None:
    assert problems(message(BLOB), "ops", ["6a" * 20]) == [
        "Skill-Blob: 5f5f5f5f5f5f is not the document of this commit, so its score is another one's"
    ]
    assert problems(message(BLOB), "ops", []) != []
    assert problems(message(BLOB), "ops", ["6a" * 20, BLOB]) == []


def test_a_score_without_its_document_is_refused() -> None:
    assert wrong(Blob=None) == ["Skill-Score without Skill-Blob, which names the document that was measured"]


def test_trailers_of_another_skill_are_refused() -> None:
    assert wrong(Name="triage") == ["Skill-Name: 'triage' is not the skill of this branch, ops"]


def test_there_is_no_edit_3_of_2() -> None:
    assert wrong(Edit="3/2 append") == ["Skill-Edit: there is no edit 3 of 2"]


def test_a_secret_is_refused_and_not_repeated() -> None:
    (said,) = problems(f"Use {TOKEN}\n", "ops", [])
    assert said == "the message holds a secret (github); history cannot be taken back"


def test_words_in_the_body_are_no_trailers() -> None:
    assert problems("Talk\n\nSkill-Score: nan is what it said.\n\nSo it went on.\n", "ops", []) == []


def test_the_diff_of_a_verbose_commit_is_no_part_of_the_message() -> None:
    text = f"Say\n\n# ------------------------ >8 ------------------------\n# Do not touch.\n+{TOKEN}\n"
    assert stored(text) == "Say\n\n"
    assert stored("; ------------------------ >8 ------------------------\nx") == "\n"
    assert stored("a\nb") == "a\nb"
