"""The simulated optimizer: it recognises the prompts of the three trainers and replies in the format each expects."""

from __future__ import annotations

from benchmarks.trainers import prompts_of_peers, prompts_of_skillgit
from benchmarks.trainers.proposer import Prompt, Proposer, UnknownPrompt
from benchmarks.trainers.world import World


class Optimizer:
    """Replies for one world and server seed."""

    def __init__(self, world: World, seed: int) -> None:
        self._proposer = Proposer(world, seed)

    def reply(self, prompt: Prompt) -> tuple[str, str]:
        """The kind of the call (`reflect`, `reflect+` for successes, `merge`, `rank`, `slow`, `meta` …) and the reply.

        Raises:
            UnknownPrompt: the prompt is none of the trainers'.
        """
        found = prompts_of_peers.reply(self._proposer, prompt) or prompts_of_skillgit.reply(self._proposer, prompt)
        if found is not None:
            return found
        raise UnknownPrompt(f"{prompt.system[-200:]} … {prompt.user[:200]}")
