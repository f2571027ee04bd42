from __future__ import annotations

import pytest

from skillgit.document.words import splits_word

INSIDE = (
    "git|lab", "1|2", "snake_|case", "_|x", "git|-lfs", "git-|lfs", "pre\u2011|commit", "don|'t", "don\u2019|t",
    "config|.yaml", "3.|14", "caf|e\u0301", "e|\u0301", "\u0645\u06cc|\u200c\u062e", "\u0645\u06cc\u200c|\u062e",
    "\U0001f44d|\U0001f3fd", "\U0001f469|\u200d\U0001f4bb", "\U0001f469\u200d|\U0001f4bb", "\u2764|\ufe0f",
    "\u0e01|\u0e34", "\u30ab|\u30bf", "\ud55c|\uad6d", "stra|\u00dfe",
)  # fmt: skip


@pytest.mark.parametrize("text", INSIDE)
def test_a_cut_inside_a_word(text: str) -> None:
    before, after = text.split("|")
    assert splits_word(before + after, len(before))


BETWEEN = (
    "|git", "git|", "use |git", "use| git", "git|.", "git|. Then", "(|git)", "git|/hub", "a|, b", "-|a", "- |a",
    "--|no-verify", "'|git'", "git|'", "`|git`", "a|\nb", "a\n|b", "|", "end|--", "\u4e0d|\u8981", "\u7528|git",
    "git|\u63d0", "\u3042|\u3044", "\u0e01|\u0e02", "**|bold**", "#|x", "\U0001f44d|\U0001f44d", "\n|\u0301",
)  # fmt: skip


@pytest.mark.parametrize("text", BETWEEN)
def test_a_cut_between_words(text: str) -> None:
    before, after = text.split("|")
    assert not splits_word(before + after, len(before))
