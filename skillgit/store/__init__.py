"""Git: refs, trailers, objects, transactions, merges."""
