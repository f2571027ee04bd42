"""`skillgit verify`: what a skill's history says of itself, computed again. Nothing read here is trusted."""
