from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.document.characters import refused_character


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("plain\ttext\r\n", id="ascii"),
        pytest.param("caf\u00e9 \u2014 \u201cquoted\u201d \u00a0 \u202f \u3000 \u2026", id="typography"),
        pytest.param("\u2192 \u2264 \u221e \u00a9 \ue0b0", id="symbols"),
        pytest.param("\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627", id="right-to-left-letters"),
        pytest.param("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", id="persian-zwnj"),
        pytest.param("\u0915\u094d\u200d\u0937 \u0915\u094d\u200c\u0937", id="hindi-joiners"),
        pytest.param("\u09b0\u200d\u09cd\u09af", id="bengali-ra-joiner"),
        pytest.param("\u0dc1\u0dca\u200d\u0dbb\u0dd3", id="sinhala-joiner"),
        pytest.param("\u0d28\u0d4d\u200d.", id="malayalam-joiner-ends-a-word"),
        pytest.param("\u1820\u180b\u1820", id="mongolian-selector"),
        pytest.param("\U0001f44d\U0001f3fd", id="skin-tone"),
        pytest.param("\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", id="family"),
        pytest.param("\U0001f469\U0001f3fd\u200d\u2695\ufe0f", id="health-worker"),
        pytest.param("\U0001f3f3\ufe0f\u200d\U0001f308 \u2764\ufe0f\u200d\U0001f525", id="rainbow-and-heart-on-fire"),
        pytest.param("\U0001f642\u200d\u2194\ufe0f", id="head-shaking"),
        pytest.param("1\ufe0f\u20e3 #\ufe0f\u20e3 \u2139\ufe0f \u203c\ufe0f \u26a0\ufe0f \u2714\ufe0e", id="selectors"),
        pytest.param("\U0001f1e9\U0001f1ea", id="flag"),
        pytest.param("\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", id="flag-of-scotland"),
        pytest.param("\u845b\U000e0100 \u795e\ufe00", id="han-variants"),
        pytest.param("\u2268\ufe00", id="mathematical-variant"),
        pytest.param("\u0600\u0661 \u06dd\u0661", id="arabic-number-signs"),
        pytest.param("e\u0301 \u0e01\u0e34\u0e19", id="combining-marks"),
    ],
)
def test_what_people_write_is_fine(text: str) -> None:
    assert refused_character(text) is None


@pytest.mark.parametrize("code", [*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x061C, 0x200E, 0x200F])
def test_bidirectional_controls_are_refused(code: int) -> None:
    refused = refused_character(f"\u05e9{chr(code)}\u05e9")
    assert refused is not None
    assert refused.startswith(f"U+{code:04X} ")
    assert refused.endswith("a bidirectional control")


UNSEEN = (
    0xAD, 0x34F, 0x115F, 0x1160, 0x17B4, 0x180E, 0x200B, 0x2028, 0x2029, 0x2060, 0x2061, 0x2063, 0x2064, 0x2065,
    0x206A, 0x2800, 0x3164, 0xFEFF, 0xFFA0, 0xFFF0, 0xFFF9, 0xFFFB, 0x1BCA0, 0x1D173, 0xE0001, 0xE0041, 0xE007F,
    0xE0FFF,
)  # fmt: skip


@pytest.mark.parametrize("code", UNSEEN)
def test_invisible_characters_are_refused(code: int) -> None:
    for text in (f"a{chr(code)}b", chr(code), f"\u4e2d{chr(code)}\u4e2d"):
        refused = refused_character(text)
        assert refused is not None
        assert refused.endswith("an invisible character")


@pytest.mark.parametrize("code", [0, 1, 8, 0x0B, 0x0C, 0x1B, 0x1F, 0x7F, 0x80, 0x85, 0x9F])
def test_control_characters_are_refused(code: int) -> None:
    refused = refused_character(f"a{chr(code)}b")
    assert refused is not None
    assert refused.endswith("a control character")


@pytest.mark.parametrize("text", ["a\ud800", "\udfff", "\ufffe", "\U0001ffff", "\ufdd0"])
def test_what_no_file_can_hold_is_refused(text: str) -> None:
    refused = refused_character(text)
    assert refused is not None
    assert refused.endswith("not a character that text can hold")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("pass\u200dword", id="joiner-in-a-latin-word"),
        pytest.param("pass\u200cword", id="non-joiner-in-a-latin-word"),
        pytest.param("\u05e9\u200d\u05e9", id="joiner-in-a-hebrew-word"),
        pytest.param("\u0645\u200c \u062e", id="joiner-at-a-word-end"),
        pytest.param("\u0645\u200c\u200c\u062e", id="two-joiners"),
        pytest.param("\u0645\u200cx", id="joiner-between-scripts"),
        pytest.param("\u200d\U0001f469", id="joiner-before-an-emoji"),
        pytest.param("\U0001f469\u200d", id="joiner-after-an-emoji"),
        pytest.param("\U0001f469\u200c\U0001f469", id="non-joiner-between-emoji"),
        pytest.param("\U0001f469\u200d\u200d\U0001f469", id="two-joiners-between-emoji"),
        pytest.param("\U0001f600\ufe0f\ufe0f", id="two-selectors"),
        pytest.param("\U0001f600\U000e0100\U000e0155", id="bytes-hidden-behind-an-emoji"),
        pytest.param("a\ufe0f", id="selector-after-a-letter"),
        pytest.param("\ufe0f", id="selector-alone"),
        pytest.param("1\ufe0f", id="keycap-selector-without-keycap"),
        pytest.param("a\U000e0100", id="han-selector-after-a-letter"),
        pytest.param("a\u180b", id="mongolian-selector-after-a-letter"),
        pytest.param("\U0001f3f4\U000e0061\U000e007f", id="unknown-tag-flag"),
        pytest.param("\U0001f600\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", id="tags-without-flag"),
        pytest.param("a \U000e0067\U000e0062", id="tags-alone"),
    ],
)
def test_joiners_selectors_and_tags_are_refused_where_nothing_needs_them(text: str) -> None:
    assert refused_character(text) is not None


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Zs"], exclude_characters="\u115f\u1160\u3164\uffa0")))
def test_letters_digits_and_punctuation_of_any_script_are_fine(text: str) -> None:
    assert refused_character(text) is None


@given(st.text())
def test_what_is_named_stands_in_the_text(text: str) -> None:
    refused = refused_character(text)
    if refused is not None:
        assert chr(int(refused.removeprefix("U+").split(" ")[0], 16)) in text
