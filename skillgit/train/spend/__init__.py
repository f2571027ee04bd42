"""What a command may spend, and when it ends."""
