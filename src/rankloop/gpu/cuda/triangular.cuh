// rankloop.kernels.triangular on a block of threads: a thread to a column, or to each THREADS-th one, so that what it
// writes is its own. Sums run in the CPU's order; the dot product of rows in its eight lanes.
//
// COLUMNS, whole groups of eight, is given when this is compiled.
#pragma once
#include "portable.cuh"

#define MANY 10
#define FEW 3
#define SMALL 1e-290
#define ROUNDING 1e-13
#define EACH ((COLUMNS + THREADS - 1) / THREADS)   // columns of a thread at most
#define GROUPS (COLUMNS / 8)
#define TRIANGLE (8 * (GROUPS * COLUMNS - 4 * GROUPS * (GROUPS - 1)))

// An upper triangle lies packed: rows in groups of eight, each from the group's own first column on. Row i begins here;
// its column m is m further.
DEVICE int row_of(int i) {
    const int group = i / 8;
    return 8 * (group * COLUMNS - 4 * group * (group - 1)) + i % 8 * (COLUMNS - 8 * group) - 8 * group;
}

// What all threads are told of a dimension: the reflection, the new diagonal, and what is solved for there.
struct Head {
    double v[MANY];
    double first, beta, length, value;
    int64 folds;
};

// Said by the thread that has the dimension's column, once the dimensions before it are done.
template <int ROWS> DEVICE void lead(double diagonal, const double *own, double y, bool solves, Head &head) {
    double squares = 0.0;
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        head.v[k] = own[k];
        squares += own[k] * own[k];
    }
    head.folds = !(squares < SMALL);
    head.length = diagonal;
    if (head.folds) {
        const double length = sqrt(diagonal * diagonal + squares);
        head.first = -squares / (diagonal + length);
        head.beta = (diagonal + length) / (length * squares);
        head.length = length;
    }
    if (solves) head.value = y / head.length;
}

// UᵀU ← UᵀU + AᵀA for the rows that threads have in `own`, which are used up; and where asked for, y ← U⁻ᵀ y, since
// each dimension is solved for once its row is done. Without rows it does nothing but that. All threads.
template <int ROWS>
DEVICE void fold(double *U, int size, double (&own)[EACH][MANY], double (&y)[EACH], bool solves, Head *heads) {
    block_sync();
    if (thread_index() == 0) lead<ROWS>(U[0], own[0], y[0], solves, heads[0]);
#pragma unroll 1
    for (int j = 0; j < size; j++) {
        block_sync();
        // Two take turns: who is told of the next dimension has not to wait for those who still read of this one.
        const Head &head = heads[j & 1];
        double *row = U + row_of(j);
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const int m = thread_index() + e * THREADS;
            if (m < j || m >= COLUMNS) continue;
            double u = row[m];
            if (ROWS > 0 && head.folds) {
                double total = head.first * u;
#pragma unroll
                for (int k = 0; k < ROWS; k++) total = fma(head.v[k], own[e][k], total);
                total = -(head.beta * total);
                u = m == j ? head.length : fma(head.first, total, u);
#pragma unroll
                for (int k = 0; k < ROWS; k++) own[e][k] = m == j ? 0.0 : fma(head.v[k], total, own[e][k]);
                row[m] = u;
            }
            if (solves) y[e] = m == j ? head.value : y[e] - head.value * u;
            if (m == j + 1 && m < size) lead<ROWS>(U[row_of(m) + m], own[e], y[e], solves, heads[m & 1]);
        }
    }
}

// y ← U⁻ᵀ y. All threads; others may read `y` after a barrier.
DEVICE void solve_lower(double *U, int size, double *y, Head *heads) {
    double own[EACH][MANY], solved[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        const int m = thread_index() + e * THREADS;
        solved[e] = m < COLUMNS ? y[m] : 0.0;
    }
    fold<0>(U, size, own, solved, true, heads);
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        const int m = thread_index() + e * THREADS;
        if (m < COLUMNS) y[m] = solved[e];
    }
}

