// PMGD: many rivals of the current ranker, and a page that all have filled; rankloop.learners.pmgd and .multileaving.
//
// Who fills a rank is a draw that depends on nothing else, so the page takes the orders of a few rankers only. Where
// the others have its documents is needed for credit, which only clicked pages give, by all threads.
#pragma once
#include "multileaving.cuh"
#include "rivals.cuh"

// Settings of a run, in its tables.
#define DELTA 0
#define LEARNING_RATE 1

#define ACROSS (RANKERS | 1)   // numbers in a row of orders: odd, so that a ranker's lie in different banks of memory

#define TOPS 8   // documents of a ranker that may be looked up ahead

// What rankers make of a query's candidates; in shared memory, or in the device's where a list is too long.
struct Orders {
    const double *totals, *cubes;   // Σ_{k ≤ n} 1/k³ and 1/n³ by n, in the device's memory
    double *shares;                 // (page, RANKERS)
    int *scores;                    // (candidates, ACROSS), as integers that sort alike
    unsigned *ties;                 // (candidates), in shared memory
};

DEVICE int64 key_of(const Orders &orders, int document, int ranker) {
    return order_key(orders.scores[document * ACROSS + ranker], orders.ties[document]);
}

// The first documents of the rankers that fill the page, a few more than each is likely to go through; −1 behind them.
// A warp to a rank of the page; begins after a barrier, and one comes after it.
DEVICE void look_ahead(const Orders &orders, uint64 key, int n, int k, int *tops) {
    for (int t = warp_index(); t < k; t += WARPS) {
        const int ranker = static_cast<int>(below(key, 2 * t, RANKERS));
        const auto own = [&](int i) { return key_of(orders, i, ranker); };
        const int likely = draw_rank(orders.cubes, uniform(key, 2 * t + 1) * orders.totals[n], nullptr, 0, n);
        const int known = smaller(smaller(likely + 1, TOPS), n);
        int document = -1;
#pragma unroll 1
        for (int rank = 0; rank < TOPS; rank++) {
            if (rank < known) document = next_below(own, n, rank > 0 ? own(document) : 0, rank > 0);
            if (lane_index() == 0) tops[t * TOPS + rank] = rank < known ? document : -1;
        }
    }
}

// Probabilistic multileaving. `keys` has room for those of one ranker. One warp.
DEVICE void multileave(const Orders &orders, uint64 key, int n, int64 *keys, const int *tops, Page &page, int k) {
    const double total = orders.totals[n];
#pragma unroll 1
    for (int t = 0; t < k; t++) {
        const int ranker = static_cast<int>(below(key, 2 * t, RANKERS));
#pragma unroll 4
        for (int i = lane_index(); i < n; i += LANES) keys[i] = key_of(orders, i, ranker);
        warp_sync();
        // What this ranker has lost to the ranks above, in their order.
        double removed = 0.0;
#pragma unroll 1
        for (int s = 0; s < t; s++) {
            const int rank = rank_of(keys, n, page.documents[s]);
            if (lane_index() == 0) page.order[s] = rank;
            removed += orders.cubes[rank];
        }
        warp_sync();
        const int rank = draw_rank(orders.cubes, uniform(key, 2 * t + 1) * (total - removed), page.order, t, n);
        int known = smaller(rank, TOPS);
        while (tops[t * TOPS + known - 1] < 0) known--;
        int document = tops[t * TOPS + known - 1];
#pragma unroll 1
        for (; known < rank; known++)
            document = next_below([&](int i) { return keys[i]; }, n, keys[document], true);
        if (lane_index() == 0) page.documents[t] = document;
        warp_sync();
    }
}

// How far down the page there were clicks. One warp.
DEVICE void learn(const Settings &, double *, double *, float *, int, double *, Page &page, int k, int) {
    int seen = 0;
    for (int t = 0; t < k; t++)
        if (page.clicks[t] >= 0.5) seen = t + 1;
    if (lane_index() == 0) page.taught = seen;
    warp_sync();
}

// Who may have placed the documents down to the last click: P(ranker | document) before it is divided by what all
// rankers come to, which `page.own` holds. All threads; ends with a barrier.
DEVICE void share_out(const Orders &orders, int n, Page &page) {
    const int seen = page.taught;
    double *shares = orders.shares;
    for (int pair = thread_index(); pair < seen * RANKERS; pair += THREADS) {
        const int c = pair % RANKERS;
        const int64 own = key_of(orders, page.documents[pair / RANKERS], c);
        int above = 0;
#pragma unroll 4
        for (int i = 0; i < n; i++) above += key_of(orders, i, c) > own;
        shares[pair] = orders.cubes[1 + above];
    }
    block_sync();
    const double total = orders.totals[n];
    for (int c = thread_index(); c < RANKERS; c += THREADS) {
        double removed = 0.0;
#pragma unroll 1
        for (int t = 0; t < seen; t++) {
            const double mass = shares[t * RANKERS + c];
            shares[t * RANKERS + c] = mass / (total - removed);
            removed += mass;
        }
    }
    block_sync();
    for (int t = thread_index(); t < seen; t += THREADS) {
        double evidence = 0.0;
#pragma unroll 8
        for (int c = 0; c < RANKERS; c++) evidence += shares[t * RANKERS + c];
        page.own[t] = evidence;
    }
    block_sync();
}

// Rivals with strictly more credit than the current ranker win. All threads; ends with a barrier.
DEVICE void give_credit(const Orders &orders, const Rivals &rivals, const Page &page) {
    double *shares = orders.shares;
    for (int c = thread_index(); c < RANKERS; c += THREADS) {
        double credit = 0.0;
#pragma unroll 1
        for (int t = 0; t < page.taught; t++)
            if (page.clicks[t] >= 0.5) {
                const float share = static_cast<float>(shares[t * RANKERS + c]);
                credit += static_cast<double>(static_cast<float>(static_cast<double>(share) / page.own[t]));
            }
        shares[c] = credit;   // each ranker's own share of the first rank has been read
    }
    block_sync();
    for (int c = thread_index(); c < RANKERS; c += THREADS) rivals.wins[c] = shares[c] > shares[0];
    block_sync();
}
