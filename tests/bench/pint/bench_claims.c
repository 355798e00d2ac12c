/* SPDX-License-Identifier: Apache-2.0 */
/* What PINT's digests achieve on packets made up here: loops that are reported, packets until a
 * changed path is known, and the error of a hop's quantiles. One JSON object a line.
 *
 * Usage: bench_pint_claims [MILLIONS]      of packets that do not loop: 100 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "codec/pint/draws.h"
#include "codec/pint/flow.h"
#include "topology/topology.h"

enum { PACKETS = 5000, HOPS = 5, ROUNDS = 200, FLOWS = 1000, TTL = 64 };

static uint64_t seed = 1;

static struct pd_pint_plan *plan_of(const char *text)
{
    struct pd_pint_plan *plan = NULL;

    if (pd_pint_plan_parse(text, strlen(text), "plan", &plan, NULL)) {
        abort();
    }
    return plan;
}

/* ---- loops */

/* Whether a packet is reported on a walk of switches; `circle` of them at its end go round. */
static bool is_reported(const struct pd_pint_plan *plan, const uint32_t *walk, unsigned len,
                        unsigned circle, unsigned hops)
{
    struct pd_pint_visit visit = {.packet_id = (uint32_t)pd_splitmix64(&seed), .first = true};
    uint16_t digest = 0;

    for (visit.hop = 1; visit.hop <= hops; visit.hop++, visit.first = false) {
        const unsigned at = visit.hop - 1;
        visit.sw = walk[at < len ? at : len - circle + (at - len) % circle];
        if (pd_pint_switch(plan, &visit, &digest)) {
            return true;
        }
    }
    return false;
}

static void loops(uint64_t millions)
{
    static const uint32_t four[] = {1, 9, 17, 11, 18}, six[] = {1, 9, 17, 11, 18, 13, 20};
    struct pd_pint_plan *plan = plan_of(
        "{\"version\":1,\"seed\":7,\"carrier\":\"tag\",\"bits\":16,\"queries\":[{\"name\":\"loop\","
        "\"aggregation\":\"loop\",\"bits\":14,\"threshold\":3}],\"sets\":[{\"weight\":65536,"
        "\"queries\":[\"loop\"]}]}");
    unsigned reported[2] = {0};
    uint64_t wrong = 0;

    for (unsigned i = 0; i < 100000; i++) {
        reported[0] += is_reported(plan, four, 5, 4, TTL - 1);
        reported[1] += is_reported(plan, six, 7, 6, TTL - 1);
    }
    for (uint64_t i = 0; i < millions * 1000000; i++) {
        wrong += is_reported(plan, four, HOPS, HOPS, HOPS);
    }
    printf("{\"bench\":\"pint_loops\",\"reported_4_hops\":%.4f,\"reported_6_hops\":%.4f,"
           "\"wrong\":%llu,\"of\":%llu}\n",
           reported[0] / 1e5, reported[1] / 1e5, (unsigned long long)wrong,
           (unsigned long long)millions * 1000000);
    pd_pint_plan_free(plan);
}

/* ---- a changed path */

static uint16_t walked(const struct pd_pint_plan *plan, const uint32_t *path, uint32_t packet_id)
{
    const uint64_t values[PD_PINT_QUERIES_MAX] = {0};
    struct pd_pint_visit visit = {.packet_id = packet_id, .first = true, .values = values};
    uint16_t digest = 0;

    for (visit.hop = 1; visit.hop <= HOPS; visit.hop++, visit.first = false) {
        visit.sw = path[visit.hop - 1];
        pd_pint_switch(plan, &visit, &digest);
    }
    return digest;
}

/* Of a fat-tree of 8: packets of the second path until it is known; 0: never. */
static unsigned change_of(const struct pd_pint_plan *plan, struct pd_pint_receiver *receiver)
{
    static const uint32_t paths[2][HOPS] = {{1, 33, 65, 37, 5}, {1, 34, 70, 38, 5}};
    struct pd_pint_flow *flow = NULL;
    size_t record = 0;

    if (pd_pint_flow_new(receiver, 0, 4, &flow)) {
        abort();
    }
    for (unsigned i = 0; i < 100; i++) {
        const uint32_t packet_id = (uint32_t)pd_splitmix64(&seed);
        pd_pint_flow_add(flow, packet_id, walked(plan, paths[i >= 50], packet_id), HOPS, NULL,
                         &record);
        const struct pd_pint_record *now = pd_pint_flow_record(flow, record);
        if (i >= 50 && now->state == PD_PINT_KNOWN && now->path.switches[1] == 34) {
            pd_pint_flow_free(flow);
            return i - 49;
        }
    }
    pd_pint_flow_free(flow);
    return 0;
}

