"""Secrets that are known by their own form: tokens of services, private keys, headers, addresses with credentials.

Every pattern takes time in proportion to the text: what repeats cannot match in two ways, and nothing begins at every
character of a long run.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from skillgit.redact.blocks import Finding, find_private_keys
from skillgit.redact.words import is_sample, word_set

# A token does not begin inside a word, but may follow an escaped line break of JSON or a percent code of a URL.
_BEGIN = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
_END = r"(?![A-Za-z0-9])"

_SERVICES: tuple[tuple[str, str], ...] = (
    ("github", r"gh[pousr]_[A-Za-z0-9]{12,}|github_pat_[A-Za-z0-9_]{16,}"),
    ("gitlab", rf"{_BEGIN}gl(?:pat|dt|rt|rtr|cbt|ptt|ft|soat|agent|oas|imt|ffct)-[A-Za-z0-9_.-]{{12,}}"),
    ("gitlab", rf"{_BEGIN}GR1348941[A-Za-z0-9_-]{{16,}}"),
    ("npm", rf"{_BEGIN}npm_[A-Za-z0-9]{{20,}}(?!_)"),
    ("hub", rf"{_BEGIN}(?:hf|api_org)_[A-Za-z0-9]{{20,}}(?!_)"),
    ("anthropic", rf"{_BEGIN}sk-ant-[A-Za-z0-9_-]{{12,}}"),
    ("openai", rf"{_BEGIN}sk-(?:(?:proj|svcacct|admin|None|or-v1|lf)-[A-Za-z0-9_-]{{12,}}|[A-Za-z0-9]{{20,}})"),
    ("aws", rf"{_BEGIN}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}{_END}"),
    ("google", rf"{_BEGIN}(?:AIza[A-Za-z0-9_-]{{30,}}|ya29\.[A-Za-z0-9_-]{{16,}}|GOCSPX-[A-Za-z0-9_-]{{16,}})"),
    ("google", rf"{_BEGIN}1//0[A-Za-z0-9_-]{{30,}}"),
    ("slack", rf"{_BEGIN}xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{{10,}}|{_BEGIN}xapp-[A-Za-z0-9-]{{16,}}"),
    ("slack", r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[A-Za-z0-9/_-]{10,}"),
    ("stripe", rf"{_BEGIN}[sr]k_(?:live|test)_[A-Za-z0-9]{{10,}}|{_BEGIN}whsec_[A-Za-z0-9+/=]{{16,}}"),
    ("pypi", rf"{_BEGIN}pypi-(?=[a-z-]{{0,80}}[A-Z0-9])[A-Za-z0-9_-]{{16,}}"),
    ("sendgrid", rf"{_BEGIN}SG\.[A-Za-z0-9_-]{{10,}}\.[A-Za-z0-9_-]{{10,}}"),
    ("twilio", rf"{_BEGIN}SK[0-9a-f]{{32}}{_END}"),
    ("discord", rf"{_BEGIN}[MNO][A-Za-z0-9_-]{{22,28}}\.[A-Za-z0-9_-]{{6}}\.[A-Za-z0-9_-]{{27,}}"),
    ("discord", r"(?<=/api/webhooks/)[0-9]{5,}/[A-Za-z0-9_-]{16,}"),
    ("telegram", r"(?:(?<![A-Za-z0-9])|(?<=/bot)|(?<=\\n))[0-9]{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    ("jwt", rf"{_BEGIN}eyJ[A-Za-z0-9_-]{{6,}}\.[A-Za-z0-9_-]{{2,}}(?:\.[A-Za-z0-9_-]*)?"),
    ("azure", r"(?i:(?<=[?&;]sig=)|(?<=x-amz-signature=)|(?<=x-goog-signature=))[A-Za-z0-9%+/=_-]{16,}"),
    ("token", rf"{_BEGIN}(?:do[opr]_v1_|rubygems_|sbp_)[0-9a-f]{{32,}}"),
    ("token", rf"{_BEGIN}(?:dapi|key-)[0-9a-f]{{32}}{_END}"),
    ("token", rf"{_BEGIN}shp(?:at|ca|pa|ss)_[0-9a-fA-F]{{24,}}"),
    ("token", rf"{_BEGIN}(?:lin_api|gsk|r8|nfp|ntn|glsa|glc|CCIPAT|sntry[su])_[A-Za-z0-9_=+/]{{20,}}"),
    ("token", rf"{_BEGIN}(?:xai|pplx|NRAK|PMAK|HRKU|tskey|figd_|sq0atp|sq0csp)-?[A-Za-z0-9_-]{{20,}}"),
    ("token", rf"{_BEGIN}(?:dckr_[po]at_|pscale_(?:tkn|pw)_|hv[sbr]\.|dp\.[psc]t\.|ATATT3|ATBB)[A-Za-z0-9._=-]{{16,}}"),
    ("token", rf"{_BEGIN}AGE-SECRET-KEY-1[A-Z0-9]{{20,}}"),
)
"""Kind and pattern. A pattern's match is the secret whole."""

_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _SERVICES)

