from functools import partial

import numpy as np
import pytest

from softbandit.backend import device_random
from softbandit.backend.random import POLICY, PROBLEM, DrawCount, draw

SEED, TRIALS = 2**63 + 5, [0, 7, 2**64 - 1]


@pytest.mark.extra
@pytest.mark.parametrize(
    "counts", [(DrawCount(uniform=1), DrawCount(40, 1)), (DrawCount(normal=2), DrawCount(3, 4))], ids=str
)
def test_a_device_generates_the_random_numbers_of_the_host(counts):
    """Uniform numbers agree to the bit. Normal ones come from two implementations of one function, each accurate
    to a few units in the last place: 1e-14 for numbers below 9."""
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        rounds = jax.numpy.arange(11, 14, dtype=np.uint64)
        words = partial(device_random.words, blocks=[count.blocks for count in counts])
        streams = jax.jit(words)(np.uint64(SEED), np.array(TRIALS, dtype=np.uint64), rounds)
        device = [jax.jit(partial(device_random.numbers, count=c))(w) for c, w in zip(counts, streams, strict=True)]
    for stream, count in ((POLICY, counts[0]), (PROBLEM, counts[1])):
        host = draw(count, SEED, TRIALS, 11, 3, stream)
        np.testing.assert_array_equal(host.uniform, device[stream].uniform)
        np.testing.assert_allclose(host.normal, device[stream].normal, rtol=0, atol=1e-13)


def test_philox_gives_the_published_known_answer():
    """The words of key 0, counter 0, from the authors' file of known answers (philox4x64-10)."""
    zero = np.zeros(1, dtype=np.uint64)
    words = [int(word[0]) for word in device_random.philox((zero, zero), (zero, zero, zero, zero))]
    assert words == [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B]
