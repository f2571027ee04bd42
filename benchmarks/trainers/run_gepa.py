"""gepa's `optimize` with an adapter for the simulated API; run by the peers' Python.

    python run_gepa.py JOB

JOB is a folder with `job.json` (`url`, `document`, `splits`, `in_flight`, `metric_calls`); `result.json` and `best.md`
are left in it. The calls run in parallel, as in gepa's own adapters; all else is its default.
"""

from __future__ import annotations

import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gepa  # type: ignore[import-not-found]
from gepa.core.adapter import EvaluationBatch  # type: ignore[import-not-found]
from openai import OpenAI, OpenAIError


class Tickets:
    """gepa's adapter: the one component `document` is the system prompt."""

    propose_new_texts = None

    def __init__(self, client: OpenAI, in_flight: int) -> None:
        self._client = client
        self._pool = ThreadPoolExecutor(in_flight)

    def ask(self, model: str, messages: list[dict[str, str]]) -> str:
        """One chat completion."""
        done = self._client.chat.completions.create(model=model, messages=messages)  # type: ignore[arg-type]
        return done.choices[0].message.content or ""

    def evaluate(self, batch: list[Any], candidate: dict[str, str], capture_traces: bool = False) -> Any:
        """Answer each ticket, 1 where the answer is right. A call that failed for good scores 0, as gepa asks."""

        def one(task: dict[str, str]) -> tuple[str, float]:
            turns = [
                {"role": "system", "content": candidate["document"]},
                {"role": "user", "content": task["input"]},
            ]
            try:
                reply = self.ask("sim-target", turns)
            except OpenAIError:
                return "", 0.0
            said = re.findall(r"<answer>(.*?)</answer>", reply)
            return reply, float(bool(said) and said[-1].strip() == task["answer"])

        found = list(self._pool.map(one, batch))
        traces = [{"task": task, "reply": reply} for task, (reply, _) in zip(batch, found, strict=True)]
        return EvaluationBatch(
            outputs=[reply for reply, _ in found],
            scores=[score for _, score in found],
            trajectories=traces if capture_traces else None,
        )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> dict[str, list[dict[str, str]]]:
        """Each attempt with what the right answer was."""
        records = []
        for trace, score in zip(eval_batch.trajectories, eval_batch.scores, strict=True):
            right = "The answer is right." if score else f"Wrong: the right answer is {trace['task']['answer']}."
            records.append(
                {"Inputs": trace["task"]["input"], "Generated Outputs": trace["reply"], "Feedback": right},
            )
        return dict.fromkeys(components_to_update, records)


def main() -> None:
    """Optimize; leave the best document and its val score."""
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    client = OpenAI(base_url=f"{job['url']}/v1", api_key="none", max_retries=5)
    adapter = Tickets(client, job["in_flight"])

    def reflect(prompt: str | list[dict[str, Any]]) -> str:
        return adapter.ask("sim-optimizer", [{"role": "user", "content": str(prompt)}])

    result = gepa.optimize(
        seed_candidate={"document": job["document"]},
        trainset=job["splits"]["train"],
        valset=job["splits"]["val"],
        adapter=adapter,
        reflection_lm=reflect,
        reflection_minibatch_size=8,
        max_metric_calls=job["metric_calls"],
    )
    (folder / "best.md").write_text(result.best_candidate["document"], encoding="utf-8")
    best = result.val_aggregate_scores[result.best_idx]
    (folder / "result.json").write_text(json.dumps({"best_val": best}), encoding="utf-8")


if __name__ == "__main__":
    main()