static void changes(void)
{
    struct pd_pint_plan *plan = plan_of(
        "{\"version\":1,\"seed\":7,\"carrier\":\"tag\",\"bits\":16,\"queries\":[{\"name\":\"path\","
        "\"aggregation\":\"static\",\"value\":\"switch-id\",\"bits\":8,\"tau\":0,"
        "\"xor\":[65536]}],\"sets\":[{\"weight\":65536,\"queries\":[\"path\"]}]}");
    struct pd_topology *topology = NULL;
    struct pd_pint_receiver *receiver = NULL;
    unsigned sum = 0, most = 0, never = 0;

    if (pd_topology_fat_tree(8, &topology, NULL)) {
        abort();
    }
    const struct pd_pint_receiver_config config = {.topology = topology, .plan = plan};
    if (pd_pint_receiver_new(&config, &receiver)) {
        abort();
    }
    for (unsigned i = 0; i < FLOWS; i++) {
        const unsigned pkts = change_of(plan, receiver);
        sum += pkts;
        most = pkts > most ? pkts : most;
        never += !pkts;
    }
    printf("{\"bench\":\"pint_change\",\"bits\":8,\"known_after_mean\":%.2f,\"most\":%u,"
           "\"never\":%u,\"flows\":%d}\n",
           (double)sum / FLOWS, most, never, FLOWS);
    pd_pint_receiver_free(receiver);
    pd_topology_free(topology);
    pd_pint_plan_free(plan);
}

/* ---- quantiles */

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t quantile(uint64_t *values, size_t len, double q)
{
    qsort(values, len, sizeof *values, compare);
    return values[(size_t)fmax(0, ceil(q * (double)len) - 1)];
}

/* A latency: exponential, 20 us at the mean, at least 1. */
static uint64_t latency(void)
{
    const double u = ((double)(pd_splitmix64(&seed) >> 11) + 1) / 9007199254740993.0;
    return (uint64_t)(1000 - 20000 * log(u));
}

/* A plan whose codes lie evenly by logarithm from 1 to 100 us. */
static struct pd_pint_plan *log_plan(unsigned bits)
{
    char text[16384], *bounds = malloc(8192);
    size_t at, b = 0;
    const unsigned codes = 1u << bits;
    double before = 0;

    at = (size_t)snprintf(text, sizeof text,
                          "{\"version\":1,\"seed\":7,\"carrier\":\"tag\",\"bits\":16,\"queries\":[{"
                          "\"name\":\"l\",\"aggregation\":\"dynamic\",\"value\":\"hop-latency-ns\","
                          "\"bits\":%u,\"rounding\":\"nearest\",\"values\":[",
                          bits);
    for (unsigned c = 0; bounds && c < codes; c++) {
        const double value = c ? round(1000 * pow(100, (c - 1) / (codes - 2.0))) : 0;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.0f", c ? "," : "", value);
        b += (size_t)snprintf(bounds + b, 8192 - b, "%s%.0f", c ? "," : "",
                              c ? ceil((before + value) / 2) : 0);
        before = value;
    }
    snprintf(text + at, sizeof text - at,
             "],\"bounds\":[%s]}],\"sets\":[{\"weight\":65536,\"queries\":[\"l\"]}]}", bounds);
    free(bounds);
    return plan_of(text);
}

/* Errors in percent of the population's quantile: of the sample, and of the sample's codes. */
static void one_round(const struct pd_pint_plan *plan, double q, double sums[2])
{
    static uint64_t all[PACKETS], sample[PACKETS], coded[PACKETS];
    const uint32_t hops = HOPS;
    size_t len = 0;

    for (unsigned i = 0; i < PACKETS; i++) {
        const uint32_t packet_id = (uint32_t)pd_splitmix64(&seed);
        struct pd_pint_draw draw;
        all[i] = latency();
        pd_pint_draw(plan, &packet_id, &hops, 1, &draw);
        if (draw.writers[0].words[0] == 4) { /* the third hop's */
            sample[len] = all[i];
            coded[len++] = plan->queries[0].values[pd_pint_code(plan, 0, packet_id, 3, all[i])];
        }
    }
    const double truth = (double)quantile(all, PACKETS, q);
    sums[0] += fabs((double)quantile(sample, len, q) / truth - 1);
    sums[1] += fabs((double)quantile(coded, len, q) / truth - 1);
}

static void quantiles(unsigned bits, double q)
{
    struct pd_pint_plan *plan = log_plan(bits);
    double sums[2] = {0};

    for (unsigned i = 0; i < ROUNDS; i++) {
        one_round(plan, q, sums);
    }
    printf("{\"bench\":\"pint_quantile\",\"bits\":%u,\"quantile\":%g,\"packets\":%d,\"hops\":%d,"
           "\"error_of_sample_percent\":%.2f,\"error_percent\":%.2f}\n",
           bits, q, PACKETS, HOPS, 100 * sums[0] / ROUNDS, 100 * sums[1] / ROUNDS);
    pd_pint_plan_free(plan);
}

int main(int argc, char **argv)
{
    const uint64_t millions = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;

    changes();
    for (unsigned bits = 8; bits >= 4; bits -= 4) {
        quantiles(bits, .5);
        quantiles(bits, .99);
    }
    loops(millions);
    return 0;
}
