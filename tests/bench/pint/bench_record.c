/* SPDX-License-Identifier: Apache-2.0 */
/* Digests per second: set, layer and writing hops of each, against a scalar loop of the formulas.
 *
 * Two fields a digest, as paths and latencies share one; 5 and 59 hops. Both ways take turns in the
 * same run on the same packet IDs and must come to the same hops. Time is the CPU time of the
 * thread; the median of the rounds is printed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "codec/pint/draws.h"

enum { PACKETS = 65536, ROUNDS_MAX = 99 };

static const char text[] =
    "{\"version\":1,\"seed\":7,\"carrier\":\"tag\",\"bits\":16,\"queries\":[{\"name\":\"path\","
    "\"aggregation\":\"static\",\"value\":\"switch-id\",\"bits\":8,\"tau\":32768,\"xor\":[65536]},"
    "{\"name\":\"latency\",\"aggregation\":\"dynamic\",\"value\":\"hop-latency-ns\",\"bits\":8,"
    "\"values\":[0,500],\"bounds\":[0,250]}],\"sets\":[{\"weight\":65536,\"queries\":[\"path\","
    "\"latency\"]}]}";

static uint32_t packet_ids[PACKETS];

static uint64_t cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

/* The formulas as they stand in docs/formats/pint.md, one hop after the other. */
static struct pd_pint_hops scalar(const struct pd_pint_plan *plan,
                                  const struct pd_pint_field *field, uint32_t packet_id,
                                  unsigned len)
{
    const struct pd_pint_query *query = &plan->queries[field->query];
    const uint32_t tag = pd_pint_tag(field);
    const int layer =
        query->aggregation == PD_PINT_STATIC ? pd_pint_layer(plan, query, packet_id, tag) : -1;
    struct pd_pint_hops hops = {{0}};

    for (unsigned p = 0; p < len; p++) {
        const uint32_t words[] = {packet_id, tag, p + 1};
        const uint32_t g = pd_lookup3(plan->seed + 3, words, 3) >> 16;
        if (layer < 0 ? g < PD_PINT_ONE / (p + 1) : g < query->xor_layers[layer]) {
            if (layer < 0) {
                hops = (struct pd_pint_hops){{0}};
            }
            hops.words[p / 64] |= UINT64_C(1) << p % 64;
        }
    }
    return hops;
}

static uint64_t sum_of(const struct pd_pint_hops *hops)
{
    return pd_hash_mix(hops->words[0] ^ hops->words[1] * 3);
}

static uint64_t scalar_sum(const struct pd_pint_plan *plan, unsigned len)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < PACKETS; i++) {
        const struct pd_pint_set *set = &plan->sets[pd_pint_set_of(plan, packet_ids[i])];
        for (unsigned f = 0; f < set->fields_len; f++) {
            const struct pd_pint_hops hops = scalar(plan, &set->fields[f], packet_ids[i], len);
            sum += sum_of(&hops);
        }
    }
    return sum;
}

/* As a receiver records: some packets at once. */
static uint64_t drawn_sum(const struct pd_pint_plan *plan, unsigned len)
{
    struct pd_pint_draw draws[PD_PINT_DRAWS_MAX];
    uint32_t hops[PD_PINT_DRAWS_MAX];
    uint64_t sum = 0;

    for (unsigned i = 0; i < PD_PINT_DRAWS_MAX; i++) {
        hops[i] = len;
    }
    for (unsigned i = 0; i < PACKETS; i += PD_PINT_DRAWS_MAX) {
        pd_pint_draw(plan, packet_ids + i, hops, PD_PINT_DRAWS_MAX, draws);
        for (unsigned k = 0; k < PD_PINT_DRAWS_MAX; k++) {
            const struct pd_pint_set *set = &plan->sets[draws[k].set];
            for (unsigned f = 0; f < set->fields_len; f++) {
                sum += sum_of(&draws[k].writers[f]);
            }
        }
    }
    return sum;
}

/* Digests per second; *ret_sum tells whether both ways agree. */
static double run(const struct pd_pint_plan *plan, unsigned len, bool is_scalar, uint64_t *ret_sum)
{
    const uint64_t start_ns = cpu_ns();

    *ret_sum = is_scalar ? scalar_sum(plan, len) : drawn_sum(plan, len);
    return PACKETS * 1e9 / (double)(cpu_ns() - start_ns);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void bench(const struct pd_pint_plan *plan, unsigned len, unsigned rounds)
{
    double rates[2][ROUNDS_MAX];
    uint64_t sums[2];

    for (unsigned r = 0; r < rounds; r++) {
        rates[0][r] = run(plan, len, false, &sums[0]);
        rates[1][r] = run(plan, len, true, &sums[1]);
        if (sums[0] != sums[1]) {
            abort();
        }
    }
    qsort(rates[0], rounds, sizeof *rates[0], compare);
    qsort(rates[1], rounds, sizeof *rates[1], compare);
    printf("{\"bench\":\"pint_record\",\"hops\":%u,\"digests_per_s\":%.0f,"
           "\"scalar_digests_per_s\":%.0f,\"ratio\":%.2f}\n",
           len, rates[0][rounds / 2], rates[1][rounds / 2],
           rates[0][rounds / 2] / rates[1][rounds / 2]);
}

int main(int argc, char **argv)
{
    const unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 21;
    struct pd_pint_plan *plan = NULL;
    uint64_t random = 1;

    if (rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_pint_record [ROUNDS, 1 to %d]\n", ROUNDS_MAX);
        return 2;
    }
    if (pd_pint_plan_parse(text, strlen(text), "plan", &plan, NULL)) {
        abort();
    }
    for (unsigned i = 0; i < PACKETS; i++) {
        packet_ids[i] = (uint32_t)pd_splitmix64(&random);
    }
    bench(plan, 5, rounds);
    bench(plan, 59, rounds);
    pd_pint_plan_free(plan);
    return 0;
}
