// rankloop.learners.prior and .common_factor: spreads, units, and the prior put in anew. All threads, columns to threads as in
// `triangular.cuh`; where one of them adds up, the others wait for its sums.
#pragma once
#include "belief.cuh"

#define GIVEN 0.5
#define LEVEL (-1.5)
#define LEVEL_VARIANCE 4.0
#define SETTLED 1024
#define ENOUGH 1024

// Let one query's candidates into the running means of variances within queries; `centre` becomes their mean.
DEVICE void gather_spread(const Belief &belief, const float *X, int n, double pages) {
    const int step = static_cast<int>(sample_step(n));
    const double among = static_cast<double>((n + step - 1) / step), keep = 1.0 - 1.0 / pages;
    for (int m = belief.leading + thread_index(); m < belief.size; m += THREADS) {
        const float *x = X + (m - belief.leading);
        const double first = static_cast<double>(x[0]);
        double centre = 0.0, squares = 0.0;
        for (int i = step; i < n; i += step) {
            const double apart = static_cast<double>(x[static_cast<int64>(i) * STRIDE]) - first;
            centre += apart;
            squares += apart * apart;
        }
        const double mean = centre / among;
        const double variance = larger(squares / among - mean * mean, 0.0);
        belief.centre[m] = mean + first;
        belief.within[m] = keep * belief.within[m] + variance / pages;
    }
}

// How far each candidate of the sample is from the first one by these weights. A thread to a candidate.
DEVICE void compare_along(const Belief &belief, const double *weights, const float *X, int n, double *apart) {
    const int step = static_cast<int>(sample_step(n));
    for (int at = thread_index(); (at + 1) * step < n; at += THREADS) {
        const float *x = X + static_cast<int64>((at + 1) * step) * STRIDE;
        double sum = 0.0;
        for (int j = 0; j < belief.features; j++)
            sum += weights[belief.leading + j] * (static_cast<double>(x[j]) - static_cast<double>(X[j]));
        apart[at] = sum;
    }
}

// The running variance of the given weights' scores. One thread.
DEVICE void gather_given(const Belief &belief, int n, double pages, const double *apart) {
    const int step = static_cast<int>(sample_step(n));
    const double among = static_cast<double>((n + step - 1) / step), keep = 1.0 - 1.0 / pages;
    double mean = 0.0, mean_square = 0.0;
    for (int at = 0; (at + 1) * step < n; at++) {
        mean += apart[at] / among;
        mean_square += apart[at] * apart[at] / among;
    }
    const double variance = larger(mean_square - mean * mean, 0.0);
    belief.state[START_WITHIN] = keep * belief.state[START_WITHIN] + variance / pages;
}

// Whether these candidates are looked through for what features have in common.
DEVICE bool looks_for_common(const Belief &belief, double pages) {
    return (belief.tables[COMMON_WEIGHT] != 0.0 || belief.tables[COMMON_VARIANCE] > 0.0) && pages >= 2.0 && pages <= ENOUGH;
}

// b for features as they come; as long as it is not known, the way from the middle to the first candidate.
DEVICE void look_along(const Belief &belief, const float *X) {
    const bool known = belief.state[COMMON] > 0.0;
    double length = 1.0;
    if (!known) {
        double squares = 0.0;
        for (int m = belief.leading; m < belief.size; m++) {
            const double unit = sqrt(belief.within[m]);
            const double own = unit > 0.0 ? (static_cast<double>(X[m - belief.leading]) - belief.centre[m]) / unit : 0.0;
            squares += own * own;
        }
        if (squares > 0.0) length = sqrt(squares);
    }
    for (int m = belief.leading + thread_index(); m < belief.size; m += THREADS) {
        const double unit = sqrt(belief.within[m]);
        double along = 0.0;
        if (unit > 0.0) {
            const double first = (static_cast<double>(X[m - belief.leading]) - belief.centre[m]) / unit;
            along = (known ? belief.common[m] : first) / unit;
            if (!known) along /= length;
        }
        belief.per_unit[m] = along;
    }
}

