"""Who is told of a run: listeners, the event log, trackers."""
