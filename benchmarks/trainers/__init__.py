"""skillgit, SkillOpt and gepa on one simulated API, one table: `python -m benchmarks.trainers` (docs/benchmarks.md)."""
