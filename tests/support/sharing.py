"""Machines that share a skill: clones of a bare remote, a history made by hand, and a git server over HTTP."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from support import repos

from skillgit.store.refs import SkillRefs
from skillgit.store.repository import Repository
from skillgit.train.archive.journal import RunInfo, RunState, StepRecord, to_files
from skillgit.train.archive.layout import SUBJECT
from skillgit.train.archive.record import tree_of

TRAVELS = (
    "refs/heads/skill",
    "refs/tags/skill",
    *(f"refs/skillgit/{kind}" for kind in ("best", "published", "pruned", "rejected", "runs", "tasks")),
)
"""What DESIGN marks as pushed, without the notes."""
CONFIG = (
    "version: 1\nmodels: {{target: openai/sim, optimizer: openai/sim}}\nskills:\n"
    "  {name}:\n    document: skills/{name}/SKILL.md\n    env: builtin/opscli\n"
)
RUN = "01k9x0c5v2m8q4t7b3n6r1d9sf"
LATER = "01k9x0c5v2m8q4t7b3n6r1d9sg"


def bare(where: Path, *, object_format: str = "sha1") -> Path:
    """A bare repository to push to."""
    return repos.make_repo(where, bare=True, object_format=object_format)


def share(root: Path, remote: Path, name: str = "origin") -> None:
    """Make a repository's main known to a remote, and the remote to it."""
    repos.git(root, "remote", "add", name, str(remote))
    repos.git(root, "push", "-q", name, "main")


def clone(remote: Path | str, where: Path, *options: str) -> Path:
    """A clone with an identity, as another machine has it."""
    repos.git(where.parent, "clone", "-q", *options, str(remote), str(where))
    repos.identify(where)
    return where


def hook(repository: Path, name: str, script: str) -> Path:
    """Write a hook into a repository (a bare one, or one with a work tree)."""
    git_dir = repository / ".git" if (repository / ".git").exists() else repository
    path = git_dir / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def travelling(where: Path, *more: str) -> dict[str, str]:
    """All that DESIGN marks as pushed, notes left out, by git's own listing."""
    return {ref: oid for prefix in (*TRAVELS, *more) for ref, oid in repos.refs(where, prefix).items()}


@dataclass
class Hand:
    """A skill's history by hand: commits, journal entries and refs, without a training.

    Args:
        root: a work tree or a bare repository.
    """

    root: Path
    name: str = "topics"
    run: str = RUN

    @property
    def refs(self) -> SkillRefs:
        return SkillRefs(self.name)

    def git(self, *args: str, input: str | None = None) -> str:
        return repos.git(self.root, *args, input=input)

    def tip(self, ref: str) -> str | None:
        return repos.refs(self.root, ref).get(ref)

    def commit(self, text: str, parent: str | None = None) -> str:
        """A commit whose document is `text`; no ref moves."""
        blob = self.git("hash-object", "-w", "--stdin", input=text)
        inner = self.git("mktree", input=f"100644 blob {blob}\tSKILL.md\n")
        tree = self.git("mktree", input=f"040000 tree {inner}\tdocument\n")
        return self.git("commit-tree", tree, "-m", text, *(("-p", parent) if parent else ()))

    def set(self, ref: str, oid: str) -> str:
        self.git("update-ref", ref, oid)
        return oid

    def grow(self, text: str) -> str:
        """One more commit on the training branch."""
        return self.set(
            self.refs.branch, self.commit(text, self.tip(self.refs.branch) or self.git("rev-parse", "main"))
        )

    def entry(self, step: int = 1, moves: Sequence[tuple[str, str | None, str]] = (), *, run: str | None = None) -> str:
        """One more entry of a journal, whose transaction were these moves; the moves themselves are not made."""
        run = run or self.run
        info = RunInfo(run, self.name, "document/SKILL.md", self.git("rev-parse", "main"), {}, 9)
        tip = self.tip(self.refs.branch) or info.base
        now = RunState(tip, "0" * 40, "0" * 40, tip, "sha256:0", {}, step=step, status="finished")
        record = StepRecord("step", step, 1, "accept-best", "by hand", "0" * 40, "0" * 40)
        record.refs = [[ref, old, new] for ref, old, new in moves]
        repo = Repository.open(self.root)
        try:
            tree = tree_of(repo, to_files(info, now, record, {}))
            before = self.tip(self.refs.journal(run))
            keeps = [new for _, _, new in moves]
            parents = dict.fromkeys([*([before] if before else [info.base]), *keeps])
            commit = repo.objects.write_commit(tree, list(parents), f"{SUBJECT}{self.name} step {step} accept-best\n")
        finally:
            repo.close()
        return self.set(self.refs.journal(run), commit)

    def reject(self, step: int, k: int = 1, *, run: str | None = None, text: str = "rejected") -> str:
        """A rejected candidate; its ref."""
        base = self.tip(self.refs.branch) or self.git("rev-parse", "main")
        ref = self.refs.rejected(run or self.run, step, k)
        self.set(ref, self.commit(f"{text} {step}-{k}", base))
        return ref

    def tag(self, name: str, target: str = "main") -> str:
        """An annotated tag below `skill/<name>/`; its ref."""
        self.git("tag", "-a", "-m", "A tag", f"skill/{self.name}/{name}", target)
        return f"refs/tags/skill/{self.name}/{name}"


def hand(root: Path, *, name: str = "topics", object_format: str = "sha1") -> Hand:
    """A repository with a configuration and a small history: two steps, a rejected candidate, best, tag, journal,
    transcripts, published and tasks."""
    repos.make_repo(root, {"skillgit.yaml": CONFIG.format(name=name)}, object_format=object_format)
    made = Hand(root, name)
    first = made.grow("one")
    made.entry(1, [(made.refs.best, None, first)])
    second = made.grow("two")
    made.entry(2, [(made.refs.best, first, second)])
    made.set(made.refs.best, second)
    made.reject(3)
    made.tag(f"{RUN}/epoch-01", second)
    made.tag("v1", second)
    made.set(made.refs.evidence(RUN), made.commit("what was said"))
    made.set(made.refs.published, first)
    made.set(made.refs.tasks, made.commit("tasks"))
    return made


@contextlib.contextmanager
def http_server(folder: Path, *, refuse: bool = False) -> Iterator[str]:
    """`git http-backend` on loopback for the repositories of a folder; gives the address.

    Args:
        refuse: answer pushes with 403, as a server does for somebody without permission.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            if self.headers.get("Transfer-Encoding") == "chunked":
                self._answer(self._chunks())
            else:
                self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

        def _chunks(self) -> bytes:
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def _answer(self, body: bytes) -> None:
            path, _, query = self.path.partition("?")
            if refuse and "receive-pack" in self.path:
                self.send_error(403)
                return
            done = subprocess.run(
                ["git", "http-backend"],
                input=body,
                env=self._environment(path, query, len(body)),
                capture_output=True,
                check=False,
            )
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
            self.send_response(int(headers.pop("Status", "200").split()[0]))
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def _environment(self, path: str, query: str, length: int) -> Mapping[str, str]:
            return {
                **{k: v for k, v in os.environ.items() if not k.startswith("GIT_")},
                **repos.ENV,
                "GIT_PROJECT_ROOT": str(folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REMOTE_USER": "pusher",
                "REQUEST_METHOD": self.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type") or "",
                "CONTENT_LENGTH": str(length),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
            }

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on the tests' output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def copy(root: Path, where: Path) -> Path:
    """A copy of a repository, for one test."""
    return shutil.copytree(root, where, symlinks=True)
