/* SPDX-License-Identifier: Apache-2.0 */
/* Packets per second through parse, strip and update: what a host pays for each packet.
 *
 * 4,096 flows, one frame of 64 bytes each, a quarter of them with two tags, the others with one,
 * every DSCP cleared. Strip spoils the frames: they are copied anew between the timed parts. Time
 * is the CPU time of the thread, so that other work on the machine disturbs less; the median of the
 * rounds is printed. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trajectory/trajectory.h"

enum { FLOWS = 4096, FRAME_BYTES = 64, BURST = 32, TURNS = 500, ROUNDS_MAX = 99 };

static uint8_t made[FLOWS][FRAME_BYTES], work[FLOWS][FRAME_BYTES];

static void make_frame(unsigned flow, uint8_t *frame)
{
    static const uint8_t tag[] = {0x81, 0x00, 0x00, 0x09};
    static const uint8_t ipv4[] = {0x08, 0x00, 0x45, 0xb8, 0x00, 42, 0, 1,  0, 0, 64,
                                   6,    0x12, 0x34, 10,   1,    1,  2, 10, 2, 1, 3};
    unsigned tags = flow % 4 == 0 ? 2 : 1;
    uint8_t *at = frame + 12;
    memset(frame, 0, FRAME_BYTES);
    for (unsigned i = 0; i < tags; i++, at += sizeof tag) {
        memcpy(at, tag, sizeof tag);
    }
    memcpy(at, ipv4, sizeof ipv4);
    at += sizeof ipv4;
    at[0] = (uint8_t)(flow >> 8);
    at[1] = (uint8_t)flow;
    at[3] = 80;
    at[13] = 0x10;
}

static uint64_t cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

static bool evict(void *context, const struct pd_trajectory_record *record)
{
    *(uint64_t *)context += record->pkts;
    return true;
}

/* All flows once; with `trajectory` NULL only parse and strip. Returns the bytes of tags taken off.
 */
static size_t run_all(struct pd_trajectory *trajectory, uint64_t now_ns)
{
    size_t removed = 0;
    for (unsigned at = 0; at < FLOWS; at += BURST) {
        struct pd_packet packets[BURST];
        uint64_t times[BURST];
        unsigned len = 0;
        for (unsigned i = at; i < at + BURST; i++) {
            if (pd_packet_parse(work[i], FRAME_BYTES, FRAME_BYTES, &packets[len]) == PD_PACKET_OK) {
                removed += pd_packet_strip(work[i], &packets[len], true);
                times[len++] = now_ns;
            }
        }
        if (trajectory) {
            pd_trajectory_update(trajectory, packets, NULL, times, len, pd_tags_bits(false));
        }
    }
    return removed;
}

static double run_round(struct pd_trajectory *trajectory, uint64_t *now_ns)
{
    uint64_t passed_ns = 0;
    for (unsigned i = 0; i < TURNS; i++) {
        memcpy(work, made, sizeof work);
        uint64_t start_ns = cpu_ns();
        if (run_all(trajectory, *now_ns) != FLOWS * 5) {
            abort(); /* one frame in four has a second tag */
        }
        if (trajectory) {
            pd_trajectory_sweep(trajectory, *now_ns);
        }
        uint64_t end_ns = cpu_ns();
        passed_ns += end_ns - start_ns;
        *now_ns += end_ns - start_ns;
    }
    return (double)FLOWS * TURNS * 1e9 / (double)passed_ns;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 11;
    double all[ROUNDS_MAX], parse[ROUNDS_MAX];
    struct pd_trajectory_config config = PD_TRAJECTORY_DEFAULTS;
    uint64_t evicted = 0, now_ns = 1;
    struct pd_trajectory_sink sink = {&evicted, evict, NULL};
    struct pd_trajectory *trajectory;
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_packet [ROUNDS, 1 to %d]\n", ROUNDS_MAX);
        return 2;
    }
    if (pd_trajectory_new(&config, &sink, &trajectory)) {
        abort();
    }
    for (unsigned i = 0; i < FLOWS; i++) {
        make_frame(i, made[i]);
    }
    run_round(trajectory, &now_ns);
    for (unsigned i = 0; i < rounds; i++) {
        all[i] = run_round(trajectory, &now_ns);
        parse[i] = run_round(NULL, &now_ns);
    }
    qsort(all, rounds, sizeof all[0], compare);
    qsort(parse, rounds, sizeof parse[0], compare);
    printf("{\"bench\":\"packet\",\"frame_bytes\":%d,\"flows\":%d,\"pkts_per_s\":%.0f,"
           "\"best_pkts_per_s\":%.0f,\"parse_strip_pkts_per_s\":%.0f}\n",
           FRAME_BYTES, FLOWS, all[rounds / 2], all[rounds - 1], parse[rounds / 2]);
    pd_trajectory_free(trajectory);
    return 0;
}
