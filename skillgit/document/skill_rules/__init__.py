"""What a SKILL.md has to be for the agents that load it: the Agent Skills rules, and ours. Pure.

The rules of the frontmatter are those of the reference library `skills-ref` 0.1.1 and of the specification at
agentskills.io; they stand here because that library names no lines, and because a `---` within a value breaks it.
"""

from skillgit.document.skill_rules.finding import Finding
from skillgit.document.skill_rules.whole import check_skill

__all__ = ["Finding", "check_skill"]
