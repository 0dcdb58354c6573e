// Posterior: what a page's clicks say, taken in by all threads of a block; rankloop.learners.page_likelihood and
// .page_step. Numbers of a page's documents take the places that other methods have in `Page`.
#pragma once
#include "prior.cuh"

// Of each shown document: what its features say, its merit, its score and share, gradient and information, and how its
// contrast is weighed; where it is found in the table.
struct Shown {
    double *said, *merits, *scores, *masses, *shares, *slopes, *bends, *parts, *lengths;
    int64 *places;
};

DEVICE Shown shown_on(Page &page) {
    return {page.z,    page.own,       page.remaining,     page.top,          page.kept,
            page.returns, page.mass, page.looks.draw, page.looks.patience, reinterpret_cast<int64 *>(page.looks.seen)};
}

// Rows of Z: a one, where each document stands, and how far its features are from the centre, in units.
DEVICE void place_documents(const Belief &belief, const float *X, const Page &page, int k) {
    for (int m = thread_index(); m < COLUMNS; m += THREADS) {
        const bool feature = m >= belief.leading && m < belief.size;
        const double spread = feature ? belief.spread[m] : 0.0, per_unit = spread > 0.0 ? 1.0 / spread : 0.0;
        const double centre = feature ? belief.centre[m] : 0.0;
        belief.per_unit[m] = per_unit;
        for (int t = 0; t < k; t++) {
            double z = m == 0 || (m == t && m < belief.leading) ? 1.0 : 0.0;
            if (feature) {
                const float x = X[static_cast<int64>(page.documents[t]) * STRIDE + (m - belief.leading)];
                z = (static_cast<double>(x) - centre) * per_unit;
            }
            belief.rows[t * COLUMNS + m] = z;
        }
    }
}

// What the features say of a shown document, and what it is known to be worth beyond that. One thread.
DEVICE void recall_shown(const Belief &belief, const Shown &shown, int64 key, int t) {
    const double *row = belief.rows + t * COLUMNS;
    double u = 0.0;
    for (int m = belief.leading; m < belief.size; m++) u += row[m] * belief.mean[m];
    shown.places[t] = find(belief.merits, key);
    shown.said[t] = u;
    shown.merits[t] = believed_at(belief.merits, shown.places[t], u) - u;
}

// π_k, and g_k and the information of each document; the level's own goes to `told->sums[0]`. Ends with a barrier.
DEVICE void share_clicks(const Belief &belief, const Shown &shown, const Page &page, int k, double clicked,
                         const double *lanes) {
    for (int t = thread_index(); t < k; t += THREADS) shown.scores[t] = tree_sum(lanes + 8 * t) + shown.merits[t];
    block_sync();
    double top = minus_infinity();
    for (int t = 0; t < k; t++) top = larger(top, shown.scores[t]);
    for (int t = thread_index(); t < k; t += THREADS) shown.masses[t] = exp_(shown.scores[t] - top);
    block_sync();
    double total = 0.0;
    for (int t = 0; t < k; t++) total += shown.masses[t];
    const double shape = belief.tables[LEVEL_SHAPE];
    double pull = 0.0, level = 0.0;
    if (shape != 0.0) {
        const double part = 1.0 / (1.0 + exp_(log_(shape) - (top + log_(total))));
        level = shape * part;
        pull = clicked * (1.0 - part) - level;
    }
    for (int t = thread_index(); t < k; t += THREADS) {
        const double share = shown.masses[t] / total;
        shown.shares[t] = share;
        shown.slopes[t] = page.clicks[t] - clicked * share + pull * share;
        shown.bends[t] = clicked * share * (1.0 - share) + level * share * share;
    }
    if (thread_index() == 0) belief.told->sums[0] = level;
    block_sync();
}

// How each document is weighed against the mean of those below it.
DEVICE void weigh_contrasts(const Shown &shown, int k, double clicked) {
    for (int t = thread_index(); t < k - 1; t += THREADS) {
        double mass = shown.shares[k - 1];
        for (int below = k - 2; below > t; below--) mass = mass + shown.shares[below];
        const double both = mass + shown.shares[t];
        const double part = both > 0.0 ? shown.shares[t] / both : 0.0;
        shown.parts[t] = part;
        shown.lengths[t] = sqrt(clicked * part * mass);
    }
}

// A column of the page's gradient, which is returned; in the place of its rows, those of the page's information.
DEVICE double take_column(const Belief &belief, const Shown &shown, int m, int k, double clicked, double level) {
    double *column = belief.rows + m;
    double gradient = 0.0, mean = 0.0;
    for (int t = 0; t < k; t++) gradient += shown.slopes[t] * column[t * COLUMNS];
    for (int t = 0; t < k; t++) mean += level * shown.shares[t] * column[t * COLUMNS];
    if (clicked > 0.0) {
        double below = column[(k - 1) * COLUMNS];
        for (int t = k - 2; t >= 0; t--) {
            const double apart = column[t * COLUMNS] - below;
            below += shown.parts[t] * apart;
            column[t * COLUMNS] = shown.lengths[t] * apart;
        }
    }
    column[(clicked > 0.0 ? k - 1 : 0) * COLUMNS] = mean;
    return gradient;
}

