// DBGD: what a run's impressions ask of `dbgd.cuh`, from the memory that its block has.
#pragma once
#include "dbgd.cuh"

DEVICE double *words_of(const Problem &problem, const Shared &shared) {
    return problem.own + static_cast<int64>(shared.run[0]) * problem.words;
}

DEVICE Duel duel_here(const Problem &problem, const Shared &shared, const Arrays &arrays) {
    return duel_of(problem, words_of(problem, shared), reinterpret_cast<int64 *>(arrays.scratch), behind(arrays));
}

// A rival, its scores, and the order of both. All threads; begins after a barrier, and ends with one.
DEVICE void challenge(const Problem &problem, const Shared &shared, const Arrays &arrays, const float *X, int n,
                      int64 impression) {
    const Duel duel = duel_here(problem, shared, arrays);
    const uint64 seed = shared.settings[0].seed;
    draw_rival(duel, stream_key(seed, DIRECTIONS, impression), shared.tables[0][DELTA], arrays.rounded);
    Arrays rivals = arrays;
    rivals.rounded = duel.rival, rivals.scores = duel.scores;
    score(X, n, shared, rivals);
    block_sync();
    order_keys(duel, arrays.scores, n, seed, impression);
    block_sync();
}

// The page that both have filled. One warp.
DEVICE void interleave(const Problem &problem, Shared &shared, const Arrays &arrays, int64 impression, int n, int k) {
    const Duel duel = duel_here(problem, shared, arrays);
    const uint64 key = stream_key(shared.settings[0].seed, INTERLEAVING, impression);
    if (shared.settings[0].flags & TEAM_DRAFT) team_draft(duel, key, n, shared.page[0], k);
    else multileave(duel, key, n, shared.page[0], k);
}

// All threads; a barrier comes before and after it.
DEVICE void follow_winner(const Problem &problem, const Shared &shared, const Arrays &arrays, const float *, int,
                          int64 impression) {
    if (!shared.page[0].taught) return;
    step_towards(duel_here(problem, shared, arrays), stream_key(shared.settings[0].seed, DIRECTIONS, impression),
                 shared.tables[0][LEARNING_RATE], arrays.weights, arrays.rounded);
}
