// rankloop.metrics.formulas.measure: a metric of a ranking, by the grades from the top.
#pragma once
#include "layout.cuh"

enum Formula { WEIGHTED, FIRST, CASCADE, PRECISIONS };

// One metric's tables, wherever they lie.
struct Metric {
    const double *gain, *weight;
    int formula, cutoff;
};

DEVICE Metric metric_of(const Measures &measures, int row) {
    return {measures.gain + row * GRADES, measures.weight + row * measures.ranks,
            static_cast<int>(measures.formula[row]), static_cast<int>(measures.cutoff[row])};
}

template <typename Grade>
CALLED double measure(const Metric &metric, double norm, const Grade *grades, int shown) {
    if (norm <= 0.0) return 0.0;
    const double *gain = metric.gain, *weight = metric.weight;
    const int formula = metric.formula, ranks = smaller(shown, metric.cutoff);
    double total = 0.0;
    if (formula == WEIGHTED) {
#pragma unroll 2
        for (int t = 0; t < ranks; t++) total += gain[grades[t]] * weight[t];
    } else if (formula == FIRST) {
#pragma unroll 1
        for (int t = 0; t < ranks && total == 0.0; t++)
            if (gain[grades[t]] > 0.0) total = 1.0 / (t + 1);
    } else if (formula == CASCADE) {
        double looking = 1.0;
#pragma unroll 1
        for (int t = 0; t < ranks; t++) {
            const double satisfied = gain[grades[t]];
            total += looking * satisfied / (t + 1);
            looking *= 1.0 - satisfied;
        }
    } else {
        double found = 0.0;
#pragma unroll 1
        for (int t = 0; t < ranks; t++)
            if (gain[grades[t]] > 0.0) {
                found += 1.0;
                total += found / (t + 1);
            }
    }
    return total / norm;
}
