// DBGD: one rival of the current ranker, and a page that both have filled; rankloop.learners.dbgd, .directions and
// .multileaving. A block has one run.
#pragma once
#include "multileaving.cuh"
#include "normals.cuh"
#include "policy.cuh"

// Settings of a run, in its tables; and a flag.
#define DELTA 0
#define LEARNING_RATE 1
#define TEAM_DRAFT 64

// Of a block: the rival's weights and what it makes of the candidates; the current ranker is number 0, the rival 1.
struct Duel {
    const double *totals, *cubes;   // Σ_{k ≤ n} 1/k³ and 1/n³ by n, in the device's memory
    int64 *keys[2];                 // (room), distinct, in the order of scores
    int *order[2];                  // (room), documents from the top, as far as anybody has asked
    float *scores, *rival;          // (room) and (STRIDE)
    float *lanes, *square;          // sixteen, and the squared length of the direction as drawn
    int features;
};

// Bytes of shared memory behind the arrays of `simulate.cu`: sixteen lanes and three more floats, and the arrays.
#define DUEL_SHARED(room) (20 * 4 + (STRIDE + 3) / 4 * 16 + (room) * (8 + 4 + 2 * 4))

DEVICE Duel duel_of(const Problem &problem, const double *words, int64 *keys, void *memory) {
    Duel duel;
    const int room = static_cast<int>(problem.longest);
    duel.features = static_cast<int>(problem.width);
    duel.totals = words, duel.cubes = words + room + 1;
    duel.keys[0] = keys;
    duel.keys[1] = static_cast<int64 *>(memory);
    duel.rival = reinterpret_cast<float *>(duel.keys[1] + room);
    duel.scores = duel.rival + (STRIDE + 3) / 4 * 4;
    duel.lanes = duel.scores + room;
    duel.square = duel.lanes + 16;
    duel.order[0] = reinterpret_cast<int *>(duel.square + 4);
    duel.order[1] = duel.order[0] + room;
    return duel;
}

// A direction is uniform on the sphere: normals over their length.
DEVICE float scale_to(const Duel &duel, double length) {
    const float square = *duel.square;
    return static_cast<float>(length / static_cast<double>(sqrtf(square > 1e-30f ? square : 1e-30f)));
}

// The rival: the current weights and a step of the given length. All threads; ends with a barrier.
DEVICE void draw_rival(const Duel &duel, uint64 key, double length, const float *rounded) {
    float *u = duel.rival;
    for (int j = thread_index(); j < STRIDE; j += THREADS) u[j] = j < duel.features ? normal(key, j, duel.features) : 0.0f;
    block_sync();
    for (int lane = thread_index(); lane < 16; lane += THREADS) {
        float total = 0.0f;
        for (int j = lane; j < STRIDE; j += 16) total = fmaf(u[j], u[j], total);
        duel.lanes[lane] = total;
    }
    block_sync();
    if (thread_index() == 0) {
        float sum[4];
        for (int c = 0; c < 4; c++)
            sum[c] = (duel.lanes[c] + duel.lanes[8 + c]) + (duel.lanes[4 + c] + duel.lanes[12 + c]);
        *duel.square = (sum[0] + sum[2]) + (sum[1] + sum[3]);
    }
    block_sync();
    const float scale = scale_to(duel, length);
    for (int j = thread_index(); j < duel.features; j += THREADS) u[j] = u[j] * scale + rounded[j];
    block_sync();
}

// Keys of both rankers, equal scores in random order. All threads; a barrier comes after it.
DEVICE void order_keys(const Duel &duel, const float *scores, int n, uint64 seed, int64 impression) {
    const unsigned start = static_cast<unsigned>(bits(stream_key(seed, TIES, impression), 0) >> 32);
    for (int i = thread_index(); i < n; i += THREADS) {
        const unsigned tie = scramble(static_cast<unsigned>(i) + start);
        duel.keys[0][i] = order_key(sortable32(scores[i]), tie);
        duel.keys[1][i] = order_key(sortable32(duel.scores[i]), tie);
    }
}

// Probabilistic multileaving of the two. Who may have placed each document is left in `page.own` and `page.kept`, as
// single precision has it. One warp.
DEVICE void multileave(const Duel &duel, uint64 key, int n, Page &page, int k) {
    const double total = duel.totals[n];
    double removed[2] = {0.0, 0.0};
    int found[2] = {0, 0};
    int *ranks[2] = {page.grades, page.order};
#pragma unroll 1
    for (int t = 0; t < k; t++) {
        const bool second = below(key, 2 * t, 2) == 1;
        const double target = uniform(key, 2 * t + 1) * (total - (second ? removed[1] : removed[0]));
        const int rank = draw_rank(duel.cubes, target, second ? ranks[1] : ranks[0], t, n);
        const int64 *keys = second ? duel.keys[1] : duel.keys[0];
        int *order = second ? duel.order[1] : duel.order[0];
        int known = second ? found[1] : found[0];
        for (; known < rank; known++) {
            const int next = next_below([&](int i) { return keys[i]; }, n, known > 0 ? keys[order[known - 1]] : 0, known > 0);
            if (lane_index() == 0) order[known] = next;
            warp_sync();
        }
        (second ? found[1] : found[0]) = known;
        const int document = order[rank - 1];
        float posterior[2];
        double evidence = 0.0;
#pragma unroll
        for (int c = 0; c < 2; c++) {
            const int own = rank_of(duel.keys[c], n, document);
            const double mass = duel.cubes[own], share = mass / (total - removed[c]);
            removed[c] += mass;
            posterior[c] = static_cast<float>(share);
            evidence += share;
            if (lane_index() == 0) ranks[c][t] = own;
        }
        if (lane_index() == 0) {
            page.documents[t] = document;
            page.own[t] = static_cast<float>(static_cast<double>(posterior[0]) / evidence);
            page.kept[t] = static_cast<float>(static_cast<double>(posterior[1]) / evidence);
        }
        warp_sync();
    }
}

// Team draft: they take turns, in an order drawn anew for each round. The keys are used up. One warp.
DEVICE void team_draft(const Duel &duel, uint64 key, int n, Page &page, int k) {
    bool second = false;
#pragma unroll 1
    for (int t = 0; t < k; t++) {
        second = t % 2 == 0 ? below(key, t, 2) == 1 : !second;
        const int64 *keys = second ? duel.keys[1] : duel.keys[0];
        const int document = next_below([&](int i) { return keys[i]; }, n, 0, false);
        warp_sync();
        if (lane_index() == 0) {
            duel.keys[0][document] = duel.keys[1][document] = LOWEST;
            page.documents[t] = document;
            page.own[t] = second ? 0.0 : 1.0;
            page.kept[t] = second ? 1.0 : 0.0;
        }
        warp_sync();
    }
}

// Whether the rival got more credit than the current ranker. One warp.
DEVICE void learn(const Settings &, double *, double *, float *, int, double *, Page &page, int k, int) {
    double lead = 0.0;
    for (int t = 0; t < k; t++)
        if (page.clicks[t] >= 0.5) lead += page.kept[t] - page.own[t];
    if (lane_index() == 0) page.taught = lead > 0.0;
    warp_sync();
}

// A step towards a rival that won. All threads.
DEVICE void step_towards(const Duel &duel, uint64 key, double rate, double *weights, float *rounded) {
    const float scale = scale_to(duel, 1.0);
    for (int j = thread_index(); j < duel.features; j += THREADS) {
        const double moved = weights[j] + rate * static_cast<double>(normal(key, j, duel.features) * scale);
        weights[j] = moved;
        rounded[j] = static_cast<float>(moved);
    }
}
