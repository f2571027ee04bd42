"""How much of a text carries meaning: distinct content words among all words.

Advice that repeats itself ("be careful to make sure that you are careful") is long and says little; every task pays
for it. Numbers, names and identifiers are content; articles, pronouns, prepositions and auxiliary verbs are not.
Negations are: a rule turns on them.
"""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction

from skillgit.document.lines import split_lines
from skillgit.document.structure import body

_WORD = re.compile(r"\w+(?:[-.'’]\w+)*")

# English; German; French; Spanish and Portuguese; Italian and Dutch.
_STOP_TEXT = """
a an the this that these those it its he she they them their his her you your yours we us our i me my mine and or but
so as at by for from in into of on onto off over to up with within about than then there here is are was were be been
being am do does did doing done have has had having will would shall should can could may might must also just very
more most some any each other such own same too which who whom whose what when where while if how why because it's
you're that's let's

der die das den dem des ein eine einen einem einer eines und oder aber auch als an auf aus bei bis für im ins ist sind
wird werden wurde wurden sein seine hat haben kann können soll sollen mit nach von vom vor zu zum zur über um unter wie
wenn dass daß sich sie er es wir ihr ich du so dann noch nur schon sehr

le la les un une des du de d'un d'une et ou mais au aux ce cet cette ces dans en est sont été être a ont avec par pour
sur sous que qui quoi dont où il elle ils elles nous vous je tu se son sa ses leur leurs plus très c'est qu'il qu'elle

el los las una unos unas y o pero al del con por para se su sus es ser está están ha han lo que como más muy este esta
estos estas ese esa os uma uns umas e ou mas ao aos às da do das dos na nos nas em é são foi com seu sua seus suas

il gli uno di dei delle della dello nel nella che chi sono è anche più ma het een van voor op te dat die zijn wordt
worden door bij naar om maar ook als uit aan
"""
_STOP_WORDS = frozenset(_STOP_TEXT.split())


def density(text: str) -> Fraction:
    """Distinct content words divided by all words; 0 where there is no word.

    Words are compared without case. `pre-commit` and `config.yaml` are one word each.

    >>> density("Restart the service, then restart the queue.")
    Fraction(3, 7)
    """
    words = _words(text)
    if not words:
        return Fraction(0)
    return Fraction(len({word for word in words if word not in _STOP_WORDS}), len(words))


def added(before: str, after: str) -> str:
    """The lines of a candidate's body that the body before it does not have; a line that stands more often counts."""
    left = Counter(split_lines(body(before)))
    lines = []
    for line in split_lines(body(after)):
        if left[line] > 0:
            left[line] -= 1
        else:
            lines.append(line)
    return "\n".join(lines)


def thin(added_text: str, least: float) -> str | None:
    """Why added text says too little, as one clause; None where it is dense enough, or has no words at all.

    Args:
        least: `evaluation.semantic_density`, 0..1; 0 for no rule.
    """
    if not least or not _words(added_text):
        return None
    found, wanted = density(added_text), Fraction(least).limit_denominator(10**6)
    if found >= wanted:
        return None
    return f"{float(found):.2f} of its new words carry meaning, below evaluation.semantic_density of {least:g}"


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
