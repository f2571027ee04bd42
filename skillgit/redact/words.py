"""What stands in a secret's place and is none: references, samples, placeholders, types, words about secrets."""

from __future__ import annotations

import re

_REFERENCE = re.compile(
    r"\$|\{\{|\{[\w.]*\}\Z|\{%|<|%\(|%\w+%|\[redacted|\*{3}|@|!\w|&\w+\Z"
    r"|(?:env|vault|file|secretsmanager|keyring|arn|data|op|https?|ssm)://|(?:env|vault|file|arn|ref)[:+]"
    r"|(?:process|import\.meta)\.env|os\.(?:environ|getenv)|ENV\[|(?:secrets|vars|var|local|env|config|settings|self|this)\."
    r"|(?:\.{1,2}|~)/|/(?:etc|run|var|home|usr|opt|tmp|root|mnt|secrets?|keys?|Users)/"
)
_FILE = re.compile(r".*\.(?:pem|key|txt|json|ya?ml|env|crt|cer|p12|pfx|jks|toml|ini|conf|cfg|md|py|sh|gpg|asc)\Z")
# A variable's name: `OPENAI_API_KEY`.
_VARIABLE = re.compile(
    r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN|SECRET|PASSWORD|PASS|PWD|ID|AUTH|CREDENTIALS?)(?:_[A-Z0-9]+)*"
)
# Algorithms, encodings and measures that prose gives after "token" or "password".
_TECHNICAL = re.compile(
    r"(?:sha|md|aes|rsa|utf|base|hs|rs|es|hmac|oauth|argon|pbkdf|ed|ecdsa|v|x|tls|http)"
    r"[-_ ]?\d+(?:[-_.]?[a-z0-9]+){0,4}|bcrypt|scrypt|\d+[-_ ]?[a-z]+",
    re.IGNORECASE,
)
_SAMPLE = re.compile(r"x{6}|(?:^|[-_ .])your|\.{3}|…|(.)\1{11}", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def word_set(*words: str) -> frozenset[str]:
    """The words of all lines."""
    return frozenset(word for line in words for word in line.split())


_PLACEHOLDERS = word_set(
    # what a sample says
    "your my some the an example sample dummy fake mock test testing placeholder change changeme me replace replaced",
    "insert enter here todo fixme foo bar baz foobar goes",
    # what the value is
    "secret secrets token tokens password passwd pass pwd passphrase key keys api apikey access auth client",
    "value name",
    "user username db database admin service bot jwt oauth session refresh id private public",
    # that it has none
    "none null nil undefined true false yes no on off empty unset missing disabled enabled blank",
    # its type
    "str string text int integer number bool boolean bytes object any optional required default secretstr varchar char",
    # what became of it, or is wrong with it
    "hidden masked redacted removed encrypted hashed stored generated random prompt input field form hash digest",
    "invalid incorrect expired wrong unknown correct valid mismatch rejected denied failed failure error ok",
    # where it comes from
    "env environment file stdin config settings self this request response vault keychain from in of include omit",
    "same-origin plain bearer basic hmac",
)
_FUNCTION_WORDS = word_set(
    "a an the must is are be not your you enter please to for of or should cannot can will at least required field if",
    "this that these with from on",
)


def is_reference(value: str) -> bool:
    """It says where the secret is: a variable, a template, a file, a vault."""
    return bool(_REFERENCE.match(value) or _FILE.match(value) or _VARIABLE.fullmatch(value))


def is_sample(value: str) -> bool:
    """It shows a form, as `sk-proj-xxxxxxxx` and `ghp_your_token` do, or is shortened."""
    return _SAMPLE.search(value) is not None


def is_placeholder(value: str) -> bool:
    """It is made of words about secrets, or has nothing in it."""
    if not any(char.isalnum() for char in value) or _TECHNICAL.fullmatch(value):
        return True
    return not any(char.isdigit() for char in value) and _words(value) <= _PLACEHOLDERS


def says_its_name(value: str, key: str) -> bool:
    """`api_key=api_key`, `password=db_password`: a name in code that says the same as the key, or a part of it."""
    words, named = _words(value), _words(key)
    return re.fullmatch(r"[A-Za-z_.\-]+", value) is not None and bool(words) and (words <= named or named <= words)


def is_sentence(value: str) -> bool:
    """It is a message about a password, not a passphrase."""
    return bool({word.lower() for word in re.findall(r"[A-Za-z]+", value)} & _FUNCTION_WORDS)


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
