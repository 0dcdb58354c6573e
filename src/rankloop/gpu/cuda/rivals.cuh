// Rivals of the current ranker, w + δu with u uniform on the sphere; rankloop.learners.directions and .kernels.matrix.
// RANKERS, the current one (number 0) and its rivals, and AT_ONCE, how many of them shared memory has room for, are given
// when this is compiled. Each block has one run.
#pragma once
#include "normals.cuh"
#include "policy.cuh"

#define WIDTH ((RANKERS + 15) / 16 * 16)   // columns of the matrix that the CPU draws: normals are numbered by it
#define LANED 16                           // lanes in which the CPU adds winners up
#define SUMS ((STRIDE * LANED + THREADS - 1) / THREADS)

// Of a block, in shared memory.
struct Rivals {
    float *directions;   // (STRIDE, AT_ONCE)
    float *scales;       // (AT_ONCE)
    int *counts;         // (LANED), winners
    uint8 *wins;         // (WIDTH)
    int features;
};

#define RIVALS_SHARED (STRIDE * AT_ONCE * 4 + AT_ONCE * 4 + LANED * 4 + WIDTH)

DEVICE Rivals rivals_of(const Problem &problem, void *memory) {
    Rivals rivals;
    rivals.features = static_cast<int>(problem.width);
    rivals.directions = static_cast<float *>(memory);
    rivals.scales = rivals.directions + STRIDE * AT_ONCE;
    rivals.counts = reinterpret_cast<int *>(rivals.scales + AT_ONCE);
    rivals.wins = reinterpret_cast<uint8 *>(rivals.counts + LANED);
    return rivals;
}

DEVICE int columns_from(int begin) { return smaller(AT_ONCE, RANKERS - begin); }

// Normals of the columns from `begin` on. With an even number of features one draw is of the same column twice, half of
// the features apart.
DEVICE void draw_normals(const Rivals &rivals, uint64 key, int begin) {
    const int features = rivals.features, count = columns_from(begin);
    const bool paired = features % 2 == 0;
    const int rows = paired ? features / 2 : features, down = THREADS / count, across = THREADS % count;
    int j = thread_index() / count, c = thread_index() % count;
    // Two draws are under way at once: each step of one waits for the one before.
#pragma unroll 2
    for (int item = thread_index(); item < rows * count; item += THREADS) {
        const int index = j * WIDTH + begin + c;
        float *place = rivals.directions + j * AT_ONCE + c;
        if (paired) {
            const Normals both = two_normals(key, index);
            place[0] = both.first, place[rows * AT_ONCE] = both.second;
        } else {
            place[0] = normal(key, index, features * WIDTH);
        }
        j += down, c += across;
        if (c >= count) c -= count, j++;
    }
    // Features that only fill a row up move nobody.
    for (int at = features * AT_ONCE + thread_index(); at < STRIDE * AT_ONCE; at += THREADS) rivals.directions[at] = 0.0f;
}

// Directions of the given length, for the columns from `begin` on; the current ranker does not move. All threads; nobody
// reads the ones before any more. Ends with a barrier.
DEVICE void draw_rivals(const Rivals &rivals, uint64 key, double length, int begin) {
    draw_normals(rivals, key, begin);
    block_sync();
    for (int c = thread_index(); c < columns_from(begin); c += THREADS) {
        float square = 0.0f;
#pragma unroll 8
        for (int j = 0; j < rivals.features; j++) {
            const float u = rivals.directions[j * AT_ONCE + c];
            square = fmaf(u, u, square);
        }
        const float norm = sqrtf(square > 1e-30f ? square : 1e-30f);
        rivals.scales[c] = begin + c == 0 ? 0.0f : static_cast<float>(length / static_cast<double>(norm));
    }
    block_sync();
    float4 *directions = reinterpret_cast<float4 *>(rivals.directions);
    const float4 *scales = reinterpret_cast<const float4 *>(rivals.scales);
#pragma unroll 2
    for (int at = thread_index(); at < STRIDE * AT_ONCE / 4; at += THREADS) {
        const float4 scale = scales[at % (AT_ONCE / 4)];
        float4 u = directions[at];
        u.x *= scale.x, u.y *= scale.y, u.z *= scale.z, u.w *= scale.w;
        directions[at] = u;
    }
    block_sync();
}

