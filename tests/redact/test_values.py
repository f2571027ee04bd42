"""Names, and how much they say."""

from __future__ import annotations

import pytest

from skillgit.redact.values import find_by_name, named_kind


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("password", "letmein", "password"),
        ("db-password", "letmein", "password"),
        ("PASSWORD_2", "letmein", "password"),
        ("apiKey", "abcdefgh", "key"),
        ("client_secret", "abcdefgh", "secret"),
        ("authToken", "abcd1234", "token"),
        ("authToken", "abcdefgh", None),
        ("authToken", "12345678", None),
        ("password_label", "letmein", None),
        ("password", "string", None),
        ("password", "abc", None),
        ("max_tokens", "abcd1234", None),
        ("PWD", "/srv/abc1", None),
    ],
)
def test_named_kind(key: str, value: str, kind: str | None) -> None:
    assert named_kind(key, value) == kind


def test_a_finding_is_the_value_alone() -> None:
    text = 'x = {"api_key": "abcd1234", "password": "hunter2"}'
    assert [text[one.start : one.end] for one in find_by_name(text)] == ["abcd1234", "hunter2"]


def test_all_of_a_long_value_is_found() -> None:
    value = "a1" * 5000
    (found,) = find_by_name(f"token={value} end")
    assert found.end - found.start == len(value)
