"""How answers are compared: SQuAD's text normalisation, its token F1, and numbers read exactly.

The rule is that of the SQuAD evaluation script (Rajpurkar et al., arXiv 1606.05250): lower case, no punctuation, no
English articles, single spaces. Two things differ. It is applied to Unicode (NFKC, case folding, typographic
punctuation, invisible characters). And a mark that decides the value of a number stays (`1.5` is not `15`, `-4` is
not `4`, `1/2` is not `12`), since a wrong number must not count as right.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from fractions import Fraction

_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
# Marks that change what a number is: a decimal point, a fraction's slash, a power, a minus sign.
_NUMERIC_MARK = re.compile(
    r"(?<=\d)[./^](?=-?\d)|(?<![\w.])\.(?=\d)|(?<!\w)-(?=[.\d])|(?<=\d[e^])-(?=\d)",
)
_VULGAR = re.compile("[¼-¾⅐-⅞]")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_SUPERSCRIPT = re.compile("[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_MINUS = str.maketrans({"−": "-", "⁄": "/", "∕": "/"})
_DASH_BEFORE_DIGIT = re.compile(r"(?<!\w)[‐‑‒–—](?=[.\d])")


def _plain(text: str) -> str:
    """NFKC, except that `2½` and `10²` keep their meaning; minus and slash as ASCII; no invisible characters."""
    text = _VULGAR.sub(lambda match: " " + match[0], text)
    text = _SUPERSCRIPT.sub(lambda match: "^" + match[0].translate(_SUPERSCRIPTS), text)
    text = unicodedata.normalize("NFKC", text)
    text = "".join(char for char in text if unicodedata.category(char) != "Cf")
    return _DASH_BEFORE_DIGIT.sub("-", text.translate(_MINUS))


def _is_punctuation(char: str) -> bool:
    return char in string.punctuation or unicodedata.category(char).startswith("P")


def normalize_text(text: str) -> str:
    """The form in which two answers are compared. It may be empty: `The.` says nothing."""
    text = unicodedata.normalize("NFKC", _plain(text).casefold())
    kept = {match.start() for match in _NUMERIC_MARK.finditer(text)}
    bare = "".join(char for at, char in enumerate(text) if at in kept or not _is_punctuation(char))
    return " ".join(_ARTICLE.sub(" ", bare).split())


_TYPOGRAPHY = str.maketrans({"‘": "'", "’": "'", "‛": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "‐": "-", "‑": "-"})


def fold(text: str) -> str:
    """The form in which a text is looked for in another: one case, NFKC, plain quotes and hyphens, single spaces."""
    visible = "".join(char for char in text.translate(_TYPOGRAPHY) if unicodedata.category(char) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold()).split())


def token_f1(answer: str, expected: str) -> Fraction:
    """Harmonic mean of precision and recall over the words that both have, from 0 to 1.

    As in SQuAD 2.0, where either side normalises to nothing the score is 1 if both do, else 0.
    """
    ours, theirs = normalize_text(answer).split(), normalize_text(expected).split()
    if not ours or not theirs:
        return Fraction(ours == theirs)
    shared = (Counter(ours) & Counter(theirs)).total()
    # 2PR/(P+R) with P = shared/len(ours) and R = shared/len(theirs)
    return Fraction(2 * shared, len(ours) + len(theirs))


_LONGEST_NUMBER = 200  # characters; more is no number that a person wrote
_LARGEST_POWER = 400  # beyond the range of a double, an exact power only costs memory
_CODES = "AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|INR|JPY|KRW|MXN|NOK|NZD|PLN|SEK|SGD|USD|ZAR"
_GROUPED = (
    # 1,234,567.8 and 12,34,567.8
    re.compile(r"(?P<whole>[1-9]\d{0,2}(?:,\d{2,3})*,\d{3})(?:\.(?P<part>\d+))?"),
    # 1.234.567 and 1.234,5: a lone group after a point is a decimal fraction
    re.compile(r"(?P<whole>[1-9]\d{0,2}(?:\.\d{3})+)(?:,(?P<part>\d+))"),
    re.compile(r"(?P<whole>[1-9]\d{0,2}(?:\.\d{3}){2,})(?P<part>)"),
    # 1 234 567,8 and 1'234'567.8 and 1_234
    re.compile(r"(?P<whole>[1-9]\d{0,2}(?:(?P<mark>[ '’_])\d{3})(?:(?P=mark)\d{3})*)(?:[.,](?P<part>\d+))?"),
    # 12, 1.5, .5, 5., and 1,5, whose comma groups nothing
    re.compile(r"(?P<whole>\d+)(?:\.(?P<part>\d*))?"),
    re.compile(r"(?P<whole>\d+),(?P<part>\d{1,2}|\d{4,})"),
    re.compile(r"(?P<whole>0),(?P<part>\d+)"),
    re.compile(r"(?P<whole>)\.(?P<part>\d+)"),
)
_SIGN = re.compile(r"^[+-] ?")
_POWERS = (
    re.compile(r"(?P<head>.+?)e(?P<power>[+-]?\d{1,4})", re.I),
    re.compile(r"(?:(?P<head>.+?) ?[x×·*] ?)?10(?:\^|\*\*)\(?(?P<power>[+-]?\d{1,4})\)?"),
)
_FRACTION = re.compile(r"(?:(?P<whole>\d+) )?(?P<over>\d+) ?/ ?(?P<under>\d+)")
_PERCENT = {"%": 100, "‰": 1000}


def _decimal(text: str) -> Fraction | None:
    """A number without sign or power, with whatever marks group its digits."""
    for form in _GROUPED:
        if match := form.fullmatch(text):
            whole = re.sub(r"\D", "", match["whole"])
            part = match["part"] or ""
            return Fraction(int(whole + part or "0"), 10 ** len(part))
    return None


def _unsigned(text: str) -> Fraction | None:
    """A number, a fraction, a mixed number, or one with a power of ten; no sign."""
    if match := _FRACTION.fullmatch(text):
        under = int(match["under"])
        return int(match["whole"] or 0) + Fraction(int(match["over"]), under) if under else None
    for form in _POWERS:
        if match := form.fullmatch(text):
            head = Fraction(1) if match["head"] is None else _decimal(match["head"])
            power = int(match["power"])
            return head * Fraction(10) ** power if head is not None and abs(power) <= _LARGEST_POWER else None
    return _decimal(text)


def _without_currency(text: str) -> str:
    """Without one currency sign or ISO code at either end, a sign before it kept."""
    text = re.sub(rf"^([+-]?) ?(?:{_CODES})\b ?|(?<=[\d.]) ?(?:{_CODES})$", r"\1", text)
    sign, rest = (text[:1], text[1:].lstrip()) if text[:1] in {"+", "-"} else ("", text)
    rest = re.sub(r"^[A-Z]{1,2}(?=[^\w\s.+-])", "", rest)  # the letters of US$ and A$
    if rest and unicodedata.category(rest[0]) == "Sc":
        rest = rest[1:].lstrip()
    if rest and unicodedata.category(rest[-1]) == "Sc":
        rest = rest[:-1].rstrip()
    return sign + rest


def parse_number(text: str) -> Fraction | None:
    """The number that the whole of `text` is, exactly, or None where it is not one number and nothing else.

    Read are `1,234.5`, `1 234,5`, `1.234,5`, `1,5`, `1e-3`, `1.5 × 10^3`, `3/4`, `2 1/2`, `2½`, any minus sign,
    digits of any script, a currency sign or code at either end, Markdown emphasis or code around it, a full stop
    after it. `45%` is 45/100. `1,234` is a thousand and more, `1.234` is one and a bit. Words and units are not
    read: `5 million` is not 5.
    """
    if len(text) > _LONGEST_NUMBER:
        return None
    text = " ".join(_plain(text).split())
    text = "".join(str(unicodedata.decimal(char)) if unicodedata.category(char) == "Nd" else char for char in text)
    text = text.strip("*_` ").replace("\\$", "$").replace("\\%", "%")
    text = text.removesuffix(".").rstrip("*_` ")
    scale = _PERCENT.get(text[-1:], 1)
    if scale > 1:
        text = text[:-1].rstrip()
    text = _without_currency(text)
    negative = text.startswith("-")
    number = _unsigned(_SIGN.sub("", text))
    if number is None:
        return None
    return (-number if negative else number) / scale
