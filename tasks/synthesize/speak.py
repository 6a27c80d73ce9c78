"""The `program` speaker: clauses of a plan become one request, as a person would put it.

Left out: personas and information levels.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from tasks.synthesize.plan import Clause

_OPENERS = ("", "", "", "Please ", "Can you ", "Could you ", "I need you to ", "I'd like you to ", "Hi, please ", "Would you ")
_ASKING = ("Can you ", "Could you ", "Would you ")
_LINKS = (", then ", ", and then ", " and then ", " and ", ", after that ")
_INTERROGATIVES = ("what", "which", "who", "when", "where", "how", "is", "are", "do", "does", "did", "has", "have", "will")


def request(clauses: Sequence[Clause], rng: random.Random) -> str:
    """One request from the clauses, in their order; a direct question becomes a sentence of its own."""
    sentences: list[tuple[str, bool]] = []
    for clause in clauses:
        direct = clause.text.split(" ", 1)[0].removesuffix(",").removesuffix("'s").lower() in _INTERROGATIVES
        if direct:
            sentences.append((clause.text, True))
        elif sentences and not sentences[-1][1] and rng.random() < 0.7:
            before, _ = sentences.pop()
            sentences.append((before + rng.choice(_LINKS) + clause.text, False))
        else:
            sentences.append((clause.text, False))
    return " ".join(_sentence(text, direct, number == 0, rng) for number, (text, direct) in enumerate(sentences))


def _sentence(text: str, direct: bool, first: bool, rng: random.Random) -> str:
    if direct:
        return text[0].upper() + text[1:] + "?"
    opener = rng.choice(_OPENERS) if first else rng.choice(("", "Then ", "After that, ", "Also, "))
    said = opener + text
    return said[0].upper() + said[1:] + ("?" if opener in _ASKING else ".")
