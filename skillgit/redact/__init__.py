"""Redaction: secrets and e-mail addresses out of text before it is kept anywhere. Imports nothing else of skillgit."""

from skillgit.redact.blocks import Finding
from skillgit.redact.redaction import PERSONAL, contains_secret, find, redact, redact_json, secrets_in

__all__ = ["PERSONAL", "Finding", "contains_secret", "find", "redact", "redact_json", "secrets_in"]
