"""Randomness without state: a draw is a function of (seed, stream, impression, index).

Each purpose has its own stream, so methods that share a seed share queries, a replica needs no
generator state, and a search direction can be drawn again instead of being stored. The generator
is SplitMix64 in counter mode (Steele, Lea and Flood, 2014): a Weyl sequence through a 64-bit mixer.
"""

import math

import numpy as np

from rankloop.kernels.arithmetic import as_float32, fma32, log32
from rankloop.kernels.compiler import kernel

QUERIES, USER, POLICY, DIRECTIONS, INTERLEAVING, TIES, INITIAL, PATIENCE, PEOPLE = range(1, 10)

_WEYL = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_STREAM_STEP = np.uint64(0xD1B54A32D192ED03)
_TO_UNIT = 2.0**-52
_HALF_PI = np.float32(math.pi / 2)


@kernel
def mix(z):
    """SplitMix64's finaliser: a bijection on 64 bits in which every input bit reaches every output bit."""
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@kernel
def stream_key(seed, stream, impression):
    """The key of one impression's draws in one stream."""
    z = mix(np.uint64(seed) + np.uint64(stream) * _STREAM_STEP)
    return mix(z + np.uint64(impression) * _WEYL)


@kernel
def bits(key, index):
    """64 random bits: number `index` under `key`."""
    return mix(np.uint64(key) + (np.uint64(index) + np.uint64(1)) * _WEYL)


@kernel
def uniform(key, index):
    """A uniform number strictly between 0 and 1, on a grid of 2^-52."""
    return (np.float64(bits(key, index) >> np.uint64(12)) + 0.5) * _TO_UNIT


@kernel
def below(key, index, n):
    """A uniform integer in 0 … n − 1."""
    return min(np.int64(uniform(key, index) * n), n - 1)


@kernel
def fill_uniforms(key, out):
    """Fill a vector with the uniform numbers 0, 1, … under `key`."""
    for i in range(out.size):
        out[i] = uniform(key, i)


@kernel
def fill_normals(key, out):
    """Fill a float32 vector with independent standard normals (Box–Muller, vectorised).

    Two normals come from one 64-bit draw: the upper half gives the radius, the lower half the angle as
    two bits of quadrant and a 30-bit fraction, so that sine and cosine are short polynomials.
    """
    half = (out.size + 1) // 2
    cosines, sines = out[:half], out[half:]
    for i in range(sines.size):
        z = bits(key, i)
        radius = _radius(z)
        sine, cosine = _angle(z)
        cosines[i] = radius * cosine
        sines[i] = radius * sine
    if half > sines.size:
        z = bits(key, half - 1)
        cosines[half - 1] = _radius(z) * _angle(z)[1]


@kernel
def _radius(z):
    u = np.float32(np.int32(z >> np.uint64(40))) * np.float32(2.0**-24) + np.float32(2.0**-25)
    return np.float32(math.sqrt(np.float32(-2.0) * log32(u)))


@kernel
def _angle(z):
    low = np.uint32(z & np.uint64(0xFFFFFFFF))
    quadrant = low >> np.uint32(30)
    # 23 bits of fraction become a float in [1, 2) by their pattern alone; the angle lies in ±π/4.
    pattern = np.uint32(0x3F800000) | ((low & np.uint32(0x3FFFFFFF)) >> np.uint32(7))
    x = (as_float32(pattern) - np.float32(1.5)) * _HALF_PI
    s, c = _sine(x), _cosine(x)
    odd = quadrant & np.uint32(1)
    sine = c if odd else s
    cosine = s if odd else c
    if quadrant >= np.uint32(2):
        sine = -sine
    if quadrant == np.uint32(1) or quadrant == np.uint32(2):
        cosine = -cosine
    return sine, cosine


@kernel
def _sine(x):
    z = x * x
    p = fma32(z, np.float32(-1.9515295891e-4), np.float32(8.3321608736e-3))
    p = fma32(z, p, np.float32(-1.6666654611e-1))
    return fma32(x * z, p, x)


@kernel
def _cosine(x):
    z = x * x
    p = fma32(z, np.float32(2.443315711809948e-5), np.float32(-1.388731625493765e-3))
    p = fma32(z, p, np.float32(4.166664568298827e-2))
    return fma32(z * z, p, fma32(z, np.float32(-0.5), np.float32(1.0)))
