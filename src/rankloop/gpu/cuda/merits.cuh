// rankloop.learners.merits: what documents are worth beyond their features, in a table in the device's memory. In a
// simulation they keep their features, so λ is 0 in every bit (rankloop.learners.changes), and what is kept to find it
// and to be weighed by it is not needed.
#pragma once
#include "draws.cuh"
#include "layout.cuh"

#define NEAR 8      // neighbours among whom the least known makes room
#define FILL 0.75   // of its places that a table has taken at most
#define SAMPLE 32   // candidates that a query's mean and variance are those of, evenly spread over the list

// A run's table; `sums` are τ², Σ m² and Σ (1 − ω), `taken` how many places are.
struct Merits {
    int64 *keys;
    double *informed, *told, *sums, *taken;
    int64 places;
};

DEVICE int64 sample_step(int candidates) { return (candidates + SAMPLE - 1) / SAMPLE; }

DEVICE int64 home(const Merits &merits, int64 key) {
    return static_cast<int64>(mix(static_cast<uint64>(key)) & static_cast<uint64>(merits.places - 1));
}

// The place of a document; −1 if it has none.
DEVICE int64 find(const Merits &merits, int64 key) {
    if (merits.places == 0) return -1;
    const int64 last = merits.places - 1;
    for (int64 at = home(merits, key); merits.keys[at] != 0; at = (at + 1) & last)
        if (merits.keys[at] == key) return at;
    return -1;
}

// The place of the least known document among the next few from here on.
DEVICE int64 least_known(const Merits &merits, int64 at) {
    const int64 last = merits.places - 1;
    int64 least = -1;
    for (int passed = 0; passed < NEAR; at = (at + 1) & last) {
        if (merits.keys[at] == 0) continue;
        if (least < 0 || merits.informed[at] < merits.informed[least]) least = at;
        passed++;
    }
    return least;
}

// Give a place back; those behind it who had to go past it move up.
DEVICE void release(const Merits &merits, int64 gap) {
    const int64 last = merits.places - 1;
    for (int64 at = (gap + 1) & last; merits.keys[at] != 0; at = (at + 1) & last)
        if (((at - home(merits, merits.keys[at])) & last) >= ((at - gap) & last)) {
            merits.keys[gap] = merits.keys[at];
            merits.informed[gap] = merits.informed[at];
            merits.told[gap] = merits.told[at];
            gap = at;
        }
    merits.keys[gap] = 0;
    merits.informed[gap] = merits.told[gap] = 0.0;
    *merits.taken -= 1.0;
}

// The place of a document, which it gets if it had none: for which, in a full table, another gives up its own.
CALLED int64 claim(const Merits &merits, int64 key) {
    const int64 found = find(merits, key);
    if (found >= 0) return found;
    if (static_cast<int64>(*merits.taken) >= static_cast<int64>(FILL * static_cast<double>(merits.places)))
        release(merits, least_known(merits, home(merits, key)));
    int64 at = home(merits, key);
    while (merits.keys[at] != 0) at = (at + 1) & (merits.places - 1);
    *merits.taken += 1.0;
    merits.keys[at] = key;
    merits.informed[at] = merits.told[at] = 0.0;
    return at;
}

DEVICE double unknown_part(double variance, double informed) { return 1.0 / (1.0 + variance * informed); }

// E[η] of the document at a place, whose features say u.
DEVICE double believed_at(const Merits &merits, int64 at, double u) {
    if (at < 0) return u;
    const double variance = merits.sums[0];
    return (u + variance * merits.told[at]) * unknown_part(variance, merits.informed[at]);
}

// Let a page into a document's record, and into τ². `place` is where it was found before. One thread.
DEVICE void remember(const Merits &merits, int64 key, int64 place, double u, double gradient, double information,
                     double guess, double weight) {
    if (merits.places == 0) return;
    const int64 at = place >= 0 && merits.keys[place] == key ? place : claim(merits, key);
    const double variance = merits.sums[0];
    const double believed = believed_at(merits, at, u);
    merits.told[at] += gradient + information * believed;
    merits.informed[at] += information;
    const double unknown = unknown_part(variance, merits.informed[at]);
    const double merit = (u + variance * merits.told[at]) * unknown - u;
    merits.sums[1] += merit * merit;
    merits.sums[2] += 1.0 - unknown;
    merits.sums[0] = (weight * guess + merits.sums[1]) / (weight + merits.sums[2]);
}
