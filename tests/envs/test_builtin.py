"""Where environments and hooks are found."""

import os

import pytest

import skillgit
from skillgit.envs.builtin import builtin_folder, builtin_names, builtin_root, resolve_env
from skillgit.envs.loading import load_environment
from skillgit.errors import ConfigError


def test_a_source_checkout_has_them_beside_the_package() -> None:
    assert builtin_root() == builtin_folder("envs")
    assert builtin_folder("hooks").is_dir()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package as a wheel lays it out."""
    package = tmp_path / "site-packages" / "skillgit"
    for name in ("opscli", "houseformat", "notes"):
        (package / "_builtin" / "envs" / name).mkdir(parents=True)
    for name in ("opscli", "houseformat"):
        (package / "_builtin" / "envs" / name / "env.yaml").write_text("version: 1\n")
    monkeypatch.setattr(skillgit, "__file__", str(package / "__init__.py"))
    return package


def test_a_wheel_has_them_inside_the_package(installed) -> None:
    assert builtin_root() == installed / "_builtin" / "envs"
    assert builtin_names() == ("houseformat", "opscli")
    with pytest.raises(ConfigError, match="the built-in hooks are not in this installation"):
        builtin_folder("hooks")


def test_some_other_folder_beside_the_package_is_not_ours(installed) -> None:
    (installed.parent / "hooks").mkdir()
    with pytest.raises(ConfigError, match="not in this installation"):
        builtin_folder("hooks")


def test_resolve_builtin(installed, tmp_path) -> None:
    assert resolve_env("builtin/opscli", tmp_path) == builtin_root() / "opscli"
    with pytest.raises(ConfigError, match=r"no built-in environment 'opscly'; did you mean 'builtin/opscli'\?"):
        resolve_env("builtin/opscly", tmp_path)
    with pytest.raises(ConfigError, match="built-in are builtin/houseformat, builtin/opscli"):
        resolve_env("builtin/../x", tmp_path)


def test_resolve_a_path_of_the_repository(installed, tmp_path) -> None:
    (tmp_path / "envs" / "triage").mkdir(parents=True)
    assert resolve_env("envs/triage", tmp_path) == tmp_path / "envs" / "triage"
    assert resolve_env("./envs/triage/", tmp_path) == tmp_path / "envs" / "triage"
    assert resolve_env("envs\\triage", tmp_path) == tmp_path / "envs" / "triage"
    with pytest.raises(ConfigError, match=r"there is no 'envs/triag' in the repository; did you mean 'envs/triage'\?"):
        resolve_env("envs/triag", tmp_path)
    with pytest.raises(ConfigError, match=r"did you mean 'builtin/opscli'\?"):
        resolve_env("opscli", tmp_path)
    with pytest.raises(ConfigError, match="built-in are builtin/houseformat"):
        resolve_env("zzz/zzz", tmp_path)


@pytest.mark.parametrize("spec", ["", " ", "..", "../x", "/etc", "envs/../../x", "out", "out/x"])
def test_a_path_that_leaves_the_repository_is_refused(tmp_path, spec) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    (tmp_path / "x").mkdir()
    os.symlink(tmp_path, root / "out")
    with pytest.raises(ConfigError, match="does not lie inside the repository"):
        resolve_env(spec, root)


def test_every_built_in_environment_loads() -> None:
    for name in builtin_names():
        found = load_environment(builtin_root() / name, label=f"builtin/{name}")
        assert found.description
        assert found.tasks("test")
