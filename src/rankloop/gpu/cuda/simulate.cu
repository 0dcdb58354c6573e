// rankloop.loop.run_impressions on a device: a block is GROUP runs that share a seed, and so the query of every
// impression. All its threads score the candidates and add up the gradients; a warp each draws a run's page, clicks,
// and turns clicks into the gradient of the scores.
//
// LEARNER, GROUP, THREADS, STRIDE (floats in a row of features) and VARIANCE are given when this is compiled; for
// methods that have one run to a block more may be: COLUMNS and ROOT_SHARED (`belief.cuh`), RANKERS, AT_ONCE
// (`rivals.cuh`) and ORDERED (`pmgd_show.cuh`).
// THREADS > 32 GROUP: queries depend on nothing that is learned, so the warps that have no run prepare the next one
// while the others learn from this one.
#include "measures.cuh"
#include "multileaving.cuh"
#include "normals.cuh"
#include "policy.cuh"
#if LEARNER == PMGD || LEARNER == COLTR
#include "rivals.cuh"
#endif
#if LEARNER == PDGD
#include "pdgd.cuh"
#elif LEARNER == POSTERIOR
#include "belief.cuh"
#elif LEARNER == DBGD
#include "dbgd.cuh"
#elif LEARNER == PMGD
#include "pmgd.cuh"
#elif LEARNER == COLTR
#include "coltr.cuh"
#else
#include "reinforce.cuh"
#endif

#define ROWS (GROUP < 4 ? 8 : 16)         // of features that a thread has under way
#define ABREAST (GROUP < 4 ? 1 : 2)       // rows that a thread scores at once
#define SHARE (GROUP < 4 ? GROUP : GROUP / 4 * (GROUP / 4))  // runs that share a feature once it is in a register
constexpr int UNROLLED = GROUP == 4 ? 3 : 9;   // steps of sixteen features that are on their way at once
#define STRIPS ((STRIDE + 31) / 32)
#define HELPERS (WARPS > GROUP ? WARPS - GROUP : 1)

// A query, where its candidates are, and what its pages' metrics are divided by.
struct Query {
    int64 number, begin;
    double norm[METRICS];
    int candidates;
};

// The block's shared memory.
struct alignas(16) Shared {
    Query query[2];
    double gain[METRICS][GRADES_SEEN], weight[METRICS][RANKS];
    Metric metric[METRICS];
    Settings settings[GROUP];
    Person person[GROUP];
    Page page[GROUP];
    double state[GROUP][STATE], tables[GROUP][TABLES];
    int run[GROUP];
};

// Where the arrays lie whose size is known only when a problem is: behind `Shared`.
struct Arrays {
    double *weights;     // (GROUP, STRIDE)
    double *scratch;     // (GROUP, room), which the keys share
    double *noise;       // (room), what is taken from the scores to draw a page: in the device's memory, to save this one
    double *partial;     // (GROUP, 2 STRIPS), where the variance is asked for
    float *rounded;      // (GROUP, STRIDE)
    float *scores;       // (GROUP, room)
    uint8 *grades;       // (2, room)
    int room;
};

DEVICE Arrays arrays_of(const Problem &problem, Shared *shared) {
    Arrays arrays;
    arrays.room = static_cast<int>(problem.longest);
    arrays.weights = reinterpret_cast<double *>(shared + 1);
    arrays.scratch = arrays.weights + GROUP * STRIDE;
    arrays.noise = problem.noise + static_cast<int64>(block_index()) * arrays.room;
    arrays.partial = arrays.scratch + GROUP * arrays.room;
    arrays.rounded = reinterpret_cast<float *>(arrays.partial + (VARIANCE ? GROUP * 2 * STRIPS : 0));
    arrays.scores = arrays.rounded + GROUP * STRIDE;
    arrays.grades = reinterpret_cast<uint8 *>(arrays.scores + GROUP * arrays.room);
    return arrays;
}

// What lies behind the arrays in shared memory, where a method has something of its own there. Room comes in groups of
// sixteen candidates and STRIDE in groups of four, so it begins with a multiple of 16 bytes; an address that were rounded
// up as a number would no longer be known to lie in shared memory, and be read in a slower way.
DEVICE void *behind(const Arrays &arrays) { return arrays.grades + 2 * arrays.room; }

