"""Digests say what a score was measured on, and nothing else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.environments import load, rows, write_env

from skillgit.envs.digests import canonical_json, code_digests, digest_of, tasks_digest, val_digest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_canonical_json_is_json_and_does_not_depend_on_the_order_of_keys(value: object) -> None:
    data = canonical_json(value)
    assert json.loads(data) == value
    if isinstance(value, dict):
        assert canonical_json(dict(reversed(value.items()))) == data


def test_canonical_json_is_written_down() -> None:
    assert (
        canonical_json({"b": [1, 1.5, None, True], "a": "é\n\u2028"})
        == '{"a":"é\\n\u2028","b":[1,1.5,null,true]}'.encode()
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_canonical_json_refuses_what_has_no_one_form(value: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        canonical_json(value)


def test_digest_of_is_the_sha256_of_the_canonical_form() -> None:
    assert digest_of({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_code_digests_ignore_line_ends_and_hidden_folders(tmp_path) -> None:
    for name in ("score.py", "lib/more.py", ".hidden/no.py", "__pycache__/no.py", "data.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x = 1\r\ny = 2\r\n")
    before = code_digests(tmp_path)
    assert sorted(before) == ["lib/more.py", "score.py"]
    (tmp_path / "score.py").write_bytes(b"x = 1\ny = 2\n")
    assert code_digests(tmp_path) == before
    (tmp_path / "score.py").write_bytes(b"x = 1\ny = 3\n")
    assert code_digests(tmp_path) != before


def test_val_digest_does_not_depend_on_the_order_of_tasks_nor_on_train(tmp_path) -> None:
    some = rows("val", 4)
    first = val_digest(load(write_env(tmp_path / "a", val=some)), repeats=1)
    assert first.startswith("sha256:")
    assert len(first) == 7 + 64
    assert val_digest(load(write_env(tmp_path / "b", val=some[::-1], train=rows("other", 9))), repeats=1) == first


@pytest.mark.parametrize(
    "change",
    [
        {"repeats": 2},
        {"val": rows("val", 5)},
        {"val": rows("val", 4, note="x")},
        {"settings": "extract: last_line"},
        {"settings": "normalize: none"},
        {"settings": "system: 'Be brief. {skill}'"},
    ],
    ids=str,
)
def test_val_digest_changes_with_what_is_measured(tmp_path, change) -> None:
    kept = {"val": rows("val", 4), "settings": "", "repeats": 1}
    before = val_digest(load(write_env(tmp_path / "a", kept["settings"], val=kept["val"])), repeats=kept["repeats"])
    now = {**kept, **change}
    after = val_digest(load(write_env(tmp_path / "b", now["settings"], val=now["val"])), repeats=now["repeats"])
    assert before != after


@pytest.mark.parametrize("settings", ["description: Other words.", "reveal: nothing"])
def test_val_digest_stays_where_no_score_could_change(tmp_path, settings) -> None:
    before = val_digest(load(write_env(tmp_path / "a")), repeats=1)
    assert val_digest(load(write_env(tmp_path / "b", settings)), repeats=1) == before


def test_each_split_has_a_digest_of_its_own(tmp_path) -> None:
    own = load(write_env(tmp_path, test=rows("test", 2)))
    assert tasks_digest(own, "val", repeats=1) == val_digest(own, repeats=1)
    assert len({tasks_digest(own, split, repeats=1) for split in ("train", "val", "test")}) == 3
