"""From a name to a backend."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.clients import ASK
from support.server import Answer, serve

from skillgit.config import Limits, ModelSettings
from skillgit.errors import ConfigError
from skillgit.models.limiter import Limiter
from skillgit.models.registry import open_model
from skillgit.models.steady import SteadyModel


@pytest.mark.parametrize("name", ["openai/gpt-5.5-mini", "anthropic/claude-opus-4-8", "openai/org/model:tag"])
async def test_hosted_models(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with serve(lambda call: Answer(call.model)) as server:
        for variable, value in server.env().items():
            monkeypatch.setenv(variable, value)
        model = open_model(ModelSettings(model=name), Limits(in_flight=3))
        reply = await model.complete(ASK)
        await model.close()
    assert (model.name, model.in_flight) == (name, 3)
    assert f"{name.partition('/')[0]}/{reply.text}" == name


async def test_models_of_one_endpoint_share_its_slots_where_they_are_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, "any")
    limiters: dict[str, Limiter] = {}
    names = ("openai/a", "openai/b", "anthropic/a")
    models = [open_model(ModelSettings(model=name), Limits(in_flight=3), limiters=limiters) for name in names]
    models.append(open_model(ModelSettings(model="openai/a"), Limits()))
    used = [model.limiter for model in models if isinstance(model, SteadyModel)]
    assert used[0] is used[1]
    assert len({id(limiter) for limiter in used}) == 3
    assert {name: limiter.limit for name, limiter in limiters.items()} == {
        "openai/api.openai.com/v1": 3,
        "anthropic/api.anthropic.com": 3,
    }
    for model in models:
        await model.close()


@pytest.mark.parametrize(
    ("name", "mend"),
    [
        ("opnai/gpt-5.5", "did you mean 'openai'"),
        ("Anthropic/claude", "did you mean 'anthropic'"),
        ("xyzzy/m", "known providers: anthropic, local, openai"),
    ],
)
def test_unknown_provider(name: str, mend: str) -> None:
    with pytest.raises(ConfigError, match=mend):
        open_model(ModelSettings(model=name), Limits())


def test_the_embedded_model_gets_all_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_local(
        name: str, settings: ModelSettings, *, yes: bool, say: Callable[[str], None] | None, root: Path | None
    ) -> object:
        return name, settings, yes, say, root

    # The embedded model has tests of its own; here only the way to it counts.
    monkeypatch.setitem(sys.modules, "skillgit.models.local", SimpleNamespace(open_local=open_local))
    settings = ModelSettings(model="local/models/own.gguf")
    opened = open_model(settings, Limits(), yes=True, say=print, root=Path("top"))
    assert opened == ("local/models/own.gguf", settings, True, print, Path("top"))


def test_nothing_heavy_is_imported_before_a_model_is_opened() -> None:
    code = (
        "import sys, skillgit.models.registry, skillgit.models.usage, skillgit.models.cache\n"
        "print(sorted({'openai', 'anthropic', 'xllamacpp', 'genai_prices', 'httpx2', 'httpx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
