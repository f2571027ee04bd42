"""Looking at, and sending, a history of ten thousand steps."""
