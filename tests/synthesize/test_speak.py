"""The speaker: clauses become sentences with capitals, marks and links, in their order."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import pytest

from tasks.params import Synthesize
from tasks.synthesize.grammar import spoken
from tasks.synthesize.plan import Clause
from tasks.synthesize.speak import ASKING, WORDS, request
from tasks.synthesize.worlds import Job, draw_world

SPOKEN = spoken()
DO = Clause("freeze card_12", False)
PAY = Clause("pay 20 to Ann Lee from acc_7", False)
TELL = Clause("tell me the balance of acc_7", True)
ASK = Clause("what is the balance of acc_7", True)


def said(*clauses: Clause, draws: int = 300) -> set[str]:
    return {request(clauses, random.Random(seed)) for seed in range(draws)}


def test_one_clause_is_one_sentence() -> None:
    assert {"Freeze card_12.", "Please freeze card_12.", "Can you freeze card_12?"} <= said(DO)
    for text in said(DO) | said(TELL):
        assert text.endswith("?" if text.startswith(ASKING) else ".")
    assert said(ASK) == {"What is the balance of acc_7?", "Hi, what is the balance of acc_7?"}


def test_a_direct_question_is_a_sentence_of_its_own() -> None:
    for text in said(DO, ASK):
        assert re.search(r"freeze card_12[.?] (What|And what) is the balance of acc_7\?$", text, re.IGNORECASE), text


def test_a_command_that_begins_like_a_question_is_none() -> None:
    texts = said(Clause("have order ord_7 delivered to Oslo instead", False))
    assert "Have order ord_7 delivered to Oslo instead." in texts and not any(text.startswith("Hi, have") for text in texts)


def test_short_clauses_are_linked_or_follow_each_other() -> None:
    texts = said(DO, TELL)
    linked = {text for text in texts if len(re.findall(r"[.?]", text)) == 1}
    assert linked and texts - linked
    assert all(re.search(r"card_12(,? and then|, then| and) tell me", text) for text in linked)


@pytest.mark.parametrize(
    "first", ["lock card_12 because I found it", "put Tea into cal_1 on Monday, 20 minutes long", "tag a.txt as x and y"]
)
def test_a_side_clause_ends_its_sentence(first: str) -> None:
    assert all(re.search(rf"{re.escape(first)}[.?] ", text, re.IGNORECASE) for text in said(Clause(first, False), TELL))


def test_sentences_do_not_grow_without_end() -> None:
    for text in said(DO, PAY, TELL, PAY, DO, TELL):
        sentences = re.split(r"(?<=[.?]) ", text)
        assert all(len(sentence.split()) <= WORDS for sentence in sentences) and len(sentences) > 1
        openers = [sentence.split()[0] for sentence in sentences]
        assert not any(a == b in ("Then", "After", "Also,") for a, b in pairwise(openers))


def test_real_requests_are_whole_sentences() -> None:
    job = Job(tuple(SPOKEN), Synthesize(), 4, "train", 5, tuple((n, 1 + n % 6) for n in range(60)))
    texts = [task.turns[0] for task in draw_world(job).tasks.values()]
    assert len(texts) > 50
    for text in texts:
        assert text[0].isupper() and text[-1] in ".?" and text.isprintable(), text
        assert not re.search(r"  | [,.?]|,,|\.\.|[{}]", text), text
        assert not re.match(r"(On|At|In|For|To|By|With|From) ", text), text
        assert all(after.isupper() for after in re.findall(r"[?] (.)", text)), text
