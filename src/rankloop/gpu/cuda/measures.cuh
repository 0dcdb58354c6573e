// rankloop.metrics.formulas.measure: a metric of a ranking, by the grades from the top.
#pragma once
#include "layout.cuh"

enum Formula { WEIGHTED, FIRST, CASCADE, PRECISIONS };

template <typename Grade>
DEVICE double measure(const Measures &measures, int row, double norm, const Grade *grades, int shown) {
    if (norm <= 0.0) return 0.0;
    const double *gain = measures.gain + row * GRADES, *weight = measures.weight + row * measures.ranks;
    const int64 formula = measures.formula[row];
    const int ranks = smaller(shown, static_cast<int>(measures.cutoff[row]));
    double total = 0.0;
    if (formula == WEIGHTED) {
        for (int t = 0; t < ranks; t++) total += gain[grades[t]] * weight[t];
    } else if (formula == FIRST) {
        for (int t = 0; t < ranks && total == 0.0; t++)
            if (gain[grades[t]] > 0.0) total = 1.0 / (t + 1);
    } else if (formula == CASCADE) {
        double looking = 1.0;
        for (int t = 0; t < ranks; t++) {
            const double satisfied = gain[grades[t]];
            total += looking * satisfied / (t + 1);
            looking *= 1.0 - satisfied;
        }
    } else {
        double found = 0.0;
        for (int t = 0; t < ranks; t++)
            if (gain[grades[t]] > 0.0) {
                found += 1.0;
                total += found / (t + 1);
            }
    }
    return total / norm;
}