// Let one query's candidates into v; `apart` is how far they are from the first one along b.
DEVICE void gather_common(const Belief &belief, const float *X, int n, double pages, const double *apart) {
    const int step = static_cast<int>(sample_step(n));
    const double among = static_cast<double>((n + step - 1) / step), others = pages - 1.0, keep = 1.0 - 1.0 / others;
    double mean = 0.0;
    for (int at = 0; (at + 1) * step < n; at++) mean += apart[at] / among;
    for (int m = belief.leading + thread_index(); m < belief.size; m += THREADS) {
        if (!(belief.within[m] > 0.0)) continue;
        const float *x = X + (m - belief.leading);
        const double first = static_cast<double>(x[0]);
        double sum = 0.0;
        for (int at = 0; (at + 1) * step < n; at++)
            sum += apart[at] * (static_cast<double>(x[static_cast<int64>((at + 1) * step) * STRIDE]) - first);
        const double brought = (sum / among - mean * (belief.centre[m] - first)) / sqrt(belief.within[m]);
        belief.gathered[m] = keep * belief.gathered[m] + brought / others;
    }
}

// b and λ, from what has been gathered. Begins and ends with a barrier.
DEVICE void settle_common(const Belief &belief) {
    block_sync();
    double length = 0.0;
    for (int m = belief.leading; m < belief.size; m++) length += belief.gathered[m] * belief.gathered[m];
    const double variance = sqrt(length);
    block_sync();
    if (length == 0.0) return;
    if (thread_index() == 0) belief.state[COMMON] = variance;
    for (int m = belief.leading + thread_index(); m < belief.size; m += THREADS)
        belief.common[m] = belief.gathered[m] / variance;
    block_sync();
}

// |a|²; 0 where features have nothing in common.
DEVICE double common_share(const Belief &belief) {
    const double variance = belief.state[COMMON];
    return variance > 1.0 ? (variance - 1.0) / (variance * variance) : 0.0;
}

// How much of the prior's precision along b its own variance takes.
DEVICE double common_part(const Belief &belief) {
    const double ratio = belief.state[PRECISION] * belief.tables[COMMON_VARIANCE] * common_share(belief);
    return 1.0 - 1.0 / (1.0 + ratio);
}

// What is believed beforehand of the weights is so many times b; given weights are believed instead.
DEVICE double common_mean(const Belief &belief) {
    if (belief.state[START_SPREAD] > 0.0) return 0.0;
    double total = 0.0, varying = 0.0;
    for (int m = belief.leading; m < belief.size; m++) {
        total += belief.common[m];
        varying += belief.common[m] != 0.0;
    }
    const double agreement = varying > 0.0 ? total / sqrt(varying) : 0.0;
    return belief.tables[COMMON_WEIGHT] * agreement * sqrt(common_share(belief));
}

// Whether the prior is renewed after so many pages: 1, 2, 3, 4, 6, 8, 12 … 1024, 2048, 3072 …
DEVICE bool is_due(int64 pages) {
    if (pages >= SETTLED) return pages % SETTLED == 0;
    while (pages % 2 == 0) pages /= 2;
    return pages == 1 || pages == 3;
}

// b may have changed since the last page: its variance grows by that of one step of a random walk.
DEVICE void let_level_drift(const Belief &belief) {
    double *U = belief.root;
    const double drift = belief.tables[LEVEL_DRIFT], variance = drift * drift;
    const double root = sqrt(1.0 + variance * (U[0] * U[0]));
    block_sync();
    for (int m = thread_index(); m < COLUMNS; m += THREADS) U[m] /= root;
}

// Sums over what the weights are known by: what remains unknown of them, their squares, and the given direction. One
// thread; `inverse` is that of the root.
DEVICE void weigh(const Belief &belief, const double *inverse) {
    double trace = 0.0, squares = 0.0, along = 0.0, length = 0.0, varying = 0.0, common = 0.0;
    const double expected = common_mean(belief);
    for (int m = belief.leading; m < belief.size; m++) {
        if (belief.spread[m] > 0.0) {
            const double *row = inverse + row_of(m);
            for (int other = m; other < belief.size; other++) trace += row[other] * row[other];
            varying += 1.0;
        }
        if (expected != 0.0) belief.mean[m] -= expected * belief.common[m];
        const double own = belief.mean[m], given = belief.start[m] * belief.spread[m];
        squares += own * own;
        along += own * given;
        length += given * given;
        common += given * belief.common[m];
    }
    double *sums = belief.told->sums;
    sums[0] = trace, sums[1] = squares, sums[2] = along, sums[3] = length, sums[4] = varying, sums[5] = common;
    sums[6] = varying;
}

