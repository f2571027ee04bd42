"""Bad input: one clear line, the right exit code, nothing lost and nothing half-written, and no call that could be
spared. The commands run in this process; what needs a process of its own is in test_bad_moments.py."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from support import cli, repos, training
from support.place import CONFIG, TRAIN, WORLD, Place
from support.server import Answer, Call, Responder, Server, error, hang, serve
from support.training import BRANCH, DOCUMENT, SKILL
from support.world import SEED_DOCUMENT

from skillgit.models.steady import MOST_TRIES


class TestRepository:
    COMMANDS = (
        *(TRAIN, ("eval", SKILL), ("status",), ("log", SKILL), ("merge", SKILL), ("rejected", "list", SKILL)),
        *(("rejected", "show", SKILL, "1"), ("init", "--skill", SKILL)),
    )

    @pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
    def test_none(
        self, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
    ) -> None:
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
        folder = tmp_path / "folder"
        folder.mkdir()
        assert Place(folder, server).refused(*command) == (
            f"{folder} is not in a git repository; run `git init` there, or use -C DIR"
        )

    def test_none_for_doctor(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
        done = cli.call(tmp_path, "doctor")
        assert (done.code, done.err) == (2, "")
        assert (
            done.out
            == f"wrong repository: {tmp_path} is not in a git repository; run `git init` there, or use -C DIR\n"
        )

    def test_unborn_branch(self, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        training.point_at(monkeypatch, server.env())
        place = Place(repos.make_repo(tmp_path / "r"), server)
        WORLD.write_env(place.root / "envs/topics")
        (place.root / "skillgit.yaml").write_text(CONFIG)
        assert place.refused(*TRAIN) == (
            "the base branch main has no commit; commit the document first, or set merge.into"
        )
        assert place.refused("merge", SKILL) == "there is no branch main; name the base branch with --into"
        assert place.refused("eval", SKILL) == "main: no such revision; name a commit, a branch or a tag"
        assert cli.call(place.root, "status").out.endswith(f"not trained here yet: `skillgit train {SKILL}`\n")
        place.configure("    merge: {into: main}\n", "")
        assert place.refused(*TRAIN).startswith("HEAD has no commit; ")

    def test_no_identity(self, place: Place) -> None:
        place.git("config", "--unset", "user.name")
        place.git("config", "--unset", "user.email")
        expected = (
            "git does not know who you are (user.name, user.email); "
            'run: git config user.name "Your Name" and: git config user.email you@example.com'
        )
        assert place.refused(*TRAIN) == expected
        assert place.refused("eval", SKILL) == expected
        place.git("config", "user.name", "Test Person")
        assert place.refused(*TRAIN) == expected
        found = cli.call(place.root, "doctor", "--offline")
        assert found.code == 2
        assert f"wrong identity: {expected}\n" in found.out

    def test_no_identity_at_the_merge(self, place: Place) -> None:
        place.trained()
        place.git("config", "--unset", "user.email")
        assert place.refused("merge", SKILL).startswith("git does not know who you are")

    def test_identity_from_the_environment_is_enough(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        place.git("config", "--unset", "user.name")
        place.git("config", "--unset", "user.email")
        for role in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{role}_NAME", "Somebody")
            monkeypatch.setenv(f"GIT_{role}_EMAIL", "somebody@example.com")
        place.trained()
        assert place.git("log", "-1", "--format=%an <%ae>", BRANCH) == "Somebody <somebody@example.com>"

    def test_detached_head_with_a_base_branch(self, place: Place) -> None:
        place.git("checkout", "-q", "--detach")
        head = place.git("rev-parse", "HEAD")
        place.trained()
        assert cli.call(place.root, "merge", SKILL).code == 0
        # The base branch moved; what is checked out did not.
        assert place.git("rev-parse", "HEAD") == head != place.git("rev-parse", "main")
        assert place.git("status", "--porcelain") == ""

    def test_detached_head_without_a_base_branch(self, place: Place) -> None:
        place.configure("    merge: {into: main}\n", "")
        place.git("commit", "-q", "-a", "-m", "No base branch")
        place.git("checkout", "-q", "--detach")
        place.trained()
        assert place.refused("merge", SKILL) == "no base branch: HEAD is detached; name one with --into BRANCH"
        assert f"`skillgit merge {SKILL} --into BRANCH`" in cli.call(place.root, "status").out
        assert cli.call(place.root, "merge", SKILL, "--into", "main").code == 0

    def test_the_skill_branch_is_checked_out(self, place: Place, tmp_path: Path) -> None:
        place.git("branch", f"skill/{SKILL}")
        place.git("worktree", "add", "-q", str(tmp_path / "other"), f"skill/{SKILL}")
        expected = f"skill/{SKILL} is checked out at {tmp_path / 'other'}; switch that work tree to another branch"
        assert place.refused(*TRAIN) == expected
        assert f"wrong {SKILL}: branch: {expected}\n" in cli.call(place.root, "doctor", "--offline").out
        repos.git(tmp_path / "other", "checkout", "-q", "--detach")
        place.trained()

    def test_the_skill_branch_is_checked_out_here(self, place: Place) -> None:
        place.git("checkout", "-q", "-b", f"skill/{SKILL}")
        assert place.refused(*TRAIN).startswith(f"skill/{SKILL} is checked out at {place.root}; ")

    @pytest.mark.parametrize(
        ("blocking", "wanted", "mend"),
        [
            ("refs/heads/skill", BRANCH, "rename that branch: git branch -m skill skill-old"),
            (
                f"{BRANCH}/deeper",
                BRANCH,
                f"rename that branch: git branch -m skill/{SKILL}/deeper skill-{SKILL}-deeper-old",
            ),
            (
                f"refs/skillgit/best/{SKILL}/x",
                f"refs/skillgit/best/{SKILL}",
                f"give it another name, then run: git update-ref -d refs/skillgit/best/{SKILL}/x",
            ),
        ],
    )
    def test_a_ref_is_in_the_way(self, place: Place, blocking: str, wanted: str, mend: str) -> None:
        place.git("update-ref", blocking, "HEAD")
        assert place.refused(*TRAIN) == f"{blocking} is in the way of {wanted}; {mend}"
        assert f"{blocking} is in the way" in cli.call(place.root, "doctor", "--offline").out
        if blocking.startswith("refs/heads/"):
            place.git(*mend.split("git ")[1].split())
            place.trained()

    def test_a_base_branch_that_is_not_there(self, place: Place) -> None:
        assert place.refused(*TRAIN, "--set", "merge.into=nowhere") == (
            "merge.into: there is no branch nowhere; set it to the branch you work on"
        )
        assert place.refused("merge", SKILL, "--into", "nowhere") == (
            "there is no branch nowhere; name the base branch with --into"
        )
        assert place.refused("merge", SKILL) == (
            f"refs/skillgit/best/{SKILL}: nothing was trained yet; run `skillgit train {SKILL}`"
        )

    def test_a_bare_repository_is_fine_but_has_nothing_to_write_files_in(self, place: Place, tmp_path: Path) -> None:
        bare = tmp_path / "bare.git"
        place.git("clone", "-q", "--bare", ".", str(bare))
        repos.identify(bare)
        there = Place(bare, place.server)
        assert there.refused("init", "--skill", "x") == (
            "a bare repository has no files to write; run `skillgit init` in a clone"
        )
        there.trained()
        assert cli.call(bare, "merge", SKILL).code == 0


class TestDocument:
    def commit(self, place: Place, data: bytes | None) -> str:
        return repos.commit(place.root, {DOCUMENT: data})[:12]

    @pytest.mark.parametrize(
        ("data", "message"),
        {
            "missing": (None, f"there is no such file; commit {DOCUMENT} first"),
            "empty": (b"", "the document is empty; write a first version of the skill"),
            "blank": (b"\xef\xbb\xbf \n\n", "the document is empty; write a first version of the skill"),
            "latin-1": ("# Skill\nné\n".encode("latin-1"), "line 2: not UTF-8 (byte 0xe9); save it as UTF-8"),
            "utf-16": ("# Skill\n".encode("utf-16"), "encoded as UTF-16, not as UTF-8; save it as UTF-8"),
            "nul": (b"# Skill\n\0\n", "line 2: a NUL byte, so this is no text; remove it"),
            "unclosed": (
                b"---\nname: x\n\n# Skill\n",
                "the frontmatter that opens on line 1 never closes; "
                "close it with a line `---`, or put a blank line after a horizontal rule",
            ),
            "not-yaml": (
                b"---\nname: x\nlist: [x\n---\n# Skill\n",
                "line 3: the frontmatter is not valid YAML: expected ',' or ']', but got '<stream end>'; "
                "mend the frontmatter",
            ),
            "no-mapping": (
                b"---\n- x\n---\n# Skill\n",
                "line 2: the frontmatter is not a YAML mapping; mend the frontmatter",
            ),
        }.values(),
    )
    def test_unusable(self, place: Place, data: bytes | None, message: str) -> None:
        commit = self.commit(place, data)
        expected = f"{DOCUMENT} at {commit}: {message}"
        assert place.refused(*TRAIN) == expected
        assert place.refused("eval", SKILL) == expected
        found = cli.call(place.root, "doctor", "--offline")
        assert found.code == 2
        assert f"wrong {SKILL}: document: {expected}\n" in found.out

    @pytest.mark.parametrize("kind", ["link", "folder", "submodule"])
    def test_no_plain_file(self, place: Place, kind: str) -> None:
        path = place.root / DOCUMENT
        path.unlink()
        if kind == "link":
            (path.parent / "other.md").write_text(SEED_DOCUMENT)
            path.symlink_to("other.md")
        elif kind == "folder":
            path.mkdir()
            (path / "SKILL.md").write_text(SEED_DOCUMENT)
        else:
            place.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{DOCUMENT}")
        if kind != "submodule":
            place.git("add", "-A")
        place.git("commit", "-q", "-m", "No file")
        commit = place.git("rev-parse", "HEAD")[:12]
        assert place.refused(*TRAIN) == (
            f"{DOCUMENT} at {commit}: not a plain file; commit the document itself, no link or folder"
        )

    def test_it_was_never_committed(self, place: Place) -> None:
        place.configure(DOCUMENT, "skills/new/SKILL.md")
        (place.root / "skills/new").mkdir()
        (place.root / "skills/new/SKILL.md").write_text(SEED_DOCUMENT)
        assert place.refused(*TRAIN).endswith(": there is no such file; commit skills/new/SKILL.md first")

    def test_a_copy_that_differs_is_said(self, place: Place) -> None:
        (place.root / DOCUMENT).write_bytes(b"\xff broken on disk only")
        done = cli.call(place.root, *TRAIN)
        assert done.code == 0
        assert f"note: {DOCUMENT} has changes that are not committed; training reads the commit\n" in done.err
        assert (place.root / DOCUMENT).read_bytes() == b"\xff broken on disk only"

    def raw(self, place: Place, rev: str) -> bytes:
        return repos.git(place.root, "cat-file", "blob", f"{rev}:{DOCUMENT}").encode("utf-8", "surrogateescape")

    def test_crlf_stays_crlf(self, place: Place) -> None:
        self.commit(place, SEED_DOCUMENT.replace("\n", "\r\n").encode())
        assert place.trained()["accepted"]
        for rev in (BRANCH, *place.git("for-each-ref", "--format=%(refname)", "refs/skillgit/rejected").split()):
            text = self.raw(place, rev)
            assert text.startswith(b"---\r\nname:")
            assert text.count(b"\n") == text.count(b"\r\n") > 5
        assert cli.call(place.root, "merge", SKILL).code == 0
        assert b"\r\n" in (place.root / DOCUMENT).read_bytes()
        assert (place.root / DOCUMENT).read_bytes() == (place.root / "skills/topics/best_skill.md").read_bytes()
        assert place.git("status", "--porcelain") == ""

    def test_no_byte_changes_that_no_edit_covers(self, place: Place) -> None:
        # Trailing spaces, decomposed and compatibility letters, an emoji sequence, odd spaces, no newline at the end.
        text = "---\nname: x\n---\n# Ti\u0308tle  \n\n\n\u212b \u00a0 \U0001f469\u200d\U0001f467\t\n\n* a\n\nlast"
        self.commit(place, text.encode())
        assert place.trained()["accepted"]
        for rev in (BRANCH, *place.git("for-each-ref", "--format=%(refname)", "refs/skillgit/rejected").split()):
            assert self.raw(place, rev).decode().startswith(text)
        assert place.git("show", f"main:{DOCUMENT}") == text

    def test_a_byte_order_mark_stays(self, place: Place) -> None:
        self.commit(place, b"\xef\xbb\xbf" + SEED_DOCUMENT.encode())
        place.trained()
        assert self.raw(place, BRANCH).startswith(b"\xef\xbb\xbf---\nname:")

    def test_an_executable_document_stays_executable(self, place: Place) -> None:
        (place.root / DOCUMENT).chmod(0o755)
        place.git("commit", "-q", "-a", "-m", "Executable")
        place.trained()
        assert place.git("ls-tree", BRANCH, DOCUMENT).startswith("100755 ")


class TestConfiguration:
    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                "batch_size",
                "batchsize",
                "skillgit.yaml:8: unknown key 'skills.topics.train.batchsize'; did you mean 'batch_size'?",
            ),
            ("limits:", "limit:", "skillgit.yaml:3: unknown key 'limit'; did you mean 'limits'?"),
            (
                "num_epochs: 1",
                "num_epochs: 0",
                "skillgit.yaml:8: skills.topics.train.num_epochs: input should be greater",
            ),
            ("  topics:", "  Topics:", "skillgit.yaml:5: skills.Topics: 'Topics' is no skill name: "),
            ("version: 1", "version: 2", "skillgit.yaml:1: version: 2 is not known to this skillgit, "),
            ("version: 1", "version: [", "skillgit.yaml:3: not valid YAML: expected ',' or ']'"),
            (DOCUMENT, "../SKILL.md", "skillgit.yaml:6: skills.topics.document: '../SKILL.md' does not lie inside"),
            (
                "envs/topics",
                "envs/topic",
                "env: there is no 'envs/topic' in the repository; did you mean 'envs/topics'?",
            ),
            ("envs/topics", "../topics", "env: '../topics' does not lie inside the repository; "),
            ("envs/topics", "builtin/nope", "env: there is no built-in environment 'nope'; "),
            ("openai/sim", "opanai/sim", "opanai/sim: no provider 'opanai'; did you mean 'openai'?"),
        ],
    )
    def test_mistakes(self, place: Place, old: str, new: str, message: str) -> None:
        place.configure(old, new)
        assert place.refused(*TRAIN).startswith(message)

    def test_no_file(self, place: Place) -> None:
        (place.root / "skillgit.yaml").unlink()
        for command in (TRAIN, ("status",), ("merge", SKILL)):
            assert (
                place.refused(*command) == "skillgit.yaml: there is none at the repository's root; run `skillgit init`"
            )

    @pytest.mark.parametrize("kind", ["folder", "latin-1"])
    def test_an_unreadable_file(self, place: Place, kind: str) -> None:
        path = place.root / "skillgit.yaml"
        path.unlink()
        if kind == "folder":
            path.mkdir()
            assert place.refused(*TRAIN) == "skillgit.yaml: Is a directory; make it readable"
        else:
            path.write_bytes(b"version: 1 # \xe9\n")
            assert place.refused(*TRAIN) == "skillgit.yaml: not UTF-8; save it as UTF-8"

    @pytest.mark.parametrize("verb", ["train", "eval", "status", "log", "merge", "rejected list"])
    def test_an_unknown_skill(self, place: Place, verb: str) -> None:
        assert place.refused(*verb.split(), "topic") == "skillgit.yaml: no skill 'topic'; did you mean 'topics'?"

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ("train.sed=1", "--set train.sed=1: unknown key 'train.sed'; did you mean 'seed'?"),
            ("train", "--set train: no value; write section.key=value, for example train.seed=7"),
            ("train.seed=x", "--set train.seed=x: train.seed: input should be a valid integer; write a whole number"),
            ("seed=1", "--set seed=1: write section.key=value; for example train.num_epochs=2"),
            ("document.x=1", "--set document.x=1: unknown section 'document'; known sections: "),
            ("train.seed=[", "--set train.seed=[: the value is not valid YAML; quote it"),
            ("=", "--set =: write section.key=value; "),
        ],
    )
    def test_set(self, place: Place, setting: str, message: str) -> None:
        assert place.refused(*TRAIN, "--set", setting).startswith(message)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("train",), "Missing argument 'NAME'; see `skillgit train --help`"),
            (("train", SKILL, "more"), "Got unexpected extra argument (more); see `skillgit train --help`"),
            (("train", SKILL, "--fresj"), "No such option '--fresj'"),
            (("eval", SKILL, "--split", "tests"), "Invalid value for '--split': 'tests' is not one of "),
            (
                ("eval", SKILL, "--rev", "nowhere"),
                f"nowhere: no such revision; name a commit, a step of `skillgit log {SKILL}`, or best, tip or base",
            ),
            (("eval", SKILL, "--rev=--all"), "'--all' is no revision; name a branch, a tag or a commit"),
            (("log", SKILL, "-n", "0"), "Invalid value for '-n' / '--max-count': 0 is not in the range x>=1"),
            (("rejected", "show", SKILL, "7"), f"{SKILL} has no rejected candidate '7'; see `skillgit rejected list"),
            (("tarin", SKILL), "no command 'tarin'; did you mean 'train'?"),
            (("-C", "nowhere", "status"), "-C nowhere: No such file or directory; name a folder that exists"),
        ],
    )
    def test_arguments(self, place: Place, arguments: tuple[str, ...], message: str) -> None:
        assert place.refused(*arguments).startswith(message)

    @pytest.mark.parametrize("target", ["x", "openai/", "openai/ x", "", "nope/x"])
    def test_another_target_that_is_none(self, place: Place, target: str) -> None:
        message = place.refused("eval", SKILL, "--target", target)
        assert message.startswith(("--target: ", "nope/x: no provider 'nope'; "))


def write(name: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    """Change one file of an environment."""
    return lambda folder: (folder / name).write_text(change((folder / name).read_text())) and None


def first(text: str) -> str:
    return text.splitlines()[0] + "\n"


TRAIN_ROWS = "".join(json.dumps(row) + "\n" for row in WORLD.tasks["train"])


class TestEnvironment:
    @pytest.mark.parametrize(
        ("spoil", "message"),
        [
            (
                write("env.yaml", lambda text: text + "extrct: whole\n"),
                "envs/topics/env.yaml:9: unknown key 'extrct'; did you mean 'extract'?",
            ),
            (
                write("env.yaml", lambda text: text.replace("scorer: exact", "scorer: exat")),
                "envs/topics/env.yaml:7: scorer: 'exat' is no scorer; did you mean exact?",
            ),
            (write("val.jsonl", lambda _: ""), "envs/topics/env.yaml: the split val has no tasks; add tasks, "),
            (write("train.jsonl", lambda _: "\n"), "envs/topics/env.yaml: the split train has no tasks; add tasks, "),
            (
                write("val.jsonl", lambda text: TRAIN_ROWS),
                "envs/topics/val.jsonl:1: id: 'train-000' is also the id of envs/topics/train.jsonl:1; ",
            ),
            (
                write("val.jsonl", lambda text: TRAIN_ROWS.replace("train-", "v-")),
                "envs/topics/val.jsonl:1: input: the split val has the task of envs/topics/train.jsonl:1 (train); ",
            ),
            (
                write("val.jsonl", lambda text: text + first(text)),
                "envs/topics/val.jsonl:9: id: 'val-000' is also the id of envs/topics/val.jsonl:1; rename one",
            ),
            (
                write("val.jsonl", lambda text: text + '{"id": \n'),
                "envs/topics/val.jsonl:9: not JSON: Expecting value, at column 8; mend the line",
            ),
            (
                write("val.jsonl", lambda text: text + '{"id": "x", "answer": "y"}\n'),
                "envs/topics/val.jsonl:9: ",
            ),
            (
                lambda folder: (folder / "val.jsonl").unlink(),
                "envs/topics/env.yaml: tasks.val: there is no file val.jsonl",
            ),
            (
                lambda folder: (folder / "val.jsonl").write_bytes(b'{"id": "\xff"}\n'),
                "envs/topics/val.jsonl:1: not UTF-8",
            ),
            (
                lambda folder: (folder / "env.yaml").rename(folder / "env.yml"),
                "envs/topics: there is no env.yaml and no evals/evals.json; is 'env.yml' meant to be env.yaml?",
            ),
            (shutil.rmtree, "env: there is no 'envs/topics' in the repository; "),
        ],
    )
    def test_mistakes(self, place: Place, spoil: Callable[[Path], object], message: str) -> None:
        spoil(place.root / "envs/topics")
        said = place.refused(*TRAIN)
        assert said.startswith(message)
        found = cli.call(place.root, "doctor", "--offline")
        assert (found.code, f"wrong {SKILL}: environment: {said}\n" in found.out) == (2, True)

    def test_a_split_that_only_eval_needs(self, place: Place) -> None:
        (place.root / "envs/topics/test.jsonl").write_text("")
        assert place.refused("eval", SKILL) == "envs/topics: the test split has no tasks; add tasks to test"
        place.trained()


class TestModels:
    def asked(
        self, place: Place, monkeypatch: pytest.MonkeyPatch, responder: Responder, **refused: bool
    ) -> tuple[str, int]:
        """Train against a server that fails; its line, and how many calls were made until then."""
        with serve(responder) as server:
            training.point_at(monkeypatch, server.env())
            said = Place(place.root, server).refused(*TRAIN, code=3, calls=True, **refused)
            return said.replace(server.openai_url, "URL"), server.count

    def test_a_dead_endpoint_ends_soon_and_loses_nothing(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        assert place.refused(*TRAIN, code=3) == (
            f"the first 8 attempts all failed; the last: openai/sim: the connection to {url} failed: "
            "All connection attempts failed; check OPENAI_BASE_URL and the network, "
            "then run the same command again, nothing is lost"
        )
        found = cli.call(place.root, "doctor")
        assert found.code == 3
        assert f"wrong {SKILL}: target: openai/sim: the connection to {url} failed" in found.out
        monkeypatch.setenv("OPENAI_BASE_URL", place.server.openai_url)
        place.trained()

    @pytest.mark.parametrize(
        ("answer", "line"),
        [
            (error(401, "bad key"), "openai/sim: 401 from URL: bad key; check OPENAI_API_KEY"),
            (error(403, "no"), "openai/sim: 403 from URL: no; give the key of OPENAI_API_KEY access to this model"),
            (
                error(404, "no such model", code="model_not_found"),
                "openai/sim: 404 from URL: no such model; check the model's name and OPENAI_BASE_URL",
            ),
            (
                error(429, "pay", code="insufficient_quota", x_should_retry="false"),
                "openai/sim: 429 from URL: pay; check the account's credit, "
                "then run the same command again, nothing is lost",
            ),
        ],
        ids=["401", "403", "404", "quota"],
    )
    def test_no_call_can_succeed(
        self, place: Place, monkeypatch: pytest.MonkeyPatch, answer: Answer, line: str
    ) -> None:
        said, calls = self.asked(place, monkeypatch, lambda call: answer)
        assert said == line
        assert calls <= 8, "no more than were in flight"

    @pytest.mark.parametrize(
        ("answer", "line"),
        [
            (error(500, "oops"), "openai/sim: 500 from URL: oops; wait, then run the same command again"),
            (error(429, "slow"), "openai/sim: 429 from URL: slow; wait, or lower limits.in_flight, then run the same"),
            (
                Answer(body=b"<html>"),
                "openai/sim: URL sent a reply that is not valid JSON; check OPENAI_BASE_URL, then",
            ),
        ],
        ids=["500", "429", "html"],
    )
    def test_the_first_calls_all_fail(
        self, place: Place, monkeypatch: pytest.MonkeyPatch, answer: Answer, line: str
    ) -> None:
        said, calls = self.asked(place, monkeypatch, lambda call: answer)
        assert said.startswith(f"the first 8 attempts all failed; the last: {line}")
        assert calls <= 8 * MOST_TRIES, "the retries of what was in flight"

    def test_half_of_the_calls_fail(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        broken = set(list(WORLD.codes)[:2])

        def half(call: Call) -> Answer:
            return error(400, "too long") if WORLD.topic_of(call.user) in broken else WORLD(call)

        said, _ = self.asked(place, monkeypatch, half)
        assert said == (
            "4 of 8 val attempts failed; the last: openai/sim: 400 from URL: too long; "
            "mend it and run the same command again"
        )

    def test_no_key(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_API_KEY")
        for command in (TRAIN, ("eval", SKILL)):
            assert place.refused(*command, code=3) == (
                "openai/sim: OPENAI_API_KEY is not set; set OPENAI_API_KEY "
                "(to any word where the server at OPENAI_BASE_URL asks for no key)"
            )

    def test_no_url(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", "nonsense")
        assert place.refused(*TRAIN).startswith("OPENAI_BASE_URL is not a URL; set it to one like https://")

    def test_no_model_is_set(self, place: Place) -> None:
        place.configure("models: {target: openai/sim, optimizer: anthropic/sim}\n", "")
        place.configure("models: {target: openai/sim, optimizer: openai/sim}", "models: {target: openai/sim}")
        assert (
            place.refused(*TRAIN)
            == "skillgit.yaml: no optimizer model for 'topics'; set models.optimizer to provider/model"
        )

    def test_an_endpoint_that_hangs(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        place.configure("limits: {in_flight: 8}", "limits: {in_flight: 8, timeout_s: 0.2}")
        said, _ = self.asked(place, monkeypatch, lambda call: hang())
        assert said == (
            "the first 8 attempts all failed; the last: openai/sim: no answer from URL within 0.2 s; "
            "check the server, or raise limits.timeout_s, then run the same command again, nothing is lost"
        )

    @pytest.mark.parametrize(
        ("text", "why"),
        [("", "the reply is empty"), ("I would rather not.", "the reply is prose, without JSON")],
        ids=["empty", "prose"],
    )
    def test_an_optimizer_that_says_nothing_usable(
        self, place: Place, monkeypatch: pytest.MonkeyPatch, text: str, why: str
    ) -> None:
        def mute(call: Call) -> Answer:
            return Answer(text) if training.is_reflection(call) else WORLD(call)

        with serve(mute) as server:
            training.point_at(monkeypatch, server.env())
            place.configure("batch_size: 4", "batch_size: 2")
            there = Place(place.root, server)
            said = there.refused(*TRAIN, code=3, calls=True, moved=True)
            asked = [call for call in server.calls if training.is_reflection(call)]
        kept = f"refs/skillgit/evidence/topics/{training.journal(place.root).info.run}:optimizer.jsonl"
        assert text in repos.git(place.root, "show", kept)
        assert said == (
            f"openai/sim gave no usable reply 3 times in a row; the last: {why}; see them with `git show {kept}`; "
            "choose another optimizer or mend the endpoint, then run the same command again"
        )
        assert len(asked) == 3 * 2, "each is asked once more, firmer"
        # Not an end without improvement: the run goes on when the optimizer speaks again.
        (status,) = json.loads(cli.call(place.root, "status", "--json").out)
        assert (status["running"], status["run_step"]) == (True, 2)
        training.point_at(monkeypatch, place.server.env())
        assert place.trained()["run"] == status["run"]

    def test_the_optimizers_key_is_wrong(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(call: Call) -> Answer:
            return error(401, "bad key") if training.is_reflection(call) else WORLD(call)

        said, _ = self.asked(place, monkeypatch, refuse, moved=True)
        assert said == "openai/sim: 401 from URL: bad key; check OPENAI_API_KEY"
        assert len(training.journals(place.root)[-1]) == 1, "the baseline is kept"

    def test_a_target_that_says_nothing_is_wrong_and_no_failure(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def mute(call: Call) -> Answer:
            return WORLD(call) if training.is_reflection(call) else Answer("")

        with serve(mute) as server:
            training.point_at(monkeypatch, server.env())
            outcome = place.trained()
            assert cli.call(place.root, *TRAIN, "--exit-code").code == 1
        assert (outcome["before"], outcome["after"], outcome["improved"]) == (0.0, 0.0, False)
        assert outcome["rejected"] == 2


class TestDisk:
    def test_our_folder_is_a_file(self, place: Place) -> None:
        (place.root / ".git/skillgit").write_text("x")
        assert place.refused(*TRAIN).startswith(f"{place.root}/.git/skillgit: File exists; ")

    def test_a_cache_that_is_none(self, place: Place) -> None:
        folder = place.root / ".git/skillgit"
        folder.mkdir()
        (folder / "calls.sqlite3").write_text("no database\n" * 1000)
        assert place.refused(*TRAIN) == (
            f"{folder}/calls.sqlite3: the call cache is damaged; delete the file; its answers are asked for again"
        )
        (folder / "calls.sqlite3").unlink()
        place.trained()

    def test_a_hook_that_refuses(self, place: Place) -> None:
        hook = place.root / ".git/hooks/reference-transaction"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text('#!/bin/sh\n[ "$1" = prepared ] || exit 0\necho "not on a Friday" >&2\nexit 1\n')
        hook.chmod(0o755)
        said = place.refused(*TRAIN, calls=True)
        assert said.startswith(f"the reference-transaction hook refused refs/skillgit/runs/{SKILL}/")
        assert "not on a Friday" in said
        hook.unlink()
        calls = place.server.count
        place.trained()
        assert place.server.count - calls < 34, "the baseline's answers were in the cache"
