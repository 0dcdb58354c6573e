// ROLTR and MDPRank: rewards, returns and the gradient of a page; rankloop.learners.roltr, .mdprank, .reinforce.
#pragma once
#include "policy.cuh"

// Rewards to returns, from the bottom of the page up.
CALLED void accumulate_returns(double *values, int k, double discount, bool discount_steps) {
    double following = 0.0;
    for (int t = k - 1; t >= 0; t--) {
        following = values[t] + discount * following;
        values[t] = following;
    }
    if (discount_steps) {
        double factor = 1.0;
        for (int t = 0; t < k; t++) {
            values[t] *= factor;
            factor *= discount;
        }
    }
}

// rankloop.propensities.swaps.note_swaps: how likely each pair of neighbours was to stand the other way round.
CALLED void note_swaps(Page &page, int k) {
#pragma unroll 1
    for (int t = lane_index(); t < k - 1; t += LANES) {
        const double a = exp_(page.z[t] - page.remaining[t]), b = exp_(page.z[t + 1] - page.remaining[t]);
        const double rest = exp_(page.remaining[t + 2] - page.remaining[t]);
        page.notes[t] = static_cast<float>((b + rest) / (a + b + 2.0 * rest));
    }
    warp_sync();
}

// rankloop.propensities.learning: count the swaps (the sums alone, which the curve follows from), then draw it anew.
CALLED void learn_curve(const Settings &settings, const double *tables, double *state, const Page &page, int k,
                        int page_size) {
    const int pairs = page_size - 1;
    double *sums = state + SWAPS, *curve = state + CURVE;
    sums[0] += 1.0;
    for (int t = 0; t < k; t++) {
        if (page.clicks[t] == 0.0) continue;
        if (t + 1 < k) sums[1 + t] += page.clicks[t] * static_cast<double>(page.notes[t]);
        if (t > 0) sums[1 + t - 1 + pairs] += page.clicks[t] * static_cast<double>(page.notes[t - 1]);
    }
    for (int t = 0; t < pairs; t++) {
        const double above = sums[1 + t], below = sums[1 + pairs + t], r = tables[PRIOR_RATIO + t];
        double ratio = r;
        if (above + below > 0.0) {
            const double each = settings.prior_pages * (above + below) / (sums[0] * (1.0 + r));
            ratio = (below + each * r) / (above + each);
        }
        if ((settings.flags & MONOTONE) && ratio > 1.0) ratio = 1.0;
        const double next = larger(1e-3, curve[t] * ratio);
        curve[t + 1] = next < 1.0 ? next : 1.0;
    }
}

// What each rank earned, as returns; false where the page teaches nothing.
DEVICE bool earn(const Settings &settings, double *tables, double *state, Page &page, int k) {
    const int lane = lane_index();
#if LEARNER == MDPRANK
#pragma unroll 1
    for (int t = lane; t < k; t += LANES)
        page.returns[t] = tables[CLICK_REWARD + page.grades[t]] * tables[SKIP_REWARD + t];
#else
    if (settings.flags & SKIP_CLICKLESS) {
        bool any = false;
        for (int t = 0; t < k; t++) any = any || page.clicks[t] > 0.0;
        if (!any) return false;
    }
#pragma unroll 1
    for (int t = lane; t < k; t += LANES) {
        if (settings.flags & LEARNED) {
            const double looked = larger(state[CURVE + t], settings.clip);
            tables[CLICK_REWARD + t] = tables[PER_LOOK + t] / looked - tables[OFFSET + t];
        }
        const double c = page.clicks[t];
        page.returns[t] = c * tables[CLICK_REWARD + t] + (1.0 - c) * tables[SKIP_REWARD + t];
    }
#endif
    warp_sync();
    if (lane == 0 && (settings.discount != 0.0 || (settings.flags & DISCOUNT_STEPS)))
        accumulate_returns(page.returns, k, settings.discount, settings.flags & DISCOUNT_STEPS);
    warp_sync();
#if LEARNER == ROLTR
    if (settings.flags & BASELINE) {
#pragma unroll 1
        for (int t = lane; t < k; t += LANES) {
            double &mean = state[MEAN_RETURN + t], &count = state[RETURN_COUNT + t];
            const double value = page.returns[t];
            page.returns[t] = value - mean;
            count += 1.0;
            mean += (value - mean) / count;
        }
        warp_sync();
    }
#endif
    return true;
}

// The variance of the gradient over ranks, of one warp's features; `partial` gets the two sums of this strip.
DEVICE void step_variance(const float *X, int n, int stride, int strip, const double *scratch, const Page &page, int k,
                          double temperature, double *partial) {
    double squares = 0.0, between = 0.0;
    const double norm = page.largest > minus_infinity() ? exp_(page.largest - page.remaining[k]) : 0.0;
    for (int j = strip * 32 + lane_index(); j < smaller(stride, strip * 32 + 32); j += LANES) {
        double mean = 0.0, total = 0.0;
        for (int i = 0; i < n; i++)
            if (scratch[i] > 0.0) mean += scratch[i] * norm * static_cast<double>(X[static_cast<int64>(i) * stride + j]);
        for (int t = k - 1; t >= 0; t--) {
            const double keep = exp_(page.remaining[t + 1] - page.remaining[t]);
            const double own = exp_(page.z[t] - page.remaining[t]);
            const double x = static_cast<double>(X[static_cast<int64>(page.documents[t]) * stride + j]);
            mean = keep * mean + own * x;
            const double g = page.mass[t] / temperature * (x - mean);
            total += g;
            squares += g * g;
        }
        between += total * total;
    }
    squares = warp_sum(squares);
    between = warp_sum(between);
    if (lane_index() == 0) partial[2 * strip] = squares, partial[2 * strip + 1] = between;
}

// Show, click and earn have been; now the gradient takes the place of the scores.
DEVICE void learn(const Settings &settings, double *tables, double *state, float *scores, int n, double *scratch,
                  Page &page, int k, int page_size) {
    const bool learns_curve = settings.flags & LEARNED;
    const bool taught = earn(settings, tables, state, page, k);
    if (taught || learns_curve) log_remaining(scores, n, settings.temperature, scratch, page, k);
    if (learns_curve) note_swaps(page, k);
    if (taught) {
        // The variance needs the returns, which the gradient uses up; the masses are not needed any more.
#pragma unroll 1
        for (int t = lane_index(); t < k; t += LANES) page.mass[t] = page.returns[t];
        warp_sync();
        policy_gradient(scores, n, settings.temperature, scratch, page, k);
    }
    if (lane_index() == 0) {
        page.taught = taught;
        if (taught) {
            page.step = state[RATE];
            state[RATE] = decayed(state[RATE], settings.decay, settings.floor);
        }
        if (learns_curve) learn_curve(settings, tables, state, page, k, page_size);
    }
    warp_sync();
}
