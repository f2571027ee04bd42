"""Merges of whole histories: the best document into the base branch, another training branch into this one."""
