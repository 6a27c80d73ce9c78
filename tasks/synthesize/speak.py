"""The `program` speaker: clauses of a plan become one request, as a person would put it.

    request([Clause("freeze card_12", False), Clause("what is the balance of acc_7", True)], rng)
    # "Please freeze card_12. And what is the balance of acc_7?"

A direct question is a sentence of its own. Other clauses share a sentence only while it stays short and the
clause before has no side clause that the next one could be taken for a part of.

Left out: personas and information levels.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from tasks.synthesize.plan import Clause

OPENERS = ("", "", "", "Please ", "Please ", "Can you ", "Could you ", "I need you to ", "I'd like you to ", "Hi, please ")
ASKING = ("Can you ", "Could you ")
LATER = ("", "Then ", "After that, ", "Also, ")
LINKS = (", then ", ", and then ", " and then ", " and ")
LINK = 2  # most words of a link
INTERROGATIVES = frozenset(("what", "which", "who", "when", "where", "how", "is", "are", "do", "does", "did", "has", "have"))

JOINED = 0.7
"""How often two clauses that may share a sentence do."""

WORDS = 24
"""Most words of a sentence with more than one clause."""

_SIDE = (",", " because ", " since ", " so that ", " which ", " and ")


def request(clauses: Sequence[Clause], rng: random.Random) -> str:
    """One request from the clauses, in their order."""
    sentences: list[str] = []
    opener = ""
    last = ""  # the last clause of a sentence that may go on
    for clause in clauses:
        text = clause.text
        if clause.question and text.split(" ", 1)[0] in INTERROGATIVES:  # a command may begin with "have"
            sentences.append(_question(text, bool(sentences), rng))
            last = ""
        elif last and _joins(last, sentences[-1], text) and rng.random() < JOINED:
            mark = sentences[-1][-1]
            sentences[-1] = sentences[-1][:-1] + rng.choice(LINKS) + text + mark
            last = text
        else:
            opener = rng.choice([each for each in LATER if each != opener] if sentences else OPENERS)
            sentences.append(_capital(opener + text) + ("?" if opener in ASKING else "."))
            last = text
    return " ".join(sentences)


def _joins(last: str, sentence: str, text: str) -> bool:
    return len(f"{sentence} {text}".split()) + LINK <= WORDS and not any(mark in last for mark in _SIDE)


def _question(text: str, later: bool, rng: random.Random) -> str:
    opener = rng.choice(("", "", "And ") if later else ("", "", "", "Hi, "))
    return _capital(opener + text) + "?"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
