// rankloop.kernels.draws.fill_normals, step by step in single precision: the same bits.
#pragma once
#include "arithmetic.cuh"
#include "draws.cuh"

DEVICE float log32(float x) {
    const int offset = as_int32(x) - 0x3F3504F3;
    const float k = static_cast<float>(offset >> 23);
    const float f = as_float32(static_cast<unsigned>((offset & 0x007FFFFF) + 0x3F3504F3)) - 1.0f;
    const float s = f / (2.0f + f);
    const float z = s * s;
    float p = fmaf(z, 0.24279078841f, 0.28498786688f);
    p = fmaf(z, p, 0.40000972152f);
    p = fmaf(z, p, 0.66666662693f);
    const float half_square = 0.5f * f * f;
    const float tail = fmaf(s, half_square + z * p, k * 9.0580006145e-06f);
    return k * 6.9313812256e-01f - ((half_square - tail) - f);
}

DEVICE float sine_of(float x) {
    const float z = x * x;
    float p = fmaf(z, -1.9515295891e-4f, 8.3321608736e-3f);
    p = fmaf(z, p, -1.6666654611e-1f);
    return fmaf(x * z, p, x);
}

DEVICE float cosine_of(float x) {
    const float z = x * x;
    float p = fmaf(z, 2.443315711809948e-5f, -1.388731625493765e-3f);
    p = fmaf(z, p, 4.166664568298827e-2f);
    return fmaf(z * z, p, fmaf(z, -0.5f, 1.0f));
}

DEVICE float radius_of(uint64 z) {
    const float u = static_cast<float>(static_cast<int>(z >> 40)) * 5.9604644775390625e-08f + 2.98023223876953125e-08f;
    return sqrtf(-2.0f * log32(u));
}

// Within a quadrant, from −π/4 to π/4.
DEVICE float angle_of(unsigned low) {
    return (as_float32(0x3F800000u | ((low & 0x3FFFFFFFu) >> 7)) - 1.5f) * 1.57079632679489661923f;
}

// Number `index` of `count` standard normals: of one draw the cosine comes in the first half, the sine in the second.
DEVICE float normal(uint64 key, int index, int count) {
    const int half = (count + 1) / 2;
    const bool second = index >= half;
    const uint64 z = bits(key, second ? index - half : index);
    const float radius = radius_of(z);
    const unsigned low = static_cast<unsigned>(z), quadrant = low >> 30;
    const float x = angle_of(low);
    const bool odd = quadrant & 1u;
    float part = odd == second ? cosine_of(x) : sine_of(x);
    if (second ? quadrant >= 2u : quadrant == 1u || quadrant == 2u) part = -part;
    return radius * part;
}

struct Normals { float first, second; };

// Both of the standard normals of one draw: number `index` and the one that is half of all further on.
DEVICE Normals two_normals(uint64 key, int index) {
    const uint64 z = bits(key, index);
    const float radius = radius_of(z);
    const unsigned low = static_cast<unsigned>(z), quadrant = low >> 30;
    const float x = angle_of(low), s = sine_of(x), c = cosine_of(x);
    const bool odd = quadrant & 1u;
    const float cosine = odd ? s : c, sine = odd ? c : s;
    return {radius * (quadrant == 1u || quadrant == 2u ? -cosine : cosine), radius * (quadrant >= 2u ? -sine : sine)};
}
