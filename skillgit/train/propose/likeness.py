"""Whether two texts that are to be added say the same, or contradict each other. Pure, symmetric, without a model.

What carries meaning by itself is *hard*: numbers, codes, identifiers, code spans, operators, headings, and words such
as `not`, `only` or `before`. Hard tokens are never bridged: a text that has another one says something else. What only
carries the sentence (articles, `please`, punctuation, the case of plain words) is left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

LEAST_OVERLAP = 0.9
"""Share of the longer text's words that the shorter one has, from which on the two say the same."""
LEAST_TURNED, MOST_TURNED = 4, 60
"""Words of a sentence whose two parts may change places."""
MOST_SUBJECT, MOST_VALUE = 8, 4
"""Words of a claim's subject and of a value that is short enough to be one."""

Contradiction = Literal["value", "partial"]

_TOKEN = re.compile(
    r"`[^`\n]+`|^[ \t]*#{1,6}(?=[ \t])|\w+(?:[-.'’/:@#]+\w+)*|!=|[<>=+%&|~^$€£→⇒←]+|-{1,3}>|/|\\", re.MULTILINE
)
_BULLET = re.compile(r"^[ \t]*(?:>[ \t]*)*[-*+][ \t]+", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<!\w)[*_]{1,3}(?=\w)|(?<=[\w.!?,:;])[*_]{1,3}(?!\w)|\*\*")
# What stands between a subject and its value, the surest first.
_SEPARATORS = tuple(re.compile(pattern) for pattern in (r"\s(?:-{1,3}>|={1,3}>|→|⇒|=)\s", r":(?=\s)", r"\s[-–—]\s"))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FILLERS = _words("a an the please also just simply very really kindly")
_NEGATIONS = _words(
    "not no never none nor neither without cannot can't don't doesn't didn't isn't aren't won't shouldn't mustn't"
)
_AUXILIARY = _words("do does did should must shall will can always ever")
_GUARDS = _NEGATIONS | _words(
    "only except unless if when while until before after then than first last all any each every some both either more"
    " less most least fewer above below over under instead rather and or but minus plus up down in out"
)
# They name a part of an example or the weight of a rule, not a thing that has one value.
_LABELS = _words(
    "note notes example examples tip tips hint hints important warning caution rule rules remember reminder input"
    " output task question answer reply expected user assistant step steps"
)


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number, operator or code span, as it is compared."""

    text: str
    hard: bool

    @property
    def is_code(self) -> bool:
        """Whether it names something by itself: hard, and no word of the language."""
        return self.hard and self.text not in _GUARDS


@lru_cache(maxsize=2048)
def tokens(text: str) -> tuple[Token, ...]:
    """The tokens of a text, in order; bullets, emphasis, punctuation and fillers are left out."""
    plain = _EMPHASIS.sub("", _BULLET.sub("", unicodedata.normalize("NFC", text)))
    found = [_token(match[0].strip(), plain, match.start()) for match in _TOKEN.finditer(plain)]
    return tuple([token for token in found if token.text not in _FILLERS] or found)


def _token(text: str, whole: str, start: int) -> Token:
    low = text.casefold().replace("’", "'")
    if low in _GUARDS:
        return Token(low, True)
    if low in _AUXILIARY or low in _FILLERS:
        return Token(low, False)
    capital_inside = any(char.isupper() for char in text[1:])
    hard = capital_inside or not all(char.isalpha() or char in "-'’" for char in text) or not text[0].isalpha()
    return Token(text, True) if hard else Token(low, False)


def says_the_same(one: str, other: str) -> bool:
    """Whether two texts differ only in form: punctuation, case of plain words, fillers, two clauses that changed
    places, or a few plain words that one of them has more. Texts with code fences never do: there, every character
    counts.
    """
    if _has_code(one) or _has_code(other):
        return False
    first, second = tokens(one), tokens(other)
    if not first or not second or _claims(one).keys() != _claims(other).keys():
        return False
    return first == second or _is_turned(first, second) or _only_adds(first, second) or _only_adds(second, first)


def words_in(text: str) -> int:
    """How many tokens a text has: of texts that say the same, the longest says most."""
    return len(tokens(text))


def _is_turned(one: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether two parts of a sentence changed places ("Before you reply, check it": "Check it before you reply"). Any
    other change of order may change the meaning ("tabs, not spaces")."""
    if (
        len(one) != len(other)
        or not LEAST_TURNED <= len(one) <= MOST_TURNED
        or not all(t.text[0].isalnum() for t in one)
    ):
        return False
    cuts = (cut for cut in range(1, len(one)) if one[cut] == other[0])
    return any([*one[cut:], *one[:cut]] == list(other) for cut in cuts)


