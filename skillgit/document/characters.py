"""Which characters an edit may bring: none that a reader cannot see, and none that turn text around.

Sources: Unicode categories Cc, Cf, Zl, Zp and the property Default_Ignorable_Code_Point (UAX #44), bidirectional
controls (UAX #9), emoji sequences (UTS #51), joiners in context (RFC 5892, appendix A). Joiners, variation selectors
and tags are allowed where a script or an emoji needs them, one at a time, since runs of them can carry hidden text.
"""

from __future__ import annotations

import re
import unicodedata

_PLAIN = re.compile(r"[\t\n\r -~]*")
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Format characters that are drawn: number signs and verse marks that stand before or around digits.
_DRAWN = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
# Default ignorable although letters, marks or unassigned; Hangul fillers, and blank Braille, which draws nothing.
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2065\u2800\u3164\uffa0")
_JOINERS = frozenset("\u200c\u200d")
_ZWJ = "\u200d"
# Blocks of the scripts whose spelling uses joiners: Arabic to Arabic Extended, the Indic scripts, Tibetan, Myanmar,
# Khmer, Mongolian, Indic extensions, Arabic presentation forms, and the Indic scripts beyond the first plane.
_JOINING = (
    (0x0600, 0x08FF), (0x0900, 0x0DFF), (0x0F00, 0x0FFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1800, 0x18AF),
    (0xA8E0, 0xA8FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC), (0x10AC0, 0x10AFF), (0x11000, 0x11FFF), (0x1E900, 0x1E95F),
)  # fmt: skip
_MONGOLIAN = (0x1800, 0x18AF)
_HAN = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFD))
_PICTURES = (0x1F000, 0x1FAFF)
_SKIN = (0x1F3FB, 0x1F3FF)
# The flags of England, Scotland and Wales: the only tag sequences in general use (UTS #51, annex C).
_TAG_FLAG = re.compile("\U0001f3f4([\U000e0061-\U000e007a]+)\U000e007f")
_TAG_FLAGS = frozenset({"gbeng", "gbsct", "gbwls"})


def refused_character(text: str) -> str | None:
    """The first character that an edit must not bring, named for people; None where all are fine.

    >>> refused_character("do\u200b this")
    'U+200B ZERO WIDTH SPACE, an invisible character'
    """
    if _PLAIN.fullmatch(text):
        return None
    text = _TAG_FLAG.sub(lambda m: "\U0001f3f4" if _tag_letters(m.group(1)) in _TAG_FLAGS else m.group(), text)
    for index, char in enumerate(text):
        kind = _fault(text, index, char)
        if kind is not None:
            return f"U+{ord(char):04X} {unicodedata.name(char, 'without a name')}, {kind}"
    return None


def _tag_letters(tags: str) -> str:
    return "".join(chr(ord(tag) - 0xE0000) for tag in tags)


def _fault(text: str, index: int, char: str) -> str | None:
    """What is wrong with one character where it stands, or None."""
    if "\x20" <= char <= "\x7e" or char in "\t\n\r":
        return None
    if char in _BIDI:
        return "a bidirectional control"
    code, category = ord(char), unicodedata.category(char)
    if category == "Cc":
        return "a control character"
    if category == "Cs" or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF:
        return "not a character that text can hold"
    if char in _JOINERS:
        return None if _joins(text, index) else "an invisible character"
    if _is_selector(code):
        return None if _selects(text, index) else "an invisible character"
    if char in _DRAWN:
        return None
    ignorable = char in _UNSEEN or 0xFFF0 <= code <= 0xFFF8 or 0xE0000 <= code <= 0xE0FFF
    return "an invisible character" if ignorable or category in {"Cf", "Zl", "Zp"} else None


def _within(char: str, *ranges: tuple[int, int]) -> bool:
    return bool(char) and any(low <= ord(char) <= high for low, high in ranges)


def _around(text: str, index: int) -> tuple[str, str]:
    """The characters before and after a position; empty at the ends of the text."""
    return text[index - 1 : index], text[index + 1 : index + 2]


def _is_word_part(char: str) -> bool:
    return bool(char) and unicodedata.category(char)[0] in "LM"


def _joins(text: str, index: int) -> bool:
    """Whether the joiner at `index` stands in an emoji sequence or in a word of a script that uses it."""
    before, after = _around(text, index)
    if text[index] == _ZWJ and _is_picture_end(before) and _is_picture(after):
        return True
    if not _is_word_part(before) or not _within(before, *_JOINING):
        return False
    virama = unicodedata.combining(before) == 9  # after it a joiner may end the word, as in old Malayalam spelling
    return virama or (_is_word_part(after) and _within(after, *_JOINING))


def _is_picture(char: str) -> bool:
    """Whether a character can be an emoji, also one that this Python does not know yet."""
    return (
        bool(char) and (_within(char, _PICTURES) or unicodedata.category(char) in {"So", "Sm"}) and not char.isascii()
    )


def _is_picture_end(char: str) -> bool:
    return _is_picture(char) or char == "\ufe0f" or _within(char, _SKIN)


def _is_selector(code: int) -> bool:
    mongolian = 0x180B <= code <= 0x180F
    return mongolian or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF


def _selects(text: str, index: int) -> bool:
    """Whether the variation selector at `index` follows a character that has variants."""
    before, after = _around(text, index)
    code = ord(text[index])
    if 0x180B <= code <= 0x180F:
        return _is_word_part(before) and _within(before, _MONGOLIAN) and not _is_selector(ord(before))
    if code >= 0xE0100:
        return _within(before, *_HAN)
    if code >= 0xFE0E:
        keycap = before != "" and before in "0123456789#*" and after == "\u20e3"
        return keycap or _is_picture(before) or (before != "" and before in "\u203c\u2049\u2139\u3030")
    # The others pick a glyph of a mathematical sign, of Han or of a script of the joining kind.
    return _is_picture(before) or _within(before, *_HAN) or (_is_word_part(before) and _within(before, *_JOINING))
