// rankloop.kernels.draws: a draw is a function of (seed, stream, impression, index).
#pragma once
#include "portable.cuh"

enum Stream { QUERIES = 1, USER, POLICY, DIRECTIONS, INTERLEAVING, TIES, INITIAL, PATIENCE, PEOPLE };

#define WEYL 0x9E3779B97F4A7C15ULL

DEVICE uint64 mix(uint64 z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

DEVICE uint64 stream_key(uint64 seed, int stream, int64 impression) {
    const uint64 z = mix(seed + static_cast<uint64>(stream) * 0xD1B54A32D192ED03ULL);
    return mix(z + static_cast<uint64>(impression) * WEYL);
}

DEVICE uint64 bits(uint64 key, int64 index) { return mix(key + (static_cast<uint64>(index) + 1) * WEYL); }

DEVICE double uniform(uint64 key, int64 index) {
    return (static_cast<double>(bits(key, index) >> 12) + 0.5) * 2.220446049250313e-16;
}

DEVICE int64 below(uint64 key, int64 index, int64 n) {
    const int64 drawn = static_cast<int64>(uniform(key, index) * static_cast<double>(n));
    return drawn < n - 1 ? drawn : n - 1;
}
