"""Where private keys begin and end."""

from __future__ import annotations

import pytest

from skillgit.redact.blocks import Finding, find_private_keys

BEGIN, END = "-----BEGIN EC PRIVATE KEY-----", "-----END EC PRIVATE KEY-----"


def test_two_keys_are_two_findings() -> None:
    text = f"{BEGIN}\nAAAA\n{END}\nbetween\n{BEGIN}\nBBBB\n{END}"
    first, second = find_private_keys(text)
    assert text[first.end : second.start] == "\nbetween\n"


def test_a_key_without_end_does_not_take_the_next_one() -> None:
    text = f"{BEGIN}\nAAAA\nprose again\n{BEGIN}\nBBBB\n{END}"
    assert [text[one.start : one.end] for one in find_private_keys(text)] == [f"{BEGIN}\nAAAA", f"{BEGIN}\nBBBB\n{END}"]


@pytest.mark.parametrize(
    "text",
    [BEGIN, END, f"{BEGIN}\n", f"see {BEGIN} and so on", f"and so on {END}", "-----BEGIN CERTIFICATE-----\nAAAA"],
)
def test_a_mark_alone_is_no_key(text: str) -> None:
    assert list(find_private_keys(text)) == []


def test_a_finding_has_its_place() -> None:
    assert list(find_private_keys(f"x{BEGIN}\nAAAA")) == [Finding(1, 1 + len(BEGIN) + 5, "private-key")]