// One of the eight lanes of a row's dot product with y, from the group of column `start` on, without column `but`.
DEVICE double lane_dot(const double *row, const double *y, int start, int lane, int but) {
    double total = 0.0;
    for (int m = start + lane; m < COLUMNS; m += 8) total = fma(row[m], m == but ? 0.0 : y[m], total);
    return total;
}

DEVICE double tree_sum(const double *lanes) {
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// y ← U⁻¹ y from dimension `first` on. One warp.
DEVICE void solve_upper(const double *U, int size, double *y, int first, double *lanes) {
#pragma unroll 1
    for (int i = size - 1; i >= first; i--) {
        const double *row = U + row_of(i);
        for (int lane = lane_index(); lane < 8; lane += LANES) lanes[lane] = lane_dot(row, y, i - i % 8, lane, i);
        warp_sync();
        if (lane_index() == 0) y[i] = (y[i] - tree_sum(lanes)) / row[i];
        warp_sync();
    }
}

// V = U⁻¹ from dimension `first` on. All threads, a column each: nobody waits.
DEVICE void invert(const double *U, int size, int first, double *V) {
    for (int m = thread_index(); m < size; m += THREADS)
        for (int i = m; i >= first; i--) {
            const double *row = U + row_of(i);
            const double pivot = 1.0 / row[i];
            double value = m == i ? pivot : 0.0;
            for (int k = i + 1; k <= m; k++) {
                const double factor = pivot * row[k];
                if (factor != 0.0) value -= factor * V[row_of(k) + m];
            }
            V[row_of(i) + m] = value;
        }
}

// `out` ± Σ_{j < count} U_ji U_jm, four rows at a time.
DEVICE double add_rows_above(const double *U, int i, int m, int count, double sign, double out) {
    const int whole = count - count % 4;
    for (int j = 0; j < whole; j += 4) {
        const double *at[4] = {U + row_of(j), U + row_of(j + 1), U + row_of(j + 2), U + row_of(j + 3)};
        out += (sign * at[0][i] * at[0][m] + sign * at[1][i] * at[1][m]) +
               (sign * at[2][i] * at[2][m] + sign * at[3][i] * at[3][m]);
    }
    for (int j = whole; j < count; j++) out += sign * U[row_of(j) + i] * U[row_of(j) + m];
    return out;
}

// M = UᵀU. All threads, a column each: nobody waits.
DEVICE void square(const double *U, int size, double *M) {
    for (int m = thread_index(); m < COLUMNS; m += THREADS)
        for (int i = 0; i < size && i <= m; i++) M[row_of(i) + m] = add_rows_above(U, i, m, i + 1, 1.0, 0.0);
}

// U with UᵀU = M. All threads; `pivot` is a number that they share.
DEVICE void factorise(const double *M, int size, double *U, double *pivot) {
#pragma unroll 1
    for (int i = 0; i < size; i++) {
        double sums[EACH];
        // The row before stands, and nobody reads its pivot any more.
        block_sync();
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const int m = thread_index() + e * THREADS;
            if (m < i || m >= COLUMNS) continue;
            const double whole = M[row_of(i) + m];
            sums[e] = add_rows_above(U, i, m, i, -1.0, whole);
            if (m == i) *pivot = sqrt(larger(sums[e], ROUNDING * whole));
        }
        block_sync();
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const int m = thread_index() + e * THREADS;
            if (m < i - i % 8 || m >= COLUMNS) continue;
            U[row_of(i) + m] = m < i ? 0.0 : m == i ? *pivot : sums[e] / *pivot;
        }
    }
}

// out ← M x. All threads, which may read all of M and x; a dimension each, in the order in which the CPU adds.
DEVICE void times_symmetric(const double *M, int size, const double *x, double *out) {
    for (int i = thread_index(); i < size; i += THREADS) {
        const double *row = M + row_of(i);
        double sum = row[i] * x[i], total = 0.0;
        for (int above = 0; above < i; above++) sum += M[row_of(above) + i] * x[above];
        for (int m = i + 1; m < size; m++) total += row[m] * x[m];
        out[i] = sum + total;
    }
}
