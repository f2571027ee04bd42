"""The room's public names, and that asking for the room alone costs nothing."""

import subprocess
import sys

import pytest

import skillgit.envs


@pytest.mark.parametrize("name", skillgit.envs.__all__)
def test_every_public_name_is_there(name) -> None:
    assert getattr(skillgit.envs, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = skillgit.envs.nothing


def test_importing_the_room_imports_no_module_of_it() -> None:
    code = "import sys, skillgit.envs; print([m for m in sys.modules if m.startswith(('skillgit.envs.', 'pydantic'))])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
