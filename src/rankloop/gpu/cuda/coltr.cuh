// COLTR: rivals that are never shown, judged by the clicks on the current ranker's page; rankloop.learners.coltr.
#pragma once
#include "rivals.cuh"

// Settings of a run, in its tables.
#define DELTA 0
#define VARIANCE_WEIGHT 1

// How far down the page there were clicks; and the current ranker's log ratios, which are none. One warp.
DEVICE void learn(const Settings &, double *, double *, float *, int, double *, Page &page, int k, int) {
    int seen = 0;
    for (int t = 0; t < k; t++)
        if (page.clicks[t] >= 0.5) seen = t + 1;
    for (int t = lane_index(); t < k; t += LANES) page.notes[t] = 0.0f;
    if (lane_index() == 0) page.taught = seen;
    warp_sync();
}

// SNIPS + weight · √(Var/k) of a ranker's log ratios, which are so far apart in memory. What is not clicked on counts
// as a loss above the last click.
DEVICE float risk_of(const float *ratios, int apart, const Page &page, int k, double variance_weight) {
    float largest = ratios[0];
#pragma unroll 1
    for (int t = 1; t < k; t++) largest = ratios[t * apart] > largest ? ratios[t * apart] : largest;
    float weight = 0.0f, weighted_loss = 0.0f, squares = 0.0f, loss_squares = 0.0f;
#pragma unroll 1
    for (int t = 0; t < k; t++) {
        const float rho = exp32(ratios[t * apart] - largest);
        weight += rho;
        squares += rho * rho;
        if (t < page.taught - 1 && page.clicks[t] < 0.5) {
            weighted_loss += rho;
            loss_squares += rho * rho;
        }
    }
    const float mean = weighted_loss / weight;
    const float spread = mean * mean * squares + (1.0f - 2.0f * mean) * loss_squares;
    const float variance = (spread > 0.0f ? spread : 0.0f) / squares;
    const float root = static_cast<float>(variance_weight / sqrt(static_cast<double>(k)));
    return mean + root * sqrtf(variance);
}
