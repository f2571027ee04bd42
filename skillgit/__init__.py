"""skillgit: trains agent skills inside the git repository they live in."""

__version__ = "0.1.0"
