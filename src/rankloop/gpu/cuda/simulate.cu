// rankloop.loop.run_impressions on a device: a block is GROUP runs that share a seed, and so the query of every
// impression. All its threads score the candidates and add up the gradients; a warp each draws a run's page, clicks,
// and turns clicks into the gradient of the scores.
//
// LEARNER, GROUP, THREADS and VARIANCE are given when this is compiled. THREADS > 32 GROUP, so that one warp is free to
// look for the next query while the others learn.
#include "measures.cuh"
#if LEARNER == PDGD
#include "pdgd.cuh"
#else
#include "reinforce.cuh"
#endif

#define ROWS 8                            // of features that a thread has under way
#define SHARE (GROUP < 4 ? GROUP : 4)     // runs that share a feature once it is in a register

// A query, and where its candidates are.
struct Query {
    int64 number, begin;
    int candidates;
};

// The block's shared memory.
struct Shared {
    Query query[2];
    Page page[GROUP];
    double state[GROUP][STATE], tables[GROUP][TABLES];
    int run[GROUP];
};

// Where the arrays lie whose size is known only when a problem is: behind `Shared`.
struct Arrays {
    double *weights;     // (GROUP, stride)
    double *scratch;     // (GROUP, room), which the keys share
    float *rounded;      // (GROUP, stride)
    float *scores;       // (GROUP, room)
    double *partial;     // (GROUP, 2 strips), where the variance is asked for
    uint8 *grades;       // (room)
    int stride, room, strips;
};

DEVICE Arrays arrays_of(const Problem &problem, Shared *shared) {
    Arrays arrays;
    arrays.stride = static_cast<int>(problem.stride);
    arrays.room = static_cast<int>(problem.longest);
    arrays.strips = (arrays.stride + 31) / 32;
    arrays.weights = reinterpret_cast<double *>(shared + 1);
    arrays.scratch = arrays.weights + GROUP * arrays.stride;
    arrays.partial = arrays.scratch + GROUP * arrays.room;
    arrays.rounded = reinterpret_cast<float *>(arrays.partial + (VARIANCE ? GROUP * 2 * arrays.strips : 0));
    arrays.scores = arrays.rounded + GROUP * arrays.stride;
    arrays.grades = reinterpret_cast<uint8 *>(arrays.scores + GROUP * arrays.room);
    return arrays;
}

DEVICE Query draw_query(const Problem &problem, uint64 seed, int64 impression) {
    Query query;
    query.number = below(stream_key(seed, QUERIES, impression), 0, problem.queries);
    query.begin = problem.offsets[query.number];
    query.candidates = static_cast<int>(problem.offsets[query.number + 1] - query.begin);
    return query;
}

DEVICE float4 fused(float4 x, float4 w, float4 total) {
    total.x = fmaf(x.x, w.x, total.x);
    total.y = fmaf(x.y, w.y, total.y);
    total.z = fmaf(x.z, w.z, total.z);
    total.w = fmaf(x.w, w.w, total.w);
    return total;
}

