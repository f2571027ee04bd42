"""Bounded concurrency."""
