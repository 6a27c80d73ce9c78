"""Streams by name: the same seed and names give the same numbers, in any process and any order of asking."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.seeds import derive, stream

ROOT = Path(__file__).parents[1]
NAMES = st.lists(st.text(max_size=8) | st.integers(), max_size=4)


def test_values_are_fixed_for_good() -> None:
    """Whoever has to change these numbers changes every result of the pipeline."""
    assert derive(0, "rollout", "r1") == 7666889712200933846
    assert derive(1, "rollout", "r1") == 7359039112472699424
    assert derive(0, "task", "train", 3) == 7323278986921460482


@given(st.integers(0, 2**63 - 1), NAMES)
def test_a_derived_seed_has_63_bits_and_can_be_derived_from(seed: int, names: list[str | int]) -> None:
    derived = derive(seed, *names)
    assert 0 <= derived < 2**63
    assert derive(seed, *names) == derived
    assert 0 <= derive(derived, "again") < 2**63


def test_names_and_their_order_and_number_tell_streams_apart() -> None:
    keys = [(), ("a",), ("b",), ("a", "b"), ("b", "a"), ("a", ""), ("", "a"), ("ab",), ("a", 0), ("a", 1), ("a", 10)]
    assert len({derive(0, *key) for key in keys}) == len(keys)
    assert len({derive(seed, "a") for seed in range(1000)}) == 1000
    assert len({derive(0, "episode", "train-00001", sample) for sample in range(1000)}) == 1000


def test_a_number_and_its_text_are_one_name() -> None:
    assert derive(0, 7) == derive(0, "7")


def test_streams_do_not_disturb_each_other_nor_the_global_generators() -> None:
    random.seed(5)
    np.random.seed(5)
    before = random.getstate(), np.random.get_state()[1].tolist()
    alone = [stream(0, "a").random() for _ in range(2)]
    a, b = stream(0, "a"), stream(0, "b")
    mixed = [a.random(), b.random(), a.random()]
    assert alone[0] == alone[1] == mixed[0] != mixed[1]
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_another_process_with_another_hash_seed_draws_the_same() -> None:
    code = "from tasks.seeds import derive, stream; print(derive(3, 'ä', 1), stream(3, 'x').random())"
    answers = {
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env={"PYTHONHASHSEED": number}, capture_output=True, text=True, check=True
        ).stdout
        for number in ("1", "2")
    }
    assert answers == {f"{derive(3, 'ä', 1)} {stream(3, 'x').random()}\n"}
