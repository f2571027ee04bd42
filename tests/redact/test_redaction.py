"""Secrets out, everything else as it was. All tokens are made up, some split so that no scanner is alarmed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from skillgit.redact import PERSONAL, contains_secret, find, redact, redact_json, secrets_in

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "redact.yaml").read_text(encoding="utf-8"))
MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6hJ9k"
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    result = redact(case["text"], case.get("limit"))
    assert case["keep"] in result
    if case["secret"] is None:
        assert result == case["text"]
    else:
        assert case["secret"] not in result
    if "limit" in case:
        assert len(result) <= case["limit"]


TOKENS = [
    *((kind, "gh" + tail) for kind in ["github"] for tail in ("p_", "o_", "u_", "s_", "r_")),
    ("gitlab", "glpat-"),
    ("gitlab", "gldt-"),
    ("gitlab", "glrt-"),
    ("gitlab", "glptt-"),
    ("npm", "npm_"),
    ("hub", "hf_"),
    ("openai", "sk-"),
    ("openai", "sk-proj-"),
    ("openai", "sk-svcacct-"),
    ("anthropic", "sk-ant-" + "api03-"),
    ("stripe", "sk_" + "live_"),
    ("stripe", "rk_" + "live_"),
    ("stripe", "sk_" + "test_"),
    ("google", "AI" + "za"),
    ("google", "ya29."),
    ("google", "GOCSPX-"),
    ("slack", "xoxb" + "-1234567890-"),
    ("slack", "xoxp" + "-"),
    ("slack", "https://hooks.slack.com/" + "services/T00AAAA/B00BBBB/"),
    ("discord", "https://discord.com/api/webhooks/" + "1234567890/"),
    ("pypi", "pypi-" + "AgEIcHlwaS5vcmc"),
    ("jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0."),
    ("token", "dckr_" + "pat_"),
    ("token", "gsk_"),
    ("token", "lin_api_"),
]


@pytest.mark.parametrize(("kind", "prefix"), TOKENS, ids=[prefix for _, prefix in TOKENS])
@pytest.mark.parametrize(
    "around", ["{}", "see {} here", "TOKEN_FILE: x\n{}\n", '["{}"]', "a=1&b={}&c", r"line\n{}\nline", "`{}`", "({})."]
)
def test_tokens_of_services(kind: str, prefix: str, around: str) -> None:
    token = prefix + MIXED[:36]
    result = redact(around.format(token))
    assert MIXED[:36] not in result
    assert f"[redacted:{kind}]" in result
    assert contains_secret(around.format(token)) == kind


@pytest.mark.parametrize(
    ("kind", "text", "secret"),
    [
        ("github", "github_pat_" + MIXED, MIXED),
        ("github", "a token cut off: ghp_" + MIXED[:14], MIXED[:14]),
        ("aws", "id AKIA" + "ABCDEFGHIJKLMNOP end", "ABCDEFGHIJKLMNOP"),
        ("key", "aws_secret_access_key = " + MIXED, MIXED),
        ("key", "AWS_SECRET_ACCESS_KEY=/" + MIXED[1:], MIXED[1:]),
        ("twilio", "SK" + HEX, HEX),
        ("sendgrid", "SG." + MIXED[:22] + "." + MIXED, MIXED),
        ("discord", "M" + MIXED[:23] + ".abc_d1." + MIXED[:30], MIXED[:30]),
        ("telegram", "123456789:" + MIXED[:35], MIXED[:35]),
        ("telegram", "https://api.telegram.org/bot123456789:" + MIXED[:35] + "/getMe", MIXED[:35]),
        ("azure", "https://x.blob.core.windows.net/c?sv=1&sig=abcdefghijklmnop%2Bqrstu%3D&se=2", "abcdefghijklmnop"),
        ("key", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + MIXED + "==;EndpointSuffix=x", MIXED),
        ("key", "Endpoint=sb://x/;SharedAccessKey=" + MIXED + "=", MIXED),
        ("token", "//registry.example/:_authToken=" + HEX, HEX),
        ("authorization", "Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("authorization", "authorization: token " + HEX, HEX),
        ("authorization", '{"Authorization": "Bearer abc123def456"}', "abc123def456"),
        ("authorization", r"{\"Authorization\": \"Bearer abc123def456\"}", "abc123def456"),
        ("authorization", "headers['Authorization'] = f'Bearer abc123def456'", "abc123def456"),
        ("authorization", "Proxy-Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("authorization", 'Authorization: Digest username="u", response="' + HEX + '"', "username"),
        ("authorization", "Authorization: " + HEX, HEX),
        ("authorization", "send it with bearer abc123def456ghi", "abc123def456ghi"),
        ("cookie", "Cookie: session=abcdef123; theme=dark", "abcdef123"),
        ("cookie", "Set-Cookie: sid=abcdef; Path=/; HttpOnly", "abcdef"),
        ("cookie", "curl -H 'Cookie: a=bcde1234'", "bcde1234"),
        ("password", "curl -u deploy:hunter2 https://example.com", "hunter2"),
        ("password", "mysql -h db -u root -phunter2 shop", "hunter2"),
        ("password", "sshpass -p hunter2 ssh host", "hunter2"),
        ("password", "machine git.example.com login me password hunter2", "hunter2"),
        ("password", "password=hunter2", "hunter2"),
        ("password", "password = hunter2", "hunter2"),
        ("password", "Password: hunter2", "hunter2"),
        ("password", "password: letmein", "letmein"),
        ("password", "db:\n  password: letmein  # local\n  host: x", "letmein"),
        ("password", "DB_PASSWORD=letmein", "letmein"),
        ("password", "DB_PASS=letmein", "letmein"),
        ("password", "pass=hunter2", "hunter2"),
        ("token", "token=abc123", "abc123"),
        ("password", "export PGPASSWORD=letmein", "letmein"),
        ("password", "PASSWORD_2='let me in'", "let me in"),
        ("password", '{"password": "correct horse battery staple"}', "horse"),
        ("password", r'{"cmd": "export PASSWORD=hunter2\nmake"}', "hunter2"),
        ("password", r"{\"password\": \"hunter2\"}", "hunter2"),
        ("password", r'"password": "hun\"ter2"', "ter2"),
        ("password", '"password": "hunter2', "hunter2"),
        ("password", "config['password'] = 'hunter2'", "hunter2"),
        ("password", 'password: str = "hunter2"', "hunter2"),
        ("password", "connect(user='me', passwd='hunter2')", "hunter2"),
        ("password", "password => 'hunter2'", "hunter2"),
        ("password", "<password>hunter2</password>", "hunter2"),
        ("password", "https://x.example/login?user=me&password=letmein&x=1", "letmein"),
        ("password", "Server=db;Uid=me;Pwd=letmein;", "letmein"),
        ("password", "tool --password hunter2 --verbose", "hunter2"),
        ("password", "tool --password=letmein", "letmein"),
        ("password", '["tool", "--password", "hunter2"]', "hunter2"),
        ("password", "my password is hunter2.", "hunter2"),
        ("password", "the passphrase was: `hunter2x`", "hunter2x"),
        ("key", "api_key: " + HEX, HEX),
        ("key", "apiKey: '" + MIXED + "'", MIXED),
        ("key", "API key: " + HEX, HEX),
        ("key", "X-Api-Key: " + HEX, HEX),
        ("key", "ELASTIC_API_KEY_PROD=" + HEX, HEX),
        ("secret", '"client_secret": "abcdefgh"', "abcdefgh"),
        ("secret", "clientSecret=" + HEX, HEX),
        ("token", "token: " + HEX, HEX),
        ("token", "PRIVATE-TOKEN: " + MIXED, MIXED),
        ("token", "--token " + HEX, HEX),
        ("token", "access_token=" + HEX + "&state=1", HEX),
        ("userinfo", "postgres://app:p@ss:w0rd@db.example:5432/x", "w0rd"),
        ("userinfo", "redis://:hunter2@cache:6379", "hunter2"),
        ("userinfo", "git clone https://" + HEX + "@git.example.com/a.git", HEX),
        ("userinfo", "mongodb+srv://u:letmein@c.example.net/?w=1", "letmein"),
        ("email", "Co-authored-by: Jo <jo.smith@corp.example>", "jo.smith@corp.example"),
        ("email", "jo@corp.example, al@corp.example", "al@corp.example"),
    ],
)  # fmt: skip
def test_secrets_in_their_places(kind: str, text: str, secret: str) -> None:
    result = redact(text)
    assert secret not in result
    assert f"[redacted:{kind}]" in result
    assert (contains_secret(text) is None) is (kind in PERSONAL)


KEEP = """\
fixed in 3f786850e387550fdab836ed7e6dc881de23001b and 3f78685
sha256:1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32
Skill-Blob: 5f2c7d5a1f0e4b7a8c9d0e1f2a3b4c5d6e7f8a9b
Skill-Run: 01k9x0c5v2m8q4t7b3n6r1d9sf
Skill-Val: sha256:1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32
Skill-Cost: calls=212 tokens=182340 usd=0.43
Skill-Optimizer: anthropic/claude-opus-4-8
id 01ARZ3NDEKTSV4RRFFQ69G5FAV, 550e8400-e29b-41d4-a716-446655440000
iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==
the password field must not be empty
Enter your password:
password: must not be empty
"password": "must not be empty"
"password_label": "Password"
Password: required
The password is 8 characters long, and the token is sha256 encoded.
token budget: 4000
the token: a string that the server sends
max_tokens=512
max_token=512
"max_tokens": 1024, "total_tokens": 20481024
tokenizer: gpt2-medium-v1
next_page_token: CAUQAA1234567
eos_token: "</s>", pad_token_id: 151643
token_ids=[1, 2, 3]
secret: true
secret = None
secretary: Ann1234
password: str
password: str | None = None
password: Optional[str] = None
api_key: SecretStr
api_key=api_key
api_key=openai_api_key
password=db_password
password=self.password, token=request.token
client(api_key=settings.openai2.api_key)
api_key = os.environ["OPENAI_API_KEY"]
api_key = os.getenv("OPENAI_API_KEY")
apiKey: process.env.API_KEY_2
api_key_env: OPENAI_API_KEY
api_key: OPENAI_API_KEY
token=$TOKEN
token=${TOKEN_2}
token: ${{ secrets.NPM_TOKEN_2 }}
token: {{ vault_token_2 }}
TOKEN=$(cat token1.txt)
password=%DB_PASS1%
password=<your-password-1>
api_key: <your-key>
api_key="your-api-key-1234"
api_key="sk-..."
api_key="sk-proj-xxxxxxxxxxxxxxxxxxxxxxxx"
token: "***"
password: ********
PASSWORD=changeme
private_key: /etc/ssl/private/key1.pem
private_key_path=./id_ed25519
--password-stdin --token-file token1.txt
tool --token <token> --password PASSWORD
def get_token(self): return self.token
token = tokens[12]
if token: return decode1(token)
password = input("Password1: ")
password = getpass.getpass()
token = secrets.token_hex(16)
if password == other.password1: pass
PWD=/home/me2/project
OLDPWD=/srv/app1
Authorization: Bearer $TOKEN
Authorization: Bearer ${TOKEN}
Authorization: Bearer <token>
Authorization: Bearer YOUR_TOKEN_HERE
Authorization: Bearer {token}
f"Bearer {token1}"
"Authorization": f"Bearer {self.token1}"
Authorization: Bearer token
Authorization: Basic authentication is used
the Authorization header: required
basic arithmetic and bearer authentication
Cookie: session=$SESSION
cookie: true
set-cookie: <cookie>
https://git.example.com/a/b.git?x=1:2@3
ssh://git@git.example.com/a.git and git@github.com:o/r.git
https://${USER}:${PASS}@git.example.com
https://<user>:<password>@git.example.com
actions/checkout@v4 lodash@4.17.21 icon@2x.png @types/node a@b
hf_hub_download hf_transfer_enabled npm_config_registry npm_package_version_and_name
sk-learn-contrib-some-package task-abcdefghijklmnopqrstuvwxyz
pypi-attestations-and-other-lower-case-words
mkdir -p dir1/dir2 && ssh -p 2222 host1
docker run -u 1000:1000 image1
-----BEGIN CERTIFICATE-----
write -----BEGIN PRIVATE KEY----- in the first line
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHUIG8UVm0JXQw1dxnWkVtPhm1XVwTnNHn9yOWgpjLvL
the key is secret; keep it
second pass: step2 of compass=north1
token: beta-1 release
compass: 12345678
author: jo2345678
oauth: v2.0.1234
password hash: bcrypt
secret: my-service
credentials: include
"""


@pytest.mark.parametrize("line", KEEP.splitlines())
def test_what_is_no_secret_stays(line: str) -> None:
    assert redact(line) == line
    assert contains_secret(line) is None


def test_a_whole_text_without_secrets_stays() -> None:
    assert redact(KEEP) == KEEP


PEM = (
    "-----BEGIN {0}PRIVATE KEY{1}-----\nMIIEowIBAAKCAQEAxyz\nABCDEFGHIJKLMNOP+/\nAAAA\n-----END {0}PRIVATE KEY{1}-----"
)


@pytest.mark.parametrize(
    "label",
    [("", ""), ("RSA ", ""), ("EC ", ""), ("DSA ", ""), ("OPENSSH ", ""), ("ENCRYPTED ", ""), ("PGP ", " BLOCK")],
)
@pytest.mark.parametrize("form", ["{}", '{{"key": "{}"}}', "  > {}"])
def test_private_keys(label: tuple[str, str], form: str) -> None:
    key = PEM.format(*label)
    if form.startswith("{{"):
        key = key.replace("\n", "\\n")
    if ">" in form:
        key = key.replace("\n", "\n  > ")
    result = redact(f"before\n{form.format(key)}\nafter")
    assert result == f"before\n{form.format('[redacted:private-key]')}\nafter"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKC\nABCDEF", "a\n[redacted:private-key]"),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKC\nABCDEF\n\nand the text goes on",
            "a\n[redacted:private-key]\n\nand the text goes on",
        ),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0F\n\nMIIE",
            "[redacted:private-key]",
        ),
        ('"-----BEGIN PRIVATE KEY-----\\nMIIEow\\nABC', '"[redacted:private-key]'),
        ("ABCDEFGH\nIJKL==\n-----END PRIVATE KEY-----\nb", "[redacted:private-key]\nb"),
        ("so it ends:\nABCDEFGH\n-----END PRIVATE KEY-----\nb", "so it ends:\n[redacted:private-key]\nb"),
        ("-----BEGIN PRIVATE KEY----- " + "A1" * 32 + " " + "B2" * 20, "[redacted:private-key]"),
        (
            "Private-Lines: 2\nAAAABBBBCCCCDDDDEEEE\nAAAABBBB\nPrivate-MAC: 0f",
            "Private-Lines: 2[redacted:private-key]\nPrivate-MAC: 0f",
        ),
    ],
)
def test_private_keys_that_are_cut_off(text: str, result: str) -> None:
    assert redact(text) == result


def test_the_limit_counts_after_redaction_and_spares_placeholders() -> None:
    text = "ab ghp_" + MIXED[:36] + " cd"
    whole = "ab [redacted:github] cd"
    assert redact(text, 100) == redact(text) == whole
    assert redact(text, len(whole)) == whole
    assert redact(text, 21) == "ab [redacted:github] "
    assert redact(text, 20) == "ab [redacted:github]"
    assert redact(text, 19) == redact(text, 4) == "ab "
    assert redact(text, 2) == "ab"
    assert redact(text, 0) == ""


def test_findings_are_in_order_and_the_special_kind_wins() -> None:
    text = "mail a@b.example; token=glpat-" + MIXED[:20]
    assert [one.kind for one in find(text)] == ["email", "gitlab"]
    assert contains_secret(text) == "gitlab"
    assert redact(text) == "mail [redacted:email]; token=[redacted:gitlab]"


def test_json() -> None:
    value = {
        "password": "hunter2",
        "user": {"email": "a@b.example", "api_key": HEX, "n": 1, "ok": True, "none": None, "pi": 3.5},
        "args": ["--verbose", "ghp_" + MIXED[:36]],
        "passwords": {"password": 123456, "passphrase": ["let me in now", "hunter2"]},
        "headers": [{"name": "Authorization", "value": "Bearer abc123def456"}, {"name": "Cookie", "value": "a=bcd"}],
        "Authorization": "Basic dXNlcjpwYXNz",
        "max_tokens": 512,
        "token": "next",
        "schema": {"password": "string", "secret": "required", "token": {"type": "string"}},
        "pair": ("a", "b"),
    }
    assert redact_json(value) == {
        "password": "[redacted:password]",
        "user": {"email": "[redacted:email]", "api_key": "[redacted:key]", "n": 1, "ok": True, "none": None, "pi": 3.5},
        "args": ["--verbose", "[redacted:github]"],
        "passwords": {"password": "[redacted:password]", "passphrase": ["[redacted:password]", "[redacted:password]"]},
        "headers": [
            {"name": "Authorization", "value": "Bearer [redacted:authorization]"},
            {"name": "Cookie", "value": "[redacted:cookie]"},
        ],
        "Authorization": "Basic [redacted:authorization]",
        "max_tokens": 512,
        "token": "next",
        "schema": {"password": "string", "secret": "required", "token": {"type": "string"}},
        "pair": ["a", "b"],
    }
    assert redact_json(redact_json(value)) == redact_json(value)


def test_json_keys_are_redacted_and_stay_apart() -> None:
    assert redact_json({"a@b.example": 1, "c@d.example": 2}) == {"[redacted:email]": 1, "[redacted:email] (2)": 2}


PIECES = st.sampled_from(
    [
        *('password', 'token', 'api_key', 'secret', '=', ': ', '"', "'"),
        *('\\', '\\n', '\n', ' ', 'hunter2', MIXED, HEX, 'ghp_', '--'),
        *('://', '@', 'a', 'b.example', 'Bearer ', 'Authorization: ', '[redacted:'),
        *(']', 'password]', 'Cookie: ', ';', '$', '{', '<', '>'),
        *('-----BEGIN PRIVATE KEY-----', '-----END PRIVATE KEY-----', ' is ', '&'),
        *('eyJhbGciOi', '.', 'sk-', 'login x password '),
    ]
)  # fmt: skip
TEXTS = st.text() | st.lists(PIECES, max_size=12).map("".join)


@settings(max_examples=600)
@given(TEXTS)
def test_redaction_is_done_after_once(text: str) -> None:
    once = redact(text)
    assert redact(once) == once
    assert contains_secret(once) is None


@given(TEXTS, st.integers(min_value=0, max_value=60))
def test_a_limit_is_kept(text: str, limit: int) -> None:
    cut = redact(text, limit)
    assert len(cut) <= limit
    assert redact(text).startswith(cut)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@given(JSON_VALUES)
def test_json_stays_json(value: object) -> None:
    once = redact_json(value)
    assert json.loads(json.dumps(once)) == once
    assert type(once) is type(value)


UNITS = [
    *('a', ' ', '\n', '\\', '"', "'", '`', '-', '.'),
    *('@', ':', '/', '=', '{', '[redacted:', '[redacted:token]', 'a@', 'a.', 'a@b.'),
    *('password', 'password=', 'password: ', 'password="', "password='"),
    *('password=\\"', 'token is ', 'secret.', 'api', '<password>'),
    *('://', '://a:', '://a:b@', 'https://', 'Authorization: '),
    *('Authorization: Bearer ', 'bearer ', 'Basic ', 'Cookie: ', 'cookie: a='),
    *('-----BEGIN PRIVATE KEY-----', '-----END PRIVATE KEY-----'),
    *('-----BEGIN PRIVATE KEY-----\n', 'AAAA\n', '-----END PRIVATE KEY-----AAAA\n'),
    *('curl ', 'curl -u ', 'mysql ', 'mysql -p', 'login a ', 'eyJ', 'eyJaaaaaa.'),
    *('ghp_', 'sk-', 'xoxb-', 'pypi-', 'SG.aaaaaaaaaa.', 'M', '1'),
    *('token: a1b2c3d4 ', 'password: str = ', '--password ', 'Private-Lines: 1\n'),
    *('Private-Lines: 1\nAAAAAAAA ', '\\n', '%', 'pwd:'),
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_time_grows_with_length_only(unit: str) -> None:
    text = unit * (60_000 // len(unit))
    start = time.process_time()
    redact(text)
    assert time.process_time() - start < 2.5


@pytest.mark.parametrize("unit", ["a", "pwd:", "password=", "://a:b@", "-----BEGIN PRIVATE KEY-----"])
def test_long_texts_end(unit: str) -> None:
    start = time.process_time()
    redact(unit * (200_000 // len(unit)))
    assert time.process_time() - start < 8


def test_secrets_by_kind_and_text_without_what_is_only_personal() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert {text for _, text in secrets_in(f"mail ann@example.org, use {token} twice: {token}")} == {token}
