"""Secrets by their form."""

from __future__ import annotations

import pytest

from skillgit.redact.forms import authorization_value, find_by_form


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("Bearer abc123def", "Bearer [redacted:authorization]"),
        ("Basic dXNlcjpwYXNz", "Basic [redacted:authorization]"),
        ("Bearer $TOKEN", "Bearer $TOKEN"),
        ("Bearer [redacted:authorization]", "Bearer [redacted:authorization]"),
        ("Digest username=x, response=y", "Digest [redacted:authorization]"),
        ("", ""),
    ],
)
def test_authorization_value(value: str, result: str) -> None:
    assert authorization_value(value) == result


def test_the_user_of_a_url_is_no_mail_address() -> None:
    text = "https://jo:pw12@mail.example.com and jo@mail.example.com"
    assert [(one.kind, text[one.start : one.end]) for one in find_by_form(text)] == [
        ("userinfo", "jo:pw12"),
        ("email", "jo@mail.example.com"),
    ]
