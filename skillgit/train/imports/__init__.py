"""Runs of other trainers: read as values, and written as a skill's history."""
