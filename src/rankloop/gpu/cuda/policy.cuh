// rankloop.policies.plackett_luce, one warp to a page: sums run in the order of the CPU's, so the bits are the same.
#pragma once
#include "arithmetic.cuh"
#include "layout.cuh"
#include "people.cuh"

// What is known of a page while it is shown and learned from; one for each run of a block, in shared memory.
struct Page {
    double z[RANKS], returns[RANKS], clicks[RANKS], own[RANKS], kept[RANKS];
    double remaining[RANKS + 1], top[RANKS + 1], mass[RANKS + 1];
    double quarter[4];
    double largest, step, not_shown;
    Looks looks;
    float notes[RANKS];
    int documents[RANKS], grades[RANKS], order[RANKS];
    int taught;
};

// The documents of the largest keys, largest first, the later one of two that are equal. The keys are used up.
CALLED void take_one_by_one(int64 *keys, int n, int *chosen, int count) {
    const int lane = lane_index();
    int64 best = LOWEST;
    int place = -1;
    for (int i = lane; i < n; i += LANES)
        if (keys[i] >= best) best = keys[i], place = i;
#pragma unroll 1
    for (int t = 0; t < count; t++) {
        const int64 top = warp_max64(best);
        const int where = warp_max32(best == top ? place : -1);
        if (lane == 0) chosen[t] = where;
        if (place == where) {
            keys[where] = LOWEST;
            best = LOWEST, place = -1;
            for (int i = lane; i < n; i += LANES)
                if (keys[i] >= best) best = keys[i], place = i;
        }
    }
    warp_sync();
}

#ifdef __CUDACC__
// The same in few steps. Of the 32 largest keys of each lane, the K-th is no larger than the K-th of all: what is at
// least as large are a few keys more than K, and each counts those before it. `spare` has room for 32 keys and places.
DEVICE void take_largest(int64 *keys, int n, int *chosen, int count, int64 *spare, int *places) {
    const int lane = lane_index();
    int64 best = LOWEST;
#pragma unroll 4
    for (int i = lane; i < n; i += LANES) best = keys[i] > best ? keys[i] : best;
    spare[lane] = best;
    warp_sync();
    int before = 0;
#pragma unroll 8
    for (int other = 0; other < LANES; other++) {
        const int64 its = spare[other];
        before += its > best || (its == best && other > lane);
    }
    const int holder = __ffs(__ballot_sync(SAME_WARP, before == count - 1)) - 1;
    const int64 least = __shfl_sync(SAME_WARP, best, holder);
    warp_sync();
    int found = 0;
#pragma unroll 1
    for (int first = 0; first < n; first += LANES) {
        const int i = first + lane;
        const int64 key = i < n ? keys[i] : LOWEST;
        const bool in = i < n && key >= least;
        const unsigned all = __ballot_sync(SAME_WARP, in);
        const int at = found + __popc(all & ((1u << lane) - 1u));
        if (in && at < LANES) spare[at] = key, places[at] = i;
        found += __popc(all);
    }
    warp_sync();
    if (found > LANES) {
        take_one_by_one(keys, n, chosen, count);
        return;
    }
    if (lane < found) {
        const int64 key = spare[lane];
        int rank = 0;
        // They stand in the order of documents, so a later one comes before an equal earlier one.
#pragma unroll 2
        for (int other = 0; other < found; other++) rank += spare[other] > key || (spare[other] == key && other > lane);
        if (rank < count) chosen[rank] = places[lane];
    }
    warp_sync();
}
#else
DEVICE void take_largest(int64 *keys, int n, int *chosen, int count, int64 *, int *) {
    take_one_by_one(keys, n, chosen, count);
}
#endif

DEVICE double scaled(float score, double temperature) {
    return temperature == 1.0 ? static_cast<double>(score) : static_cast<double>(score) / temperature;
}

DEVICE double unscaled(double slope, double temperature) { return temperature == 1.0 ? slope : slope / temperature; }

