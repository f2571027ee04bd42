"""What people install: a wheel, built from the source distribution, put into an environment of its own and used."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from support import cli, repos
from support.copyist import Copyist
from support.server import serve

import skillgit
from skillgit.envs.builtin import builtin_names

ROOT = Path(skillgit.__file__).parent.parent
NAME = "opscli"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both distributions; the wheel is made from the unpacked source distribution, as an installer would."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def home(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it and the dependencies of this one, so that nothing is downloaded."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True)
    # The .pth files of that folder are not followed, so the checkout itself stays unseen.
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def python(home: Path, code: str) -> str:
    done = subprocess.run(
        [home / "bin/python", "-I", "-c", code], capture_output=True, text=True, cwd=home, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_wheel_holds_all_that_is_read_at_run_time(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = Path(skillgit.__file__).parent
    for path in package.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert str(path.relative_to(ROOT)) in names
    for kind in ("envs", "hooks"):
        for path in (ROOT / kind).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert f"skillgit/_builtin/{path.relative_to(ROOT)}" in names
    assert {name.split("/")[0] for name in names} == {"skillgit", f"skillgit-{skillgit.__version__}.dist-info"}


def test_the_source_distribution_holds_what_build_and_tests_need(built: Path) -> None:
    (found,) = built.glob("*.tar.gz")
    with tarfile.open(found) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    tracked = {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
    assert tracked - names == set()
    assert not [name for name in names if re.search(r"__pycache__|\.venv|\.cache|\.egg-info", name)]


def test_entry_points_and_version(home: Path, tmp_path: Path) -> None:
    for name in ("skillgit", "git-skill"):
        done = subprocess.run(
            [home / "bin" / name, "--version"], capture_output=True, text=True, cwd=tmp_path, check=True
        )
        assert done.stdout == f"skillgit {skillgit.__version__}\n"
    assert python(home, "import importlib.metadata as m; print(m.version('skillgit'))") == skillgit.__version__


def test_it_is_the_wheel_and_nothing_else_that_is_imported(home: Path) -> None:
    assert Path(python(home, "import skillgit; print(skillgit.__file__)")).is_relative_to(home)
    for name in ("envs", "hooks", "tests", "benchmarks"):
        assert python(home, f"import importlib.util; print(importlib.util.find_spec({name!r}))") == "None"


def test_built_in_environments_hooks_and_prompts_are_found(home: Path) -> None:
    code = (
        "import json; from skillgit.envs.builtin import builtin_folder, builtin_names, builtin_root\n"
        "from skillgit.envs.loading import load_environment; from skillgit.train.propose.prompts import sections\n"
        "sizes = {n: len(load_environment(builtin_root() / n, label=n).tasks('test')) for n in builtin_names()}\n"
        "prompts = [sorted(sections(p)) for p in ('full/reflect_failures', 'compact/reflect', 'full/retry')]\n"
        "print(json.dumps([sizes, str(builtin_folder('hooks')), prompts]))"
    )
    sizes, hooks, prompts = json.loads(python(home, code))
    assert tuple(sizes) == builtin_names()
    assert NAME in sizes
    assert min(sizes.values()) > 0
    assert Path(hooks).is_relative_to(home)
    assert all("user" in parts for parts in prompts)


def test_it_trains_one_step(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.plain_environment(monkeypatch, tmp_path / "home")
    root = repos.make_repo(tmp_path / "repository")

    def skillgit_(*arguments: str) -> str:
        done = subprocess.run(
            [home / "bin/skillgit", *arguments],
            cwd=root,
            env={**os.environ, **server.env()},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    with serve(Copyist()) as server:
        skillgit_("init", "--skill", NAME, "--env", f"builtin/{NAME}")
        config = (root / "skillgit.yaml").read_text().replace("local/qwen2.5-coder-0.5b", "openai/sim")
        (root / "skillgit.yaml").write_text(config)
        repos.git(root, "add", "-A")
        repos.git(root, "commit", "-q", "-m", "Start")
        settings = ["--set", "train.num_epochs=1", "--set", "train.batch_size=1000"]
        outcome = json.loads(skillgit_("train", NAME, *settings, "--json"))
    assert (outcome["steps"], outcome["accepted"] + outcome["rejected"]) == (1, 1)
    refs = repos.refs(root)
    assert f"refs/heads/skill/{NAME}" in refs
    assert any(ref.startswith(f"refs/tags/skill/{NAME}/") for ref in refs)
    repos.fsck(root)
