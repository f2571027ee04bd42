"""From `provider/model` to a backend. Each provider's SDK is imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from skillgit.config import Limits, ModelSettings
from skillgit.errors import ConfigError
from skillgit.models.base import Model
from skillgit.models.limiter import Limiter
from skillgit.models.steady import SteadyModel
from skillgit.strictyaml import nearest

PROVIDERS = ("anthropic", "local", "openai")


def open_model(
    settings: ModelSettings,
    limits: Limits,
    *,
    yes: bool = False,
    say: Callable[[str], None] | None = None,
    root: Path | None = None,
    limiters: dict[str, Limiter] | None = None,
) -> Model:
    """Open a model. The caller closes it.

    Args:
        yes: fetch the embedded model's weights without asking.
        say: where to tell a person what is fetched.
        root: what a relative `local/<path>` starts from; the working directory where it is None.
        limiters: by endpoint, filled here: models opened with one dictionary share the calls that their endpoint gets
            at once. Without it each model counts its own.

    Raises:
        ConfigError: an unknown provider, or a base URL that is none.
        ModelRefusedError: the provider's key is missing.
        ModelUnavailableError: the embedded model cannot run.
    """
    provider = settings.model.partition("/")[0]
    if provider == "openai":
        from skillgit.models.openai import OpenAIModel

        return _steady(OpenAIModel(settings, limits), limits, limiters)
    if provider == "anthropic":
        from skillgit.models.anthropic import AnthropicModel

        return _steady(AnthropicModel(settings, limits), limits, limiters)
    if provider == "local":
        from skillgit.models.local import open_local

        return open_local(settings.model, settings, yes=yes, say=say, root=root)
    meant = nearest(provider, list(PROVIDERS))
    mend = f"did you mean {meant!r}?" if meant else f"known providers: {', '.join(PROVIDERS)}"
    raise ConfigError(f"{settings.model}: no provider {provider!r}", mend=mend)


def _steady(model: Model, limits: Limits, limiters: dict[str, Limiter] | None) -> SteadyModel:
    place = f"{model.name.partition('/')[0]}/{model.settings['endpoint']}"
    limiter = None if limiters is None else limiters.setdefault(place, Limiter(limits.in_flight))
    return SteadyModel(model, limits, limiter=limiter)
