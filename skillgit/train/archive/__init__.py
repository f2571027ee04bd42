"""What a run leaves in git: journal, commits, notes, merges."""