// Scores of all candidates by all runs. The CPU sums in sixteen lanes and then as a tree: four threads to a row, each
// with four of the lanes, give the same bits.
DEVICE void score(const float *X, int n, const Arrays &arrays) {
    const int quads = arrays.stride / 4;
#ifdef __CUDACC__
    const int part = thread_index() & 3;
    for (int first = warp_index() * 8; first < n; first += THREADS / 4) {
        const int i = first + (lane_index() >> 2);
        const float4 *x = reinterpret_cast<const float4 *>(X + static_cast<int64>(smaller(i, n - 1)) * arrays.stride);
        float4 total[GROUP];
#pragma unroll
        for (int g = 0; g < GROUP; g++) total[g] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
        for (int at = part; at < quads; at += 4) {
            const float4 value = __ldg(x + at);
#pragma unroll
            for (int g = 0; g < GROUP; g++)
                total[g] = fused(value, reinterpret_cast<const float4 *>(arrays.rounded + g * arrays.stride)[at], total[g]);
        }
#pragma unroll
        for (int g = 0; g < GROUP; g++) {
            float4 sum = total[g];
#pragma unroll
            for (int apart = 2; apart; apart >>= 1) {
                sum.x += __shfl_xor_sync(SAME_WARP, sum.x, apart);
                sum.y += __shfl_xor_sync(SAME_WARP, sum.y, apart);
                sum.z += __shfl_xor_sync(SAME_WARP, sum.z, apart);
                sum.w += __shfl_xor_sync(SAME_WARP, sum.w, apart);
            }
            if (part == (g & 3) && i < n) arrays.scores[g * arrays.room + i] = (sum.x + sum.z) + (sum.y + sum.w);
        }
    }
#else
    for (int i = 0; i < n; i++)
        for (int g = 0; g < GROUP; g++) {
            float4 total[4] = {};
            const float4 *x = reinterpret_cast<const float4 *>(X + static_cast<int64>(i) * arrays.stride);
            for (int at = 0; at < quads; at++)
                total[at & 3] = fused(x[at], reinterpret_cast<const float4 *>(arrays.rounded + g * arrays.stride)[at], total[at & 3]);
            float lanes[4][4];
            for (int p = 0; p < 4; p++)
                lanes[p][0] = total[p].x, lanes[p][1] = total[p].y, lanes[p][2] = total[p].z, lanes[p][3] = total[p].w;
            float sum[4];
            for (int c = 0; c < 4; c++) sum[c] = (lanes[0][c] + lanes[2][c]) + (lanes[1][c] + lanes[3][c]);
            arrays.scores[g * arrays.room + i] = (sum[0] + sum[2]) + (sum[1] + sum[3]);
        }
#endif
}

// Keys whose largest are the page: the noise is a function of seed and impression, and so the same for all runs.
DEVICE void perturb(const Problem &problem, const Shared &shared, uint64 seed, int64 impression, const Query &query,
                    const Arrays &arrays) {
    const uint64 key = stream_key(seed, POLICY, impression);
    for (int i = thread_index(); i < query.candidates; i += THREADS) {
        const double noise = log_(-log_(uniform(key, i)));
#pragma unroll
        for (int g = 0; g < GROUP; g++) {
            if (shared.run[g] < 0) continue;
            const double z = scaled(arrays.scores[g * arrays.room + i], problem.settings[shared.run[g]].temperature);
            reinterpret_cast<int64 *>(arrays.scratch)[g * arrays.room + i] = sortable64(z - noise);
        }
        arrays.grades[i] = problem.grades[query.begin + i];
    }
}

// Write the page down by every metric, with its clicks.
DEVICE void note(const Problem &problem, int run, int64 impression, const Query &query, const Page &page, int k) {
    const Measures &measures = problem.measures;
    const int64 at = static_cast<int64>(run) * problem.impressions + impression;
    for (int m = lane_index(); m < measures.metrics; m += LANES)
        problem.values[at * measures.metrics + m] =
            measure(measures, m, measures.norm[m * measures.queries + query.number], page.grades, k);
    if (lane_index() == LANES - 1) {
        int clicked = 0;
        for (int t = 0; t < k; t++) clicked += page.clicks[t] > 0.0;
        problem.clicks[at] = static_cast<uint8>(clicked);
    }
}

// One warp, one run: draw the page, click, write down, and turn what came back into the gradient of the scores.
DEVICE void show_and_learn(const Problem &problem, Shared &shared, const Arrays &arrays, int g, int64 impression,
                           const Query &query) {
    const int run = shared.run[g], n = query.candidates, k = smaller(static_cast<int>(problem.page_size), n);
    const Settings &settings = problem.settings[run];
    Page &page = shared.page[g];
    double *scratch = arrays.scratch + g * arrays.room;
    float *scores = arrays.scores + g * arrays.room;
    take_largest(reinterpret_cast<int64 *>(scratch), n, page.documents, k);
    for (int t = lane_index(); t < k; t += LANES) page.grades[t] = arrays.grades[page.documents[t]];
    warp_sync();
    click_people(*settings.people, settings.seed, impression, page.documents, page.grades, k, query.begin, page.looks,
                 page.clicks);
    note(problem, run, impression, query, page, k);
    learn(settings, shared.tables[g], shared.state[g], scores, n, scratch, page, k, static_cast<int>(problem.page_size));
    // Rows are added up some at a time: those beyond the candidates count nothing.
    for (int i = n + lane_index(); i < (n + ROWS - 1) / ROWS * ROWS; i += LANES) scores[i] = 0.0f;
}

