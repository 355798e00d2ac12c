/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes per second in fat-tree(k), from the trajectory cache and without it.
 *
 * Usage: bench_decode [K [TRAJECTORIES [ROUNDS]]]      48, 4096, 9
 *
 * Both sides get the same flow IDs and tags, a random walk over distinct trajectories: half
 * shortest paths, half detours at the core. A decode is all that a record needs: addresses to
 * racks, then the path. "Without" looks the racks up and rebuilds and proves each time. Rounds take
 * turns; medians of CPU time. "Beside": from the cache where the topology names `pint` as well, of
 * which no packet carries anything; `beside_ratio` is the median of each round's two. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "resolve/resolve.h"

enum { BATCH = 1 << 18, ROUNDS_MAX = 99 };

struct record {
    struct pd_flow_id flow;
    uint64_t mark;
};

struct bench {
    struct pd_topology *topology;
    const struct pd_codec *codec;
    struct pd_codec_set codecs;
    struct pd_topology with_two; /* the same network, of which a second scheme is used */
    struct pd_codec_set two;
    struct record *records;
    uint32_t records_len;
    uint32_t *order;   /* BATCH of them */
    uint64_t switches; /* of all paths, so that nothing is optimised away */
};

static void *need(void *memory)
{
    if (!memory) {
        fputs("no memory\n", stderr);
        exit(1);
    }
    return memory;
}

static uint32_t random_below(uint32_t limit)
{
    static uint64_t state = 2016;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 32) * limit >> 32);
}

/* A path between racks of different pods, over one core or two, written down from the regular IDs.
 */
static struct pd_path random_path(uint32_t k)
{
    uint32_t h = k / 2, pods[3], group = random_below(h), core = random_below(h);
    for (int i = 0; i < 3; i++) {
        do {
            pods[i] = random_below(k);
        } while ((i > 0 && pods[i] == pods[0]) || (i > 1 && pods[i] == pods[1]));
    }
    uint32_t aggs = k * h + group + 1, cores = k * k + group * h + 1, other = (core + 1) % h;
    struct pd_path path = {.len = 5};
    uint32_t src = pods[0] * h + random_below(h) + 1, dst = pods[1] * h + random_below(h) + 1;
    uint32_t shortest[] = {src, aggs + pods[0] * h, cores + core, aggs + pods[1] * h, dst};
    uint32_t detour[] = {src,           aggs + pods[0] * h, cores + core, aggs + pods[2] * h,
                         cores + other, aggs + pods[1] * h, dst};
    memcpy(path.switches, shortest, sizeof shortest);
    if (random_below(2)) {
        path.len = 7;
        memcpy(path.switches, detour, sizeof detour);
    }
    return path;
}

static void make_records(struct bench *b, uint32_t k)
{
    uint32_t h = k / 2;
    for (uint32_t i = 0; i < b->records_len; i++) {
        struct pd_path path = random_path(k);
        struct pd_encoding encoding;
        if (pd_codec_encode(b->codec, &path, &encoding, NULL)) {
            fputs("the path cannot be encoded\n", stderr);
            exit(1);
        }
        uint32_t src = (path.switches[0] - 1) * h, dst = (path.switches[path.len - 1] - 1) * h;
        struct pd_flow_id flow = {.src = b->topology->hosts[src + random_below(h)].addrs[0],
                                  .dst = b->topology->hosts[dst + random_below(h)].addrs[0],
                                  .protocol = 6,
                                  .ip_version = 4};
        b->records[i] = (struct record){flow, encoding.mark};
    }
    for (uint32_t i = 0; i < BATCH; i++) {
        b->order[i] = random_below(b->records_len);
    }
}

static uint64_t cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * PD_NS_PER_S + (uint64_t)time.tv_nsec;
}