// The learning rate after one more update.
DEVICE double decayed(double rate, double decay, double floor) {
    return rate > floor ? larger(rate * decay, floor) : rate;
}

#ifdef __CUDACC__
// What remains at each step, a lane to a rank: nothing is waited for but the sums that must run in order. Scratch and
// `page.z` are filled, and `page.quarter`, by this warp.
DEVICE void remain_by_lane(double largest, Page &page, int k) {
    const int lane = lane_index();
    const bool shown = lane < k;
    const double z = shown ? page.z[lane] : largest;
    // The largest of what remains, from there down.
    double top = larger(largest, z);
#pragma unroll
    for (int apart = 1; apart < LANES; apart *= 2) {
        const double other = __shfl_down_sync(SAME_WARP, top, apart);
        if (lane + apart < LANES) top = larger(other, top);
    }
    const double below = __shfl_down_sync(SAME_WARP, top, 1);
    const Two both = exp_both((lane + 1 < LANES ? below : largest) - top, z - top);
    warp_sync();
    double total = (page.quarter[0] + page.quarter[2]) + (page.quarter[1] + page.quarter[3]);
    double mass = total;
    const double rest = total;
    double kept = __shfl_sync(SAME_WARP, both.a, k - 1), own = __shfl_sync(SAME_WARP, both.b, k - 1);
#pragma unroll 1
    for (int t = k - 1; t >= 0; t--) {
        const double keep = kept, add = own;
        kept = __shfl_sync(SAME_WARP, both.a, (t - 1) & (LANES - 1));
        own = __shfl_sync(SAME_WARP, both.b, (t - 1) & (LANES - 1));
        total = total * keep + add;
        if (lane == t) mass = total;
    }
    const double remains = mass > 0.0 ? top + log_(mass) : minus_infinity();
    if (lane <= k) page.remaining[lane] = remains;
    if (k == LANES) {
        const double last = rest > 0.0 ? largest + log_(rest) : minus_infinity();
        if (lane == 0) page.remaining[k] = last;
    }
    if (lane == 0) page.largest = largest;
    warp_sync();
}
#endif

// L_t in `page.remaining`, from the scores; `scratch` is left with exp(z - largest not shown), 0 for what is shown.
DEVICE void log_remaining(const float *scores, int n, double temperature, double *scratch, Page &page, int k) {
    const int lane = lane_index();
    for (int i = lane; i < n; i += LANES) scratch[i] = scaled(scores[i], temperature);
    warp_sync();
#pragma unroll 1
    for (int t = lane; t < k; t += LANES) {
        const int d = page.documents[t];
        page.z[t] = scratch[d];
        scratch[d] = minus_infinity();
    }
    warp_sync();
    int64 highest = LOWEST;
    for (int i = lane; i < n; i += LANES) {
        const int64 key = sortable64(scratch[i]);
        highest = key > highest ? key : highest;
    }
    highest = warp_max64(highest);
    const double largest = as_float64(highest ^ ((highest >> 63) & 0x7FFFFFFFFFFFFFFFLL));
    const double shift = largest > minus_infinity() ? largest : 0.0;
#pragma unroll 4
    for (int i = lane; i < n; i += LANES) scratch[i] = exp_here(scratch[i] - shift);
    warp_sync();
#pragma unroll 1
    for (int part = lane; part < 4; part += LANES) {
        double sum = 0.0;
#pragma unroll 8
        for (int i = part; i < n; i += 4) sum += scratch[i];
        page.quarter[part] = sum;
    }
#ifdef __CUDACC__
    remain_by_lane(largest, page, k);
#else
    // The largest of what remains at each step, from there down.
#pragma unroll 1
    for (int t = lane; t <= k; t += LANES) {
        double top = largest;
#pragma unroll 1
        for (int u = k - 1; u >= t; u--) top = larger(top, page.z[u]);
        page.top[t] = top;
    }
    warp_sync();
#pragma unroll 1
    for (int t = lane; t < k; t += LANES) {
        const Two both = exp_both(page.top[t + 1] - page.top[t], page.z[t] - page.top[t]);
        page.kept[t] = both.a, page.own[t] = both.b;
    }
    warp_sync();
    if (lane == 0) {
        double total = (page.quarter[0] + page.quarter[2]) + (page.quarter[1] + page.quarter[3]);
        page.mass[k] = total;
#pragma unroll 1
        for (int t = k - 1; t >= 0; t--) {
            total = total * page.kept[t] + page.own[t];
            page.mass[t] = total;
        }
        page.largest = largest;
    }
    warp_sync();
#pragma unroll 1
    for (int t = lane; t <= k; t += LANES)
        page.remaining[t] = page.mass[t] > 0.0 ? page.top[t] + log_(page.mass[t]) : minus_infinity();
    warp_sync();
#endif
}

