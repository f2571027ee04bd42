"""Which edit did what: to a task (bisect), and to the score (attribute)."""
