import re

from support.generators import generator

from skillgit.envs.builtin import builtin_root

GENERATOR = generator(builtin_root() / "houseformat")


def test_every_answer_is_in_the_house_format() -> None:
    answers = [answer for _, answer in GENERATOR.questions()]
    assert [answer for answer in answers if not re.fullmatch(r"[a-z]+|\d+", answer)] == []


def test_no_question_is_asked_twice() -> None:
    questions = [question for question, _ in GENERATOR.questions()]
    assert len(set(questions)) == len(questions) >= sum(GENERATOR.SIZES.values())
