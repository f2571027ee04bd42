"""Environments: tasks, splits, and scoring of attempts."""
