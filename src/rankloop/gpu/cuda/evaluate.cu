// rankloop.evaluation on a device: rankers on held-out queries. Scores are summed over the features in order, equal
// scores rank by lower row, and means are summed as NumPy sums: the same bits as on the CPU.
//
// DEPTH, how many ranks are looked at, is given when this is compiled.
#include "measures.cuh"

// A split, so many rankers, and where their values go.
struct Evaluation {
    const float *features;
    const int64 *offsets;
    const uint8 *grades;
    int64 queries, stride, documents, rankers;
    const float *weights;    // (stride, rankers)
    float *scores;           // (documents, rankers)
    Measures measures;
    double *values;          // (metrics, queries, rankers)
    const int64 *kept;       // (metrics, queries), the queries that a mean is over
    const int64 *counts;     // (metrics), how many those are
    double *means;           // (metrics, rankers)
};

// Keeps the best DEPTH documents in order; a later one stays behind an equal earlier one.
struct Best {
    float score[DEPTH];
    int row[DEPTH];
    int filled;
};

DEVICE void consider(Best &best, float score, int row) {
    if (best.filled == DEPTH && !(score > best.score[DEPTH - 1])) return;
    bool shifted = false;
#pragma unroll
    for (int d = 0; d < DEPTH; d++) {
        if (shifted || d >= best.filled || score > best.score[d]) {
            const float other = best.score[d];
            const int its = best.row[d];
            best.score[d] = score, best.row[d] = row;
            score = other, row = its;
            shifted = true;
        }
    }
    if (best.filled < DEPTH) best.filled++;
}

// One ranker on one query.
DEVICE void rank_query(const Evaluation &evaluation, int64 query, int64 ranker) {
    const Measures &measures = evaluation.measures;
    const int64 begin = evaluation.offsets[query];
    const int n = static_cast<int>(evaluation.offsets[query + 1] - begin);
    Best best;
    best.filled = 0;
#pragma unroll
    for (int d = 0; d < DEPTH; d++) best.score[d] = 0.0f, best.row[d] = 0;
    for (int i = 0; i < n; i++) consider(best, evaluation.scores[(begin + i) * evaluation.rankers + ranker], i);
    int grades[DEPTH];
#pragma unroll
    for (int d = 0; d < DEPTH; d++) grades[d] = d < best.filled ? evaluation.grades[begin + best.row[d]] : 0;
    for (int m = 0; m < measures.metrics; m++)
        evaluation.values[(m * measures.queries + query) * evaluation.rankers + ranker] =
            measure(metric_of(measures, m), measures.norm[m * measures.queries + query], grades, best.filled);
}

// A sum in halves, and in eight lanes where a half has 128 numbers or fewer: NumPy's.
struct Values {
    const double *values;
    const int64 *kept;
    int64 rankers;
};
DEVICE double at(const Values &values, int64 i) { return values.values[values.kept[i] * values.rankers]; }

DEVICE double sum_in_lanes(const Values &values, int64 first, int64 n) {
    if (n < 8) {
        double total = 0.0;
        for (int64 i = 0; i < n; i++) total += at(values, first + i);
        return total;
    }
    double r[8];
#pragma unroll
    for (int k = 0; k < 8; k++) r[k] = at(values, first + k);
    int64 i = 8;
    for (; i < n - n % 8; i += 8)
#pragma unroll
        for (int k = 0; k < 8; k++) r[k] += at(values, first + i + k);
    double total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for (; i < n; i++) total += at(values, first + i);
    return total;
}

DEVICE double sum_in_halves(const Values &values, int64 count) {
    // Halves that wait for their other half, and what the finished ones gave.
    int64 first[40], size[40];
    double left[40];
    int stage[40], top = 0;
    double result = 0.0;
    first[0] = 0, size[0] = count, stage[0] = 0;
    while (top >= 0) {
        const int64 half = (size[top] / 2) - (size[top] / 2) % 8;
        if (size[top] <= 128) {
            result = sum_in_lanes(values, first[top], size[top]);
            top--;
        } else if (stage[top] == 0) {
            stage[top] = 1;
            first[top + 1] = first[top], size[top + 1] = half, stage[top + 1] = 0;
            top++;
        } else if (stage[top] == 1) {
            left[top] = result;
            stage[top] = 2;
            first[top + 1] = first[top] + half, size[top + 1] = size[top] - half, stage[top + 1] = 0;
            top++;
        } else {
            result = left[top] + result;
            top--;
        }
    }
    return result;
}