// The page's rows into the root, as many at once as on the CPU, and y ← U⁻ᵀ y with the last of them.
DEVICE void add_rows(const Belief &belief, int count, double (&y)[EACH]) {
    double own[EACH][MANY];
#pragma unroll 1
    for (int first = 0; first < count;) {
        const int rows = count - first <= FEW ? FEW : MANY;
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const int m = thread_index() + e * THREADS;
#pragma unroll
            for (int k = 0; k < MANY; k++)
                own[e][k] = m < COLUMNS && k < rows && first + k < count ? belief.rows[(first + k) * COLUMNS + m] : 0.0;
        }
        const bool last = first + rows >= count;
        if (rows == MANY) fold<MANY>(belief.root, belief.size, own, y, last, belief.told->heads);
        else fold<FEW>(belief.root, belief.size, own, y, last, belief.told->heads);
        first += rows;
    }
}

// The mean takes the step that is in `gradient`.
DEVICE void take_step(const Belief &belief) {
    const double *step = belief.gradient;
    for (int m = thread_index(); m < belief.size; m += THREADS) {
        if (m == 0) belief.state[LEVEL_NOW] += step[0];
        else if (m < belief.leading) belief.state[LOG_EXAMINATION + m] += step[m];
        else {
            const int j = m - belief.leading;
            set_weight(belief, j, belief.weights[j] + step[m] * belief.per_unit[m]);
        }
    }
}

// The shown documents' records, one after the other, unless the step was none of numbers. One thread.
DEVICE void remember_shown(const Belief &belief, const Shown &shown, const Page &page, int64 begin, int k) {
    double sum = 0.0;
    for (int m = 0; m < COLUMNS; m++) sum += belief.gradient[m];
    if (sum - sum != 0.0) return;
#pragma unroll 1
    for (int t = 0; t < k; t++)
        remember(belief.merits, begin + page.documents[t] + 1, shown.places[t], shown.said[t], shown.slopes[t],
                 shown.bends[t], belief.tables[MERIT_VARIANCE], belief.tables[MERIT_WEIGHT]);
}

// One Newton step: the page's gradient and information at the present mean. `lanes` has room for eight to a document.
DEVICE void take_evidence(const Belief &belief, const float *X, Page &page, int64 begin, int k, double clicked,
                          double *lanes) {
    const Shown shown = shown_on(page);
    place_documents(belief, X, page, k);
    in_units(belief);
    block_sync();
    for (int item = thread_index(); item < 9 * k; item += THREADS) {
        if (item < k) recall_shown(belief, shown, begin + page.documents[item] + 1, item);
        else {
            const int at = item - k;
            lanes[at] = lane_dot(belief.rows + at / 8 * COLUMNS, belief.mean, 0, at % 8, -1);
        }
    }
    block_sync();
    share_clicks(belief, shown, page, k, clicked, lanes);
    if (clicked > 0.0) weigh_contrasts(shown, k, clicked);
    block_sync();
    const double level = sqrt(belief.told->sums[0]);
    double y[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        const int m = thread_index() + e * THREADS;
        y[e] = m < COLUMNS ? take_column(belief, shown, m, k, clicked, level) : 0.0;
    }
    add_rows(belief, clicked > 0.0 ? k : 1, y);
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        const int m = thread_index() + e * THREADS;
        if (m < COLUMNS) belief.gradient[m] = y[e];
    }
    block_sync();
    if (warp_index() == 0) solve_upper(belief.root, belief.size, belief.gradient, 0, belief.told->lanes);
    block_sync();
    take_step(belief);
    if (thread_index() == 0) remember_shown(belief, shown, page, begin, k);
}

// Forget all but a part of what was recorded of documents.
DEVICE void fade(const Merits &merits, double kept) {
    for (int64 at = thread_index(); at < merits.places; at += THREADS) {
        merits.told[at] *= kept;
        merits.informed[at] *= kept;
    }
    if (thread_index() == 0) {
        merits.sums[1] *= kept;
        merits.sums[2] *= kept;
    }
}

// Let the candidates into the spreads, and the clicks into the posterior. All threads; a barrier comes after it.
DEVICE void learn_page(const Belief &belief, const float *X, int n, Page &page, bool started, int64 begin, int k,
                       double *lanes) {
    if (n < 2) return;
    const double pages = belief.state[PAGES] + 1.0;
    const int64 every = static_cast<int64>(belief.tables[FORGET_EVERY]), now = static_cast<int64>(pages);
    const double kept = every > 0 && now % every == 0 ? belief.tables[KEPT] : 1.0;
    gather_spread(belief, X, n, pages);
    if (started) compare_along(belief, belief.start, X, n, page.looks.patience);
    const bool looks = looks_for_common(belief, pages);
    if (looks) {
        block_sync();
        look_along(belief, X);
        block_sync();
        compare_along(belief, belief.per_unit, X, n, page.looks.draw);
    }
    block_sync();
    if (looks) gather_common(belief, X, n, pages, page.looks.draw);
    if (thread_index() == 0) {
        belief.state[PAGES] = pages;
        if (started) gather_given(belief, n, pages, page.looks.patience);
    }
    if (kept < 1.0 || is_due(now)) renew(belief, kept);
    if (kept < 1.0) fade(belief.merits, kept);
    block_sync();
    double clicked = 0.0;
    for (int t = 0; t < k; t++) clicked += page.clicks[t];
    if (k > 1 && (clicked > 0.0 || belief.tables[LEVEL_SHAPE] > 0.0)) {
        let_level_drift(belief);
        take_evidence(belief, X, page, begin, k, clicked, lanes);
    }
}
