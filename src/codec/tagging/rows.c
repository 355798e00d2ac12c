/* SPDX-License-Identifier: Apache-2.0 */
/* From the rules of a switch to its rows: ports, families and prefixes in place of conditions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/tagging/tagging.h"
#include "topology/links.h"

/* What "inside this switch's pod" means in one family. */
struct scope {
    struct pd_prefix *prefixes;
    size_t len;
};

struct maker {
    const struct pd_tagging *tagging;
    uint32_t sw;
    enum pd_depth depth;
    struct scope scopes[2]; /* IPv4, IPv6 */
    struct pd_codec_rows *rows;
    int err;
};

/* ---- scopes: as few prefixes as hold all racks of the pod and no other rack */

static bool overlap(const struct pd_prefix *a, const struct pd_prefix *b)
{
    unsigned bits = a->bits < b->bits ? a->bits : b->bits, bytes = bits / 8, rest = bits % 8;
    if (a->ip_version != b->ip_version || memcmp(&a->addr, &b->addr, bytes) != 0) {
        return false;
    }
    return !rest || (a->addr.bytes[bytes] ^ b->addr.bytes[bytes]) >> (8 - rest) == 0;
}

/* The longest prefix that holds both. */
static struct pd_prefix join(const struct pd_prefix *a, const struct pd_prefix *b)
{
    struct pd_prefix joined = {.ip_version = a->ip_version};
    unsigned max = a->bits < b->bits ? a->bits : b->bits;
    for (unsigned bit = 0; bit < max; bit++) {
        uint8_t mask = 0x80 >> bit % 8;
        if ((a->addr.bytes[bit / 8] ^ b->addr.bytes[bit / 8]) & mask) {
            break;
        }
        joined.addr.bytes[bit / 8] |= a->addr.bytes[bit / 8] & mask;
        joined.bits++;
    }
    return joined;
}

static bool holds_other_pod(const struct pd_topology *topology, uint32_t pod,
                            const struct pd_prefix *prefix)
{
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        for (uint32_t j = 0; j < topology->switches[i].prefixes_len; j++) {
            if (topology->switches[i].pod != pod &&
                overlap(&topology->switches[i].prefixes[j], prefix)) {
                return true;
            }
        }
    }
    return false;
}

static int compare_prefixes(const void *a, const void *b)
{
    const struct pd_prefix *x = a, *y = b;
    return memcmp(&x->addr, &y->addr, sizeof x->addr);
}

static int collect(const struct pd_topology *topology, uint32_t pod, uint8_t ip_version,
                   struct scope *ret_scope)
{
    size_t room = 1;
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        room += topology->switches[i].pod == pod ? topology->switches[i].prefixes_len : 0;
    }
    struct scope scope = {.prefixes = malloc(room * sizeof *scope.prefixes)};
    if (!scope.prefixes) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < topology->switches_len && pod; i++) {
        for (uint32_t j = 0;
             topology->switches[i].pod == pod && j < topology->switches[i].prefixes_len; j++) {
            if (topology->switches[i].prefixes[j].ip_version == ip_version) {
                scope.prefixes[scope.len++] = topology->switches[i].prefixes[j];
            }
        }
    }
    qsort(scope.prefixes, scope.len, sizeof *scope.prefixes, compare_prefixes);
    *ret_scope = scope;
    return 0;
}

/* Joins neighbours in order of address as long as no other pod's rack comes in: what lies between
 * two prefixes is inside their join as well, so that this gives the fewest. */
static void aggregate(const struct pd_topology *topology, uint32_t pod, struct scope *scope)
{
    size_t len = 0;
    for (size_t i = 0; i < scope->len; i++) {
        struct pd_prefix joined = scope->prefixes[i];
        if (len) {
            joined = join(&scope->prefixes[len - 1], &scope->prefixes[i]);
        }
        if (len && !holds_other_pod(topology, pod, &joined)) {
            scope->prefixes[len - 1] = joined;
        } else {
            scope->prefixes[len++] = scope->prefixes[i];
        }
    }
    scope->len = len;
}

/* ---- rows */

