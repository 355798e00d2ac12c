/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes that codecs know: regular IDs, names and addresses (docs/formats/topology.md); and
 * what generators draft with. */
#include "topology/generate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define VL2_HOSTS_PER_TOR 20 /* as in the VL2 paper */
#define LEAF_SPINE_TAGS   4094

int pd_topology_generate_node(struct pd_draft *draft, enum pd_switch_role role, uint32_t pod,
                              const char *format, ...)
{
    char name[PD_NAME_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    int error = pd_topology_draft_node(draft, (uint32_t)draft->nodes_len + 1, role, pod);
    return error ? error
                 : pd_topology_draft_string(draft, name, strlen(name),
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
    int error = pd_topology_draft_addr(draft, &v4);
    return error ? error : pd_topology_draft_addr(draft, &v6);
}

int pd_topology_generate_rack(struct pd_draft *draft, uint32_t a, uint32_t b)
{
    return add_addrs(draft, a, b, 0);
}

int pd_topology_generate_hosts(struct pd_draft *draft, uint32_t tor_id, uint32_t a, uint32_t b,
                               uint32_t hosts)
{
    int error = 0;
    for (uint32_t n = 2; n < hosts + 2 && !error; n++) {
        error = pd_topology_generate_node(draft, PD_ROLE_HOST, 0, "host-%u-%u-%u", a, b, n);
        if (!error) {
            error = add_addrs(draft, a, b, n);
        }
        if (!error) {
            error = pd_topology_draft_link(draft, tor_id, (uint32_t)draft->nodes_len);
        }
    }
    return error;
}

int pd_topology_generate_names(struct pd_draft *draft, const char *codec, const char *format, ...)
{
    char name[PD_NAME_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    int error = pd_topology_draft_string(draft, name, strlen(name), &draft->name);
    return error || !codec ? error : pd_topology_draft_codec(draft, codec, "");
}

/* ---- fat-tree */

static int fat_tree_nodes(struct pd_draft *draft, uint32_t k)
{
    uint32_t h = k / 2;
    int error = 0;
    for (uint32_t pod = 1; pod <= k; pod++) {
        for (uint32_t i = 1; i <= h && !error; i++) {
            error = pd_topology_generate_node(draft, PD_ROLE_TOR, pod, "tor-%u-%u", pod, i);
            if (!error) {
                error = pd_topology_generate_rack(draft, pod, i);
            }
        }
    }
    for (uint32_t pod = 1; pod <= k; pod++) {
        for (uint32_t j = 1; j <= h && !error; j++) {
            error = pd_topology_generate_node(draft, PD_ROLE_AGG, pod, "agg-%u-%u", pod, j);
        }
    }
    for (uint32_t c = 1; c <= h * h && !error; c++) {
        error = pd_topology_generate_node(draft, PD_ROLE_CORE, 0, "core-%u", c);
    }
    return error;
}

static int fat_tree_links(struct pd_draft *draft, uint32_t k)
{
    uint32_t h = k / 2, aggs = k * h;
    int error = 0;
    for (uint32_t tor = 1; tor <= k * h; tor++) {
        for (uint32_t j = 1; j <= h && !error; j++) {
            error = pd_topology_draft_link(draft, tor, aggs + (tor - 1) / h * h + j);
        }
    }
    for (uint32_t agg = 0; agg < k * h; agg++) {
        for (uint32_t c = 1; c <= h && !error; c++) {
            error = pd_topology_draft_link(draft, aggs + agg + 1, 2 * aggs + agg % h * h + c);
        }
    }
    for (uint32_t tor = 0; tor < k * h && !error; tor++) {
        error = pd_topology_generate_hosts(draft, tor + 1, tor / h + 1, tor % h + 1, h);
    }
    return error;
}

static int make_fat_tree(const uint32_t *values, struct pd_draft *draft, struct pd_error *error)
{
    uint32_t k = values[0];
    if (k % 2) {
        return pd_fail(error, -PD_E_VALUE, "fat-tree: k = %u, expected an even number", k);
    }
    int failed = pd_topology_generate_names(draft, "cherrypick-fat-tree", "fat-tree-%u", k);
    if (!failed) {
        failed = fat_tree_nodes(draft, k);
    }
    return failed ? failed : fat_tree_links(draft, k);
}

const struct pd_generator pd_topology_generator_fat_tree = {
    .name = "fat-tree",
    .help = "k pods of k/2 ToRs and k/2 aggregation switches, k/2 squared cores",
    .options =
        (const struct pd_generator_option[]){{"k", "K", 4, 72, "ports of a switch, even"}, {0}},
    .make = make_fat_tree,
};

/* ---- VL2 */

static int vl2_nodes(struct pd_draft *draft, uint32_t k)
{
    uint32_t h = k / 2;
    int error = 0;
    for (uint32_t pair = 1; pair <= h; pair++) {
        for (uint32_t i = 1; i <= h && !error; i++) {
            error = pd_topology_generate_node(draft, PD_ROLE_TOR, pair, "tor-%u-%u", pair, i);
            if (!error) {
                error = pd_topology_generate_rack(draft, pair, i);
            }
        }
    }
    for (uint32_t a = 0; a < k && !error; a++) {
        error = pd_topology_generate_node(draft, PD_ROLE_AGG, a / 2 + 1, "agg-%u-%u", a / 2 + 1,
                                          a % 2 + 1);
    }
    for (uint32_t i = 1; i <= h && !error; i++) {
        error = pd_topology_generate_node(draft, PD_ROLE_INTERMEDIATE, 0, "intermediate-%u", i);
    }
    return error;
}

static int vl2_links(struct pd_draft *draft, uint32_t k)
{
    uint32_t h = k / 2, tors = h * h;
    int error = 0;
    for (uint32_t tor = 0; tor < tors; tor++) {
        for (uint32_t a = 1; a <= 2 && !error; a++) {
            error = pd_topology_draft_link(draft, tor + 1, tors + 2 * (tor / h) + a);
        }
    }
    for (uint32_t agg = 1; agg <= k; agg++) {
        for (uint32_t i = 1; i <= h && !error; i++) {
            error = pd_topology_draft_link(draft, tors + agg, tors + k + i);
        }
    }
    for (uint32_t tor = 0; tor < tors && !error; tor++) {
        error =
            pd_topology_generate_hosts(draft, tor + 1, tor / h + 1, tor % h + 1, VL2_HOSTS_PER_TOR);
    }
    return error;
}

static int make_vl2(const uint32_t *values, struct pd_draft *draft, struct pd_error *error)
{
    uint32_t k = values[0];
    if (k % 2) {
        return pd_fail(error, -PD_E_VALUE, "vl2: k = %u, expected an even number", k);
    }
    int failed = pd_topology_generate_names(draft, "cherrypick-vl2", "vl2-%u", k);
    if (!failed) {
        failed = vl2_nodes(draft, k);
    }
    return failed ? failed : vl2_links(draft, k);
}

const struct pd_generator pd_topology_generator_vl2 = {
    .name = "vl2",
    .help = "k/2 intermediate switches, k aggregation switches in pairs, k squared / 4 ToRs with "
            "two uplinks each",
    .options =
        (const struct pd_generator_option[]){{"k", "K", 4, 62, "ports of a switch, even"}, {0}},
    .make = make_vl2,
};

/* ---- leaf-spine */

/* Leaf n has rack A.B = n / 256 . n % 256. */
static int leaf_spine_all(struct pd_draft *draft, uint32_t leaves, uint32_t spines, uint32_t hosts)
{
    int error = 0;
    for (uint32_t leaf = 1; leaf <= leaves && !error; leaf++) {
        error = pd_topology_generate_node(draft, PD_ROLE_LEAF, 0, "leaf-%u", leaf);
        if (!error) {
            error = pd_topology_generate_rack(draft, leaf / 256, leaf % 256);
        }
    }
    for (uint32_t spine = 1; spine <= spines && !error; spine++) {
        error = pd_topology_generate_node(draft, PD_ROLE_SPINE, 0, "spine-%u", spine);
    }
    for (uint32_t leaf = 1; leaf <= leaves; leaf++) {
        for (uint32_t spine = 1; spine <= spines && !error; spine++) {
            error = pd_topology_draft_link(draft, leaf, leaves + spine);
        }
    }
    for (uint32_t leaf = 1; leaf <= leaves && !error; leaf++) {
        error = pd_topology_generate_hosts(draft, leaf, leaf / 256, leaf % 256, hosts);
    }
    return error;
}

static int make_leaf_spine(const uint32_t *values, struct pd_draft *draft, struct pd_error *error)
{
    uint32_t leaves = values[0], spines = values[1];
    if (leaves > LEAF_SPINE_TAGS / spines) {
        return pd_fail(error, -PD_E_VALUE,
                       "leaf-spine: %u leaves and %u spines, expected a product of at most %d",
                       leaves, spines, LEAF_SPINE_TAGS);
    }
    int failed = pd_topology_generate_names(draft, "cherrypick-leaf-spine", "leaf-spine-%u-%u",
                                            leaves, spines);
    return failed ? failed : leaf_spine_all(draft, leaves, spines, values[2]);
}

const struct pd_generator pd_topology_generator_leaf_spine = {
    .name = "leaf-spine",
    .help = "every leaf linked with every spine",
    .options =
        (const struct pd_generator_option[]){
            {"leaves", "L", 2, LEAF_SPINE_TAGS, "leaf switches"},
            {"spines", "S", 1, LEAF_SPINE_TAGS,
             "spine switches; leaves times spines is at most 4094"},
            {"hosts", "H", 0, PD_RACK_HOSTS_MAX, "hosts of a leaf"},
            {0}},
    .make = make_leaf_spine,
};