def _only_adds(shorter: Sequence[Token], longer: Sequence[Token]) -> bool:
    """Whether `longer` is `shorter` with a few plain words in between."""
    if not len(longer) * LEAST_OVERLAP <= len(shorter) < len(longer):
        return False
    rest = iter(shorter)
    expected = next(rest, None)
    for token in longer:
        if token == expected:
            expected = next(rest, None)
        elif token.hard:
            return False
    return expected is None


def contradiction(one: str, other: str) -> Contradiction | None:
    """How two texts that both would be added contradict each other.

    - They give one subject different values (`- refunds: R12`, `- refunds: R13`), the values being short.
    - They are one sentence but for one code or number near its end ("round to 2 decimals", "round to 3 decimals").
    - They are one sentence but for a negation.

    Returns: `value` where only one of them can stand, `partial` where they also say things that the other does not,
    None where both can stand.
    """
    if _has_code(one) or _has_code(other) or says_the_same(one, other):
        return None
    ours, theirs = _claims(one), _claims(other)
    shared = [subject for subject in ours if subject in theirs]
    if any(_values_differ(ours[subject], theirs[subject]) for subject in shared):
        all_of_it = len(shared) == len(_filled(one)) == len(_filled(other))
        return "value" if all_of_it else "partial"
    if ours.keys() != theirs.keys():
        return None
    first, second = tokens(one), tokens(other)
    return "value" if _differ_in_one_code(first, second) or _differ_in_negation(first, second) else None


def _values_differ(one: Sequence[Token], other: Sequence[Token]) -> bool:
    if one == other:
        return False
    shortest, longest = sorted((len(one), len(other)))
    both_name = any(t.is_code for t in one) and any(t.is_code for t in other)
    codes = {t.text for t in one if t.is_code} != {t.text for t in other if t.is_code}
    if longest <= MOST_VALUE:
        return not both_name or codes
    return (shortest <= MOST_VALUE and both_name and codes) or _differ_in_one_code(one, other)


def _differ_in_one_code(one: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether only one code differs, and stands late enough to be what the sentence says, not what it is about."""
    if len(one) != len(other):
        return False
    places = [place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
    if len(places) != 1:
        return False
    place = places[0]
    after = one[place + 1 :]
    late = place >= 2 and place > len(after) and not any(token.is_code for token in after)
    return late and one[place].is_code and other[place].is_code


def _differ_in_negation(one: Sequence[Token], other: Sequence[Token]) -> bool:
    def without(text: Sequence[Token]) -> list[Token]:
        return [token for token in text if token.text not in _NEGATIONS | _AUXILIARY]

    def negated(text: Sequence[Token]) -> int:
        return sum(token.text in _NEGATIONS for token in text) % 2

    return bool(without(one)) and without(one) == without(other) and negated(one) != negated(other)


@lru_cache(maxsize=2048)
def _claims(text: str) -> Mapping[tuple[str, ...], tuple[Token, ...]]:
    """What lines of the form `subject: value` say, by subject. One that stands on several lines is a mere label."""
    found: dict[tuple[str, ...], tuple[Token, ...]] = {}
    labels: set[tuple[str, ...]] = set()
    for line in _filled(text):
        plain = _EMPHASIS.sub("", line)
        parts = next((cut for separator in _SEPARATORS if len(cut := separator.split(plain)) > 1), [])
        if len(parts) != 2:  # with two separators it says more than one thing
            continue
        subject, value = tuple(token.text for token in tokens(parts[0])), tokens(parts[1])
        is_label = all(word.casefold() in _LABELS or word.isdigit() for word in subject)
        if is_label or not value or len(subject) > MOST_SUBJECT:
            continue
        if subject in found:
            labels.add(subject)
        found[subject] = value
    return {subject: value for subject, value in found.items() if subject not in labels}


def _filled(text: str) -> list[str]:
    return [_BULLET.sub("", line).strip() for line in text.splitlines() if line.strip()]


def _has_code(text: str) -> bool:
    return "```" in text or "~~~" in text
