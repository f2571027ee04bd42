"""The embedded model with its real weights, and what is said where it cannot run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from support.local_weights import SPEC, use_real_weights

from skillgit.config import ModelSettings
from skillgit.errors import ConfigError, ModelError, ModelUnavailableError, RefusedError
from skillgit.models import local_runtime, weights
from skillgit.models.base import Request, Turn
from skillgit.models.local import LocalModel, open_local

MANUAL = "You turn requests into commands. " + " ".join(
    f"To {verb} a lamp write `lamp {verb} <room>`." for verb in ("light", "dim", "move", "sell", "clean", "paint")
)
ROOMS = ("kitchen", "cellar", "attic")


def settings(**more: object) -> ModelSettings:
    return ModelSettings.model_validate({"model": SPEC, **more})


def ask(text: str, system: str = MANUAL, **more: object) -> Request:
    return Request(system, (Turn("user", text),), **{"max_tokens": 12, **more})  # type: ignore[arg-type]


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    use_real_weights(monkeypatch)
    yield
    assert not local_runtime._servers


@pytest_asyncio.fixture
async def model(real: None) -> AsyncIterator[LocalModel]:
    opened = open_local(SPEC, settings())
    yield opened
    await opened.close()


async def _replies(model: LocalModel) -> list[str]:
    return [(await model.complete(ask(f"dim the lamp in the {room}"))).text for room in ROOMS]


def _python(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, which can import this module as `test_local`."""
    path = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1]), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.local_model
