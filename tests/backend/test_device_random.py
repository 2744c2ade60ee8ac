import numpy as np
import pytest

from softbandit.backend import device_random
from softbandit.backend.random import POLICY, PROBLEM, DrawCount, draw

SEED, TRIALS = 2**63 + 5, [0, 7, 2**64 - 1]


@pytest.mark.parametrize(
    "count", [DrawCount(uniform=1), DrawCount(normal=2), DrawCount(3, 4), DrawCount(40, 1)], ids=str
)
@pytest.mark.parametrize("stream", [POLICY, PROBLEM])
def test_a_device_makes_the_numbers_that_numpys_generator_makes(count, stream):
    """Uniform numbers to the bit. Normal ones are two evaluations of one function, each good to a few
    units in the last place: 1e-14 of numbers below 9."""
    import jax

    host = draw(count, SEED, TRIALS, 11, 3, stream)
    with jax.enable_x64(True):
        word = jax.numpy.uint64
        trials = jax.numpy.asarray(np.array(TRIALS, dtype=np.uint64))
        blocks = {POLICY: 3, PROBLEM: 2, stream: count.blocks}  # the other stream's do not matter
        words = device_random.words(
            word(SEED), trials, jax.numpy.arange(11, 14, dtype=word), [blocks[POLICY], blocks[PROBLEM]]
        )
        device = device_random.numbers(words[stream], count)
    np.testing.assert_array_equal(host.uniform, device.uniform)
    np.testing.assert_allclose(host.normal, device.normal, rtol=0, atol=1e-13)


def test_the_published_answer():
    """The first words of key 0, counter 0, from the authors' file of known answers (philox4x64-10)."""
    zero = np.zeros(1, dtype=np.uint64)
    words = [int(word[0]) for word in device_random.philox((zero, zero), (zero, zero, zero, zero))]
    assert words == [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B]
