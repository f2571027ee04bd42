"""Plugins by entry points, as an installed distribution brings them."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillgit.errors import ConfigError, MeasurementError
from skillgit.train import plugins

GROUP = "skillgit.gates"


def install(site: Path, owner: str, points: str, modules: dict[str, str]) -> None:
    """What pip leaves of a distribution."""
    info = site / f"{owner.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {owner}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{points}\n")
    for name, text in modules.items():
        (site / f"{name}.py").write_text(text)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for distributions on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_what_is_installed(site: Path) -> None:
    install(site, "good-gates", "sign-test = good_gates_a:rule", {"good_gates_a": "def rule(): return 'mine'\n"})
    assert plugins.load(GROUP, "sign-test", ["strict"])() == "mine"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sign-tset", "did you mean 'sign-test'?"),
        ("pairde", "did you mean 'paired'?"),
        ("zzz", "known: paired, sign-test, strict"),
    ],
)
def test_no_such_plugin_names_the_nearest(site: Path, name: str, said: str) -> None:
    install(site, "good-gates", "sign-test = good_gates_b:rule", {})
    with pytest.raises(ConfigError) as caught:
        plugins.load(GROUP, name, ["strict", "paired"])
    assert str(caught.value) == f"evaluation.gate_mode: there is no {name!r}; {said}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import no_such_module_here\n", "ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("def other(): ...\n", "AttributeError: "),
        ("rule = 1 / 0\n", "ZeroDivisionError: division by zero"),
        ("def rule(:\n", "SyntaxError: "),
        ("import sys; sys.exit('no licence')\n", "SystemExit: no licence"),
    ],
)
def test_a_plugin_that_cannot_be_imported_names_its_distribution(site: Path, text: str, said: str) -> None:
    module = f"broken_{abs(hash(text))}"
    install(site, "bad-gates", f"broken = {module}:rule", {module: text})
    with pytest.raises(ConfigError) as caught:
        plugins.load(GROUP, "broken", ["strict"])
    assert str(caught.value).startswith(f"skillgit.gates: 'broken' of bad-gates: {said}")
    assert "\n" not in str(caught.value)


def test_two_of_one_name_are_refused(site: Path) -> None:
    install(site, "one-gates", "rule = one_gates:rule", {})
    install(site, "two-gates", "rule = two_gates:rule", {})
    with pytest.raises(ConfigError, match="'rule' is in one-gates and two-gates"):
        plugins.load(GROUP, "rule", [])


def test_the_border_lets_our_errors_and_interrupts_pass() -> None:
    for error in (MeasurementError("a score is 3"), KeyboardInterrupt()):
        with pytest.raises(type(error)), plugins.Border("x"):
            raise error
