/* SPDX-License-Identifier: Apache-2.0 */
/* The generators that there are, and what is the same for all of them: limits, addresses of
 * interfaces, checks. */
#include "topology/generators.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pd_extensions.h"
#include "topology/generate.h"

#define X(symbol) extern const struct pd_generator symbol;
PD_EXTENSION_TOPOLOGY(X)
#undef X

const struct pd_generator *const pd_topology_generators[] = {
    &pd_topology_generator_fat_tree,
    &pd_topology_generator_vl2,
    &pd_topology_generator_leaf_spine,
    &pd_topology_generator_clos,
#define X(symbol) &(symbol),
    PD_EXTENSION_TOPOLOGY(X)
#undef X
        NULL,
};

static bool same_name(const char *name, const char *given)
{
    for (; *name && (*name == *given || (*name == '-' && *given == '_')); name++) {
        given++;
    }
    return *name == *given;
}

const struct pd_generator *pd_topology_generator_find(const char *name)
{
    for (size_t i = 0; pd_topology_generators[i]; i++) {
        if (same_name(pd_topology_generators[i]->name, name)) {
            return pd_topology_generators[i];
        }
    }
    return NULL;
}

uint32_t pd_topology_generator_option(const struct pd_generator *generator, const char *name)
{
    for (uint32_t i = 0; generator->options[i].name; i++) {
        if (same_name(generator->options[i].name, name)) {
            return i;
        }
    }
    return PD_NONE;
}

/* ---- addresses of interfaces */

#define LOOPBACKS  UINT32_C(0x64400000) /* 100.64.0.0/10 and fd02::/16, + ID */
#define LINKS      UINT32_C(0xac100000) /* 172.16.0.0/12, two for each link between switches */
#define LINKS_MAX  (UINT32_C(1) << 19)
#define SWITCH_MAX (UINT32_C(1) << 22)
#define NODE_ADDRS 4 /* loopbacks, and the gateway of a rack */

static struct pd_prefix addr4(uint32_t addr)
{
    return (struct pd_prefix){.addr = {{(uint8_t)(addr >> 24), (uint8_t)(addr >> 16),
                                        (uint8_t)(addr >> 8), (uint8_t)addr}},
                              .ip_version = 4,
                              .bits = 32};
}

/* fd01:0:0:HIGH:LOW:: with 32 bits of `high` in the middle and `low` at the end. */
static struct pd_prefix addr6(uint8_t second, uint32_t high, uint32_t low)
{
    struct pd_prefix prefix = {.addr = {{0xfd, second}}, .ip_version = 6, .bits = 128};
    for (int i = 0; i < 4; i++) {
        prefix.addr.bytes[4 + i] = (uint8_t)(high >> (24 - 8 * i));
        prefix.addr.bytes[12 + i] = (uint8_t)(low >> (24 - 8 * i));
    }
    return prefix;
}

/* The first address behind the rack's prefix, of its hosts' gateway. */
static struct pd_prefix gateway(const struct pd_prefix *rack)
{
    struct pd_prefix prefix = *rack;
    prefix.bits = rack->ip_version == 4 ? 32 : 128;
    prefix.addr.bytes[rack->ip_version == 4 ? 3 : 15] = 1;
    return prefix;
}

static size_t address_switch(struct pd_draft_node *node, const struct pd_prefix *racks,
                             struct pd_prefix *ret_addrs)
{
    size_t len = 0;
    ret_addrs[len++] = addr4(LOOPBACKS + node->id);
    ret_addrs[len++] = addr6(2, 0, node->id);
    for (uint32_t i = 0; i < node->addrs_len && len < NODE_ADDRS; i++) {
        ret_addrs[len++] = gateway(&racks[i]);
    }
    node->interfaces_len = (uint8_t)len;
    return len;
}

/* Every end of a link between switches gets one of each family. */
static size_t address_link(struct pd_draft_link *link, uint32_t nth, struct pd_prefix *ret_addrs)
{
    size_t len = 0;
    for (uint32_t end = 0; end < 2; end++) {
        ret_addrs[len++] = addr4(LINKS + 2 * nth + end);
        ret_addrs[len++] = addr6(1, nth, end);
        link->addrs_len[end] = 2;
    }
    return len;
}