DEVICE void move(const Arrays &arrays, int g, int j, double step, float slope) {
    const double moved = arrays.weights[g * arrays.stride + j] + step * static_cast<double>(slope);
    arrays.weights[g * arrays.stride + j] = moved;
    arrays.rounded[g * arrays.stride + j] = static_cast<float>(moved);
}

// w <- w + step X'g: a thread to a feature, rows in their order, as the CPU adds them.
DEVICE void ascend(const float *X, int n, const Shared &shared, const Arrays &arrays) {
#if LEARNER == PDGD
    for (int item = thread_index(); item < GROUP * arrays.stride; item += THREADS) {
        const int g = item / arrays.stride, j = item % arrays.stride;
        const Page &page = shared.page[g];
        if (shared.run[g] < 0 || page.taught == 0) continue;
        float slope = 0.0f;
        for (int place = 0; place < page.taught; place++) {
            const int t = page.order[place];
            slope = fmaf(static_cast<float>(page.returns[t]), X[static_cast<int64>(page.documents[t]) * arrays.stride + j], slope);
        }
        move(arrays, g, j, page.step, slope);
    }
#else
    const int strips = (arrays.stride + LANES - 1) / LANES;
    for (int item = warp_index(); item < strips * (GROUP / SHARE); item += WARPS) {
        const int j = item % strips * LANES + lane_index(), begin = item / strips * SHARE;
        if (j >= arrays.stride) continue;
        float slope[SHARE];
#pragma unroll
        for (int g = 0; g < SHARE; g++) slope[g] = 0.0f;
        const float *x = X + j;
        for (int i = 0; i < n; i += ROWS, x += static_cast<int64>(ROWS) * arrays.stride) {
            float value[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; r++) value[r] = x[r * arrays.stride];
#pragma unroll
            for (int g = 0; g < SHARE; g++) {
                const float4 *share = reinterpret_cast<const float4 *>(arrays.scores + (begin + g) * arrays.room + i);
#pragma unroll
                for (int r = 0; r < ROWS; r += 4) {
                    const float4 gradient = share[r / 4];
                    slope[g] = fmaf(gradient.x, value[r], slope[g]);
                    slope[g] = fmaf(gradient.y, value[r + 1], slope[g]);
                    slope[g] = fmaf(gradient.z, value[r + 2], slope[g]);
                    slope[g] = fmaf(gradient.w, value[r + 3], slope[g]);
                }
            }
        }
#pragma unroll
        for (int g = 0; g < SHARE; g++)
            if (shared.run[begin + g] >= 0 && shared.page[begin + g].taught)
                move(arrays, begin + g, j, shared.page[begin + g].step, slope[g]);
    }
#endif
}

#if VARIANCE
// The variance over ranks: strips of features to warps, then their sums in order.
DEVICE void spread(const Problem &problem, const float *X, int64 impression, const Query &query, const Shared &shared,
                   const Arrays &arrays) {
    const int k = smaller(static_cast<int>(problem.page_size), query.candidates);
    for (int item = warp_index(); item < arrays.strips * GROUP; item += WARPS) {
        const int g = item / arrays.strips;
        if (shared.run[g] < 0 || !shared.page[g].taught) continue;
        step_variance(X, query.candidates, arrays.stride, item % arrays.strips, arrays.scratch + g * arrays.room,
                      shared.page[g], k, problem.settings[shared.run[g]].temperature,
                      arrays.partial + g * 2 * arrays.strips);
    }
    block_sync();
    for (int g = thread_index(); g < GROUP; g += THREADS) {
        if (shared.run[g] < 0) continue;
        double squares = 0.0, between = 0.0;
        for (int strip = 0; strip < arrays.strips; strip++) {
            squares += arrays.partial[g * 2 * arrays.strips + 2 * strip];
            between += arrays.partial[g * 2 * arrays.strips + 2 * strip + 1];
        }
        problem.variance[static_cast<int64>(shared.run[g]) * problem.impressions + impression] =
            shared.page[g].taught ? squares / k - between / (static_cast<double>(k) * k) : not_a_number();
    }
}
#endif

