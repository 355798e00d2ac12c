/* SPDX-License-Identifier: Apache-2.0 */
/* Random networks, plans and packets for the tests of src/codec/pint. */
#ifndef PD_TESTS_PINT_NETWORKS_H
#define PD_TESTS_PINT_NETWORKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/pint/formulas.h"
#include "tests/shared/random.h"
#include "topology/topology.h"

/* A connected graph: a random tree and some more links; every switch has a rack. */
static inline struct pd_topology *network(struct random *random, unsigned switches, unsigned more)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    struct pd_topology *topology = NULL;
    struct pd_error error = {0};
    bool *linked = calloc((size_t)switches * switches, sizeof *linked);

    fprintf(out, "{\"nodes\":[");
    for (unsigned s = 0; s < switches; s++) {
        fprintf(out, "%s{\"id\":%u,\"role\":\"tor\",\"prefixes\":[\"10.%u.%u.0/24\"]}",
                s ? "," : "", 3 * s + 1, s / 200, s % 200);
    }
    fprintf(out, "],\"links\":[");
    for (unsigned l = 0; l < switches - 1 + more; l++) {
        unsigned a = l + 1, b = (unsigned)random_below(random, a);
        if (l >= switches - 1) {
            a = (unsigned)random_below(random, switches);
            b = (unsigned)random_below(random, switches);
        }
        if (a == b || linked[a * switches + b]) {
            continue;
        }
        linked[a * switches + b] = linked[b * switches + a] = true;
        fprintf(out, "%s{\"source\":%u,\"target\":%u}", l ? "," : "", 3 * a + 1, 3 * b + 1);
    }
    fprintf(out, "]}");
    fclose(out);
    if (pd_topology_parse(text, bytes, "network", &topology, &error)) {
        fail_msg("%s", error.text);
    }
    free(linked);
    free(text);
    return topology;
}

static inline struct pd_pint_plan *path_plan(unsigned bits, unsigned instances, unsigned tau,
                                             unsigned layer)
{
    char text[500];
    struct pd_pint_plan *plan = NULL;
    struct pd_error error = {0};

    snprintf(text, sizeof text,
             "{\"version\":1,\"seed\":5,\"carrier\":\"tag\",\"bits\":16,\"queries\":[{\"name\":"
             "\"path\",\"aggregation\":\"static\",\"value\":\"switch-id\",\"bits\":%u,"
             "\"instances\":%u,\"tau\":%u,\"xor\":[%u]}],\"sets\":[{\"weight\":65536,\"queries\":"
             "[\"path\"]}]}",
             bits, instances, tau, layer);
    if (pd_pint_plan_parse(text, strlen(text), "plan", &plan, &error)) {
        fail_msg("%s", error.text);
    }
    return plan;
}

/* What arrives after a walk, given as indexes of switches. */
static inline uint16_t walked(const struct pd_pint_plan *plan, const struct pd_topology *topology,
                              const uint32_t *walk, uint32_t len, uint32_t first_hop,
                              uint32_t packet_id)
{
    const uint64_t values[PD_PINT_QUERIES_MAX] = {0};
    struct pd_pint_visit visit = {.packet_id = packet_id, .values = values};
    uint16_t digest = 0;

    for (uint32_t p = 0; p < len; p++) {
        visit.sw = topology->switches[walk[p]].id;
        visit.hop = first_hop + p;
        visit.first = p == 0;
        pd_pint_switch(plan, &visit, &digest);
    }
    return digest;
}

/* A random simple walk of at most `most` switches. */
static inline uint32_t random_walk(struct random *random, const struct pd_topology *topology,
                                   uint32_t most, uint32_t *walk)
{
    uint32_t len = 1;

    walk[0] = (uint32_t)random_below(random, topology->switches_len);
    while (len < most) {
        const struct pd_switch *sw = &topology->switches[walk[len - 1]];
        const uint32_t next = sw->neighbours[random_below(random, sw->switch_neighbours)].node;
        bool fresh = true;
        for (uint32_t p = 0; p < len; p++) {
            fresh &= walk[p] != next;
        }
        if (!fresh) {
            break;
        }
        walk[len++] = next;
    }
    return len;
}

#endif
