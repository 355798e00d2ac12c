/* SPDX-License-Identifier: Apache-2.0 */
/* Packets a second of CPU time through compiled programs, 1,000-byte frames from memory, in bursts
 * of 32, beside a program that only sends to another port. All programs run in turn, round by
 * round; the medians are printed, and each program's ratio to that of `send`.
 *
 *     bench_switch [ROUNDS] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memory_switch.h"

enum { FRAME_BYTES = 1000, BURST = 32, BURSTS = 200, ROUNDS_MAX = 99, FLOWS = 1024 };
enum { FROM_HOST = 3, FROM_SWITCH = 1 }; /* in ports of a ToR, and of an aggregate switch */

/* Meters count, and digests begin, at the rack. */
static const struct program {
    const char *name;
    uint32_t id;
    uint16_t in_port;
    bool probes;
} programs[] = {
    {"send", 9, FROM_SWITCH, false},        {"forward", 10, FROM_SWITCH, false},
    {"cherrypick", 11, FROM_SWITCH, false}, {"path-bloom", 12, FROM_SWITCH, false},
    {"meters", 1, FROM_HOST, false},        {"pint", 2, FROM_HOST, false},
    {"sr-int", 13, FROM_SWITCH, true},      {"int-md", 14, FROM_SWITCH, false},
};
#define PROGRAMS (sizeof programs / sizeof *programs)

static uint64_t cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

/* TCP from rack 1 to a rack of another pod, one frame of each of many flows, TTL 63; for `sr-int` a
 * probe of which all labels are port 3. */
static void make_frame(uint8_t *frame, unsigned flow, bool probe)
{
    static const uint8_t head[] = {2,    0, 0, 0, 0, 2,  2, 0, 0, 0,  0, 1, 8, 0,  0x45, 0, 0x03,
                                   0xda, 0, 1, 0, 0, 63, 6, 0, 0, 10, 1, 1, 2, 10, 2,    1, 2};
    memset(frame, 0, FRAME_BYTES);
    memcpy(frame, head, sizeof head);
    frame[34] = (uint8_t)(flow >> 8 | 4);
    frame[35] = (uint8_t)flow;
    frame[37] = 80;
    frame[46] = 0x50;
    if (probe) {
        static const uint8_t udp[] = {0x08, 0xae, 0x03, 0xc6};
        frame[23] = 17;
        memcpy(frame + 36, udp, sizeof udp);
        memset(frame + 42 + 32, 3, 64);
    }
}

/* A rule for each flow. */
static void add_rules(struct pd_swx_switch *sw)
{
    struct pd_error error = {.code = 0};
    struct pd_p4_shape shape;
    char spec[4096], row[300];
    memory_must(pd_p4_program_file("meters", "pna", spec, sizeof spec, &error), &error);
    memory_must(pd_p4_shape_read(spec, &shape, &error), &error);
    const struct pd_p4_table *table = pd_p4_shape_table(&shape, "meter_up");
    const char *action = pd_p4_shape_action(&shape, table, "counted")->name;
    uint32_t nth = pd_swx_pipeline_find_table(sw->pipeline, table->name);
    for (unsigned flow = 0; flow < FLOWS; flow++) {
        snprintf(row, sizeof row, "match 0x0 0xffff0a020102 0x0 0xffff0a010102 0x%x 0x6 action %s",
                 (flow | 0x400) << 16 | 80, action);
        memory_must(pd_swx_pipeline_add(sw->pipeline, nth, row), &error);
    }
    memory_must(pd_swx_pipeline_commit(sw->pipeline), &error);
    pd_p4_shape_done(&shape);
}

static double run_round(struct pd_swx_switch *sw, const struct program *program, uint64_t *now_ns)
{
    static uint8_t frames[FLOWS][FRAME_BYTES];
    uint64_t passed_ns = 0;
    for (unsigned i = 0; i < FLOWS; i++) {
        make_frame(frames[i], i, program->probes);
    }
    for (unsigned burst = 0, flow = 0; burst < BURSTS; burst++) {
        uint64_t start_ns = cpu_ns();
        for (unsigned i = 0; i < BURST; i++, flow = (flow + 1) % FLOWS) {
            struct pd_swx_frame *frame = pd_swx_frame_new();
            memcpy(pd_swx_frame_data(frame), frames[flow], FRAME_BYTES);
            frame->bytes = FRAME_BYTES;
            frame->time_ns = *now_ns;
            pd_swx_switch_arrives(sw, frame, program->in_port);
        }
        pd_swx_switch_run(sw, *now_ns += 10000);
        passed_ns += cpu_ns() - start_ns;
    }
    return BURST * BURSTS * 1e9 / (double)passed_ns;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, unsigned len)
{
    qsort(values, len, sizeof *values, by_size);
    return values[len / 2];
}

static void print(double medians[PROGRAMS], const struct pd_swx_switch *switches, unsigned rounds)
{
    for (size_t p = 0; p < PROGRAMS; p++) {
        printf("{\"bench\":\"switch\",\"program\":\"%s\",\"frame_bytes\":%d,\"rounds\":%u,"
               "\"forwarded_share\":%.3f,\"packets_per_s\":%.0f,\"ratio\":%.3f}\n",
               programs[p].name, FRAME_BYTES, rounds,
               (double)switches[p].forwarded / (double)switches[p].received, medians[p],
               medians[p] / medians[0]);
    }
}

int main(int argc, char **argv)
{
    static struct pd_swx_switch switches[PROGRAMS];
    static double rates[PROGRAMS][ROUNDS_MAX];
    struct pd_error error = {.code = 0};
    uint64_t now_ns = UINT64_C(1700000000000000000);
    double medians[PROGRAMS];
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 15;
    if (!rounds || rounds > ROUNDS_MAX) {
        fputs("bench_switch [ROUNDS up to 99]\n", stderr);
        return 2;
    }
    memory_must(pd_swx_frames_open(PROGRAMS, &error), &error);
    for (size_t p = 0; p < PROGRAMS; p++) {
        memory_switch_open(programs[p].name, programs[p].id, p ? NULL : PD_SEND_SPEC, &switches[p]);
        if (!strcmp(programs[p].name, "meters")) {
            add_rules(&switches[p]);
        }
    }
    for (unsigned round = 0; round < rounds; round++) {
        for (size_t p = 0; p < PROGRAMS; p++) {
            rates[p][round] = run_round(&switches[p], &programs[p], &now_ns);
        }
    }
    for (size_t p = 0; p < PROGRAMS; p++) {
        medians[p] = median(rates[p], rounds);
    }
    print(medians, switches, rounds);
    return 0;
}