static bool is_fabric(const struct pd_draft *draft, const struct pd_draft_link *link)
{
    return draft->nodes[link->ids[0] - 1].role != PD_ROLE_HOST &&
           draft->nodes[link->ids[1] - 1].role != PD_ROLE_HOST;
}

/* Addresses lie behind those of their node, so that all of them move. IDs are places + 1. */
static int address(struct pd_draft *draft)
{
    size_t room = draft->addrs_len + NODE_ADDRS * draft->nodes_len + 4 * draft->links_len, len = 0;
    struct pd_prefix *addrs = malloc((room + 1) * sizeof *addrs);
    uint32_t links = 0;
    if (!addrs) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < draft->nodes_len; i++) {
        struct pd_draft_node *node = &draft->nodes[i];
        const struct pd_prefix *own = draft->addrs + node->addrs;
        node->addrs = (uint32_t)len;
        for (uint32_t nth = 0; nth < node->addrs_len; nth++) {
            addrs[len++] = own[nth];
        }
        if (node->role != PD_ROLE_HOST) {
            len += address_switch(node, own, addrs + len);
        }
    }
    for (size_t i = 0; i < draft->links_len; i++) {
        draft->links[i].addrs = (uint32_t)len;
        if (is_fabric(draft, &draft->links[i])) {
            len += address_link(&draft->links[i], links++, addrs + len);
        }
    }
    free(draft->addrs);
    draft->addrs = addrs;
    draft->addrs_len = len;
    draft->addrs_room = room + 1;
    return links <= LINKS_MAX && draft->nodes_len < SWITCH_MAX ? 0 : -PD_E_TOO_LARGE;
}

/* ---- making */

static int check_values(const struct pd_generator *generator, const uint32_t *values,
                        struct pd_error *error)
{
    for (uint32_t i = 0; generator->options[i].name; i++) {
        const struct pd_generator_option *option = &generator->options[i];
        if (values[i] < option->min || values[i] > option->max) {
            return pd_fail(error, -PD_E_VALUE, "%s: %s = %u, expected %u to %u", generator->name,
                           option->name, values[i], option->min, option->max);
        }
    }
    return 0;
}

/* The checks are the reader's, so that a generator cannot differ. */
static int build(struct pd_draft *draft, struct pd_topology **ret_topology, struct pd_error *error)
{
    struct pd_findings findings = {0};
    struct pd_topology *topology = NULL;
    int err = pd_topology_build(draft, &findings, &topology);
    if (err) {
        return pd_fail(error, err, "topology: %s", pd_error_text(err));
    }
    err = pd_topology_findings_end(&findings, error);
    if (!err) {
        *ret_topology = topology;
    }
    return err;
}

int pd_topology_generate(const struct pd_generator *generator, const uint32_t *values, bool addrs,
                         struct pd_topology **ret_topology, struct pd_error *error)
{
    struct pd_draft draft;
    int err = check_values(generator, values, error);
    if (err) {
        return err;
    }
    err = pd_topology_draft_init(&draft);
    if (!err) {
        err = generator->make(values, &draft, error);
    }
    if (!err && addrs) {
        err = address(&draft);
    }
    if (err && err != -PD_E_VALUE) {
        pd_fail(error, err, "%s: %s", generator->name, pd_error_text(err));
    }
    if (!err) {
        err = build(&draft, ret_topology, error);
    }
    pd_topology_draft_done(&draft);
    return err;
}

/* ---- by name, for who knows what he wants */

int pd_topology_fat_tree(uint32_t k, struct pd_topology **ret_topology, struct pd_error *error)
{
    return pd_topology_generate(&pd_topology_generator_fat_tree, (uint32_t[]){k}, false,
                                ret_topology, error);
}

int pd_topology_vl2(uint32_t k, struct pd_topology **ret_topology, struct pd_error *error)
{
    return pd_topology_generate(&pd_topology_generator_vl2, (uint32_t[]){k}, false, ret_topology,
                                error);
}

int pd_topology_leaf_spine(uint32_t leaves, uint32_t spines, uint32_t hosts_per_leaf,
                           struct pd_topology **ret_topology, struct pd_error *error)
{
    return pd_topology_generate(&pd_topology_generator_leaf_spine,
                                (uint32_t[]){leaves, spines, hosts_per_leaf}, false, ret_topology,
                                error);
}