static void add(struct maker *m, const struct pd_codec_row *row)
{
    if (!m->err) {
        m->err = pd_codec_rows_add(m->rows, row);
    }
}

/* With the depth of the tag stack on the packet a switch knows when there is no room. */
static void add_push(struct maker *m, const struct pd_codec_row *push, unsigned room)
{
    struct pd_codec_row row = *push;
    for (row.depth = 0; row.depth <= m->tagging->ops->max_vlans; row.depth++) {
        row.action = row.depth < room ? PD_ROW_PUSH : PD_ROW_PUNT;
        row.value = row.depth < room ? push->value : 0;
        add(m, &row);
        if (!row.depth && m->rows->tpid != PD_TPID_DEFAULT) { /* tenants may have tags, too */
            row.depth = PD_ROW_TENANT;
            add(m, &row);
            row.depth = 0;
        }
    }
}

static void add_match(struct maker *m, const struct pd_rule *rule, struct pd_codec_row row,
                      const struct pd_prefix *src, const struct pd_prefix *dst)
{
    static const uint8_t actions[] = {[PD_TAG_NONE] = PD_ROW_PASS,
                                      [PD_TAG_PUSH_VLAN] = PD_ROW_PUSH,
                                      [PD_TAG_SET_DSCP] = PD_ROW_DSCP};
    row.action = actions[rule->action];
    row.value = rule->action == PD_TAG_NONE ? 0 : rule->value;
    row.src = src ? *src : row.src;
    row.dst = dst ? *dst : row.dst;
    if (row.action == PD_ROW_PUSH && m->depth == PD_DEPTH_PCP) {
        add_push(m, &row, pd_tagging_room(m->tagging, rule));
    } else {
        add(m, &row);
    }
}

/* One port of those that the rule is for; 0: any. */
static void add_rule_at(struct maker *m, const struct pd_rule *rule, struct pd_codec_row row)
{
    for (int family = 0; family < 2; family++) {
        const struct scope *scope = &m->scopes[family];
        row.family = family ? 6 : 4;
        for (size_t s = 0; s < (rule->src_inside ? scope->len : 1); s++) {
            for (size_t d = 0; d < (rule->dst_inside ? scope->len : 1); d++) {
                add_match(m, rule, row, rule->src_inside ? &scope->prefixes[s] : NULL,
                          rule->dst_inside ? &scope->prefixes[d] : NULL);
            }
        }
    }
}

static void add_rule(struct maker *m, const struct pd_rule *rule, unsigned priority)
{
    const struct pd_topology *topology = m->tagging->head.topology;
    struct pd_codec_row row = {.priority = (uint16_t)priority,
                               .dscp = rule->dscp_zero ? 0 : PD_ROW_ANY,
                               .depth = PD_ROW_ANY};
    if (rule->ingress == PD_NONE) {
        add_rule_at(m, rule, row);
        return;
    }
    const struct pd_neighbour *from = pd_topology_link(topology, m->sw, rule->ingress);
    for (uint32_t nth = 0; nth < from->parallel; nth++) {
        row.in_port = pd_links_port(topology, from->link + 2 * nth);
        add_rule_at(m, rule, row);
    }
}

int pd_tagging_rows(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth,
                    struct pd_codec_rows *rows)
{
    struct maker m = {.tagging = pd_tagging(codec), .sw = sw, .depth = depth, .rows = rows};
    const struct pd_topology *topology = codec->topology;
    uint32_t pod = topology->switches[sw].pod;
    struct pd_rule *rules = NULL;
    size_t len = 0;
    m.err = pd_tagging_rules(m.tagging, sw, &rules, &len);
    for (int family = 0; family < 2 && !m.err; family++) {
        m.err = collect(topology, pod, family ? 6 : 4, &m.scopes[family]);
        if (!m.err) {
            aggregate(topology, pod, &m.scopes[family]);
        }
    }
    for (size_t i = 0; i < len && !m.err; i++) {
        add_rule(&m, &rules[i], (unsigned)(PD_ROW_PRIORITY + len - i - 1));
    }
    free(m.scopes[0].prefixes);
    free(m.scopes[1].prefixes);
    free(rules);
    return m.err;
}
