// The device's sources for one thread of a host, so that what a block computes can be compared where there is no device.
#include <cstdlib>
#include "simulate.cu"

extern "C" {
int64 shared_bytes() { return sizeof(Shared); }
void sizes(int64 *out) {
    out[0] = sizeof(People), out[1] = sizeof(Settings), out[2] = sizeof(Measures), out[3] = sizeof(Problem);
}
void simulate_on_host(const Problem *problem, int64 blocks, int64 bytes, int64 first, int64 last) {
    Shared *shared = static_cast<Shared *>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    for (current_block = 0; current_block < blocks; current_block++) {
        std::memset(static_cast<void *>(shared), 0x7f, bytes);
        run_impressions(*problem, *shared, first, last);
    }
    std::free(shared);
}
double exp_of(double x) { return exp_(x); }
double log_of(double x) { return log_(x); }
double uniform_of(uint64 seed, int stream, int64 impression, int64 index) {
    return uniform(stream_key(seed, stream, impression), index);
}
}