// The query of an impression, its grades and its noise, by the warps that have no run. The noise is a function of seed
// and impression, and so the same for all runs.
DEVICE void prepare(const Problem &problem, Shared &shared, const Arrays &arrays, uint64 seed, int64 impression, int helper) {
    const int side = impression & 1, step = HELPERS * LANES, first = helper * LANES + lane_index();
    const int64 number = below(stream_key(seed, QUERIES, impression), 0, problem.queries);
    const int64 begin = problem.offsets[number];
    const int n = static_cast<int>(problem.offsets[number + 1] - begin);
#if GROUP >= 4
    // With hundreds of blocks under way the second cache does not hold their next queries beside those of today.
    const char *rows = reinterpret_cast<const char *>(problem.features + begin * STRIDE);
#pragma unroll 2
    for (int64 at = first * 128; at < static_cast<int64>(n) * STRIDE * 4; at += step * 128) prefetch(rows + at);
#endif
    Query &query = shared.query[side];
    if (first == 0) query.number = number, query.begin = begin, query.candidates = n;
    for (int m = first; m < METRICS && m < problem.measures.metrics; m += step)
        query.norm[m] = problem.measures.norm[m * problem.measures.queries + number];
    uint8 *grades = arrays.grades + side * arrays.room;
    const uint64 key = stream_key(seed, POLICY, impression);
#pragma unroll 1
    for (int i = first; i < n; i += step) {
        grades[i] = problem.grades[begin + i];
        arrays.noise[i] = log_(-log_(uniform(key, i)));
    }
}

DEVICE float4 fused(float4 x, float4 w, float4 total) {
    total.x = fmaf(x.x, w.x, total.x);
    total.y = fmaf(x.y, w.y, total.y);
    total.z = fmaf(x.z, w.z, total.z);
    total.w = fmaf(x.w, w.w, total.w);
    return total;
}

// A score, and the key by which its document may come to the page.
DEVICE void keep_score(const Shared &shared, const Arrays &arrays, int g, int i, float score, double noise) {
    arrays.scores[g * arrays.room + i] = score;
    const double z = scaled(score, shared.settings[g].temperature);
    reinterpret_cast<int64 *>(arrays.scratch)[g * arrays.room + i] = sortable64(z - noise);
}

#ifdef __CUDACC__
// Features are read twice an impression (by PDGD and COLTR once, but for a few rows), and not again. Where many blocks share the
// caches, the first read passes by the first one and asks the second to keep the rows until they are read again.
#if LEARNER == PDGD || LEARNER == COLTR
#define FIRST_READ "evict_first"
#else
#define FIRST_READ "evict_last"
#endif
DEVICE float4 read4(const float4 *address) {
#if GROUP < 4
    float4 value;
    asm("{.reg .b64 policy; createpolicy.fractional.L2::" FIRST_READ ".b64 policy, 1.0;"
        "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], policy;}"
        : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w) : "l"(address));
    return value;
#else
    return __ldg(address);
#endif
}

DEVICE float4 added(float4 a, float4 b, int apart) {
    a.x += __shfl_xor_sync(SAME_WARP, b.x, apart);
    a.y += __shfl_xor_sync(SAME_WARP, b.y, apart);
    a.z += __shfl_xor_sync(SAME_WARP, b.z, apart);
    a.w += __shfl_xor_sync(SAME_WARP, b.w, apart);
    return a;
}
#endif