// DOWN rows of features against 4 PARTS of the rivals at hand, summed in the order of features, as the CPU does; the
// next features are on their way meanwhile. Each row begins with what `total` holds.
template <int DOWN, int PARTS>
DEVICE void multiply_tile(const float4 *const *x, const float4 *directions, float (&total)[DOWN][4 * PARTS]) {
    constexpr int GROUPS = AT_ONCE / 4 / PARTS;
    float4 now[DOWN], next[DOWN];
#pragma unroll
    for (int d = 0; d < DOWN; d++) now[d] = read_kept(x[d]);
#pragma unroll 1
    for (int step = 0; step < STRIDE / 4; step++) {
        const int ahead = step + 1 < STRIDE / 4 ? step + 1 : step;
#pragma unroll
        for (int d = 0; d < DOWN; d++) next[d] = read_kept(x[d] + ahead);
#pragma unroll
        for (int q = 0; q < 4; q++) {
            float4 u[PARTS];
#pragma unroll
            for (int p = 0; p < PARTS; p++) u[p] = directions[(4 * step + q) * (AT_ONCE / 4) + p * GROUPS];
#pragma unroll
            for (int d = 0; d < DOWN; d++) {
                const float value = q == 0 ? now[d].x : q == 1 ? now[d].y : q == 2 ? now[d].z : now[d].w;
#pragma unroll
                for (int p = 0; p < PARTS; p++) {
                    total[d][4 * p] = fmaf(value, u[p].x, total[d][4 * p]);
                    total[d][4 * p + 1] = fmaf(value, u[p].y, total[d][4 * p + 1]);
                    total[d][4 * p + 2] = fmaf(value, u[p].z, total[d][4 * p + 2]);
                    total[d][4 * p + 3] = fmaf(value, u[p].w, total[d][4 * p + 3]);
                }
            }
        }
#pragma unroll
        for (int d = 0; d < DOWN; d++) now[d] = next[d];
    }
}

// Scores of rows by the rivals at hand. `row(i)` is where the features of a row are, `first(i)` what its sums begin
// with, and `keep(i, c, score)` is called for each column there is room for. All threads.
template <int DOWN, int PARTS, class Row, class First, class Keep>
DEVICE void score_rivals(const Rivals &rivals, int rows, const Row &row, const First &first, const Keep &keep) {
    constexpr int GROUPS = AT_ONCE / 4 / PARTS;
    for (int item = thread_index(); item < GROUPS * ((rows + DOWN - 1) / DOWN); item += THREADS) {
        const int top = item / GROUPS * DOWN, group = item % GROUPS;
        const float4 *x[DOWN];
        float total[DOWN][4 * PARTS];
#pragma unroll
        for (int d = 0; d < DOWN; d++) {
            const int i = smaller(top + d, rows - 1);
            x[d] = reinterpret_cast<const float4 *>(row(i));
#pragma unroll
            for (int c = 0; c < 4 * PARTS; c++) total[d][c] = first(i);
        }
        multiply_tile<DOWN, PARTS>(x, reinterpret_cast<const float4 *>(rivals.directions) + group, total);
#pragma unroll
        for (int d = 0; d < DOWN; d++) {
            if (top + d >= rows) continue;
#pragma unroll
            for (int c = 0; c < 4 * PARTS; c++) keep(top + d, 4 * (group + c / 4 * GROUPS) + c % 4, total[d][c]);
        }
    }
}

// Directions of winners among the rivals at hand, added to a thread's sums: a lane of a feature to each. Columns begin
// with a multiple of LANED, so that lanes are the CPU's. All threads.
DEVICE void add_winners(const Rivals &rivals, int begin, float (&sums)[SUMS]) {
    const int count = columns_from(begin);
#pragma unroll 1
    for (int first = 0; first < count; first += LANED)
#pragma unroll
        for (int m = 0; m < SUMS; m++) {
            // Unsigned, so that the compiler sees that a thread's lane is the same in all of its sums.
            const unsigned item = thread_index() + m * THREADS, j = item / LANED, c = first + item % LANED;
            if (j < STRIDE && c < count && rivals.wins[begin + c]) sums[m] += rivals.directions[j * AT_ONCE + c];
        }
}

// How many have won. All threads; begins after a barrier, and ends with one.
DEVICE int winners_of(const Rivals &rivals) {
    for (int lane = thread_index(); lane < LANED; lane += THREADS) {
        int count = 0;
        for (int c = lane; c < RANKERS; c += LANED) count += rivals.wins[c];
        rivals.counts[lane] = count;
    }
    block_sync();
    int winners = 0;
    for (int lane = 0; lane < LANED; lane++) winners += rivals.counts[lane];
    return winners;
}

// w <- w + step times the mean of the winners' directions, which the sums replace in memory. All threads.
DEVICE void follow_mean(const Rivals &rivals, const float (&sums)[SUMS], int winners, double step, double *weights,
                        float *rounded) {
    block_sync();
    float *lanes = rivals.directions;
#pragma unroll
    for (int m = 0; m < SUMS; m++) {
        const int item = thread_index() + m * THREADS;
        if (item < STRIDE * LANED) lanes[item % LANED * STRIDE + item / LANED] = sums[m];
    }
    block_sync();
    for (int j = thread_index(); j < rivals.features; j += THREADS) {
        float sum[4];
        for (int c = 0; c < 4; c++)
            sum[c] = (lanes[c * STRIDE + j] + lanes[(8 + c) * STRIDE + j]) +
                     (lanes[(4 + c) * STRIDE + j] + lanes[(12 + c) * STRIDE + j]);
        const float mean = ((sum[0] + sum[2]) + (sum[1] + sum[3])) / static_cast<float>(winners);
        const double moved = weights[j] + step * static_cast<double>(mean);
        weights[j] = moved;
        rounded[j] = static_cast<float>(moved);
    }
}
