/* SPDX-License-Identifier: Apache-2.0 */
/* The records that one server of a fat-tree collects. */
#include "dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define K           16u
#define SOURCES_MAX (K * K * K / 4)
#define RECENT      4096u
#define START_US    UINT64_C(1790000000000000)

static uint64_t next(struct dataset *d)
{
    return pd_splitmix64(&d->random);
}

static uint32_t below(struct dataset *d, uint32_t bound)
{
    return (uint32_t)(next(d) % bound);
}

static double unit(struct dataset *d)
{
    return (double)((next(d) >> 11) + 1) / (double)(UINT64_C(1) << 53);
}

static uint32_t sources(const struct dataset *d)
{
    return 2 * d->half * d->half * d->half;
}

void dataset_place(struct dataset *d, uint32_t k, uint32_t destination)
{
    d->half = k / 2;
    d->destination = destination;
    double sum = 0;
    for (unsigned i = 0; i < sources(d); i++) {
        d->zipf[i] = sum += 1.0 / (i + 1);
    }
    for (unsigned i = 0; i < sources(d); i++) {
        d->zipf[i] /= sum;
    }
}

int dataset_init(struct dataset *d, uint64_t seed, double records_per_s)
{
    *d = (struct dataset){.random = seed, .clock_us = START_US, .step_us = 1e6 / records_per_s};
    d->zipf = malloc(SOURCES_MAX * sizeof *d->zipf);
    d->recent = malloc(RECENT * sizeof *d->recent);
    d->recent_paths = malloc(RECENT * sizeof *d->recent_paths);
    if (!d->zipf || !d->recent || !d->recent_paths) {
        return -1;
    }
    dataset_place(d, K, 0);
    return 0;
}

void dataset_done(struct dataset *d)
{
    free(d->zipf);
    free(d->recent);
    free(d->recent_paths);
}

/* Host by rank; ranks are scattered over the pods. Never the destination. */
static uint32_t source(struct dataset *d)
{
    double wanted = unit(d);
    uint32_t low = 0, high = sources(d) - 1;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (d->zipf[mid] < wanted) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    uint32_t host = (low * 389u + 1) % sources(d); /* 389 is prime to their number: a permutation */
    return host != d->destination ? host : (host + 1) % sources(d);
}

static uint32_t tor(const struct dataset *d, uint32_t pod, uint32_t i)
{
    return pod * d->half + i + 1;
}

static uint32_t agg(const struct dataset *d, uint32_t pod, uint32_t s)
{
    return 2 * d->half * d->half + pod * d->half + s + 1;
}

static uint32_t core(const struct dataset *d, uint32_t s, uint32_t c)
{
    return 4 * d->half * d->half + s * d->half + c + 1;
}

/* From the rack of `host` to that of the destination, by random equal-cost choices, sometimes by a
 * detour. */
static void path_of(struct dataset *d, uint32_t host, struct pd_path *path)
{
    uint32_t h = d->half, rack = host / h, pod = rack / h, i = rack % h;
    uint32_t last = d->destination / h, last_pod = last / h;
    uint32_t s = below(d, h), c = below(d, h);
    bool detour = below(d, 100) == 0;
    uint32_t *sw = path->switches;
    memset(path, 0, sizeof *path);
    if (rack != last) {
        sw[path->len++] = tor(d, pod, i);
    }
    if (pod != last_pod) {
        uint32_t other = (i + 1 + below(d, h - 1)) % h;
        if (detour) { /* in the source's pod: down to another rack and up again */
            sw[path->len++] = agg(d, pod, (s + 1 + below(d, h - 1)) % h);
            sw[path->len++] = tor(d, pod, other);
        }
        sw[path->len++] = agg(d, pod, s);
        sw[path->len++] = core(d, s, c);
    }
    if (rack != last) {
        sw[path->len++] = agg(d, last_pod, s);
    }
    sw[path->len++] = tor(d, last_pod, last % h);
}

static void address_of(const struct dataset *d, uint32_t host, uint8_t ret_address[4])
{
    uint32_t rack = host / d->half;
    ret_address[0] = 10;
    ret_address[1] = (uint8_t)(rack / d->half + 1);
    ret_address[2] = (uint8_t)(rack % d->half + 1);
    ret_address[3] = (uint8_t)(host % d->half + 2);
}

static void flow_of(struct dataset *d, uint32_t host, struct pd_flow_id *flow)
{
    static const uint16_t services[] = {80, 443, 3306, 5201, 8080, 9092};
    memset(flow, 0, sizeof *flow);
    address_of(d, host, flow->src.bytes);
    address_of(d, d->destination, flow->dst.bytes);
    flow->src_port = (uint16_t)(32768 + below(d, 28232));
    flow->dst_port = services[below(d, sizeof services / sizeof *services)];
    flow->protocol = 6;
    flow->ip_version = 4;
}

/* Packets by a Pareto law (shape 1.1), what 60 s can carry at most; packets of 64 to 1500 bytes. */
static void size_of(struct dataset *d, struct pd_tib_record *record)
{
    double pkts = 2 * pow(unit(d), -1 / 1.1);
    record->pkts = pkts > 4e6 ? 4000000 : (uint64_t)pkts;
    record->bytes = record->pkts * (64 + below(d, 1437));
}

void dataset_next(struct dataset *d, struct pd_path *path, struct pd_tib_record *ret_record)
{
    struct pd_tib_record record = {.path = path};
    uint32_t slot = below(d, RECENT);
    if (slot < d->recent_len && below(d, 10) == 0) {
        record = d->recent[slot];
        *path = d->recent_paths[slot];
        record.path = path;
    } else {
        uint32_t host = source(d);
        path_of(d, host, path);
        flow_of(d, host, &record.flow);
    }
    size_of(d, &record);
    d->clock_us += (uint64_t)(2 * unit(d) * d->step_us);
    uint64_t lasted = (uint64_t)(1000 * pow(unit(d), -1));
    record.stime_us = d->clock_us;
    record.etime_us = d->clock_us + (lasted > 60000000 ? 60000000 : lasted);
    slot = d->recent_len < RECENT ? (uint32_t)d->recent_len++ : below(d, RECENT);
    d->recent[slot] = record;
    d->recent_paths[slot] = *path;
    *ret_record = record;
}
