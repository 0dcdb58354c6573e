// PMGD: what a run's impressions ask of `pmgd.cuh`, from the memory that its block has.
#pragma once
#include "pmgd.cuh"

DEVICE double *words_of(const Problem &problem, const Shared &shared) {
    return problem.own + static_cast<int64>(shared.run[0]) * problem.words;
}

DEVICE Rivals rivals_here(const Problem &problem, const Arrays &arrays) { return rivals_of(problem, behind(arrays)); }

// Orders of n candidates, in the ORDERED bytes behind the rivals and the ties if they fit.
DEVICE Orders orders_here(const Problem &problem, const Shared &shared, const Arrays &arrays, int n) {
    double *words = words_of(problem, shared);
    char *memory = static_cast<char *>(behind(arrays)) + RIVALS_SHARED;
    const int64 shares = problem.page_size * RANKERS;
    Orders orders;
    orders.totals = words, orders.cubes = words + arrays.room + 1;
    orders.ties = reinterpret_cast<unsigned *>(memory);
    const bool fits = shares * 8 + static_cast<int64>(n) * ACROSS * 4 <= ORDERED;
    orders.shares = fits ? reinterpret_cast<double *>(memory + arrays.room * 4) : words + 2 * (arrays.room + 1);
    orders.scores = reinterpret_cast<int *>(orders.shares + shares);
    return orders;
}

// First documents, (page, TOPS), where nobody has looked at the page yet.
DEVICE int *tops_of(Page &page) {
    static_assert(sizeof(Looks) >= RANKS * TOPS * sizeof(int), "first documents take the place of looks");
    return reinterpret_cast<int *>(&page.looks);
}

// Rivals, and what they make of the candidates. All threads; begins after a barrier, and ends with one.
DEVICE void challenge(const Problem &problem, Shared &shared, const Arrays &arrays, const float *X, int n,
                      int64 impression) {
    const Rivals rivals = rivals_here(problem, arrays);
    const Orders orders = orders_here(problem, shared, arrays, n);
    const uint64 seed = shared.settings[0].seed, key = stream_key(seed, DIRECTIONS, impression);
    const unsigned start = static_cast<unsigned>(bits(stream_key(seed, TIES, impression), 0) >> 32);
    for (int i = thread_index(); i < n; i += THREADS) orders.ties[i] = scramble(static_cast<unsigned>(i) + start);
#pragma unroll 1
    for (int begin = 0; begin < RANKERS; begin += AT_ONCE) {
        draw_rivals(rivals, key, shared.tables[0][DELTA], begin);
        score_rivals<4, 2>(
            rivals, n, [&](int i) { return X + i * STRIDE; }, [&](int i) { return arrays.scores[i]; },
            [&](int i, int c, float score) {
                if (begin + c < RANKERS) orders.scores[i * ACROSS + begin + c] = sortable32(score);
            });
        block_sync();
    }
    look_ahead(orders, stream_key(seed, INTERLEAVING, impression), n, smaller(static_cast<int>(problem.page_size), n),
               tops_of(shared.page[0]));
    block_sync();
}

// The page that all have filled. One warp.
DEVICE void interleave(const Problem &problem, Shared &shared, const Arrays &arrays, int64 impression, int n, int k) {
    multileave(orders_here(problem, shared, arrays, n), stream_key(shared.settings[0].seed, INTERLEAVING, impression), n,
               reinterpret_cast<int64 *>(arrays.scratch), tops_of(shared.page[0]), shared.page[0], k);
}

// A step towards the rivals that won. All threads; a barrier comes before and after it.
DEVICE void follow_winner(const Problem &problem, Shared &shared, const Arrays &arrays, const float *, int n,
                          int64 impression) {
    Page &page = shared.page[0];
    if (!page.taught) return;
    const Rivals rivals = rivals_here(problem, arrays);
    const Orders orders = orders_here(problem, shared, arrays, n);
    share_out(orders, n, page);
    give_credit(orders, rivals, page);
    const int winners = winners_of(rivals);
    if (winners == 0) return;
    float sums[SUMS] = {};
    if (RANKERS <= AT_ONCE && shared.tables[0][DELTA] == 1.0) {
        add_winners(rivals, 0, sums);   // they are at hand, and as long as they are to be
    } else {
        const uint64 key = stream_key(shared.settings[0].seed, DIRECTIONS, impression);
#pragma unroll 1
        for (int begin = 0; begin < RANKERS; begin += AT_ONCE) {
            draw_rivals(rivals, key, 1.0, begin);
            add_winners(rivals, begin, sums);
            block_sync();
        }
    }
    follow_mean(rivals, sums, winners, shared.tables[0][LEARNING_RATE], arrays.weights, arrays.rounded);
}
