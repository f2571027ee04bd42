"""What the git hooks decide, and how they are put beside the hooks that are there (docs/hooks.md)."""
