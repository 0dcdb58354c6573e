// PDGD: preferences of clicked documents over unclicked ones; rankloop.learners.pdgd.
#pragma once
#include "policy.cuh"

// The gradient of the documents shown, in `page.returns`; their places in the order of documents, in `page.order`.
DEVICE void learn(const Settings &settings, double *, double *state, float *scores, int n, double *scratch, Page &page,
                  int k, int) {
    const int lane = lane_index();
    int last = -2, clicked = 0;
    for (int t = 0; t < k; t++)
        if (page.clicks[t] >= 0.5) last = t;
    const int seen = smaller(last + 2, k);
    for (int t = 0; t < seen; t++) clicked += page.clicks[t] >= 0.5;
    const bool taught = seen >= 2 && 0 < clicked && clicked < seen;
    if (taught) {
        log_remaining(scores, n, settings.temperature, scratch, page, k);
#pragma unroll 1
        for (int t = lane; t < seen; t += LANES) {
            const Two both = exp_both(page.z[t] - page.remaining[t], page.remaining[t + 1] - page.remaining[t]);
            page.own[t] = both.a, page.kept[t] = both.b;
        }
        warp_sync();
        // The scratch has done its work: rest[lower][t], then the slope of each pair.
        double *rest = scratch, *slopes = scratch + k * k;
#pragma unroll 1
        for (int lower = 1 + lane; lower < seen; lower += LANES) {
            double sum = page.kept[lower];
            rest[lower * k + lower] = sum;
            for (int t = lower - 1; t >= 0; t--) {
                sum = sum * page.kept[t] + page.own[t];
                rest[lower * k + t] = sum;
            }
        }
        warp_sync();
#pragma unroll 1
        for (int pair = lane; pair < seen * seen; pair += LANES) {
            const int lower = pair / seen, upper = pair % seen;
            if (upper >= lower) continue;
            double slope = 0.0;
            if ((page.clicks[upper] >= 0.5) != (page.clicks[lower] >= 0.5)) {
                double ratio = 1.0;
                for (int t = upper + 1; t <= lower; t++)
                    ratio *= exp_(page.z[upper] - page.remaining[t]) + rest[lower * k + t];
                const double s = page.z[upper] - page.z[lower];
                const double e = exp_(s < 0.0 ? s : -s);
                slope = 1.0 / (1.0 + ratio) * e / ((1.0 + e) * (1.0 + e));
                if (page.clicks[upper] < 0.5) slope = -slope;
            }
            slopes[lower * k + upper] = slope;
        }
        warp_sync();
#pragma unroll 1
        for (int t = lane; t < seen; t += LANES) {
            double sum = 0.0;
            for (int upper = 0; upper < t; upper++) sum -= slopes[t * k + upper];
            for (int lower = t + 1; lower < seen; lower++) sum += slopes[lower * k + t];
            page.returns[t] = sum;
            int place = 0;
            for (int u = 0; u < seen; u++) place += page.documents[u] < page.documents[t];
            page.order[place] = t;
        }
        warp_sync();
    }
    if (lane == 0) {
        page.taught = taught ? seen : 0;
        if (taught) {
            page.step = state[RATE] / settings.temperature;
            state[RATE] = decayed(state[RATE], settings.decay, settings.floor);
        }
    }
    warp_sync();
}
