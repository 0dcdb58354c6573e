// COLTR: what a run's impressions ask of `coltr.cuh`, from the memory that its block has.
#pragma once
#include "coltr.cuh"

// Behind the rivals: the current ranker's risk, and log ratios (page, AT_ONCE).
struct Judged {
    float *risk, *ratios;
};

DEVICE Judged judged_here(const Arrays &arrays) {
    Judged judged;
    judged.risk = reinterpret_cast<float *>(static_cast<char *>(behind(arrays)) + RIVALS_SHARED);
    judged.ratios = judged.risk + 4;
    return judged;
}

// Which of the rivals at hand would have lost less than the current ranker. All threads; ends with a barrier.
DEVICE void judge(const Rivals &rivals, const Judged &judged, const Page &page, const float *X, int k, int begin,
                  double variance_weight) {
    score_rivals<2, 1>(
        rivals, k, [&](int t) { return X + page.documents[t] * STRIDE; }, [](int) { return 0.0f; },
        [&](int t, int c, float ratio) { judged.ratios[t * AT_ONCE + c] = ratio; });
    block_sync();
    for (int c = thread_index(); c < columns_from(begin); c += THREADS) {
        const float risk = risk_of(judged.ratios + c, AT_ONCE, page, k, variance_weight);
        rivals.wins[begin + c] = begin + c > 0 && risk < *judged.risk;
    }
    block_sync();
}

// A step towards the rivals that lose less: they are added up while their directions are at hand. All threads; a barrier
// comes before and after it.
DEVICE void follow_winner(const Problem &problem, Shared &shared, const Arrays &arrays, const float *X, int n,
                          int64 impression) {
    const Page &page = shared.page[0];
    if (!page.taught) return;
    const Settings &settings = shared.settings[0];
    const Rivals rivals = rivals_of(problem, behind(arrays));
    const Judged judged = judged_here(arrays);
    const int k = smaller(static_cast<int>(problem.page_size), n);
    const double delta = shared.tables[0][DELTA], variance_weight = shared.tables[0][VARIANCE_WEIGHT];
    const double rate = shared.state[0][RATE];
    const uint64 key = stream_key(settings.seed, DIRECTIONS, impression);
    if (thread_index() == 0) *judged.risk = risk_of(page.notes, 1, page, k, variance_weight);
    float sums[SUMS] = {};
#pragma unroll 1
    for (int begin = 0; begin < RANKERS; begin += AT_ONCE) {
        draw_rivals(rivals, key, delta, begin);
        judge(rivals, judged, page, X, k, begin, variance_weight);
        add_winners(rivals, begin, sums);
        block_sync();
    }
    const int winners = winners_of(rivals);
    if (winners == 0) return;
    follow_mean(rivals, sums, winners, rate / delta, arrays.weights, arrays.rounded);
    if (thread_index() == 0) shared.state[0][RATE] = decayed(rate, settings.decay, settings.floor);
}
