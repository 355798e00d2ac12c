/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a switch's rule table as OpenFlow 1.3 text for ovs-ofctl (docs/formats/tagging-rules.md).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"

#define PRIORITY_BASE 100 /* of the last rule; those before it have more */

/* What "inside this switch's pod" means in one family. */
struct scope {
    struct pd_prefix *prefixes;
    size_t len;
};

struct writer {
    const struct pd_codec *codec;
    uint32_t sw;
    enum pd_depth depth;
    FILE *out;
    struct scope scopes[2]; /* IPv4, IPv6 */
};

static const char *const families[] = {"ip", "ipv6"};
static const char *const src_fields[] = {"nw_src", "ipv6_src"};
static const char *const dst_fields[] = {"nw_dst", "ipv6_dst"};

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

/* ---- flows */

static void write_prefix(const char *field, const struct pd_prefix *prefix, FILE *out)
{
    char text[PD_ADDR_TEXT_BYTES];
    if (prefix) {
        fprintf(out, ",%s=%s/%u", field, pd_addr_format(&prefix->addr, prefix->ip_version, text),
                prefix->bits);
    }
}

/* One flow: the conditions of the rule, one more of the depth, and the actions. */
static void write_flow(const struct writer *w, const struct pd_rule *rule, unsigned priority,
                       int family, const struct pd_prefix *src, const struct pd_prefix *dst,
                       const char *depth, const char *actions)
{
    const struct pd_topology *topology = w->codec->topology;
    fprintf(w->out, "table=0,priority=%u,%s", priority, families[family]);
    if (rule->ingress != PD_NONE) {
        fprintf(w->out, ",in_port=%u", pd_topology_link(topology, w->sw, rule->ingress)->port);
    }
    write_prefix(src_fields[family], src, w->out);
    write_prefix(dst_fields[family], dst, w->out);
    fprintf(w->out, "%s%s,actions=%s\n", rule->dscp_zero ? ",ip_dscp=0" : "", depth, actions);
}

/* The flows of a rule that pushes, with the depth of the tag stack in the outer PCP. */
static void write_push_pcp(const struct writer *w, const struct pd_rule *rule, unsigned priority,
                           int family, const struct pd_prefix *src, const struct pd_prefix *dst)
{
    char depth[32] = ",vlan_tci=0x0000/0x1000", actions[128];
    for (unsigned pcp = 1; pcp <= w->codec->ops->max_vlans; pcp++) {
        snprintf(actions, sizeof actions,
                 "push_vlan:0x8100,set_field:%u->vlan_vid,set_field:%u->vlan_pcp,goto_table:1",
                 4096U | rule->value, pcp);
        write_flow(w, rule, priority, family, src, dst, depth, actions);
        snprintf(depth, sizeof depth, ",dl_vlan_pcp=%u", pcp);
    }
    write_flow(w, rule, priority, family, src, dst, depth, "CONTROLLER:65535");
}

static void write_match(const struct writer *w, const struct pd_rule *rule, unsigned priority,
                        int family, const struct pd_prefix *src, const struct pd_prefix *dst)
{
    char actions[128] = "goto_table:1";
    if (rule->action == PD_TAG_PUSH_VLAN && w->depth == PD_DEPTH_PCP) {
        write_push_pcp(w, rule, priority, family, src, dst);
        return;
    }
    if (rule->action == PD_TAG_PUSH_VLAN) {
        snprintf(actions, sizeof actions, "push_vlan:0x8100,set_field:%u->vlan_vid,goto_table:1",
                 4096U | rule->value);
    } else if (rule->action == PD_TAG_SET_DSCP) {
        snprintf(actions, sizeof actions, "set_field:%u->ip_dscp,goto_table:1", rule->value);
    }
    write_flow(w, rule, priority, family, src, dst, "", actions);
}

static void write_rule(const struct writer *w, const struct pd_rule *rule, unsigned priority)
{
    for (int family = 0; family < 2; family++) {
        const struct scope *scope = &w->scopes[family];
        for (size_t s = 0; s < (rule->src_inside ? scope->len : 1); s++) {
            for (size_t d = 0; d < (rule->dst_inside ? scope->len : 1); d++) {
                write_match(w, rule, priority, family,
                            rule->src_inside ? &scope->prefixes[s] : NULL,
                            rule->dst_inside ? &scope->prefixes[d] : NULL);
            }
        }
    }
}

int pd_codec_openflow(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth, FILE *out)
{
    struct writer w = {.codec = codec, .sw = sw, .depth = depth, .out = out};
    const struct pd_topology *topology = codec->topology;
    uint32_t pod = topology->switches[sw].pod;
    struct pd_rule *rules = NULL;
    size_t len = 0;
    int error = pd_codec_rules(codec, sw, &rules, &len);
    for (int family = 0; family < 2 && !error; family++) {
        error = collect(topology, pod, family ? 6 : 4, &w.scopes[family]);
        if (!error) {
            aggregate(topology, pod, &w.scopes[family]);
        }
    }
    if (error) {
        goto out;
    }
    errno = 0;
    for (size_t i = 0; i < len; i++) {
        write_rule(&w, &rules[i], (unsigned)(PRIORITY_BASE + len - i - 1));
    }
    fputs("table=0,priority=0,actions=goto_table:1\n", out);
    if (fflush(out) || ferror(out)) {
        error = errno ? -errno : -EIO;
    }
out:
    free(w.scopes[0].prefixes);
    free(w.scopes[1].prefixes);
    free(rules);
    return error;
}
