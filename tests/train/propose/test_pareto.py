"""Pareto parents, with fronts worked out by hand."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from skillgit.train.propose.pareto import Values, fronts, pair, parent


def scored(**documents: str) -> dict[str, Values]:
    """One digit per task, in tenths; `-` is an errored trial."""
    return {
        blob: {f"t{n}": [None if digit == "-" else Fraction(int(digit), 10)] for n, digit in enumerate(digits)}
        for blob, digits in documents.items()
    }


def members(**documents: str) -> set[str]:
    return {blob for front in fronts(scored(**documents)).values() for blob in front}


def test_a_front_has_the_best_of_each_task() -> None:
    found = fronts(scored(a="905", b="095", c="004"))
    assert found == {"t0": {"a"}, "t1": {"b"}, "t2": {"a", "b"}}


def test_dominated_documents_are_left_out() -> None:
    assert members(a="99", b="90") == {"a"}  # b's only front has a
    assert members(a="900", b="090", c="990") == {"c"}
    assert members(a="900", b="090", c="009") == {"a", "b", "c"}
    assert members(a="11", b="11") == {"b"}  # equal: one stays


def test_a_task_without_a_score_is_led_by_others() -> None:
    assert fronts(scored(a="-9", b="1-")) == {"t0": {"b"}, "t1": {"a"}}
    assert fronts(scored(a="--")) == {}
    assert parent(scored(a="--"), 1, 1) is None
    assert parent({}, 1, 1) is None


def test_trials_count_by_their_mean() -> None:
    one, two = Fraction(1), Fraction(0)
    documents: dict[str, Values] = {"a": {"t": [one, two, None]}, "b": {"t": [one, two, two]}}
    assert fronts(documents) == {"t": {"a"}}


def test_the_draw_is_seeded_and_weighted_by_fronts() -> None:
    documents = scored(a="9990", b="0009", c="1110")
    drawn = [parent(documents, 7, step) for step in range(1, 801)]
    assert drawn == [parent(dict(reversed(documents.items())), 7, step) for step in range(1, 801)]
    counts = Counter(drawn)
    assert set(counts) == {"a", "b"}
    assert 540 < counts["a"] < 660  # three of four fronts: 600 expected, sigma 12
    assert [parent(documents, 8, step) for step in range(1, 801)] != drawn


def test_a_pair_has_the_most_to_win() -> None:
    assert pair(scored(a="99", b="90")) is None
    assert pair(scored(a="90")) is None
    assert pair(scored(a="900", b="090")) == ("a", "b")
    documents = scored(a="9900", b="0009", c="0090")
    # a+b: 27 of a's 18; a+c: the same; b+c: 18 of 9: all gain 9, the first stands.
    assert pair(documents) == ("a", "b")
    assert pair(documents, tried=[("a", "b")]) == ("a", "c")
    assert pair(documents, tried=[("a", "b"), ("a", "c"), ("b", "c")]) is None
    assert pair(scored(a="93", b="49", c="94")) == ("b", "c")  # a is dominated by c


tables = st.lists(st.text("0129", min_size=4, max_size=4), min_size=1, max_size=5)


@given(tables, st.integers(0, 20))
def test_the_front_covers_every_task_and_holds_nobody_who_is_beaten_everywhere(rows: list[str], step: int) -> None:
    documents = scored(**{f"d{n}": row for n, row in enumerate(rows)})
    found = fronts(documents)
    best = {f"t{n}": max(row[n] for row in rows) for n in range(4)}
    for task, front in found.items():
        assert front
        for blob in front:
            assert rows[int(blob[1:])][int(task[1:])] == best[task]
    everyone = {blob for front in found.values() for blob in front}
    for one in everyone:
        others = everyone - {one}
        assert not all(front & others for front in found.values() if one in front)
    assert parent(documents, 1, step) in everyone
    chosen = pair(documents)
    if chosen is not None:
        first, second = (rows[int(blob[1:])] for blob in chosen)
        assert any(a > b for a, b in zip(first, second, strict=True))
        assert any(a < b for a, b in zip(first, second, strict=True))
