// What a run of Posterior knows, and where it lies; rankloop.gpu.beliefs has the same numbers of words and names.
#pragma once
#include "merits.cuh"
#include "normals.cuh"
#include "policy.cuh"
#include "triangular.cuh"

// Settings of a run, in its tables.
#define PRIOR_VARIANCE 0
#define PRIOR_WEIGHT 1
#define EXPLORATION 2
#define EARLY_EXPLORATION 3
#define EARLY_PAGES 4
#define LEVEL_SHAPE 5
#define LEVEL_DRIFT 6
#define SOFTNESS 7
#define EXAMINATION_VARIANCE 8
#define START_PAGES 9
#define MERIT_VARIANCE 10
#define MERIT_WEIGHT 11
#define COMMON_VARIANCE 12
#define COMMON_WEIGHT 13
#define FORGET_EVERY 14        // so many pages; 0: never
#define KEPT 15                // of what they taught, whenever it is forgotten
#define PLACES 16              // of the table of merits
#define FIRST_EXAMINATION 32

// State of a run.
#define PAGES 0
#define PRECISION 1
#define SCORE_VARIANCE 2
#define LEVEL_NOW 3
#define START_SPREAD 4
#define START_WITHIN 5
#define COMMON 6               // variance of the scores along what features have in common
#define MERIT_SUMS 8
#define TAKEN 11
#define LOG_EXAMINATION 32

#define STARTED 32             // a flag: weights were given

// What threads tell each other.
struct Told {
    Head heads[2];
    double lanes[8];
    double sums[8];
};

// A run's belief. Vectors have a number for each column of the factor: the level, the ranks but the first, the features.
struct Belief {
    double *root;                       // a triangle, in shared memory where there is room
    double *square;                     // another, for when the prior is put in anew
    double *rows;                       // (page_size, COLUMNS), the page's documents
    double *spread, *within, *centre, *per_unit, *start, *gathered, *common;
    float *moved;                       // what the drawn direction does to each candidate's score
    Merits merits;
    double *mean, *gradient;            // in shared memory, as all that follows
    Told *told;
    float *direction;                   // (STRIDE)
    double *state, *weights;
    const double *tables;
    float *rounded;
    int features, leading, size;
};

// Bytes of shared memory behind the arrays of `simulate.cu`.
#define BELIEF_SHARED (sizeof(Told) + 2 * COLUMNS * 8 + (STRIDE + 3) / 4 * 16 + (ROOT_SHARED ? TRIANGLE * 8 : 0))

// `words` are the run's own in the device's memory, `memory` what it has in shared memory.
DEVICE Belief belief_of(const Problem &problem, double *words, void *memory) {
    Belief belief;
    belief.features = static_cast<int>(problem.width);
    belief.leading = static_cast<int>(problem.page_size);
    belief.size = belief.leading + belief.features;
    belief.told = static_cast<Told *>(memory);
    belief.mean = reinterpret_cast<double *>(belief.told + 1);
    belief.gradient = belief.mean + COLUMNS;
    belief.direction = reinterpret_cast<float *>(belief.gradient + COLUMNS);
    belief.root = ROOT_SHARED ? reinterpret_cast<double *>(belief.direction + (STRIDE + 3) / 4 * 4) : words;
    belief.square = words + TRIANGLE;
    belief.rows = belief.square + TRIANGLE;
    belief.spread = belief.rows + belief.leading * COLUMNS;
    belief.within = belief.spread + COLUMNS;
    belief.centre = belief.within + COLUMNS;
    belief.per_unit = belief.centre + COLUMNS;
    belief.start = belief.per_unit + COLUMNS;
    belief.gathered = belief.start + COLUMNS;
    belief.common = belief.gathered + COLUMNS;
    belief.moved = reinterpret_cast<float *>(belief.common + COLUMNS);
    belief.merits.keys = reinterpret_cast<int64 *>(belief.moved + problem.longest);
    return belief;
}

// The table of merits lies behind all else, as large as this run's is; tables and state are there.
DEVICE void find_merits(Belief &belief) {
    Merits &merits = belief.merits;
    merits.places = static_cast<int64>(belief.tables[PLACES]);
    merits.informed = reinterpret_cast<double *>(merits.keys + merits.places);
    merits.told = merits.informed + merits.places;
    merits.sums = belief.state + MERIT_SUMS;
    merits.taken = belief.state + TAKEN;
}

// The mean in the features' units. All threads.
DEVICE void in_units(const Belief &belief) {
    for (int m = thread_index(); m < COLUMNS; m += THREADS)
        belief.mean[m] = m == 0                ? belief.state[LEVEL_NOW]
                         : m < belief.leading ? belief.state[LOG_EXAMINATION + m]
                         : m < belief.size    ? belief.weights[m - belief.leading] * belief.spread[m]
                                              : 0.0;
}

DEVICE void set_weight(const Belief &belief, int j, double weight) {
    belief.weights[j] = weight;
    belief.rounded[j] = static_cast<float>(weight);
}

// What is learned from a page is learned by all threads (`posterior.cuh`), not by the warp that has shown it.
DEVICE void learn(const Settings &, double *, double *, float *, int, double *, Page &, int, int) {}
