"""Failures that both hosted protocols share, by the real SDKs against a loopback server."""

from __future__ import annotations

import asyncio
import socket
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import server as say
from support.clients import ASK, KEY_VARIABLE, PROTOCOLS, URL_VARIABLE, Protocol, model_of, opened
from support.server import Answer, script, serve

from skillgit.errors import ConfigError, ModelError, ModelRefusedError, OverloadedError, SkillgitError
from skillgit.models.base import Request, Turn
from skillgit.models.endpoint import (
    MAX_RETRIES,
    OVERLOADED,
    Problem,
    asked_wait_s,
    problem_of,
    read_endpoint,
    well_formed,
)
from skillgit.models.steady import MOST_TRIES

both = pytest.mark.parametrize("protocol", PROTOCOLS)
pytestmark = pytest.mark.usefixtures("quick_retries")


async def fails(
    patch: pytest.MonkeyPatch, protocol: Protocol, answer: Answer, **options: object
) -> tuple[ModelError, int]:
    """The error of one call that is always answered so, and how often the server was asked."""
    with serve(lambda call: answer) as server:
        async with opened(patch, server, protocol, **options) as model:
            with pytest.raises(ModelError) as caught:
                await model.complete(ASK)
        one_line(caught.value, protocol, server.url)
        return caught.value, server.count


def one_line(error: SkillgitError, protocol: Protocol, url: str) -> None:
    """Model and endpoint are named; there is a mend, one line, and no key."""
    text = str(error)
    assert f"{protocol}/test-model" in text
    assert url in text
    assert error.mend
    assert "\n" not in text
    assert "loopback-" not in text


@both
@pytest.mark.parametrize("headers", [{"retry_after_ms": "2"}, {}], ids=["retry-after", "bare"])
async def test_429_is_retried(monkeypatch: pytest.MonkeyPatch, protocol: Protocol, headers: dict[str, str]) -> None:
    busy = say.error(429, "slow down", **headers)
    with serve(script(busy, busy, Answer("4"))) as server:
        async with opened(monkeypatch, server, protocol) as model:
            assert (await model.complete(ASK)).text == "4"
        assert server.count == 3


