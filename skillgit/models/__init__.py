"""Model backends and what is read from their replies."""