DEVICE void mean_over_queries(const Evaluation &evaluation, int64 metric, int64 ranker) {
    const int64 queries = evaluation.queries, count = evaluation.counts[metric];
    const Values values = {evaluation.values + metric * queries * evaluation.rankers + ranker,
                           evaluation.kept + metric * queries, evaluation.rankers};
    evaluation.means[metric * evaluation.rankers + ranker] = sum_in_halves(values, count) / static_cast<double>(count);
}

#ifdef __CUDACC__

#define TILE_ROWS 64
#define TILE_COLUMNS 128
#define DEEP 8

extern "C" {

// S = X W: a block has 64 documents and 128 rankers, a thread four of the one and eight of the other.
__global__ void __launch_bounds__(256) score_all(const Evaluation *problem) {
    const Evaluation &evaluation = *problem;
    __shared__ float rows[DEEP][TILE_ROWS + 4];
    __shared__ float columns[DEEP][TILE_COLUMNS];
    const int64 first_row = static_cast<int64>(blockIdx.x) * TILE_ROWS, first_column = static_cast<int64>(blockIdx.y) * TILE_COLUMNS;
    const int t = threadIdx.x, r = t / 16 * 4, c = t % 16 * 4;
    float total[4][8] = {};
    for (int64 deep = 0; deep < evaluation.stride; deep += DEEP) {
        if (t < 128) {
            const int64 row = first_row + t / 2, column = deep + t % 2 * 4;
            float4 x = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (row < evaluation.documents && column < evaluation.stride)
                x = __ldg(reinterpret_cast<const float4 *>(evaluation.features + row * evaluation.stride + column));
            rows[t % 2 * 4][t / 2] = x.x, rows[t % 2 * 4 + 1][t / 2] = x.y;
            rows[t % 2 * 4 + 2][t / 2] = x.z, rows[t % 2 * 4 + 3][t / 2] = x.w;
        }
        const int64 depth = deep + t / 32;
        float4 w = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (depth < evaluation.stride)
            w = __ldg(reinterpret_cast<const float4 *>(evaluation.weights + depth * evaluation.rankers + first_column + t % 32 * 4));
        *reinterpret_cast<float4 *>(&columns[t / 32][t % 32 * 4]) = w;
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEEP; d++) {
            const float4 x = *reinterpret_cast<const float4 *>(&rows[d][r]);
            const float4 a = *reinterpret_cast<const float4 *>(&columns[d][c]);
            const float4 b = *reinterpret_cast<const float4 *>(&columns[d][c + 64]);
            const float xs[4] = {x.x, x.y, x.z, x.w}, ws[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) total[i][j] = fmaf(xs[i], ws[j], total[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int64 row = first_row + r + i;
        if (row >= evaluation.documents) break;
        float *out = evaluation.scores + row * evaluation.rankers + first_column + c;
        *reinterpret_cast<float4 *>(out) = make_float4(total[i][0], total[i][1], total[i][2], total[i][3]);
        *reinterpret_cast<float4 *>(out + 64) = make_float4(total[i][4], total[i][5], total[i][6], total[i][7]);
    }
}

__global__ void __launch_bounds__(128) rank_all(const Evaluation *problem) {
    const int64 ranker = static_cast<int64>(blockIdx.y) * 128 + threadIdx.x;
    if (ranker < problem->rankers) rank_query(*problem, blockIdx.x, ranker);
}

__global__ void __launch_bounds__(128) average_all(const Evaluation *problem) {
    const int64 ranker = static_cast<int64>(blockIdx.x) * 128 + threadIdx.x;
    if (ranker < problem->rankers) mean_over_queries(*problem, blockIdx.y, ranker);
}

}

#else

extern "C" void evaluate_on_host(const Evaluation *problem) {
    const Evaluation &e = *problem;
    for (int64 i = 0; i < e.documents; i++)
        for (int64 r = 0; r < e.rankers; r++) {
            float total = 0.0f;
            for (int64 j = 0; j < e.stride; j++) total = fmaf(e.features[i * e.stride + j], e.weights[j * e.rankers + r], total);
            e.scores[i * e.rankers + r] = total;
        }
    for (int64 r = 0; r < e.rankers; r++) {
        for (int64 q = 0; q < e.queries; q++) rank_query(e, q, r);
        for (int64 m = 0; m < e.measures.metrics; m++) mean_over_queries(e, m, r);
    }
}

#endif