@both
async def test_retry_after_is_waited_for(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    with serve(script(say.error(429, retry_after_ms="300"), Answer("4"))) as server:
        async with opened(monkeypatch, server, protocol) as model:
            start = time.monotonic()
            await model.complete(ASK)
            assert time.monotonic() - start >= 0.29


@both
async def test_429_for_ever_is_an_error_after_the_retries(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    error, count = await fails(monkeypatch, protocol, say.error(429, "slow down", retry_after_ms="1"))
    assert count == MOST_TRIES
    assert isinstance(error, OverloadedError)
    assert not isinstance(error, ModelRefusedError)
    assert "429" in str(error)
    assert "slow down" in str(error)
    assert "limits.in_flight" in str(error)


@both
async def test_a_very_long_retry_after_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    start = time.monotonic()
    error, count = await fails(monkeypatch, protocol, say.error(429, "daily limit", retry_after="3600"))
    assert time.monotonic() - start < 5
    assert count == 1
    assert "wait 3600 s" in str(error)


@both
@pytest.mark.parametrize("status", [500, 502, 503, 529])
async def test_server_errors_are_retried(monkeypatch: pytest.MonkeyPatch, protocol: Protocol, status: int) -> None:
    with serve(script(say.error(status), say.error(status), Answer("4"))) as server:
        async with opened(monkeypatch, server, protocol) as model:
            assert (await model.complete(ASK)).text == "4"
        assert server.count == 3


@both
@pytest.mark.parametrize(("status", "tries"), [(500, MAX_RETRIES + 1), (503, MOST_TRIES), (529, MOST_TRIES)])
async def test_server_errors_for_ever(
    monkeypatch: pytest.MonkeyPatch, protocol: Protocol, status: int, tries: int
) -> None:
    error, count = await fails(monkeypatch, protocol, say.error(status, "overloaded"))
    assert count == tries
    assert not isinstance(error, ModelRefusedError)
    assert f"{status} from" in str(error)
    assert "overloaded" in str(error)


@both
@pytest.mark.parametrize(("status", "mend"), [(401, "KEY"), (403, "KEY"), (404, "the model's name"), (402, "credit")])
async def test_refusals_of_the_account_stop_at_once(
    monkeypatch: pytest.MonkeyPatch, protocol: Protocol, status: int, mend: str
) -> None:
    error, count = await fails(monkeypatch, protocol, say.error(status, "no such thing"))
    assert isinstance(error, ModelRefusedError)
    assert count == 1
    assert f"{status} from" in error.message
    assert "no such thing" in error.message
    assert mend in (error.mend or "")


@both
async def test_quota_that_is_spent_stops_the_run(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    spent = say.error(429, "You exceeded your quota", code="insufficient_quota", retry_after_ms="1")
    error, count = await fails(monkeypatch, protocol, spent)
    assert isinstance(error, ModelRefusedError)
    assert count == 1


@both
async def test_a_server_that_wants_no_retry_of_a_429_gets_none(
    monkeypatch: pytest.MonkeyPatch, protocol: Protocol
) -> None:
    error, count = await fails(monkeypatch, protocol, say.error(429, "come tomorrow", x_should_retry="false"))
    assert count == 1
    assert "come tomorrow" in str(error)


@both
@pytest.mark.parametrize("status", OVERLOADED)
async def test_the_backend_alone_leaves_an_overload_to_its_caller(
    monkeypatch: pytest.MonkeyPatch, protocol: Protocol, status: int
) -> None:
    with serve(script(say.error(status, "busy", retry_after="7", x_should_retry="true"))) as server:
        async with opened(monkeypatch, server, protocol) as model:
            with pytest.raises(OverloadedError, match="busy") as caught:
                await model._inner.complete(ASK)
        assert server.count == 1
    assert caught.value.wait_s == 7


@both
async def test_other_400_is_an_error_of_this_call(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    error, count = await fails(monkeypatch, protocol, say.error(400, "prompt is too long"), temperature=0.0)
    assert not isinstance(error, ModelRefusedError)
    assert count == 1
    assert "prompt is too long" in str(error)


@both
async def test_hang_ends_with_the_timeout(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    start = time.monotonic()
    error, count = await fails(monkeypatch, protocol, say.hang(), timeout_s=0.2, max_retries=1)
    assert time.monotonic() - start < 5
    assert count == 2
    assert "within 0.2 s" in str(error)
    assert "limits.timeout_s" in str(error)


@both
async def test_a_call_is_bounded_with_all_its_retries(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    monkeypatch.setattr(f"skillgit.models.{protocol}.deadline_s", lambda timeout_s: 0.4)
    start = time.monotonic()
    error, _ = await fails(monkeypatch, protocol, say.error(500, retry_after="30"))
    assert time.monotonic() - start < 5
    assert "within 0.4 s" in str(error)


@both
@pytest.mark.parametrize("fault", [say.cut(), say.drop()], ids=["cut", "drop"])
async def test_a_cut_connection_is_retried(monkeypatch: pytest.MonkeyPatch, protocol: Protocol, fault: Answer) -> None:
    with serve(script(fault, Answer("4"))) as server:
        async with opened(monkeypatch, server, protocol) as model:
            assert (await model.complete(ASK)).text == "4"


@both
@pytest.mark.parametrize("fault", [say.cut(), say.drop()], ids=["cut", "drop"])
async def test_a_connection_cut_for_ever(monkeypatch: pytest.MonkeyPatch, protocol: Protocol, fault: Answer) -> None:
    error, count = await fails(monkeypatch, protocol, fault)
    assert count == 5
    assert "connection" in str(error)


@both
async def test_malformed_json(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    error, _ = await fails(monkeypatch, protocol, say.malformed())
    assert "not valid JSON" in str(error)


@both
@pytest.mark.parametrize(
    "body", [b"[]", b"null", b"{}", b'{"choices": [], "content": 7}', b'{"choices": [7], "content": null}', b""]
)
async def test_json_of_another_shape(monkeypatch: pytest.MonkeyPatch, protocol: Protocol, body: bytes) -> None:
    error, _ = await fails(monkeypatch, protocol, Answer(body=body))
    assert "sent" in str(error)


@both
async def test_html_instead_of_an_api(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    page = b"<html>\n<body>" + b"Bad\n gateway " * 100 + b"</body></html>"
    error, _ = await fails(monkeypatch, protocol, Answer(status=502, body=page))
    assert "502 from" in str(error)
    assert len(error.message) < 400


@both
async def test_refusal(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    with serve(script(Answer("I can't help with that.", stop="refusal"), Answer(stop="refusal"))) as server:
        async with opened(monkeypatch, server, protocol) as model:
            reply = await model.complete(ASK)
            assert (reply.text, reply.refused, reply.complete) == ("I can't help with that.", True, True)
            if protocol == "anthropic":  # OpenAI's refusals always have a text
                assert (await model.complete(ASK)).refused


@both
async def test_empty_reply_that_the_server_calls_complete(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    with serve(script(Answer(""))) as server:
        async with opened(monkeypatch, server, protocol) as model:
            reply = await model.complete(ASK)
    assert (reply.text, reply.complete, reply.refused, reply.usage.calls) == ("", True, False, 1)


@both
async def test_reply_cut_by_the_token_limit(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    with serve(script(Answer("four is", stop="length"))) as server:
        async with opened(monkeypatch, server, protocol) as model:
            reply = await model.complete(ASK)
    assert (reply.text, reply.complete) == ("four is", False)


@both
async def test_nothing_before_the_token_limit(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    error, _ = await fails(monkeypatch, protocol, Answer("", stop="length"))
    assert "max_tokens" in (error.mend or "")


@both
async def test_closed_port(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    monkeypatch.setenv(URL_VARIABLE[protocol], url)
    monkeypatch.setenv(KEY_VARIABLE[protocol], "loopback-key")
    model = model_of(protocol)
    try:
        with pytest.raises(ModelError) as caught:
            await model.complete(ASK)
    finally:
        await model.close()
    one_line(caught.value, protocol, url)
    assert URL_VARIABLE[protocol] in str(caught.value)
    assert not isinstance(caught.value, ModelRefusedError)


@both
def test_missing_key(protocol: Protocol) -> None:
    with pytest.raises(ModelRefusedError, match=f"{KEY_VARIABLE[protocol]} is not set"):
        model_of(protocol)


@both
@pytest.mark.parametrize("key", ["abc\n", " abc", "sk-\u201cquoted\u201d", "a\tb"])
def test_key_that_no_header_can_hold(monkeypatch: pytest.MonkeyPatch, protocol: Protocol, key: str) -> None:
    monkeypatch.setenv(KEY_VARIABLE[protocol], key)
    with pytest.raises(ModelRefusedError, match=KEY_VARIABLE[protocol]) as caught:
        model_of(protocol)
    assert key not in str(caught.value)


@both
@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://host/v1", "http://", "http://host:port", "http://a b", "://"]
)
def test_base_url_that_is_none(monkeypatch: pytest.MonkeyPatch, protocol: Protocol, url: str) -> None:
    monkeypatch.setenv(KEY_VARIABLE[protocol], "key")
    monkeypatch.setenv(URL_VARIABLE[protocol], url)
    with pytest.raises(ConfigError, match=URL_VARIABLE[protocol]):
        model_of(protocol)


@both
async def test_the_key_and_the_urls_secrets_are_never_shown(
    monkeypatch: pytest.MonkeyPatch, protocol: Protocol
) -> None:
    key = "Zq7-not-of-any-known-form"
    with serve(lambda call: say.error(401, f"the key\n {key} is wrong")) as server:
        path = "/v1" if protocol == "openai" else ""
        monkeypatch.setenv(URL_VARIABLE[protocol], server.url.replace("//", "//ann:hunter2@") + path)
        monkeypatch.setenv(KEY_VARIABLE[protocol], key)
        model = model_of(protocol)
        try:
            with pytest.raises(ModelRefusedError) as caught:
                await model.complete(ASK)
        finally:
            await model.close()
        assert server.count == 1
    text = f"{caught.value} {dict(model.settings)}"
    assert "the key [key] is wrong" in text
    assert key not in text
    assert "ann" not in text
    assert "hunter2" not in text


@both
async def test_secrets_in_what_a_server_says_go_before_it_is_cut(
    monkeypatch: pytest.MonkeyPatch, protocol: Protocol
) -> None:
    token = "sk-proj-" + "a1B2c3D4e5" * 5
    said = "x" * 180 + f" another key: {token} " + "y" * 300
    with serve(lambda call: say.error(400, said)) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        # A gateway that takes its token in the path has no such path here, but is named in the message.
        monkeypatch.setenv(URL_VARIABLE[protocol], f"{server.url}/{token}")
        model = model_of(protocol)
        with pytest.raises(ModelRefusedError) as missing:
            await model.complete(ASK)
        settings = str(dict(model.settings))
        await model.close()
        async with opened(monkeypatch, server, protocol) as model:
            with pytest.raises(ModelError) as quoted:
                await model.complete(ASK)
    for text in (str(missing.value), settings, str(quoted.value)):
        assert "sk-proj" not in text
        assert "a1B2" not in text
    assert "y" * 300 not in str(quoted.value)


@both
async def test_a_stand_in_key_does_not_mangle_words(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    with serve(lambda call: say.error(400, "too many words")) as server:
        for name, value in {**server.env(), KEY_VARIABLE[protocol]: "any"}.items():
            monkeypatch.setenv(name, value)
        model = model_of(protocol)
        with pytest.raises(ModelError, match="too many words"):
            await model.complete(ASK)
        await model.close()


@both
async def test_settings_name_the_server_and_what_changes_replies(
    monkeypatch: pytest.MonkeyPatch, protocol: Protocol
) -> None:
    monkeypatch.setenv(KEY_VARIABLE[protocol], "key")
    monkeypatch.setenv(URL_VARIABLE[protocol], "https://user:pw@Models.example:8443/a/v1/?q=1")
    model = model_of(protocol, temperature=0.5, max_tokens=300)
    assert dict(model.settings) == {"endpoint": "models.example:8443/a/v1", "max_tokens": 300, "temperature": 0.5}
    assert model.name == f"{protocol}/test-model"
    await model.close()


@both
async def test_half_a_surrogate_pair_neither_goes_out_nor_comes_in(
    monkeypatch: pytest.MonkeyPatch, protocol: Protocol
) -> None:
    with serve(script(Answer("a\ud800b"))) as server:
        async with opened(monkeypatch, server, protocol) as model:
            reply = await model.complete(Request("s\udfff", (Turn("user", "x\ud83d\ude00 \ud83d"),)))
        assert server.calls[0].user == "x\U0001f600 \ufffd"
        assert server.calls[0].system == "s\ufffd"
    assert reply.text == "a\ufffdb"


@both
async def test_many_calls_at_once_share_a_few_connections(monkeypatch: pytest.MonkeyPatch, protocol: Protocol) -> None:
    def echo(call: say.Call) -> Answer:
        return Answer(call.user)

    with serve(echo) as server:
        async with opened(monkeypatch, server, protocol) as model:
            asked = [Request("", (Turn("user", f"n{number}"),)) for number in range(60)]
            replies = await asyncio.gather(*(model.complete(request) for request in asked))
    assert [reply.text for reply in replies] == [f"n{number}" for number in range(60)]


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_well_formed_text_can_be_written(text: str) -> None:
    clean = well_formed(text)
    clean.encode("utf-8")
    if "\ufffd" not in clean:
        assert clean.encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"error": {"message": "m", "code": "c", "param": "p"}}, Problem("m", "c", "p")),
        ({"message": "m", "type": "t", "code": None}, Problem("m", "t", "")),
        ({"error": "not found"}, Problem("not found")),
        ({"detail": [{"loc": ["body"]}]}, Problem('[{"loc": ["body"]}]')),
        ("<html>", Problem("<html>")),
        (None, Problem()),
        ([1], Problem()),
    ],
)
def test_error_bodies_of_all_shapes(body: object, expected: Problem) -> None:
    assert problem_of(body) == expected


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, 90),
        ({"retry-after": "Wed, 21 Oct 2026 09:28:00 +0200"}, 90),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00"}, 90),
        ({"retry-after": "Wed, 21 Oct 2026 07:26:00 GMT"}, 0),
        ({"retry-after": "Wed, 21 Oct 99999 07:28:00 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "-3"}, 0),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7),
        ({}, None),
    ],
)
def test_the_wait_that_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait_s(headers, datetime(2026, 10, 21, 7, 26, 30, tzinfo=UTC)) == seconds


def test_ipv6_base_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://u:p@[::1]:8080/v1")
    found = read_endpoint("openai/m", "OPENAI_BASE_URL", "OPENAI_API_KEY", "https://api.openai.com/v1")
    assert found.url == "http://[::1]:8080/v1"


@pytest.mark.soak
@both
async def test_closed_port_with_the_real_pauses_fails_in_seconds(
    monkeypatch: pytest.MonkeyPatch, protocol: Protocol
) -> None:
    monkeypatch.setattr(f"{protocol}._base_client.INITIAL_RETRY_DELAY", 0.5)
    start = time.monotonic()
    await test_closed_port(monkeypatch, protocol)
    assert 4 < time.monotonic() - start < 12
