// rankloop.learners.multileaving, as far as it does not matter how many rankers fill a page.
#pragma once
#include "arithmetic.cuh"
#include "draws.cuh"

// Sums from the small terms up, and the terms. All threads; a barrier comes after it.
DEVICE void sum_cubes(double *words, int room) {
    for (int n = thread_index(); n <= room; n += THREADS) {
        double total = 0.0;
        for (int k = n; k > 0; k--) total += 1.0 / (static_cast<double>(k) * k * k);
        words[n] = total;
        words[room + 1 + n] = n > 0 ? 1.0 / (static_cast<double>(n) * n * n) : 0.0;
    }
}

DEVICE unsigned scramble(unsigned x) {
    x = (x ^ (x >> 16)) * 0x7FEB352Du;
    x = (x ^ (x >> 15)) * 0x846CA68Bu;
    return x ^ (x >> 16);
}

// An integer that sorts like the score; −0 and 0 are equal.
DEVICE int sortable32(float score) {
    const int pattern = as_int32(score + 0.0f);
    return pattern ^ ((pattern >> 31) & 0x7FFFFFFF);
}

DEVICE int64 order_key(int sortable, unsigned tie) {
    return static_cast<int64>(static_cast<uint64>(static_cast<int64>(sortable)) << 32) | static_cast<int64>(tie);
}

// The rank at which the mass 1/rank³ of what remains, summed from the top, reaches `target`.
DEVICE int draw_rank(const double *cubes, double target, const int *ranks, int placed, int n) {
    uint64 taken = 0;   // of the first 64, which hardly anybody goes beyond
#pragma unroll 1
    for (int t = 0; t < placed; t++) taken |= ranks[t] < 64 ? 1ULL << ranks[t] : 0ULL;
    double mass = 0.0, next = cubes[1];
    int rank = 0, last = 1;
#pragma unroll 1
    while (rank < n && mass < target) {
        rank++;
        const double own = next;
        next = cubes[smaller(rank + 1, n)];   // on its way while this one is added
        bool free = rank >= 64 || !(taken >> rank & 1ULL);
        if (rank >= 64)
            for (int t = 0; t < placed; t++) free = free && ranks[t] != rank;
        if (free) {
            last = rank;
            mass += own;
        }
    }
    return last;
}

// The document with the largest key, of those below `limit` where there is one. `key(i)` is a document's. One warp.
template <class Key>
DEVICE int next_below(const Key &key, int n, int64 limit, bool limited) {
    int64 best = LOWEST;
    int place = -1;
#pragma unroll 2
    for (int i = lane_index(); i < n; i += LANES) {
        const int64 own = key(i);
        if (own > best && (!limited || own < limit)) best = own, place = i;
    }
    const int64 top = warp_max64(best);
    return warp_max32(best == top ? place : -1);
}

// One plus the number of documents with a larger key. One warp.
DEVICE int rank_of(const int64 *keys, int n, int document) {
    int above = 0;
    for (int i = lane_index(); i < n; i += LANES) above += keys[i] > keys[document];
    return 1 + warp_sum32(above);
}
