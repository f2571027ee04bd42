"""Where a word ends: a match must not begin or end inside one.

Words are those of UAX #29, with two changes. A hyphen or dot between letters or digits joins, so that `git` is not
found in `git-lfs` and `config` not in `config.yaml`. Scripts that write no spaces between words (Han, Hiragana, Thai,
Lao, Khmer, Myanmar) have a boundary between any two letters, since only a dictionary could tell.
"""

from __future__ import annotations

import unicodedata

_INNER = frozenset("'’.-\u2010\u2011\u00b7")
_EXTENDING = frozenset("\u200c\u200d")
_UNSPACED = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3005, 0x3007), (0x3040, 0x309F), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFD),
)  # fmt: skip


def splits_word(text: str, offset: int) -> bool:
    """Whether cutting `text` at `offset` cuts a word, or a character from its accents or its emoji sequence."""
    if offset <= 0 or offset >= len(text):
        return False
    before, after = text[offset - 1], text[offset]
    if before in _EXTENDING or _extends(after):
        return not before.isspace()
    if _is_word(before) and _is_word(after):
        return not (_is_unspaced(before) or _is_unspaced(after))
    if after in _INNER:
        return _is_word(before) and offset + 1 < len(text) and _is_word(text[offset + 1])
    if before in _INNER:
        return _is_word(after) and offset >= 2 and _is_word(text[offset - 2])
    return False


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_" or (not char.isascii() and unicodedata.category(char)[0] == "M")


def _extends(char: str) -> bool:
    """Whether a character belongs to the one before it: accents, joiners, variation selectors, skin tones."""
    if char.isascii():
        return False
    return char in _EXTENDING or unicodedata.category(char)[0] == "M" or 0x1F3FB <= ord(char) <= 0x1F3FF


def _is_unspaced(char: str) -> bool:
    return not char.isascii() and any(low <= ord(char) <= high for low, high in _UNSPACED)
