/* SPDX-License-Identifier: Apache-2.0 */
/* Milliseconds for a verdict: each localiser on random signatures of a fat-tree.
 *
 * Usage: bench_localise [K [SIGNATURES [ROUNDS]]]      16, 10000, 9
 *
 * Two cases: signatures of 4 faulty links, and signatures anywhere (the greatest cover there is);
 * beside them as many flows that lost nothing.
 * Median of the rounds; taking the signatures in is told apart from the verdict. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "localise/localise.h"
#include "sim/net.h"

enum { ROUNDS_MAX = 99, FAULTS = 4 };

struct bench {
    struct pd_topology *topology;
    struct pd_sim_net net;
    struct pd_sim_random random;
    struct pd_sim_net_route *routes;
    struct pd_evidence_way *ways;
    struct pd_evidence_row *rows;
    size_t len; /* signatures; as many flows that passed stand behind them */
};

static void *need(void *memory)
{
    if (!memory) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static bool crosses(const struct pd_sim_net_route *route, const uint32_t *faults)
{
    for (uint32_t i = 1; i + 1 < route->links_len; i++) {
        for (int f = 0; f < FAULTS; f++) {
            if (route->links[i] == faults[f]) {
                return true;
            }
        }
    }
    return false;
}

static void draw(struct bench *b, bool faulty)
{
    uint32_t hosts = b->topology->hosts_len, faults[FAULTS];
    for (int f = 0; f < FAULTS; f++) {
        faults[f] = pd_sim_random_below(&b->random, 2 * b->topology->fabric_links_len);
    }
    for (size_t i = 0; i < 2 * b->len; i++) {
        bool suffers = i < b->len;
        uint32_t src, dst;
        do {
            src = pd_sim_random_below(&b->random, hosts);
            dst = pd_sim_random_below(&b->random, hosts);
            pd_sim_net_route(&b->net, src, dst, 1, &b->random, &b->routes[i]);
        } while (b->routes[i].path.len < 2 ||
                 (faulty && crosses(&b->routes[i], faults) != suffers));
        b->ways[i] = (struct pd_evidence_way){.nodes = b->routes[i].path.switches,
                                              .nodes_len = b->routes[i].path.len,
                                              .reached = true,
                                              .pkts = 1000};
        b->rows[i] = (struct pd_evidence_row){.kind = PD_EVIDENCE_FLOW,
                                              .pkts = 1000,
                                              .lost = suffers ? 10 : 0,
                                              .ways = &b->ways[i],
                                              .ways_len = 1};
        b->rows[i].flow.src = b->topology->hosts[src].addrs[0];
        b->rows[i].flow.dst = b->topology->hosts[dst].addrs[0];
        b->rows[i].flow.ip_version = b->topology->hosts[dst].ip_versions[0];
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double ms_since(uint64_t start_ns)
{
    return (double)(pd_clock_monotonic_ns() - start_ns) / 1e6;
}

static void measure(struct bench *b, const struct pd_localiser_ops *ops, bool faulty, int rounds)
{
    struct pd_localiser_config config = {.topology = b->topology, .period_us = 200000};
    double take_ms[ROUNDS_MAX], verdict_ms[ROUNDS_MAX];
    struct pd_verdict verdict;
    for (int r = 0; r < rounds; r++) {
        const struct pd_evidence_period period = {.rows = b->rows, .rows_len = 2 * b->len};
        struct pd_localiser *localiser;
        draw(b, faulty);
        if (pd_localiser_new(ops, &config, &localiser)) {
            exit(1);
        }
        uint64_t start_ns = pd_clock_monotonic_ns();
        if (pd_localiser_observe(localiser, &period)) {
            exit(1);
        }
        take_ms[r] = ms_since(start_ns);
        start_ns = pd_clock_monotonic_ns();
        if (pd_localiser_locate(localiser, &verdict)) {
            exit(1);
        }
        verdict_ms[r] = ms_since(start_ns);
        pd_localiser_free(localiser);
    }
    qsort(take_ms, (size_t)rounds, sizeof *take_ms, compare);
    qsort(verdict_ms, (size_t)rounds, sizeof *verdict_ms, compare);
    printf("{\"bench\":\"localise\",\"localiser\":\"%s\",\"signatures\":%zu,\"of\":\"%s\","
           "\"links\":%u,"
           "\"named\":%zu,\"take_ms\":%.2f,\"verdict_ms\":%.2f,\"rounds\":%d}\n",
           ops->name, b->len, faulty ? "4 faulty links" : "anywhere",
           2 * b->topology->fabric_links_len, verdict.links_len, take_ms[rounds / 2],
           verdict_ms[rounds / 2], rounds);
}

int main(int argc, char **argv)
{
    uint32_t k = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 16;
    int rounds = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 9;
    struct bench b = {.random = {2016}, .len = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000};
    struct pd_error error;
    if (rounds < 1 || rounds > ROUNDS_MAX || !b.len) {
        return 2;
    }
    if (pd_topology_fat_tree(k, &b.topology, &error) ||
        pd_sim_net_init(b.topology, &b.net, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    b.routes = need(calloc(2 * b.len, sizeof *b.routes));
    b.ways = need(calloc(2 * b.len, sizeof *b.ways));
    b.rows = need(calloc(2 * b.len, sizeof *b.rows));
    for (size_t i = 0; pd_localisers[i]; i++) {
        for (int faulty = 1; faulty >= 0; faulty--) {
            measure(&b, pd_localisers[i], faulty, rounds);
        }
    }
    free(b.routes);
    free(b.ways);
    free(b.rows);
    pd_sim_net_done(&b.net);
    pd_topology_free(b.topology);
    return 0;
}
