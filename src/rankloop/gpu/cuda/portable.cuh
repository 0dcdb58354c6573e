// What differs between a CUDA device and a host that runs the same sources with one thread: tests compile them with g++.
// Compile with contraction off (--fmad=false, -ffp-contract=off): a·b + c is rounded once only where `fma` says so.
#pragma once

typedef long long int64;
typedef unsigned long long uint64;
typedef unsigned char uint8;

#ifdef __CUDACC__

#define DEVICE __device__ __forceinline__
#define CALLED __device__ __noinline__   // called in many places: less code, fewer registers
#define LANES 32
#define WARPS (THREADS / LANES)
#define SAME_WARP 0xffffffffu

DEVICE int thread_index() { return threadIdx.x; }
DEVICE int block_index() { return blockIdx.x; }
DEVICE void warp_sync() { __syncwarp(); }
DEVICE void block_sync() { __syncthreads(); }
DEVICE int64 as_int64(double x) { return __double_as_longlong(x); }
DEVICE double as_float64(int64 x) { return __longlong_as_double(x); }
DEVICE int as_int32(float x) { return __float_as_int(x); }
DEVICE float as_float32(unsigned x) { return __uint_as_float(x); }

// The largest 64-bit integer of a warp: its upper half first, then the lower half among those that have it.
DEVICE int64 warp_max64(int64 x) {
    const int high = static_cast<int>(x >> 32);
    const unsigned low = static_cast<unsigned>(x);
    const int top = __reduce_max_sync(SAME_WARP, high);
    const unsigned rest = __reduce_max_sync(SAME_WARP, high == top ? low : 0u);
    return (static_cast<int64>(top) << 32) | rest;
}
DEVICE int warp_max32(int x) { return __reduce_max_sync(SAME_WARP, x); }
DEVICE int warp_sum32(int x) { return __reduce_add_sync(SAME_WARP, x); }
DEVICE double warp_sum(double x) {
    for (int apart = 16; apart; apart >>= 1) x += __shfl_xor_sync(SAME_WARP, x, apart);
    return x;
}
// From memory that nobody writes to, and that the first cache is to keep.
DEVICE float4 read_kept(const float4 *address) { return __ldg(address); }
// Ask for a line of memory before it is needed.
DEVICE void prefetch(const void* address) { asm volatile("prefetch.global.L2 [%0];" ::"l"(address)); }

#else

#include <cmath>
#include <cstring>
using std::fma;
using std::sqrt;

#define DEVICE static inline
#define CALLED static inline
#define LANES 1
#ifndef THREADS
#define THREADS 1
#endif
#define WARPS THREADS
struct float4 { float x, y, z, w; };

static int current_block = 0, current_thread = 0;
DEVICE int thread_index() { return current_thread; }
DEVICE int block_index() { return current_block; }
DEVICE void warp_sync() {}
#if THREADS > 1
static void block_sync();   // `host.cpp`: threads take turns
#else
DEVICE void block_sync() {}
#endif
DEVICE int64 as_int64(double x) { int64 y; std::memcpy(&y, &x, 8); return y; }
DEVICE double as_float64(int64 x) { double y; std::memcpy(&y, &x, 8); return y; }
DEVICE int as_int32(float x) { int y; std::memcpy(&y, &x, 4); return y; }
DEVICE float as_float32(unsigned x) { float y; std::memcpy(&y, &x, 4); return y; }
DEVICE int64 warp_max64(int64 x) { return x; }
DEVICE int warp_max32(int x) { return x; }
DEVICE int warp_sum32(int x) { return x; }
DEVICE double warp_sum(double x) { return x; }
DEVICE float4 read_kept(const float4 *address) { return *address; }
DEVICE void prefetch(const void*) {}

#endif

DEVICE int lane_index() { return thread_index() % LANES; }
DEVICE int warp_index() { return thread_index() / LANES; }
DEVICE int smaller(int a, int b) { return a < b ? a : b; }
DEVICE double larger(double a, double b) { return a > b ? a : b; }