# In a URL before the host: a name with a password, or a long name alone, which is a token.
_URL_CREDENTIALS = re.compile(r"(?<=://)(?:[^\s/?#\"'`<>@:]*:[^\s/?#\"'`<>]+|[^\s/?#\"'`<>@:]{16,})(?=@)")
_SCHEME = r"(?i:bearer|basic|token|digest|apikey|negotiate|ntlm|hawk|aws4-hmac-sha256)"
_QUOTE = r"\\{0,3}[\"'`]?"
_REST = r"[^\n\"'`\\<>{}$]"
_AUTHORIZATION = re.compile(
    rf"(?i:authorization){_QUOTE}\]?[ \t]{{0,8}}(?:=>|[:=,])[ \t]{{0,8}}f?{_QUOTE}"
    rf"(?P<scheme>(?:{_SCHEME}[ \t]{{1,8}})?)(?P<secret>(?P<first>[^\s\"'`\\,;<>(){{}}$]+){_REST}*)"
)
_BEARER = re.compile(rf"{_BEGIN}(?i:bearer)[ \t]{{1,8}}(?P<secret>[A-Za-z0-9._~+/=-]{{12,}})")
_BASIC = re.compile(rf"{_BEGIN}(?i:basic)[ \t]{{1,8}}(?P<secret>[A-Za-z0-9+/]{{8,}}={{0,2}})")
_COOKIE = re.compile(
    rf"(?i:cookie){_QUOTE}[ \t]{{0,8}}[:=][ \t]{{0,8}}{_QUOTE}"
    rf"(?P<secret>[\w.-]{{1,100}}=[^\s;\"'`\\<>{{}}$]{{4,}}(?:;{_REST}*)?)"
)
_LOGINS = (
    re.compile(r"\blogin\s{1,8}\S{1,100}\s{1,8}password\s{1,8}(?P<secret>\S{3,})"),  # .netrc
    re.compile(
        r"\b(?:curl|wget|http)\b[^\n]{0,200}?[ \t](?:-u|--user)[ =]{0,8}[\"']?"
        r"(?P<secret>[^\s:\"'$<{\\]{1,100}:[^\s\"'$<{\\]{1,200})"
    ),
    re.compile(r"\bmysql(?:dump|admin)?\b[^\n]{0,200}?[ \t]-p(?P<secret>[^\s\"'$<-][^\s\"']{2,200})"),
    re.compile(r"\bsshpass[ \t]{1,8}-p[ \t]{0,8}[\"']?(?P<secret>[^\s\"'$<-][^\s\"']{2,200})"),
)
_EMAIL = re.compile(
    r"(?<![\w.%+-])(?!git@)[\w.%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}"
    r"(?!(?:png|jpe?g|gif|svg|webp|ico|tgz|zip|js|ts|css|py|json|html?)\b)[A-Za-z]{2,24}(?![A-Za-z0-9])"
)
_WORDS_OF_DOCS = word_set(
    "auth authentication authorization bearer basic token tokens credentials credential scheme header headers realm",
    "none null true false required optional string str value key secret jwt undefined missing invalid",
)


def find_by_form(text: str) -> Iterator[Finding]:
    """All that is a secret by its form, and e-mail addresses; in no order, and they may overlap."""
    for kind, pattern in _COMPILED:
        for match in pattern.finditer(text):
            if not is_sample(match[0]):
                yield Finding(match.start(), match.end(), kind)
    yield from find_private_keys(text)
    yield from _authorizations(text)
    for pattern in _LOGINS:
        yield from (Finding(*match.span("secret"), "password") for match in pattern.finditer(text))
    for match in _COOKIE.finditer(text):
        yield Finding(*match.span("secret"), "cookie")
    yield from _userinfo_and_emails(text)


def authorization_value(value: str) -> str:
    """The value of an Authorization header with its credentials replaced."""
    header = f"Authorization: {value}"
    spans = [one for one in _authorizations(header) if one.kind == "authorization"]
    for one in sorted(spans, reverse=True)[-1:]:
        header = f"{header[: one.start]}[redacted:authorization]{header[one.end :]}"
    return header.removeprefix("Authorization: ")


def _userinfo_and_emails(text: str) -> Iterator[Finding]:
    """What stands before the @ of a URL's host, and e-mail addresses, which that would look like."""
    ends = set()
    for match in _URL_CREDENTIALS.finditer(text):
        ends.add(match.end())
        if not match[0].startswith(("$", "{", "[", "%")) and "${" not in match[0]:
            yield Finding(match.start(), match.end(), "userinfo")
    for match in _EMAIL.finditer(text):
        at = match.start() + match[0].index("@")
        if at not in ends and text[max(0, match.start() - 3) : match.start()] != "://":
            yield Finding(match.start(), match.end(), "email")


def _authorizations(text: str) -> Iterator[Finding]:
    for match in _AUTHORIZATION.finditer(text):
        if _is_credential(match["first"], text[match.end("first") :][:2], bool(match["scheme"])):
            whole = match["scheme"].strip().lower() in {"digest", "hawk", "aws4-hmac-sha256"}
            yield Finding(match.start("secret"), match.end("secret" if whole else "first"), "authorization")
    for match in _BEARER.finditer(text):
        if any(char.isdigit() for char in match["secret"]) and not is_sample(match["secret"]):
            yield Finding(*match.span("secret"), "authorization")
    for match in _BASIC.finditer(text):
        if _is_name_and_password(match["secret"]):
            yield Finding(*match.span("secret"), "authorization")


def _is_credential(first: str, after: str, has_scheme: bool) -> bool:
    """Whether the first word of an Authorization header is one, rather than prose about the header."""
    if first.lower() in _WORDS_OF_DOCS or first.startswith("[") or is_sample(first):
        return False
    if first.isalpha() and first.islower() and after[:1] == " " and after[1:].isalpha():
        return False
    random = any(char.isdigit() for char in first)
    return len(first) >= (4 if has_scheme else 8 if random else 20)


def _is_name_and_password(encoded: str) -> bool:
    try:
        plain = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in plain and all(32 <= byte < 127 for byte in plain)
