"""Refusals, by their opening words."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillgit.envs.refusals import is_refusal

REFUSALS = (
    "I cannot complete this.",
    "> - **I cannot complete this.**",
    "## I can't help with that",
    "1. I’m sorry, but I can’t assist with that request.",
    "I'm sorry, I won't do this.",
    "Sorry, I am unable to answer.",
    "I apologize, but I am not able to open files.",
    "Unfortunately, I can't provide that.",
    "I'm afraid I cannot share this information.",
    "As an AI language model, I don't feel comfortable with this. I do not feel comfortable.",
    "As an AI language model I cannot give legal advice.",
    "As an AI developed by Acme, I can't browse the web.",
    "I must respectfully decline.",
    "I have to decline this request.",
    "I refuse to do that.",
    "I will not create this.",
    "I am not going to write that.",
    "I understand your frustration, but I cannot help with this.",
    "I understand your frustration but I cannot help with this.",
    "Thank you for asking! However, I'm unable to do that.",
    "It is not possible for me to access your account.",
    "That's not something I can help with.",
    "This is something I can't do.",
    "This request violates our policy.",
    "My guidelines prevent me from doing so.",
    "Unable to comply.",
    "**Answer:** I cannot answer this.",
    "Response: I'm sorry, I can't.",
    "⚠️ I cannot help with that.",
    "Request denied.",
    "<think>They want X.</think>\nI can't help with that.",
    "I simply cannot do this.",
    "I can not help.",
    "",
    " \n",
)
ANSWERS = (
    "Done. I cannot complete this is what the log says.",
    '"I cannot complete this" is the message that the server sends.',
    "`I cannot complete this` comes from line 3.",
    "“I can't help with that” was its reply.",
    "The error reads: I cannot complete this.",
    "I can help with that.",
    "I can't find any error, so the result is 4.",
    "I cannot reproduce the bug; version 2 works.",
    "I can't help but notice a typo in line 3.",
    "Sorry for the wait. Here is the plan: first, ...",
    "Sorry, here it is: 42.",
    "I understand. The answer is 4.",
    "As an AI assistant for Acme, I answer in one line: 4.",
    "This is something I can do: 4.",
    "I declined the invitation on your behalf.",
    "The request was refused by the proxy: status 403.",
    "Cannot is a modal verb.",
    "I won the prize.",
    "Unfortunately, the build fails at step 2; run make clean first.",
    "<think>I cannot help?</think>4",
    "*",
)


@pytest.mark.parametrize("reply", REFUSALS)
def test_refusals(reply: str) -> None:
    assert is_refusal(reply)


@pytest.mark.parametrize("reply", ANSWERS)
def test_answers(reply: str) -> None:
    assert not is_refusal(reply)


@given(st.text())
def test_any_reply_is_one_or_the_other(reply: str) -> None:
    assert is_refusal(reply) in {True, False}


@pytest.mark.parametrize(
    "unit", ["sorry ", "> ", "<think>", "i must ", "thanks but ", "i ", "as an ai language model "]
)
def test_time_does_not_grow_without_bound(unit: str) -> None:
    start = time.process_time()
    assert not is_refusal(unit * (200_000 // len(unit)) + "x")
    assert time.process_time() - start < 2
