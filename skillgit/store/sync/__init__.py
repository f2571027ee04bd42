"""What travels between repositories, and by which rules (DESIGN, section 2, Sync)."""