// The direction of given weights has a prior of its own: their solved column is in `gradient`. One thread.
DEVICE void leave_given_out(const Belief &belief) {
    double *sums = belief.told->sums;
    const double along = sums[2], length = sums[3];
    for (int i = 0; i < COLUMNS; i++) sums[0] -= belief.gradient[i] * belief.gradient[i] / length;
    sums[1] -= along * along / length;
    sums[6] -= 1.0;
}

// So has that of the common factor, in part; of it, what it has beside the given weights. Ends with a barrier.
DEVICE void leave_common_out(const Belief &belief, double taken) {
    double *sums = belief.told->sums, *own = belief.gradient;
    const double length = sums[3], share = length > 0.0 ? sums[5] / length : 0.0;
    for (int m = thread_index(); m < COLUMNS; m += THREADS)
        own[m] = m >= belief.leading && m < belief.size
                     ? belief.common[m] - share * belief.start[m] * belief.spread[m]
                     : 0.0;
    block_sync();
    double along = 0.0;
    if (thread_index() == 0) {
        for (int m = belief.leading; m < belief.size; m++) {
            along += own[m] * belief.mean[m];
            sums[6] -= taken * own[m] * own[m];
        }
    }
    block_sync();
    solve_lower(belief.root, belief.size, own, belief.told->heads);
    block_sync();
    if (thread_index() == 0) {
        const double part = taken * (2.0 - taken);
        for (int i = 0; i < COLUMNS; i++) sums[0] -= part * own[i] * own[i];
        sums[1] -= part * along * along;
    }
    block_sync();
}

// V by the evidence, from these sums. One thread.
DEVICE void settle_variance(const Belief &belief) {
    const double *sums = belief.told->sums, *tables = belief.tables;
    const double trace = sums[0], squares = sums[1], free = sums[6], features = larger(sums[4], 1.0);
    const double determined = larger(free - belief.state[PRECISION] * trace, 0.0);
    const double guess = tables[PRIOR_WEIGHT], first = tables[PRIOR_VARIANCE] / features;
    belief.state[SCORE_VARIANCE] = features * (guess * first + larger(squares, 0.0)) / (guess + determined);
}

DEVICE void weigh_prior(const Belief &belief) {
    invert(belief.root, belief.size, belief.leading, belief.square);
    in_units(belief);
    for (int m = thread_index(); m < COLUMNS; m += THREADS)
        belief.gradient[m] = m >= belief.leading && m < belief.size ? belief.start[m] * belief.spread[m] : 0.0;
    block_sync();
    if (thread_index() == 0) weigh(belief, belief.square);
    block_sync();
    if (belief.told->sums[3] > 0.0) {
        solve_lower(belief.root, belief.size, belief.gradient, belief.told->heads);
        block_sync();
        if (thread_index() == 0) leave_given_out(belief);
        block_sync();
    }
    const double taken = common_part(belief);
    if (taken > 0.0) leave_common_out(belief, taken);
    if (thread_index() == 0) settle_variance(belief);
}

