/* SPDX-License-Identifier: Apache-2.0 */
/* Generators of regular topologies: the table that command line, simulator and documents read. */
#ifndef PD_TOPOLOGY_GENERATORS_H
#define PD_TOPOLOGY_GENERATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "topology/topology.h"

/* A generator has a file of its own and a line in generators.c. What it drafts (draft.h) passes
 * through the checks of the reader. Thread safety: pure. */

#define PD_GENERATOR_OPTIONS_MAX 8

/* One number that it takes; all are needed. */
struct pd_generator_option {
    const char *name;  /* "k" */
    const char *value; /* "K", for help */
    uint32_t min, max;
    const char *help;
};

struct pd_draft;

struct pd_generator {
    const char *name;                          /* "fat-tree" */
    const char *help;                          /* what it makes, a sentence without full stop */
    const struct pd_generator_option *options; /* ends with a NULL name */
    /* Drafts it, without names of interfaces. The values are in the order of the options and within
     * their limits. 0, -ENOMEM, or -PD_E_VALUE with the reason. */
    int (*make)(const uint32_t *values, struct pd_draft *draft, struct pd_error *error);
};

extern const struct pd_generator *const pd_topology_generators[]; /* NULL-terminated */

/* "fat-tree" or, as in JSON, "fat_tree". NULL: there is none. */
const struct pd_generator *pd_topology_generator_find(const char *name);
/* Place of the option, or PD_NONE. */
uint32_t pd_topology_generator_option(const struct pd_generator *generator, const char *name);

/* Makes the topology; `addrs`: with addresses of all interfaces (docs/formats/topology.md). Values
 * beyond their limits: -PD_E_VALUE. */
int pd_topology_generate(const struct pd_generator *generator, const uint32_t *values, bool addrs,
                         struct pd_topology **ret_topology, struct pd_error *error);

#endif
