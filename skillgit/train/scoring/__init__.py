"""Attempts at tasks and their exact scores."""
