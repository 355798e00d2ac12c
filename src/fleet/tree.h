/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregation trees: which host asks which others, as documents carry them down. */
#ifndef PD_FLEET_TREE_H
#define PD_FLEET_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* A document's "children":[{"id":21,"url":"http://…","children":[…]},…] tells the host that gets it
 * whom to ask itself, and what these are told in turn. Who sends it builds struct pd_tree in memory
 * of its own; who gets it reads a struct pd_forest.
 *
 * Thread safety: pure, or on the caller's memory only. */

#define PD_TREE_DEPTH_MAX 16u     /* hosts from the top to a leaf */
#define PD_TREE_HOSTS_MAX 200000u /* of a forest */

struct pd_tree {
    uint32_t host;   /* its ID */
    const char *url; /* as pd_fanout_peer takes it */
    struct pd_tree *children;
    size_t children_len;
};

struct pd_forest {
    struct pd_tree *trees;
    size_t trees_len;
    size_t hosts; /* in all of them */
    void *memory; /* of the trees' URLs */
};

/* From "children" (NULL: none). Refuses what is unknown by its place, "children[0].children[2].url:
 * …", trees that are too deep or have too many hosts, URLs that pd_http_url_check refuses, and a
 * host that stands there twice. -PD_E_VALUE, -PD_E_UNKNOWN_KEY, -PD_E_TOO_LARGE, -ENOMEM. */
int pd_fleet_forest_parse(const json_t *children, struct pd_forest *ret_forest,
                          struct pd_error *error);
void pd_fleet_forest_done(struct pd_forest *forest); /* a zeroed one is fine */

/* Hosts of the trees. */
size_t pd_fleet_trees_hosts(const struct pd_tree *trees, size_t len);

/* Their IDs in ascending order; the caller's. NULL without memory. */
uint32_t *pd_fleet_trees_ids(const struct pd_tree *trees, size_t len, size_t *ret_len);

/* The list that pd_fleet_forest_parse reads: "[{…},…]". Errors are the stream's. */
void pd_fleet_trees_write(const struct pd_tree *trees, size_t len, FILE *out);

#endif
