"""SkillOpt's own trainer with its own SearchQA environment on the simulated API; run by the peers' Python.

    python run_skillopt.py JOB

JOB is a folder with `job.json` (`url`, `document`, `splits`, `in_flight`, `scheduler`); `result.json` and `best.md` are
left in it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PROMPTS = Path(__file__).resolve().parent / "skillopt_prompts"


def write_prompts() -> None:
    """The published package has no prompt files: put ours where its code looks for them."""
    import skillopt  # type: ignore[import-not-found]

    package = Path(skillopt.__file__).parent
    for source in PROMPTS.glob("*.md"):
        folder = package / "envs" / "searchqa" / "prompts" if source.stem == "rollout_system" else package / "prompts"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / source.name).write_text(source.read_text(encoding="utf-8").strip(), encoding="utf-8")


def settings(job: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The benchmark's setting under SkillOpt's names, the rest as in the default file of its repository.

    One test task: what comes before test is measured, and the last promotion of a document is part of SkillOpt's test.
    """
    return {
        "model_backend": "azure_openai",
        "azure_openai_endpoint": f"{job['url']}/v1",
        "azure_openai_auth_mode": "openai_compatible",
        "azure_openai_api_key": "none",
        "optimizer_model": "sim-optimizer",
        "target_model": "sim-target",
        "out_root": str(folder / "out"),
        "skill_init": str(folder / "seed.md"),
        "env": "searchqa",
        "num_epochs": 3,
        "batch_size": 16,
        "accumulation": 1,
        "seed": 42,
        "minibatch_size": 8,
        "merge_batch_size": 8,
        "analyst_workers": job["in_flight"],
        "edit_budget": 4,
        "min_edit_budget": 2,
        "lr_scheduler": job["scheduler"],
        "use_slow_update": True,
        "slow_update_samples": 20,
        "use_meta_skill": True,
        "sel_env_num": 0,
        "test_env_num": 1,
        "eval_test": True,
    }


def main() -> None:
    """Train; leave the best document and its val score."""
    folder = Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    write_prompts()
    (folder / "seed.md").write_text(job["document"], encoding="utf-8")
    for split, tasks in job["splits"].items():
        rows = [{"id": t["id"], "question": t["input"], "context": "", "answers": [t["answer"]]} for t in tasks]
        (folder / "splits" / split).mkdir(parents=True)
        (folder / "splits" / split / "items.json").write_text(json.dumps(rows), encoding="utf-8")

    from skillopt.engine.trainer import ReflACTTrainer  # type: ignore[import-not-found]
    from skillopt.envs.searchqa.adapter import SearchQAAdapter  # type: ignore[import-not-found]

    adapter = SearchQAAdapter(
        split_dir=str(folder / "splits"),
        split_mode="split_dir",
        workers=job["in_flight"],
        analyst_workers=job["in_flight"],
        minibatch_size=8,
        edit_budget=4,
    )
    summary = ReflACTTrainer(settings(job, folder), adapter).train()
    best = (folder / "out" / "best_skill.md").read_text(encoding="utf-8")
    (folder / "best.md").write_text(best, encoding="utf-8")
    (folder / "result.json").write_text(json.dumps({"best_val": summary["best_selection_hard"]}), encoding="utf-8")


if __name__ == "__main__":
    main()
