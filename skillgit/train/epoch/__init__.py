"""The end of an epoch: slow update and meta memory."""
