// rankloop.kernels.arithmetic and .selection, step by step: the same bits.
#pragma once
#include "portable.cuh"

#define LN2_HIGH 6.93147180369123816490e-01
#define LN2_LOW 1.90821492927058770002e-10
#define SQRT_HALF_BITS 0x3FE6A09E667F3BCDLL
#define MANTISSA 0x000FFFFFFFFFFFFFLL
#define ROUND 6755399441055744.0
#define LOWEST (-0x7FFFFFFFFFFFFFFFLL - 1)

DEVICE double minus_infinity() { return as_float64(static_cast<int64>(0xFFF0000000000000ULL)); }
DEVICE double not_a_number() { return as_float64(0x7FF8000000000000LL); }

DEVICE double exp_here(double x) {
    x = x < 709.0 ? x : 709.0;
    const double shifted = fma(x, 1.4426950408889634, ROUND);
    const double k = shifted - ROUND;
    const double r = fma(k, -LN2_LOW, fma(k, -LN2_HIGH, x));
    double p = fma(r, 1.6059043836821613e-10, 2.08767569878681e-09);
    p = fma(r, p, 2.505210838544172e-08);
    p = fma(r, p, 2.755731922398589e-07);
    p = fma(r, p, 2.7557319223985893e-06);
    p = fma(r, p, 2.48015873015873e-05);
    p = fma(r, p, 1.984126984126984e-04);
    p = fma(r, p, 1.388888888888889e-03);
    p = fma(r, p, 8.333333333333333e-03);
    p = fma(r, p, 4.1666666666666664e-02);
    p = fma(r, p, 1.6666666666666666e-01);
    p = fma(r, p, 0.5);
    p = fma(r, p, 1.0);
    p = fma(r, p, 1.0);
    const double power = as_float64(static_cast<int64>(static_cast<uint64>(as_int64(shifted) + 1023) << 52));
    return x > -708.0 ? p * power : 0.0;
}

CALLED double exp_(double x) { return exp_here(x); }

// Two at once take hardly longer than one: each step of a polynomial waits for the one before.
struct Two { double a, b; };
CALLED Two exp_both(double a, double b) { return {exp_here(a), exp_here(b)}; }

CALLED double log_(double x) {
    const int64 offset = as_int64(x) - SQRT_HALF_BITS;
    const double k = static_cast<double>(offset >> 52);
    const double f = as_float64((offset & MANTISSA) + SQRT_HALF_BITS) - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    double p = fma(z, 1.479819860511658591e-01, 1.531383769920937332e-01);
    p = fma(z, p, 1.818357216161805012e-01);
    p = fma(z, p, 2.222219843214978396e-01);
    p = fma(z, p, 2.857142874366239149e-01);
    p = fma(z, p, 3.999999999940941908e-01);
    p = fma(z, p, 6.666666666666735130e-01);
    const double half_square = 0.5 * f * f;
    return k * LN2_HIGH - ((half_square - fma(s, half_square + z * p, k * LN2_LOW)) - f);
}

#define ROUND32 12582912.0f

DEVICE float exp32(float x) {
    x = x < 88.0f ? x : 88.0f;
    const float shifted = fmaf(x, 1.44269504f, ROUND32);
    const float k = shifted - ROUND32;
    const float r = fmaf(k, -1.42860677e-06f, fmaf(k, -0.693145752f, x));
    float p = fmaf(r, 1.98412698e-04f, 1.38888889e-03f);
    p = fmaf(r, p, 8.33333333e-03f);
    p = fmaf(r, p, 4.16666667e-02f);
    p = fmaf(r, p, 1.66666667e-01f);
    p = fmaf(r, p, 0.5f);
    p = fmaf(r, p, 1.0f);
    p = fmaf(r, p, 1.0f);
    const float power = as_float32(static_cast<unsigned>(as_int32(shifted) + 127) << 23);
    return x > -87.0f ? p * power : 0.0f;
}

DEVICE int64 sortable64(double x) {
    const int64 pattern = as_int64(x);
    return pattern ^ ((pattern >> 63) & 0x7FFFFFFFFFFFFFFFLL);
}