// Bring a block's runs into shared memory, or back.
DEVICE void carry(const Problem &problem, Shared &shared, const Arrays &arrays, bool in) {
    for (int g = 0; g < GROUP; g++) {
        const int run = shared.run[g];
        for (int j = thread_index(); j < arrays.stride; j += THREADS) {
            double &kept = arrays.weights[g * arrays.stride + j];
            if (in) {
                kept = run < 0 ? 0.0 : problem.weights[static_cast<int64>(run) * arrays.stride + j];
                arrays.rounded[g * arrays.stride + j] = static_cast<float>(kept);
            } else if (run >= 0) {
                problem.weights[static_cast<int64>(run) * arrays.stride + j] = kept;
            }
        }
        for (int j = thread_index(); j < STATE && run >= 0; j += THREADS)
            if (in) shared.state[g][j] = problem.state[run * STATE + j];
            else problem.state[run * STATE + j] = shared.state[g][j];
        for (int j = thread_index(); j < TABLES && run >= 0 && in; j += THREADS)
            shared.tables[g][j] = problem.tables[run * TABLES + j];
    }
}

DEVICE void run_impressions(const Problem &problem, Shared &shared, int64 first, int64 last) {
    const Arrays arrays = arrays_of(problem, &shared);
    for (int g = thread_index(); g < GROUP; g += THREADS)
        shared.run[g] = static_cast<int>(problem.groups[static_cast<int64>(block_index()) * GROUP + g]);
    block_sync();
    carry(problem, shared, arrays, true);
    const uint64 seed = problem.settings[shared.run[0]].seed;
    if (thread_index() == 0) shared.query[first & 1] = draw_query(problem, seed, first);
    block_sync();
    for (int64 i = first; i < last; i++) {
        const Query query = shared.query[i & 1];
        const float *X = problem.features + query.begin * arrays.stride;
        score(X, query.candidates, arrays);
        block_sync();
        perturb(problem, shared, seed, i, query, arrays);
        block_sync();
        for (int g = warp_index(); g < GROUP; g += WARPS)
            if (shared.run[g] >= 0) show_and_learn(problem, shared, arrays, g, i, query);
        if (warp_index() == WARPS - 1) {
            // Queries depend on nothing that is learned: ask for the next one's candidates now.
            const Query next = draw_query(problem, seed, i + 1);
            if (lane_index() == 0) shared.query[(i + 1) & 1] = next;
            const char *rows = reinterpret_cast<const char *>(problem.features + next.begin * arrays.stride);
            const int64 bytes = static_cast<int64>(next.candidates) * arrays.stride * 4;
            for (int64 at = lane_index() * 128; at < bytes; at += LANES * 128) prefetch(rows + at);
        }
        block_sync();
#if VARIANCE
        spread(problem, X, i, query, shared, arrays);
#endif
        ascend(X, query.candidates, shared, arrays);
        block_sync();
    }
    carry(problem, shared, arrays, false);
}

// How many bytes of shared memory a block needs before its arrays.
extern "C" {
#ifdef __CUDACC__
__global__ void __launch_bounds__(THREADS, BLOCKS) simulate(const Problem *problem, int64 first, int64 last) {
    extern __shared__ double memory[];
    run_impressions(*problem, *reinterpret_cast<Shared *>(memory), first, last);
}
#endif
}