// Λ₀ and Λ₀ m₀ in the present units, added to M and to η, or taken away. Begins and ends with a barrier.
DEVICE void add_prior(const Belief &belief, double sign) {
    double *M = belief.square, *eta = belief.gradient, *own = belief.mean;
    const double *state = belief.state, *tables = belief.tables;
    block_sync();
    const double precision = state[PRECISION], start_spread = state[START_SPREAD], taken = common_part(belief);
    const double *b = belief.common;
    for (int m = thread_index(); m < belief.size; m += THREADS) {
        const double part = sign / (m == 0 ? LEVEL_VARIANCE : tables[EXAMINATION_VARIANCE]);
        M[row_of(m) + m] += m < belief.leading ? part : sign * precision;
        if (m < belief.leading) eta[m] += part * (m == 0 ? LEVEL : tables[FIRST_EXAMINATION + m]);
        else if (start_spread != 0.0) own[m] = belief.start[m] * belief.spread[m] / start_spread;
    }
    block_sync();
    if (taken > 0.0)
        for (int m = belief.leading + thread_index(); m < belief.size; m += THREADS)
            for (int i = belief.leading; i <= m; i++) M[row_of(i) + m] -= sign * precision * taken * b[i] * b[m];
    if (start_spread == 0.0) {
        const double expected = common_mean(belief);
        if (expected != 0.0)
            for (int m = belief.leading + thread_index(); m < belief.size; m += THREADS)
                eta[m] += sign * precision * (1.0 - taken) * expected * b[m];
        block_sync();
        return;
    }
    double common = 0.0, squares = 0.0;
    for (int m = belief.leading; m < belief.size && taken > 0.0; m++) common += own[m] * b[m];
    for (int m = belief.leading; m < belief.size; m++) squares += own[m] * (own[m] - taken * common * b[m]);
    const double ratio = precision / tables[START_PAGES], shrink = ratio / (1.0 + ratio * squares);
    for (int m = belief.leading + thread_index(); m < belief.size; m += THREADS) {
        const double here = own[m] - taken * common * b[m];
        eta[m] += sign * GIVEN * precision * (1.0 - shrink * squares) * here;
        for (int i = belief.leading; i <= m; i++)
            M[row_of(i) + m] -= sign * precision * shrink * (own[i] - taken * common * b[i]) * here;
    }
    block_sync();
}

// From the old units to the spreads as they are known now; of what pages taught, `kept` stays.
DEVICE void change_units(const Belief &belief, double kept) {
    double *M = belief.square, *eta = belief.gradient, *ratio = belief.mean, *state = belief.state;
    for (int m = thread_index(); m < COLUMNS; m += THREADS) {
        ratio[m] = 1.0;
        if (m < belief.leading || m >= belief.size) continue;
        const double now = sqrt(belief.within[m]);
        ratio[m] = now > 0.0 ? belief.spread[m] / now : 0.0;
        belief.spread[m] = now;
    }
    block_sync();
    if (thread_index() == 0) {
        double varying = 0.0;
        for (int m = belief.leading; m < belief.size; m++) varying += belief.spread[m] > 0.0;
        state[START_SPREAD] = sqrt(state[START_WITHIN]);
        state[PRECISION] = larger(varying, 1.0) / state[SCORE_VARIANCE];
    }
    for (int m = thread_index(); m < belief.size; m += THREADS) {
        eta[m] *= kept * ratio[m];
        for (int i = 0; i <= m; i++) M[row_of(i) + m] *= kept * ratio[i] * ratio[m];
    }
}

// Put the prior in anew, in units of the spreads as they are known now. A barrier comes after it.
DEVICE void renew(const Belief &belief, double kept) {
    double *M = belief.square, *eta = belief.gradient, *state = belief.state;
    if (state[PRECISION] > 0.0) {
        weigh_prior(belief);
        square(belief.root, belief.size, M);
        in_units(belief);
        block_sync();
        times_symmetric(M, belief.size, belief.mean, eta);
        add_prior(belief, -1.0);
    } else {
        for (int at = thread_index(); at < TRIANGLE; at += THREADS) M[at] = 0.0;
        for (int m = thread_index(); m < COLUMNS; m += THREADS) eta[m] = 0.0;
    }
    change_units(belief, kept);
    settle_common(belief);
    add_prior(belief, 1.0);
    factorise(M, belief.size, belief.root, &belief.told->sums[0]);
    solve_lower(belief.root, belief.size, eta, belief.told->heads);
    block_sync();
    if (warp_index() == 0) solve_upper(belief.root, belief.size, eta, 0, belief.told->lanes);
    block_sync();
    for (int m = thread_index(); m < belief.size; m += THREADS) {
        const int j = m - belief.leading;
        if (m == 0) state[LEVEL_NOW] = eta[0];
        else if (m < belief.leading) state[LOG_EXAMINATION + m] = eta[m];
        else if (belief.spread[m] > 0.0) set_weight(belief, j, eta[m] / belief.spread[m]);
        else if (state[START_SPREAD] > 0.0) set_weight(belief, j, GIVEN * belief.start[m] / state[START_SPREAD]);
    }
}