def _peak() -> int:
    """Kilobytes of memory that this process had at most. `ru_maxrss` would be the parent's, where that is larger: it
    is handed on when a process is started, and the tests' own process has loaded models as well."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])  # type: ignore[index]


class TestReplies:
    async def test_repeat_within_a_process(self, model: LocalModel) -> None:
        first = await _replies(model)
        assert any(first)
        await model.close()
        again = open_local(SPEC, settings())
        assert await _replies(again) == first
        await again.close()

    def test_repeat_over_processes_that_print_nothing_and_stay_small(self, real: None) -> None:
        # The model is not even closed: the interpreter has to end cleanly and soon all the same.
        code = (
            "import asyncio, json, test_local as t\n"
            "m = t.open_local(t.SPEC, t.settings())\n"
            "replies = asyncio.run(t._replies(m))\n"
            "print(json.dumps([replies, t._peak()]))"
        )
        runs = [_python(code) for _ in range(2)]
        assert [(run.returncode, run.stderr) for run in runs] == [(0, ""), (0, "")]
        first, second = (json.loads(run.stdout) for run in runs)
        assert first[0] == second[0]
        # Kilobytes: "about 0.7 GB".
        assert first[1] < 900_000

    @pytest.mark.parametrize("end", ["asyncio.run(m.close())", "pass"], ids=["closed", "left open"])
    def test_a_model_that_is_never_asked_ends_soon(self, real: None, end: str) -> None:
        run = _python(f"import asyncio, test_local as t\nm = t.open_local(t.SPEC, t.settings())\n{end}")
        assert (run.returncode, run.stdout, run.stderr) == (0, "", "")

    def test_ctrl_c_ends_a_long_reply(self, real: None) -> None:
        code = (
            "import asyncio, os, signal, test_local as t\n"
            "m = t.open_local(t.SPEC, t.settings())\n"
            "async def go():\n"
            "    asyncio.get_running_loop().call_later(0.1, os.kill, os.getpid(), signal.SIGINT)\n"
            "    await m.complete(t.ask('Count to one thousand.', max_tokens=4000))\n"
            "asyncio.run(go())"
        )
        started = time.monotonic()
        run = _python(code)
        assert run.stderr.rstrip().endswith("KeyboardInterrupt")
        # 4000 tokens take minutes; the signal comes while the prompt is read, before a short reply could be over.
        assert time.monotonic() - started < 45

    async def test_a_shared_prefix_is_not_computed_again(self, model: LocalModel) -> None:
        first = await model.complete(ask("dim the lamp in the kitchen"))
        other = await model.complete(ask("light the lamp in the attic", system="Speak like a pirate. " * 30))
        second = await model.complete(ask("sell the lamp in the cellar"))
        assert first.usage.calls == 1
        assert 0 < first.usage.output_tokens <= 12
        assert other.usage.cached_tokens < 10
        assert first.usage.input_tokens - 15 < second.usage.cached_tokens < second.usage.input_tokens

    async def test_a_schema_binds_the_reply(self, model: LocalModel) -> None:
        edit = {
            "type": "object",
            "properties": {"op": {"enum": ["append", "delete"]}, "text": {"type": "string", "maxLength": 20}},
            "required": ["op", "text"],
            "additionalProperties": False,
        }
        schema = {"type": "array", "items": edit, "minItems": 2, "maxItems": 2}
        reply = await model.complete(ask("Tell me a long story.", system="", schema=schema, max_tokens=200))
        value = json.loads(reply.text)
        assert len(value) == 2
        for item in value:
            assert set(item) == {"op", "text"}
            assert item["op"] in ("append", "delete")
            assert len(item["text"]) <= 20

    async def test_a_cut_reply_says_so(self, model: LocalModel) -> None:
        reply = await model.complete(ask("Count to one hundred.", max_tokens=3))
        assert (reply.complete, reply.usage.output_tokens) == (False, 3)

    @pytest.mark.parametrize("text", ["", "\udc80", "naïve 技能 🎉\x00", "<|im_end|>"])
    async def test_any_text_can_be_sent(self, model: LocalModel, text: str) -> None:
        reply = await model.complete(ask(text, max_tokens=2))
        assert reply.usage.output_tokens > 0

    async def test_trials_at_a_temperature_differ_and_repeat(self, real: None) -> None:
        runs = []
        for _ in range(2):
            model = open_local(SPEC, settings(temperature=1.5))
            runs.append([(await model.complete(ask("Name a thing.", system=""))).text for _ in range(3)])
            await model.close()
        assert runs[0] == runs[1]
        assert len(set(runs[0])) > 1


@pytest.mark.local_model
class TestLimits:
    async def test_a_prompt_longer_than_the_context(self, model: LocalModel) -> None:
        with pytest.raises(
            ModelError, match=r"^local/qwen2.5-coder-0.5b: the prompt has 90\d\d tokens, .* holds 8192;"
        ):
            await model.complete(ask("word " * 9000, system=""))
        assert (await model.complete(ask("dim the lamp in the attic"))).text

    async def test_the_context_can_be_chosen(self, real: None, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SKILLGIT_LOCAL_CONTEXT", "512")
        model = open_local(SPEC, settings())
        assert model.settings["context"] == 512
        with pytest.raises(ModelError, match="the context holds 512"):
            await model.complete(ask("word " * 600, system=""))
        await model.close()

    async def test_a_schema_that_is_none(self, model: LocalModel) -> None:
        with pytest.raises(ModelError, match="the runtime refused the call") as caught:
            await model.complete(ask("x", schema={"type": "bogus"}))
        assert "\n" not in str(caught.value)

    async def test_a_cancelled_call_ends_soon(self, model: LocalModel) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(model.complete(ask("Count to one thousand.", max_tokens=4000)), 0.5)
        started = time.monotonic()
        assert (await model.complete(ask("dim the lamp in the attic", max_tokens=2))).text
        # 4000 tokens take minutes; the signal comes while the prompt is read, before a short reply could be over.
        assert time.monotonic() - started < 20

    async def test_cancelled_while_it_waits_for_another(self, model: LocalModel) -> None:
        first = asyncio.create_task(model.complete(ask("dim the lamp in the attic")))
        second = asyncio.create_task(model.complete(ask("Count to one thousand.", max_tokens=4000)))
        await asyncio.sleep(0)
        second.cancel()
        assert (await first).text
        assert (await asyncio.gather(second, return_exceptions=True))[0].__class__ is asyncio.CancelledError


@pytest.mark.local_model
class TestSharing:
    async def test_target_and_optimizer_share_one_server(self, model: LocalModel) -> None:
        other = open_local(SPEC, settings(max_tokens=99))
        assert other._server is model._server
        assert (other.settings["max_tokens"], model.settings["max_tokens"]) == (99, 512)
        await other.close()
        await other.close()
        assert (await model.complete(ask("dim the lamp in the attic", max_tokens=2))).text
        with pytest.raises(ModelError, match="already closed"):
            await other.complete(ask("x"))

    async def test_calls_run_one_at_a_time_in_order(self, model: LocalModel) -> None:
        ended: list[int] = []

        async def call(index: int) -> None:
            await model.complete(ask(f"dim the lamp in the {ROOMS[index]}"))
            ended.append(index)

        await asyncio.gather(*(call(index) for index in range(3)))
        assert ended == [0, 1, 2]
        assert model.in_flight == 1

    async def test_nobody_can_connect(self, model: LocalModel) -> None:
        address = model._server._runtime.listening_address
        assert address.startswith("unix://")
        assert not Path(address.removeprefix("unix://")).parent.exists()

    async def test_where_a_socket_has_no_place_a_key_guards_a_loopback_port(
        self, real: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(local_runtime, "_SOCKET_MAX", 0)
        model = open_local(SPEC, settings())
        address = model._server._runtime.listening_address
        assert address.startswith("http://127.0.0.1:")
        body = json.dumps({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}).encode()
        with pytest.raises(urllib.error.HTTPError, match="401") as caught:
            await asyncio.to_thread(urllib.request.urlopen, f"{address}/v1/chat/completions", body, 30)
        caught.value.close()
        assert (await model.complete(ask("dim the lamp in the attic", max_tokens=2))).text
        await model.close()

    async def test_our_programs_do_not_inherit_the_wait_policy(self, model: LocalModel) -> None:
        assert "OMP_WAIT_POLICY" not in os.environ


@pytest.mark.local_model
class TestFiles:
    async def test_any_gguf_by_its_path(self, real: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        mine = tmp_path / "my model.GGUF"
        mine.symlink_to(weights.path_of("qwen2.5-coder-0.5b"))
        monkeypatch.setenv("SKILLGIT_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.chdir(tmp_path)
        model = open_local("local/my model.GGUF", settings())
        assert model.name == "local/my model.GGUF"
        assert model.settings["weights"] == "sha256:" + weights.known("qwen2.5-coder-0.5b").sha256
        await model.close()

    def test_a_truncated_gguf(self, real: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        broken = tmp_path / "half.gguf"
        with weights.path_of("qwen2.5-coder-0.5b").open("rb") as file:
            broken.write_bytes(file.read(20_000_000))
        monkeypatch.setenv("SKILLGIT_CACHE_DIR", str(tmp_path / "cache"))
        with pytest.raises(ModelUnavailableError, match=r"half\.gguf cannot be loaded: .*whole GGUF file"):
            open_local(f"local/{broken}", settings())


class TestUnavailable:
    @pytest.fixture(autouse=True)
    def _own_cache(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("SKILLGIT_CACHE_DIR", str(tmp_path / "cache"))

    @pytest.mark.parametrize("content", [b"", b"GGU", b"PK\x03\x04 a zip", b"GGUF" + bytes(2000)])
    def test_a_file_that_is_no_model(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "bad.gguf").write_bytes(content)
        with pytest.raises(ModelUnavailableError, match=r"bad\.gguf (is no GGUF file|cannot be loaded)") as caught:
            open_local(f"local/{tmp_path / 'bad.gguf'}", settings())
        assert "\n" not in str(caught.value)
        assert not local_runtime._servers

    @pytest.mark.parametrize("name", ["nothing.gguf", "folder.gguf"])
    def test_no_file(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "folder.gguf").mkdir()
        with pytest.raises(ModelUnavailableError, match="is no file; correct the path"):
            open_local(f"local/{tmp_path / name}", settings())

    def test_an_unknown_name(self) -> None:
        with pytest.raises(ConfigError, match=r"local/qwen2\.5-coder-05b: .* did you mean 'qwen2\.5-coder-0\.5b'"):
            open_local("local/qwen2.5-coder-05b", settings())

    def test_the_extra_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "xllamacpp", None)
        with pytest.raises(ModelUnavailableError, match=r"pip install 'skillgit\[local\]'"):
            open_local(SPEC, settings())

    def test_a_system_library_is_missing(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        package = tmp_path / "xllamacpp"
        package.mkdir()
        (package / "__init__.py").write_text("raise ImportError('libgomp.so.1: cannot open shared object file')")
        for module in [name for name in sys.modules if name.partition(".")[0] == "xllamacpp"]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.syspath_prepend(tmp_path)
        (tmp_path / "x.gguf").write_bytes(b"GGUF")
        with pytest.raises(ModelUnavailableError, match="libgomp1 on Debian"):
            open_local(f"local/{tmp_path / 'x.gguf'}", settings())

    def test_the_person_says_no(self) -> None:
        with pytest.raises(RefusedError, match="were not fetched"):
            open_local(SPEC, settings(), ask=lambda question: False)

    @pytest.mark.parametrize("value", ["0", "-1", "two", "1.5"])
    def test_a_wrong_number(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str) -> None:
        (tmp_path / "x.gguf").write_bytes(b"GGUF")
        monkeypatch.setenv("SKILLGIT_LOCAL_THREADS", value)
        with pytest.raises(ConfigError, match="SKILLGIT_LOCAL_THREADS"):
            open_local(f"local/{tmp_path / 'x.gguf'}", settings())