// Scores of all candidates by all runs. The CPU sums in sixteen lanes and then as a tree: four threads to a row, each
// with four of the lanes, give the same bits. A thread has as many rows at once as make a weight worth its read.
DEVICE void score(const float *X, int n, const Shared &shared, const Arrays &arrays) {
#ifdef __CUDACC__
    const int part = thread_index() & 3;
    for (int first = warp_index() * 8 * ABREAST; first < n; first += THREADS / 4 * ABREAST) {
        const int row = first + (lane_index() >> 2);
        const float4 *x[ABREAST];
        double noise[ABREAST];
        float4 total[ABREAST][GROUP];
#pragma unroll
        for (int a = 0; a < ABREAST; a++) {
            const int i = smaller(row + 8 * a, n - 1);
            noise[a] = arrays.noise[i];
            x[a] = reinterpret_cast<const float4 *>(X + static_cast<int64>(i) * STRIDE) + part;
#pragma unroll
            for (int g = 0; g < GROUP; g++) total[a][g] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
#pragma unroll UNROLLED
        for (int step = 0; step < (STRIDE + 15) / 16; step++) {
            if (16 * step + 4 * part < STRIDE) {
                float4 value[ABREAST];
#pragma unroll
                for (int a = 0; a < ABREAST; a++) value[a] = read4(x[a] + 4 * step);
#pragma unroll
                for (int g = 0; g < GROUP; g++) {
                    const float4 w = reinterpret_cast<const float4 *>(arrays.rounded + g * STRIDE)[4 * step + part];
#pragma unroll
                    for (int a = 0; a < ABREAST; a++) total[a][g] = fused(value[a], w, total[a][g]);
                }
            }
        }
        __syncwarp();
#pragma unroll
        for (int a = 0; a < ABREAST; a++) {
#if GROUP < 4
#pragma unroll
            for (int g = 0; g < GROUP; g++) {
                float4 sum = added(total[a][g], total[a][g], 2);
                sum = added(sum, sum, 1);
                if (part == g && row + 8 * a < n)
                    keep_score(shared, arrays, g, row + 8 * a, (sum.x + sum.z) + (sum.y + sum.w), noise[a]);
            }
#else
            // Each of the four threads ends with the sums of its own runs: it hands on what the others need of it.
            const bool upper = part & 2, odd = part & 1;
#pragma unroll
            for (int g = 0; g < GROUP; g += 4) {
                const float4 *of = total[a] + g;
                const float4 even_ones = added(upper ? of[2] : of[0], upper ? of[0] : of[2], 2);
                const float4 odd_ones = added(upper ? of[3] : of[1], upper ? of[1] : of[3], 2);
                const float4 sum = added(odd ? odd_ones : even_ones, odd ? even_ones : odd_ones, 1);
                if (row + 8 * a < n)
                    keep_score(shared, arrays, g + part, row + 8 * a, (sum.x + sum.z) + (sum.y + sum.w), noise[a]);
            }
#endif
        }
    }
#else
    for (int i = thread_index(); i < n; i += THREADS)
        for (int g = 0; g < GROUP; g++) {
            float4 total[4] = {};
            const float4 *x = reinterpret_cast<const float4 *>(X + static_cast<int64>(i) * STRIDE);
            const float4 *w = reinterpret_cast<const float4 *>(arrays.rounded + g * STRIDE);
            for (int at = 0; at < STRIDE / 4; at++) total[at & 3] = fused(x[at], w[at], total[at & 3]);
            const float *lanes = reinterpret_cast<const float *>(total);
            float sum[4];
            for (int c = 0; c < 4; c++) sum[c] = (lanes[c] + lanes[8 + c]) + (lanes[4 + c] + lanes[12 + c]);
            keep_score(shared, arrays, g, i, (sum[0] + sum[2]) + (sum[1] + sum[3]), arrays.noise[i]);
        }
#endif
}

#if LEARNER == POSTERIOR
#include "posterior_show.cuh"
#elif LEARNER == DBGD
#include "dbgd_show.cuh"
#elif LEARNER == PMGD
#include "pmgd_show.cuh"
#elif LEARNER == COLTR
#include "coltr_show.cuh"
#endif

// Write the page down by every metric, with its clicks.
DEVICE void note(const Problem &problem, const Shared &shared, int g, int64 impression, const Query &query, int k) {
    const Measures &measures = problem.measures;
    const Page &page = shared.page[g];
    const int64 at = static_cast<int64>(shared.run[g]) * problem.impressions + impression, metrics = measures.metrics;
#ifdef __CUDACC__
    const int lane = lane_index();
    const unsigned clicked = __ballot_sync(SAME_WARP, lane < k && page.clicks[lane] > 0.0);
    if (lane == LANES - 1) problem.clicks[at] = static_cast<uint8>(__popc(clicked));
    if (metrics == 1 && shared.metric[0].formula == WEIGHTED) {
        // A lane to a rank, summed in the order of ranks.
        const Metric &metric = shared.metric[0];
        const int ranks = smaller(k, metric.cutoff);
        const double share = lane < ranks ? metric.gain[page.grades[lane]] * metric.weight[lane] : 0.0;
        double total = 0.0, next = __shfl_sync(SAME_WARP, share, 0);
#pragma unroll 1
        for (int t = 0; t < ranks; t++) {
            const double now = next;
            next = __shfl_sync(SAME_WARP, share, (t + 1) & (LANES - 1));
            total += now;
        }
        if (lane == 0) problem.values[at] = query.norm[0] <= 0.0 ? 0.0 : total / query.norm[0];
        return;
    }
#else
    int clicked = 0;
    for (int t = 0; t < k; t++) clicked += page.clicks[t] > 0.0;
    problem.clicks[at] = static_cast<uint8>(clicked);
#endif
#pragma unroll 1
    for (int m = lane_index(); m < metrics; m += LANES)
        problem.values[at * metrics + m] =
            m < METRICS ? measure(shared.metric[m], query.norm[m], page.grades, k)
                        : measure(metric_of(measures, m), measures.norm[m * measures.queries + query.number], page.grades, k);
}

// One warp, one run: draw the page, click, write down, and turn what came back into the gradient of the scores.
DEVICE void show_and_learn(const Problem &problem, Shared &shared, const Arrays &arrays, int g, int64 impression) {
    const Query &query = shared.query[impression & 1];
    const int n = query.candidates, page_size = static_cast<int>(problem.page_size), k = smaller(page_size, n);
    const Settings &settings = shared.settings[g];
    Page &page = shared.page[g];
    double *scratch = arrays.scratch + g * arrays.room;
    float *scores = arrays.scores + g * arrays.room;
    const uint8 *grades = arrays.grades + (impression & 1) * arrays.room;
#if LEARNER == DBGD || LEARNER == PMGD
    interleave(problem, shared, arrays, impression, n, k);
#else
    take_largest(reinterpret_cast<int64 *>(scratch), n, page.documents, k, reinterpret_cast<int64 *>(page.looks.seen),
                 page.order);
#endif
#pragma unroll 1
    for (int t = lane_index(); t < k; t += LANES) page.grades[t] = grades[page.documents[t]];
    warp_sync();
    if (shared.person[g].alone)
        click_person(shared.person[g], settings.seed, impression, page.grades, k, page.looks, page.clicks);
    else
        click_people(*settings.people, settings.seed, impression, page.documents, page.grades, k, query.begin,
                     page.looks, page.clicks);
    note(problem, shared, g, impression, query, k);
    learn(settings, shared.tables[g], shared.state[g], scores, n, scratch, page, k, page_size);
    // Rows are added up some at a time: those beyond the candidates count nothing.
#pragma unroll 1
    for (int i = n + lane_index(); i < (n + ROWS - 1) / ROWS * ROWS; i += LANES) scores[i] = 0.0f;
}

DEVICE void move(const Arrays &arrays, int g, int j, double step, float slope) {
    const double moved = arrays.weights[g * STRIDE + j] + step * static_cast<double>(slope);
    arrays.weights[g * STRIDE + j] = moved;
    arrays.rounded[g * STRIDE + j] = static_cast<float>(moved);
}

#if LEARNER == PDGD
// w <- w + step X'g over the documents shown, in the order of documents, as the CPU adds them.
DEVICE void ascend(const float *X, int, const Shared &shared, const Arrays &arrays) {
    for (int item = thread_index(); item < GROUP * STRIDE; item += THREADS) {
        const int g = item / STRIDE, j = item % STRIDE;
        const Page &page = shared.page[g];
        if (shared.run[g] < 0 || page.taught == 0) continue;
        float slope = 0.0f;
        for (int place = 0; place < page.taught; place++) {
            const int t = page.order[place];
            slope = fmaf(static_cast<float>(page.returns[t]), X[page.documents[t] * STRIDE + j], slope);
        }
        move(arrays, g, j, page.step, slope);
    }
}
#else
struct alignas(8) Pair { float x, y; };

DEVICE void read_rows(const float *x, Pair *rows) {
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#if defined(__CUDACC__) && GROUP < 4
        asm("{.reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0;"
            "ld.global.nc.L1::no_allocate.L2::cache_hint.v2.f32 {%0, %1}, [%2], policy;}"
            : "=f"(rows[r].x), "=f"(rows[r].y) : "l"(x + r * STRIDE));
#else
        rows[r] = *reinterpret_cast<const Pair *>(x + r * STRIDE);
#endif
}

// w <- w + step X'g: a thread to two features, rows in their order, as the CPU adds them; the next rows are on their
// way while these are added.
DEVICE void ascend(const float *X, int n, const Shared &shared, const Arrays &arrays) {
    const int strips = (STRIDE / 2 + LANES - 1) / LANES;
    for (int item = warp_index(); item < strips * (GROUP / SHARE); item += WARPS) {
        const int j = 2 * (item % strips * LANES + lane_index()), begin = item / strips * SHARE;
        if (j >= STRIDE) continue;
        Pair slope[SHARE], rows[ROWS];
#pragma unroll
        for (int g = 0; g < SHARE; g++) slope[g].x = slope[g].y = 0.0f;
        const float *x = X + j;
        read_rows(x, rows);
#pragma unroll 1
        for (int i = 0; i < n; i += ROWS) {
            Pair next[ROWS];
            // Behind the last row of all stand rows of zeros: what is read too far is never used.
            x += i + ROWS < n ? ROWS * STRIDE : 0;
            read_rows(x, next);
#pragma unroll
            for (int g = 0; g < SHARE; g++) {
                const float4 *share = reinterpret_cast<const float4 *>(arrays.scores + (begin + g) * arrays.room + i);
#pragma unroll
                for (int r = 0; r < ROWS; r += 4) {
                    const float4 gradient = share[r / 4];
                    const float each[4] = {gradient.x, gradient.y, gradient.z, gradient.w};
#pragma unroll
                    for (int q = 0; q < 4; q++) {
                        slope[g].x = fmaf(each[q], rows[r + q].x, slope[g].x);
                        slope[g].y = fmaf(each[q], rows[r + q].y, slope[g].y);
                    }
                }
            }
#pragma unroll
            for (int r = 0; r < ROWS; r++) rows[r] = next[r];
        }
#pragma unroll
        for (int g = 0; g < SHARE; g++)
            if (shared.run[begin + g] >= 0 && shared.page[begin + g].taught) {
                move(arrays, begin + g, j, shared.page[begin + g].step, slope[g].x);
                move(arrays, begin + g, j + 1, shared.page[begin + g].step, slope[g].y);
            }
    }
}
#endif

#if VARIANCE
// The variance over ranks: strips of features to warps, then their sums in order.
DEVICE void spread(const Problem &problem, const float *X, int n, int64 impression, const Shared &shared,
                   const Arrays &arrays) {
    const int k = smaller(static_cast<int>(problem.page_size), n);
    for (int item = warp_index(); item < STRIPS * GROUP; item += WARPS) {
        const int g = item / STRIPS;
        if (shared.run[g] < 0 || !shared.page[g].taught) continue;
        step_variance(X, n, STRIDE, item % STRIPS, arrays.scratch + g * arrays.room, shared.page[g], k,
                      shared.settings[g].temperature, arrays.partial + g * 2 * STRIPS);
    }
    block_sync();
    for (int g = thread_index(); g < GROUP; g += THREADS) {
        if (shared.run[g] < 0) continue;
        double squares = 0.0, between = 0.0;
        for (int strip = 0; strip < STRIPS; strip++) {
            squares += arrays.partial[g * 2 * STRIPS + 2 * strip];
            between += arrays.partial[g * 2 * STRIPS + 2 * strip + 1];
        }
        problem.variance[static_cast<int64>(shared.run[g]) * problem.impressions + impression] =
            shared.page[g].taught ? squares / k - between / (static_cast<double>(k) * k) : not_a_number();
    }
}
#endif

// Bring a block's runs into shared memory.
CALLED void carry_in(const Problem &problem, Shared &shared, const Arrays &arrays) {
    const Measures &measures = problem.measures;
#pragma unroll 1
    for (int g = 0; g < GROUP; g++) {
        const int64 run = shared.run[g];
#pragma unroll 1
        for (int j = thread_index(); j < STRIDE; j += THREADS) {
            const double kept = run < 0 ? 0.0 : problem.weights[run * STRIDE + j];
            arrays.weights[g * STRIDE + j] = kept;
            arrays.rounded[g * STRIDE + j] = static_cast<float>(kept);
        }
#pragma unroll 1
        for (int j = thread_index(); j < arrays.room; j += THREADS) arrays.scores[g * arrays.room + j] = 0.0f;
#pragma unroll 1
        for (int j = thread_index(); j < STATE && run >= 0; j += THREADS) shared.state[g][j] = problem.state[run * STATE + j];
#pragma unroll 1
        for (int j = thread_index(); j < TABLES && run >= 0; j += THREADS) shared.tables[g][j] = problem.tables[run * TABLES + j];
    }
#pragma unroll 1
    for (int g = thread_index(); g < GROUP; g += THREADS) {
        // Who has no run in a block that is not full scores as its first one does.
        const int run = shared.run[g] < 0 ? shared.run[0] : shared.run[g];
        shared.settings[g] = problem.settings[run];
        meet(*shared.settings[g].people, static_cast<int>(problem.highest_grade) + 1, shared.person[g]);
    }
#pragma unroll 1
    for (int m = thread_index(); m < METRICS && m < measures.metrics; m += THREADS) {
        Metric metric = metric_of(measures, m);
#pragma unroll 1
        for (int grade = 0; grade < GRADES_SEEN; grade++) shared.gain[m][grade] = metric.gain[grade];
#pragma unroll 1
        for (int t = 0; t < RANKS && t < measures.ranks; t++) shared.weight[m][t] = metric.weight[t];
        metric.gain = shared.gain[m], metric.weight = shared.weight[m];
        shared.metric[m] = metric;
    }
}

CALLED void carry_out(const Problem &problem, const Shared &shared, const Arrays &arrays) {
#pragma unroll 1
    for (int g = 0; g < GROUP; g++) {
        const int64 run = shared.run[g];
        if (run < 0) continue;
#pragma unroll 1
        for (int j = thread_index(); j < STRIDE; j += THREADS) problem.weights[run * STRIDE + j] = arrays.weights[g * STRIDE + j];
#pragma unroll 1
        for (int j = thread_index(); j < STATE; j += THREADS) problem.state[run * STATE + j] = shared.state[g][j];
    }
}

DEVICE void run_impressions(const Problem &problem, Shared &shared, int64 first, int64 last) {
    const Arrays arrays = arrays_of(problem, &shared);
    const int warp = warp_index(), helper = WARPS > GROUP ? warp - GROUP : 0;
    for (int g = thread_index(); g < GROUP; g += THREADS)
        shared.run[g] = static_cast<int>(problem.groups[static_cast<int64>(block_index()) * GROUP + g]);
    block_sync();
    const uint64 seed = problem.settings[shared.run[0]].seed;
    carry_in(problem, shared, arrays);
    if (helper >= 0) prepare(problem, shared, arrays, seed, first, helper);
    block_sync();
#if LEARNER == POSTERIOR
    const Belief belief = carry_belief_in(problem, shared, arrays);
    block_sync();
#elif LEARNER == DBGD || LEARNER == PMGD
    sum_cubes(words_of(problem, shared), arrays.room);
    block_sync();
#endif
    for (int64 i = first; i < last; i++) {
        const int n = shared.query[i & 1].candidates;
        const float *X = problem.features + shared.query[i & 1].begin * STRIDE;
        score(X, n, shared, arrays);
        block_sync();
#if LEARNER == POSTERIOR
        draw_scores(shared, arrays, belief, X, n, shared.query[i & 1].begin, i);
#elif LEARNER == DBGD || LEARNER == PMGD
        challenge(problem, shared, arrays, X, n, i);
#endif
        for (int g = warp; g < GROUP; g += WARPS)
            if (shared.run[g] >= 0) show_and_learn(problem, shared, arrays, g, i);
        if (helper >= 0) prepare(problem, shared, arrays, seed, i + 1, helper);
        block_sync();
#if VARIANCE
        spread(problem, X, n, i, shared, arrays);
#endif
#if LEARNER == POSTERIOR
        learn_page(belief, X, n, shared.page[0], shared.settings[0].flags & STARTED, shared.query[i & 1].begin,
                   smaller(static_cast<int>(problem.page_size), n), arrays.scratch);
#elif LEARNER == DBGD || LEARNER == PMGD || LEARNER == COLTR
        follow_winner(problem, shared, arrays, X, n, i);
#else
        ascend(X, n, shared, arrays);
#endif
        block_sync();
    }
#if LEARNER == POSTERIOR
    carry_belief_out(problem, shared, belief);
#endif
    carry_out(problem, shared, arrays);
}

#ifdef __CUDACC__
extern "C" {
__constant__ Problem problem;

__global__ void __launch_bounds__(THREADS, BLOCKS) simulate(int64 first, int64 last) {
    extern __shared__ double memory[];
    run_impressions(problem, *reinterpret_cast<Shared *>(memory), first, last);
}
}
#endif
