"""Sharing a skill's history with remotes: what travels by the rules of `skillgit.store.sync`, told by the journals."""
