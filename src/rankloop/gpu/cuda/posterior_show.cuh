// Posterior: the scores that a page is drawn by; rankloop.learners.posterior. All threads of a block.
#pragma once
#include "posterior.cuh"

#define LEAST_SPREAD 1e-3

// Put what is believed of the candidates in the place of what their features say. Ends with a barrier.
DEVICE void recall_all(const Belief &belief, float *scores, int n, int64 begin) {
    const Merits &merits = belief.merits;
    if (*merits.taken == 0.0) return;
    const int step = static_cast<int>(sample_step(n));
    double centre = 0.0, among = 0.0;
    for (int i = 0; i < n; i += step) {
        centre += static_cast<double>(scores[i]);
        among += 1.0;
    }
    centre /= among;
    block_sync();
    for (int i = thread_index(); i < n; i += THREADS) {
        const int64 at = find(merits, begin + i + 1);
        if (at >= 0 && merits.informed[at] > 0.0)
            scores[i] = static_cast<float>(centre + believed_at(merits, at, static_cast<double>(scores[i]) - centre));
    }
    block_sync();
}

// κ now: most at first, when a wrong turn would last longest.
DEVICE double curiosity(const Belief &belief) {
    const double *tables = belief.tables;
    return tables[EXPLORATION] + tables[EARLY_EXPLORATION] * exp_(-belief.state[PAGES] / tables[EARLY_PAGES]);
}

// κ Λ^{−½} ξ of the weights, in the features' own units. Ends with a barrier.
DEVICE void draw_direction(const Belief &belief, uint64 seed, int64 impression, double kappa) {
    const uint64 key = stream_key(seed, DIRECTIONS, impression);
    for (int m = thread_index(); m < COLUMNS; m += THREADS) {
        const int j = m - belief.leading;
        belief.mean[m] = j >= 0 && m < belief.size ? static_cast<double>(normal(key, j, belief.features)) : 0.0;
    }
    block_sync();
    if (warp_index() == 0) solve_upper(belief.root, belief.size, belief.mean, belief.leading, belief.told->lanes);
    block_sync();
    for (int m = belief.leading + thread_index(); m < belief.size; m += THREADS) {
        const double spread = belief.spread[m];
        belief.direction[m - belief.leading] = spread > 0.0 ? static_cast<float>(kappa * belief.mean[m] / spread) : 0.0f;
    }
    block_sync();
}

// The standard deviation of a list. One thread.
DEVICE double deviation(const float *values, int n) {
    double mean = 0.0, squares = 0.0;
    for (int i = 0; i < n; i++) mean += static_cast<double>(values[i]);
    mean /= n;
    for (int i = 0; i < n; i++) {
        const double apart = static_cast<double>(values[i]) - mean;
        squares += apart * apart;
    }
    return sqrt(squares / n);
}

// The mean in the scores' own precision. One thread.
DEVICE float mean_score(const float *scores, int n) {
    float total = 0.0f;
    for (int i = 0; i < n; i++) total += scores[i];
    return static_cast<float>(static_cast<double>(total) / static_cast<double>(n));
}

// Scores over the temperature, about their mean, and the keys by which documents come to the page.
DEVICE void scale_scores(const Belief &belief, const Arrays &arrays, int n, bool curious) {
    float *scores = arrays.scores;
    double *sums = belief.told->sums;
    // Sums in the order of candidates, each in a warp of its own.
    for (int part = warp_index(); part < 3; part += WARPS)
        if (lane_index() == 0)
            sums[part] = part == 2   ? static_cast<double>(mean_score(scores, n))
                         : part == 1 ? deviation(scores, n)
                         : curious   ? deviation(belief.moved, n)
                                     : 0.0;
    block_sync();
    double temperature = larger(belief.tables[SOFTNESS] * sums[0], LEAST_SPREAD * sums[1]);
    if (temperature == 0.0) temperature = 1.0;
    const float centre = static_cast<float>(sums[2]);
    int64 *keys = reinterpret_cast<int64 *>(arrays.scratch);
    for (int i = thread_index(); i < n; i += THREADS) {
        scores[i] = static_cast<float>(static_cast<double>(scores[i] - centre) / temperature);
        keys[i] = sortable64(static_cast<double>(scores[i]) - arrays.noise[i]);
    }
}

// From the ranker's scores to those of weights drawn from the posterior. Begins after a barrier, and ends with one.
DEVICE void draw_scores(const Shared &shared, const Arrays &arrays, const Belief &belief, const float *X, int n,
                        int64 begin, int64 impression) {
    recall_all(belief, arrays.scores, n, begin);
    const double kappa = curiosity(belief);
    const bool curious = belief.state[PRECISION] > 0.0 && kappa > 0.0;
    if (curious) {
        draw_direction(belief, shared.settings[0].seed, impression, kappa);
        Arrays drawn = arrays;
        drawn.rounded = belief.direction, drawn.scores = belief.moved;
        score(X, n, shared, drawn);
        block_sync();
        for (int i = thread_index(); i < n; i += THREADS) arrays.scores[i] += belief.moved[i];
        block_sync();
    }
    scale_scores(belief, arrays, n, curious);
    block_sync();
}

// A run's belief as it was left, in the words of its own. `arrays.grades` is the last that a block has in shared memory.
DEVICE Belief carry_belief_in(const Problem &problem, Shared &shared, const Arrays &arrays) {
    const int64 run = shared.run[0];
    double *words = problem.own + run * problem.words;
    Belief belief = belief_of(problem, words, behind(arrays));
    belief.state = shared.state[0], belief.tables = shared.tables[0];
    belief.weights = arrays.weights, belief.rounded = arrays.rounded;
    find_merits(belief);
    if (belief.root != words)
        for (int at = thread_index(); at < TRIANGLE; at += THREADS) belief.root[at] = words[at];
    for (int j = thread_index(); j < STRIDE; j += THREADS) belief.direction[j] = 0.0f;
    // Until the first page, the weights are those that were given.
    if (belief.state[PAGES] == 0.0)
        for (int j = thread_index(); j < belief.features; j += THREADS) belief.start[belief.leading + j] = belief.weights[j];
    return belief;
}

DEVICE void carry_belief_out(const Problem &problem, const Shared &shared, const Belief &belief) {
    double *words = problem.own + static_cast<int64>(shared.run[0]) * problem.words;
    if (belief.root != words)
        for (int at = thread_index(); at < TRIANGLE; at += THREADS) words[at] = belief.root[at];
}
