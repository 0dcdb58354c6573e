// The device's sources for a host, so that what a block computes can be compared where there is no device: by one
// thread, or by THREADS that take turns from barrier to barrier, the first one first or the last one. What depends on
// who comes first, between two barriers, comes out differently in one of the two orders.
#include <cstdlib>
#include "simulate.cu"

#if THREADS > 1
#include <ucontext.h>
#include <vector>

static ucontext_t everybody, turn[THREADS];
static bool done[THREADS];

static void block_sync() { swapcontext(&turn[current_thread], &everybody); }

struct Task { const Problem *problem; Shared *shared; int64 first, last; };
static Task task;

static void take_part() {
    run_impressions(*task.problem, *task.shared, task.first, task.last);
    done[current_thread] = true;
}

// False if some threads have come to an end where others wait at a barrier.
static bool run_block(const Problem *problem, Shared *shared, int64 first, int64 last, bool last_first) {
    static std::vector<char> stacks[THREADS];
    task = {problem, shared, first, last};
    for (int thread = 0; thread < THREADS; thread++) {
        stacks[thread].resize(1 << 18);
        getcontext(&turn[thread]);
        turn[thread].uc_stack.ss_sp = stacks[thread].data();
        turn[thread].uc_stack.ss_size = stacks[thread].size();
        turn[thread].uc_link = &everybody;
        makecontext(&turn[thread], take_part, 0);
        done[thread] = false;
    }
    for (int ended = 0; ended < THREADS;) {
        if (ended > 0) return false;
        for (int at = 0; at < THREADS; at++) {
            current_thread = last_first ? THREADS - 1 - at : at;
            swapcontext(&everybody, &turn[current_thread]);
            ended += done[current_thread];
        }
    }
    return true;
}
#else
static bool run_block(const Problem *problem, Shared *shared, int64 first, int64 last, bool) {
    run_impressions(*problem, *shared, first, last);
    return true;
}
#endif

extern "C" {
int64 shared_bytes() { return sizeof(Shared); }
void sizes(int64 *out) {
    out[0] = sizeof(People), out[1] = sizeof(Settings), out[2] = sizeof(Measures), out[3] = sizeof(Problem);
}
int64 simulate_on_host(const Problem *problem, int64 blocks, int64 bytes, int64 first, int64 last, int64 last_first) {
    Shared *shared = static_cast<Shared *>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    int64 whole = 0;
    for (current_block = 0; current_block < blocks; current_block++) {
        std::memset(static_cast<void *>(shared), 0x7f, bytes);
        whole += run_block(problem, shared, first, last, last_first);
    }
    std::free(shared);
    return whole;
}
#if LEARNER == DBGD
int64 duel_bytes(int64 room) { return DUEL_SHARED(room); }
#endif
#if LEARNER == PMGD || LEARNER == COLTR
int64 rivals_bytes() { return RIVALS_SHARED; }
#endif
#if LEARNER == POSTERIOR
int64 belief_bytes() { return BELIEF_SHARED; }
int64 triangle_words() { return TRIANGLE; }
void drawn_normals(const uint64 *key, float *out, int count) {
    for (int j = 0; j < count; j++) out[j] = normal(*key, j, count);
}
#endif
double exp_of(double x) { return exp_(x); }
double log_of(double x) { return log_(x); }
double uniform_of(uint64 seed, int stream, int64 impression, int64 index) {
    return uniform(stream_key(seed, stream, impression), index);
}
}
