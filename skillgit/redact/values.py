"""Secrets that are known by the name before them: `password=…`, `"client_secret": "…"`, `--token …`.

The name alone is not enough, since code and prose are full of such names. The value decides: a reference, a type, a
placeholder, a word of prose or a name in code stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from skillgit.redact.blocks import Finding
from skillgit.redact.words import is_placeholder, is_reference, is_sample, is_sentence, says_its_name

Strength = Literal["password", "strong", "weak"]
"""How much a name says: behind `password` all is secret, behind `token` only what looks random."""

_NAME = re.compile(
    r"(?P<password>pass(?:word|wd|phrase|code)|pwd|(?<=[_\-.])pass|(?<![a-z])(?:pass|pw)(?==))"
    r"|(?P<strong>client[_\-. ]?secret|secret[_\-. ]?key|secret"
    r"|(?:api|access|private|account|auth|signing|encryption|master|shared[_\-. ]?access)[_\-. ]?key)"
    r"|(?P<weak>token|credentials?|(?<![a-z])_?auth)",
    re.IGNORECASE,
)
_VARIANT = r"(?:[_-]?(?:[0-9]{1,2}|base|prod|dev|staging|test|live|b64|base64|value|plain))?(?![\w-])"
_WHOLE_VARIANT = re.compile(rf"{_VARIANT}\Z", re.IGNORECASE)
_ASSIGNED = re.compile(
    rf"{_VARIANT}\\{{0,3}}[\"'`]?\]?"
    r"(?:[ \t]{0,8}:[ \t]{0,8}[A-Za-z_][\w.\[\]| ]{0,40}?[ \t]{1,8}=[ \t]|[ \t]{0,8}(?:=>|:=|={1,3}|:))[ \t]{0,8}",
    re.IGNORECASE,
)
_FLAGGED = re.compile(rf"{_VARIANT}(?:=|[ \t]{{1,8}}(?!-)|\\{{0,3}}[\"'],[ \t]{{0,4}}(?=[\"'\\]))", re.IGNORECASE)
_SAID = re.compile(rf"{_VARIANT} (?:is|was):? {{1,4}}", re.IGNORECASE)
_TAGGED = re.compile(rf"{_VARIANT}>", re.IGNORECASE)
_BEFORE = re.compile(r"[\w.\-]*\Z")
_QUOTE = re.compile(r"[fbruFBRU]{0,2}(\\{0,3}[\"'`])")
_INSIDE = {quote: re.compile(rf"(?:[^\\\n{quote}]++|\\.)*+") for quote in "\"'`"}
_BARE = re.compile(r"[^\s\"'`,;&|<>\\]++")
_TAG_BODY = re.compile(r"[^<>\n]*+(?=</)")
_LINE_START = re.compile(r"(?:^|\n|\\n)[\s\-*>|#]*(?:export\s+)?\\{0,3}[\"'`]?\Z")
_LINE_END = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|\r|\\n|\Z)")
_CODE = re.compile(r"[A-Za-z_][\w.]*[(\[]|[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+\Z")
# Names that only look secret: the shell's directories, and tokens of a language model or of paging.
_HARMLESS = re.compile(
    r"(?-i:(?:OLD)?PWD)|.*(?:next|page|continuation|cursor|sync|eos|bos|pad|unk|sep|cls|mask|stop|special|cancel\w*)[_-]?token",
    re.IGNORECASE,
)
_JUDGED = 256  # characters of a value by which it is judged; all of it is redacted


@dataclass(frozen=True, slots=True)
class _Value:
    """What stands behind a name. `literal`: where it stands, it cannot be a name in code or a word of a sentence."""

    start: int
    end: int
    literal: bool
    said: bool = False


def find_by_name(text: str) -> Iterator[Finding]:
    """Values behind names that call them secret."""
    reader = _Reader(text)
    at = 0
    while name := _NAME.search(text, at):
        at = name.end()
        before = _BEFORE.search(text[max(0, name.start() - 64) : name.start()])
        prefix = before[0] if before else ""
        value = reader.value(name, prefix)
        if value is None:
            continue
        shown = text[value.start : min(value.end, value.start + _JUDGED)]
        if _is_secret(prefix + name[0], _strength(name), shown, value.literal, value.said):
            yield Finding(value.start, value.end, _kind(name))
            at = max(at, value.end)


def named_kind(key: str, value: str) -> str | None:
    """The kind of secret that `value` is by the name of its key in a JSON object, or None."""
    for name in _NAME.finditer(key):
        if _WHOLE_VARIANT.match(key, name.end()) and _is_secret(key, _strength(name), value[:_JUDGED], True, False):
            return _kind(name)
    return None


def _strength(name: re.Match[str]) -> Strength:
    return "password" if name["password"] else "strong" if name["strong"] else "weak"


def _kind(name: re.Match[str]) -> str:
    if name["password"]:
        return "password"
    word = name[0].lower()
    return "key" if "key" in word else "secret" if "secret" in word else "token"


class _Reader:
    """Finds the value behind a name. A long run of bare characters is measured once, however many names it holds."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._run_end = 0

    def value(self, name: re.Match[str], prefix: str) -> _Value | None:
        text, key_start = self._text, name.start() - len(prefix)
        is_flag = prefix.startswith("--")
        if between := (_FLAGGED if is_flag else _ASSIGNED).match(text, name.end()):
            if quoted := self._quoted(between.end()):
                return quoted
            end = self._bare_end(between.end())
            settled = is_flag or text[max(0, key_start - 1) : key_start] in {"?", "&", ";"}
            spaced = "=" in between[0] and between[0] != between[0].strip()
            whole = _LINE_END.match(text, end) and _LINE_START.search(text[max(0, key_start - 80) : key_start])
            return _Value(between.end(), end, settled or bool(whole and not spaced))
        if between := _SAID.match(text, name.end()):
            quoted = self._quoted(between.end())
            start, end = (quoted.start, quoted.end) if quoted else (between.end(), self._bare_end(between.end()))
            return _Value(start, end, literal=False, said=True)
        if text[max(0, key_start - 1) : key_start] == "<" and (between := _TAGGED.match(text, name.end())):
            body = _TAG_BODY.match(text, between.end())
            return _Value(body.start(), body.end(), literal=True) if body else None
        return None

    def _quoted(self, at: int) -> _Value | None:
        opening = _QUOTE.match(self._text, at)
        if opening is None:
            return None
        quote, start = opening[1], opening.end()
        if len(quote) == 1:
            inside = _INSIDE[quote].match(self._text, start)
            return _Value(start, inside.end() if inside else start, literal=True)
        # An escaped quote is closed by the same; where it is cut off, by the end of the line.
        closing, line = self._text.find(quote, start), self._text.find("\n", start)
        ends = [end for end in (closing, line) if end >= 0]
        return _Value(start, min(ends, default=len(self._text)), literal=True)

    def _bare_end(self, start: int) -> int:
        if start >= self._run_end:
            run = _BARE.match(self._text, start)
            self._run_end = run.end() if run else start
        end = self._run_end
        while end > start and self._text[end - 1] in ").]}:*":
            end -= 1
        return end


def _is_secret(key: str, strength: Strength, value: str, literal: bool, said: bool) -> bool:
    value = value.strip()
    if len(value) < {"password": 4, "strong": 6, "weak": 6 if literal else 8}[strength] or _HARMLESS.fullmatch(key):
        return False
    if is_reference(value) or is_sample(value) or is_placeholder(value) or says_its_name(value, key):
        return False
    digit, letter = any(char.isdigit() for char in value), any(char.isalpha() for char in value)
    if said:
        return digit and letter and len(value) >= 6 and " " not in value
    if not literal and (_CODE.match(value) or not (digit and letter)):
        return False
    if " " in value:
        return strength == "password" and not is_sentence(value)
    if strength == "weak":
        return (digit and letter) or (len(value) >= 20 and value.isalnum() and letter)
    return True
