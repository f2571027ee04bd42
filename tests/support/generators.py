"""Generators of built-in environments, loaded by path as the demo does."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

Rows = Sequence[Mapping[str, str]]


def generator(folder: Path) -> ModuleType:
    """The module `generate.py` of an environment."""
    path = folder / "generate.py"
    spec = importlib.util.spec_from_file_location(f"generator_{folder.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def jsonl(rows: Rows) -> bytes:
    """The bytes of a split's file."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def run_generator(folder: Path, seed: int, out: Path, hash_seed: str) -> None:
    """The generator's command line, in a process with its own order of sets."""
    command = [sys.executable, "-B", str(folder / "generate.py"), "--seed", str(seed), "--out", str(out)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": hash_seed}, timeout=60)
