"""Changes that a person asks for: taken out, brought in, tried again; gated as any candidate is."""
