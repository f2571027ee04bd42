"""How long a document is, and whether it keeps to its budget.

A token is taken as four characters: no tokeniser is the same for two models, and a budget has to mean the same with
each of them.
"""

from __future__ import annotations

from fractions import Fraction

from skillgit.document.structure import body

CHARACTERS_PER_TOKEN = 4


def tokens(text: str) -> int:
    """Characters divided by four, rounded up.

    >>> tokens("12345")
    2
    """
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def length(document: str) -> int:
    """Tokens of the body: what the target is told with every task. The frontmatter does not count."""
    return tokens(body(document))


def limit(start_length: int, max_tokens: int, max_growth: float) -> int | None:
    """The most tokens that a body may have: the smaller one of both rules.

    Args:
        start_length: `length` of the document that the run began with.
        max_tokens: `optimizer.max_tokens`, 0 for no rule.
        max_growth: `optimizer.max_growth`, a share of `start_length`; 0 for no rule.

    Returns: None where there is no rule.
    """
    limits = [max_tokens] if max_tokens else []
    if max_growth:
        grown = Fraction(max_growth).limit_denominator(10**6) * start_length
        limits.append(start_length + grown.numerator // grown.denominator)
    return min(limits, default=None)


def over(
    document: str, start_length: int, max_tokens: int, max_growth: float, *, before: str | None = None
) -> str | None:
    """Why a document is too long, as one clause; None where it is not.

    Args:
        before: the document that it comes from. One that is over the budget already may not grow further, but what
            makes it shorter is never too long: else a run that begins above its budget could change nothing.
    """
    most, found = limit(start_length, max_tokens, max_growth), length(document)
    if most is None or found <= most:
        return None
    if before is not None and found < length(before):
        return None
    if max_tokens and most == max_tokens:
        return f"it has {found} tokens, above optimizer.max_tokens of {most}"
    return f"it grew from {start_length} to {found} tokens, above the {most} that optimizer.max_growth allows"
