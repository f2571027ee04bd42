"""What stands in a secret's place and is none."""

from __future__ import annotations

import pytest

from skillgit.redact.words import is_placeholder, is_reference, is_sample, is_sentence, says_its_name, word_set


@pytest.mark.parametrize(
    "value",
    [
        "$X",
        "${X}",
        "{{ x }}",
        "{x}",
        "<x>",
        "%X%",
        "vault:a/b",
        "op://a/b",
        "~/.token",
        "id.pem",
        "NPM_TOKEN",
        "process.env.X",
    ],
)
def test_references(value: str) -> None:
    assert is_reference(value)


@pytest.mark.parametrize("value", ["hunter2", "abc/def+gh=", "{a}b1", "ABCDEF123", "x$y"])
def test_no_references(value: str) -> None:
    assert not is_reference(value)


def test_samples() -> None:
    assert is_sample("sk-xxxxxxxx")
    assert is_sample("your-key")
    assert is_sample("sk-ab...")
    assert not is_sample("abyourcd12")


def test_placeholders() -> None:
    assert is_placeholder("changeMe")
    assert is_placeholder("my-secret-token")
    assert is_placeholder("********")
    assert is_placeholder("sha256")
    assert not is_placeholder("letmein")
    assert not is_placeholder("secret1")


def test_names_that_repeat_the_key() -> None:
    assert says_its_name("openai_api_key", "api_key")
    assert says_its_name("password", "db_password")
    assert not says_its_name("password1", "password")
    assert not says_its_name("letmein", "password")


def test_sentences() -> None:
    assert is_sentence("must not be empty")
    assert not is_sentence("correct horse battery staple")


def test_word_set() -> None:
    assert word_set("a b", "c") == {"a", "b", "c"}