static double run_cached(struct bench *b, struct pd_resolver *resolver)
{
    uint64_t start_ns = cpu_ns();
    for (uint32_t i = 0; i < BATCH; i++) {
        const struct record *record = &b->records[b->order[i]];
        struct pd_claim claim;
        if (pd_resolver_claim(resolver, &record->flow, record->mark, &claim)) {
            exit(1);
        }
        b->switches += claim.path->len;
    }
    return BATCH * 1e9 / (double)(cpu_ns() - start_ns);
}

static double run_uncached(struct bench *b)
{
    uint64_t start_ns = cpu_ns();
    for (uint32_t i = 0; i < BATCH; i++) {
        const struct record *record = &b->records[b->order[i]];
        struct pd_path path;
        uint32_t src = pd_topology_tor_of(b->topology, &record->flow.src, 4);
        uint32_t dst = pd_topology_tor_of(b->topology, &record->flow.dst, 4);
        if (pd_codec_decode(b->codec, src, dst, record->mark, &path, NULL)) {
            exit(1);
        }
        b->switches += path.len;
    }
    return BATCH * 1e9 / (double)(cpu_ns() - start_ns);
}

/* Both codecs of the same topology. */
static int init_two(struct bench *b, struct pd_error *error)
{
    static struct pd_codec_choice choices[2];
    choices[0] = b->topology->codecs[0];
    choices[1] = (struct pd_codec_choice){.name = "pint", .options = "", .tpid = PD_TPID_DEFAULT};
    b->with_two = *b->topology;
    b->with_two.codecs = choices;
    b->with_two.codecs_len = 2;
    return pd_codec_set_init(&b->two, &b->with_two, error);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, unsigned len)
{
    qsort(values, len, sizeof *values, compare);
    return values[len / 2];
}

int main(int argc, char **argv)
{
    uint32_t k = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 48;
    unsigned rounds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 9;
    struct bench b = {.records_len = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 4096};
    struct pd_error error;
    struct pd_resolver *resolver, *beside;
    double cached[ROUNDS_MAX], uncached[ROUNDS_MAX], besides[ROUNDS_MAX], ratios[ROUNDS_MAX];
    if (pd_topology_fat_tree(k, &b.topology, &error) ||
        pd_codec_set_init(&b.codecs, b.topology, &error) || init_two(&b, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    b.codec = pd_codec_set_find(&b.codecs, NULL);
    if (!rounds || rounds > ROUNDS_MAX || !b.records_len ||
        pd_resolver_new(&b.codecs, 2 * (size_t)b.records_len, &resolver) ||
        pd_resolver_new(&b.two, 2 * (size_t)b.records_len, &beside)) {
        return 1;
    }
    b.records = need(calloc(b.records_len, sizeof *b.records));
    b.order = need(calloc(BATCH, sizeof *b.order));
    make_records(&b, k);
    run_cached(&b, resolver); /* fills the cache */
    run_cached(&b, beside);
    for (unsigned i = 0; i < rounds; i++) {
        uncached[i] = run_uncached(&b);
        cached[i] = run_cached(&b, resolver);
        besides[i] = run_cached(&b, beside);
        ratios[i] = besides[i] / cached[i];
    }
    double hits = median(cached, rounds), misses = median(uncached, rounds);
    const struct pd_resolver_counters *counters = pd_resolver_counters(resolver);
    printf("{\"bench\":\"decode\",\"topology\":\"fat-tree\",\"k\":%u,\"trajectories\":%u,"
           "\"cached_per_s\":%.0f,\"uncached_per_s\":%.0f,\"ratio\":%.2f,\"hit_share\":%.4f,"
           "\"beside_per_s\":%.0f,\"beside_ratio\":%.3f,\"rounds\":%u,\"switches\":%llu}\n",
           k, b.records_len, hits, misses, hits / misses,
           (double)counters->hits / (double)(counters->hits + counters->misses),
           median(besides, rounds), median(ratios, rounds), rounds, (unsigned long long)b.switches);
    pd_resolver_free(resolver);
    pd_resolver_free(beside);
    pd_codec_set_done(&b.two);
    pd_codec_set_done(&b.codecs);
    pd_topology_free(b.topology);
    free(b.records);
    free(b.order);
    return 0;
}