// The gradient of the sum of G_t log pi(a_t | s_t) with respect to the scores, in place of them. `returns` is used up.
DEVICE void policy_gradient(float *scores, int n, double temperature, const double *scratch, Page &page, int k) {
    const int lane = lane_index();
#ifdef __CUDACC__
    // A lane to a rank, and the one behind the last for what is not shown.
    const bool shown = lane < k;
    const double before = lane > 0 && lane <= k ? page.remaining[lane - 1] : 0.0, here = shown ? page.remaining[lane] : 0.0;
    const double not_shown = page.largest - before;
    const Two both = exp_both(shown ? (lane > 0 ? here - before : 0.0) : not_shown, shown ? page.z[lane] - here : 0.0);
    const double rest = k < LANES ? __shfl_sync(SAME_WARP, both.a, k & (LANES - 1)) : exp_(page.largest - page.remaining[k - 1]);
    const double earned = shown ? page.returns[lane] : 0.0;
    double carried = 0.0, mine = 0.0;
    double kept = 1.0, next = __shfl_sync(SAME_WARP, earned, 0);
#pragma unroll 1
    for (int t = 0; t < k; t++) {
        const double keep = kept, add = next;
        kept = __shfl_sync(SAME_WARP, both.a, (t + 1) & (LANES - 1));
        next = __shfl_sync(SAME_WARP, earned, (t + 1) & (LANES - 1));
        carried = carried * keep + add;
        if (lane == t) mine = carried;
    }
    const double slope = unscaled(earned - both.b * mine, temperature), others = unscaled(-carried * rest, temperature);
    for (int i = lane; i < n; i += LANES) scores[i] = static_cast<float>(scratch[i] * others);
    warp_sync();
    if (shown) scores[page.documents[lane]] = static_cast<float>(slope);
    warp_sync();
#else
#pragma unroll 1
    for (int t = lane; t < k; t += LANES) {
        const Two both = exp_both(t > 0 ? page.remaining[t] - page.remaining[t - 1] : 0.0, page.z[t] - page.remaining[t]);
        page.kept[t] = both.a, page.own[t] = both.b;
    }
    warp_sync();
    if (lane == 0) {
        const double rest = exp_(page.largest - page.remaining[k - 1]);
        double carried = 0.0;
        // Unrolled by five, the compiler's rest of this loop was wrong for pages of other sizes: leave it as it is.
#pragma unroll 1
        for (int t = 0; t < k; t++) {
            const double earned = page.returns[t];
            if (t > 0) carried *= page.kept[t];
            carried += earned;
            page.returns[t] = earned - page.own[t] * carried;
        }
        page.not_shown = unscaled(-carried * rest, temperature);
    }
    warp_sync();
    for (int i = lane; i < n; i += LANES) scores[i] = static_cast<float>(scratch[i] * page.not_shown);
    warp_sync();
#pragma unroll 1
    for (int t = lane; t < k; t += LANES) scores[page.documents[t]] = static_cast<float>(unscaled(page.returns[t], temperature));
    warp_sync();
#endif
}
