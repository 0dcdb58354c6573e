// What the host packs and the device reads; rankloop.gpu.packing writes the same fields in the same order.
// Every field has 8 bytes, so that a struct is a list of numbers and addresses.
#pragma once
#include "portable.cuh"

#define RANKS 32           // that a page may have at most
#define GRADES 256         // rows of gain tables
#define GRADES_PEOPLE 31   // grades that tables of people go up to

// Flags of a run.
#define DISCOUNT_STEPS 1
#define BASELINE 2
#define SKIP_CLICKLESS 4
#define LEARNED 8
#define MONOTONE 16

// rankloop.users.behaviour.People.
struct People {
    const double *attraction;
    const int64 *begin;
    const uint8 *by_row, *stops;
    const double *look, *plus, *minus, *after_click, *after_skip, *tilt;
    const int64 *knots;
    const double *shares;
    int64 people, knot_count, ranks;
};

// What a run is set to; its people may be those of other runs as well.
struct Settings {
    uint64 seed;
    int64 flags;
    const People *people;
    double discount, temperature, decay, floor, clip, prior_pages;
};

// Tables that a block keeps in shared memory: of metrics, as many as most studies have, and of one person.
#define METRICS 4
#define GRADES_SEEN 32

// rankloop.metrics.formulas.Measures.
struct Measures {
    int64 metrics, ranks, queries;
    const int64 *formula, *cutoff;
    const double *gain, *weight, *norm;
};

// Queries, runs, and where their results go.
struct Problem {
    const float *features;
    const int64 *offsets;
    const uint8 *grades;
    int64 queries, stride, longest, page_size, highest_grade;
    Measures measures;
    const Settings *settings;
    const int64 *groups;    // (blocks, GROUP) runs that share a seed, -1 where there is none
    const double *tables;   // (runs, TABLES)
    double *weights;        // (runs, stride)
    double *state;          // (runs, STATE)
    double *values;         // (runs, impressions, metrics)
    uint8 *clicks;          // (runs, impressions)
    double *variance;       // (runs, impressions), or none
    double *noise;          // (blocks, longest), scratch
    int64 impressions;
    int64 width;            // features that are in a row, and not padding
    int64 words;            // that a run has for what its method keeps of its own
    double *own;            // (runs, words), or none: what Posterior knows (`belief.cuh`), sums of cubes
                            // and orders of methods that multileave
};

// Tables of a run, by rank. MDPRank has its gains by grade and weights by step in the first two.
#define CLICK_REWARD 0
#define SKIP_REWARD 32
#define PER_LOOK 64
#define OFFSET 96
#define PRIOR_RATIO 128
#define TABLES 160

// State of a run besides its weights.
#define RATE 0
#define MEAN_RETURN 8
#define RETURN_COUNT 40
#define SWAPS 72          // pages, then sums for the upper and for the lower one of each pair of neighbours
#define CURVE 136
#define STATE 168

// Learners.
#define ROLTR 0
#define MDPRANK 1
#define PDGD 2
#define POSTERIOR 3
#define DBGD 4
#define PMGD 5
#define COLTR 6
