/* SPDX-License-Identifier: Apache-2.0 */
/* Generators: regular IDs, names and addresses (docs/formats/topology.md), through the reader's
 * checks. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "topology/draft.h"

#define VL2_HOSTS_PER_TOR 20  /* as in the VL2 paper */
#define RACK_HOSTS_MAX    253 /* .2 to .254 */
#define LEAF_SPINE_TAGS   4094

/* A node's ID is its place + 1. */
static int add_node(struct pd_draft *draft, enum pd_switch_role role, uint32_t pod,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

static int add_node(struct pd_draft *draft, enum pd_switch_role role, uint32_t pod,
                    const char *format, ...)
{
    char name[PD_NAME_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    int error = pd_draft_node(draft, (uint32_t)draft->nodes_len + 1, role, pod);
    return error ? error
                 : pd_draft_string(draft, name, strlen(name),
                                   &draft->nodes[draft->nodes_len - 1].name);
}

/* Gives the last node 10.A.B.N and fd00:0:A:B::N, or the prefixes of rack A.B when N is 0. */
static int add_addrs(struct pd_draft *draft, uint32_t a, uint32_t b, uint32_t n)
{
    struct pd_prefix v4 = {
        .addr = {{10, (uint8_t)a, (uint8_t)b, (uint8_t)n}}, .ip_version = 4, .bits = n ? 32 : 24};
    struct pd_prefix v6 = {.addr = {{0xfd, 0, 0, 0, 0, (uint8_t)a, 0, (uint8_t)b}},
                           .ip_version = 6,
                           .bits = n ? 128 : 64};
    v6.addr.bytes[15] = (uint8_t)n;
    int error = pd_draft_addr(draft, &v4);
    return error ? error : pd_draft_addr(draft, &v6);
}

/* Hosts 2 to hosts + 1 of rack A.B, linked with their ToR. */
static int add_hosts(struct pd_draft *draft, uint32_t tor_id, uint32_t a, uint32_t b,
                     uint32_t hosts)
{
    int error = 0;
    for (uint32_t n = 2; n < hosts + 2 && !error; n++) {
        error = add_node(draft, PD_ROLE_HOST, 0, "host-%u-%u-%u", a, b, n);
        if (!error) {
            error = add_addrs(draft, a, b, n);
        }
        if (!error) {
            error = pd_draft_link(draft, tor_id, (uint32_t)draft->nodes_len);
        }
    }
    return error;
}

static int set_names(struct pd_draft *draft, const char *name, const char *codec)
{
    int error = pd_draft_string(draft, name, strlen(name), &draft->name);
    return error ? error : pd_draft_codec(draft, codec, "");
}

/* Builds what `fill` has drafted. The checks are the reader's, so that a generator cannot differ.
 */
static int finish(struct pd_draft *draft, int error, struct pd_topology **ret_topology,
                  struct pd_error *ret_error)
{
    struct pd_findings findings = {0};
    struct pd_topology *topology = NULL;
    if (!error) {
        error = pd_topology_build(draft, &findings, &topology);
    }
    pd_draft_done(draft);
    if (error) {
        return pd_fail(ret_error, error, "topology: %s", pd_error_text(error));
    }
    error = pd_findings_end(&findings, ret_error);
    if (!error) {
        *ret_topology = topology;
    }
    return error;
}

/* ---- fat-tree */

static int fat_tree_nodes(struct pd_draft *draft, uint32_t k)
{
    uint32_t h = k / 2;
    int error = 0;
    for (uint32_t pod = 1; pod <= k; pod++) {
        for (uint32_t i = 1; i <= h && !error; i++) {
            error = add_node(draft, PD_ROLE_TOR, pod, "tor-%u-%u", pod, i);
            if (!error) {
                error = add_addrs(draft, pod, i, 0);
            }
        }
    }
    for (uint32_t pod = 1; pod <= k; pod++) {
        for (uint32_t j = 1; j <= h && !error; j++) {
            error = add_node(draft, PD_ROLE_AGG, pod, "agg-%u-%u", pod, j);
        }
    }
    for (uint32_t c = 1; c <= h * h && !error; c++) {
        error = add_node(draft, PD_ROLE_CORE, 0, "core-%u", c);
    }
    return error;
}

static int fat_tree_links(struct pd_draft *draft, uint32_t k)
{
    uint32_t h = k / 2, aggs = k * h;
    int error = 0;
    for (uint32_t tor = 1; tor <= k * h; tor++) {
        for (uint32_t j = 1; j <= h && !error; j++) {
            error = pd_draft_link(draft, tor, aggs + (tor - 1) / h * h + j);
        }
    }
    for (uint32_t agg = 0; agg < k * h; agg++) {
        for (uint32_t c = 1; c <= h && !error; c++) {
            error = pd_draft_link(draft, aggs + agg + 1, 2 * aggs + agg % h * h + c);
        }
    }
    for (uint32_t tor = 0; tor < k * h && !error; tor++) {
        error = add_hosts(draft, tor + 1, tor / h + 1, tor % h + 1, h);
    }
    return error;
}

int pd_topology_fat_tree(uint32_t k, struct pd_topology **ret_topology, struct pd_error *error)
{
    if (k < 4 || k > 72 || k % 2) {
        return pd_fail(error, -PD_E_VALUE, "fat-tree: k = %u, expected an even number from 4 to 72",
                       k);
    }
    struct pd_draft draft;
    char name[PD_NAME_MAX];
    snprintf(name, sizeof name, "fat-tree-%u", k);
    int failed = pd_draft_init(&draft);
    if (!failed) {
        failed = set_names(&draft, name, "cherrypick-fat-tree");
    }
    if (!failed) {
        failed = fat_tree_nodes(&draft, k);
    }
    if (!failed) {
        failed = fat_tree_links(&draft, k);
    }
    return finish(&draft, failed, ret_topology, error);
}

/* ---- VL2 */

static int vl2_nodes(struct pd_draft *draft, uint32_t k)
{
    uint32_t h = k / 2;
    int error = 0;
    for (uint32_t pair = 1; pair <= h; pair++) {
        for (uint32_t i = 1; i <= h && !error; i++) {
            error = add_node(draft, PD_ROLE_TOR, pair, "tor-%u-%u", pair, i);
            if (!error) {
                error = add_addrs(draft, pair, i, 0);
            }
        }
    }
    for (uint32_t a = 0; a < k && !error; a++) {
        error = add_node(draft, PD_ROLE_AGG, a / 2 + 1, "agg-%u-%u", a / 2 + 1, a % 2 + 1);
    }
    for (uint32_t i = 1; i <= h && !error; i++) {
        error = add_node(draft, PD_ROLE_INTERMEDIATE, 0, "intermediate-%u", i);
    }
    return error;
}

static int vl2_links(struct pd_draft *draft, uint32_t k)
{
    uint32_t h = k / 2, tors = h * h;
    int error = 0;
    for (uint32_t tor = 0; tor < tors; tor++) {
        for (uint32_t a = 1; a <= 2 && !error; a++) {
            error = pd_draft_link(draft, tor + 1, tors + 2 * (tor / h) + a);
        }
    }
    for (uint32_t agg = 1; agg <= k; agg++) {
        for (uint32_t i = 1; i <= h && !error; i++) {
            error = pd_draft_link(draft, tors + agg, tors + k + i);
        }
    }
    for (uint32_t tor = 0; tor < tors && !error; tor++) {
        error = add_hosts(draft, tor + 1, tor / h + 1, tor % h + 1, VL2_HOSTS_PER_TOR);
    }
    return error;
}

int pd_topology_vl2(uint32_t k, struct pd_topology **ret_topology, struct pd_error *error)
{
    if (k < 4 || k > 62 || k % 2) {
        return pd_fail(error, -PD_E_VALUE, "vl2: k = %u, expected an even number from 4 to 62", k);
    }
    struct pd_draft draft;
    char name[PD_NAME_MAX];
    snprintf(name, sizeof name, "vl2-%u", k);
    int failed = pd_draft_init(&draft);
    if (!failed) {
        failed = set_names(&draft, name, "cherrypick-vl2");
    }
    if (!failed) {
        failed = vl2_nodes(&draft, k);
    }
    if (!failed) {
        failed = vl2_links(&draft, k);
    }
    return finish(&draft, failed, ret_topology, error);
}

/* ---- leaf-spine */

/* Leaf n has rack A.B = n / 256 . n % 256. */
static int leaf_spine_all(struct pd_draft *draft, uint32_t leaves, uint32_t spines, uint32_t hosts)
{
    int error = 0;
    for (uint32_t leaf = 1; leaf <= leaves && !error; leaf++) {
        error = add_node(draft, PD_ROLE_LEAF, 0, "leaf-%u", leaf);
        if (!error) {
            error = add_addrs(draft, leaf / 256, leaf % 256, 0);
        }
    }
    for (uint32_t spine = 1; spine <= spines && !error; spine++) {
        error = add_node(draft, PD_ROLE_SPINE, 0, "spine-%u", spine);
    }
    for (uint32_t leaf = 1; leaf <= leaves; leaf++) {
        for (uint32_t spine = 1; spine <= spines && !error; spine++) {
            error = pd_draft_link(draft, leaf, leaves + spine);
        }
    }
    for (uint32_t leaf = 1; leaf <= leaves && !error; leaf++) {
        error = add_hosts(draft, leaf, leaf / 256, leaf % 256, hosts);
    }
    return error;
}

int pd_topology_leaf_spine(uint32_t leaves, uint32_t spines, uint32_t hosts_per_leaf,
                           struct pd_topology **ret_topology, struct pd_error *error)
{
    if (leaves < 2 || spines < 1 || leaves > LEAF_SPINE_TAGS / spines) {
        return pd_fail(error, -PD_E_VALUE,
                       "leaf-spine: %u leaves and %u spines, expected at least 2 and 1 with a "
                       "product of at most %d",
                       leaves, spines, LEAF_SPINE_TAGS);
    }
    if (hosts_per_leaf > RACK_HOSTS_MAX) {
        return pd_fail(error, -PD_E_VALUE, "leaf-spine: %u hosts on each leaf, expected at most %d",
                       hosts_per_leaf, RACK_HOSTS_MAX);
    }
    struct pd_draft draft;
    char name[PD_NAME_MAX];
    snprintf(name, sizeof name, "leaf-spine-%u-%u", leaves, spines);
    int failed = pd_draft_init(&draft);
    if (!failed) {
        failed = set_names(&draft, name, "cherrypick-leaf-spine");
    }
    if (!failed) {
        failed = leaf_spine_all(&draft, leaves, spines, hosts_per_leaf);
    }
    return finish(&draft, failed, ret_topology, error);
}
