"""Random numbers that descend from one seed by name: the same seed and names give the same stream.

Left out: nothing is ever drawn from global generators or from the clock.
"""

from __future__ import annotations

import random
import zlib

import numpy as np


def derive(seed: int, *names: str | int) -> int:
    """A 63-bit seed for the stream called `names` (numpy SeedSequence, spawn key from the names)."""
    key = [zlib.crc32(str(name).encode()) for name in names]
    return int(np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)[0]) >> 1


def stream(seed: int, *names: str | int) -> random.Random:
    """The stream called `names`, for choices among Python objects."""
    return random.Random(derive(seed, *names))
