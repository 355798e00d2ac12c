/* SPDX-License-Identifier: Apache-2.0 */
/* Path conformance: rules from texts, and which of them a record breaks. */
#include "query/conform.h"

#include <string.h>

static const char *const rule_texts[] = {
#define X(name, text) text,
    PD_CONFORMANCE_RULES(X)
#undef X
};

const char *pd_query_conformance_rule_text(enum pd_conformance_rule rule)
{
    return rule_texts[rule];
}

/* ---- rules from texts ---- */

const char *pd_query_conformance_set_max_hops(struct pd_conformance *rules, const char *value)
{
    uint64_t hops;
    if (pd_query_number(value, PD_PATH_MAX - 1, &hops) != 0) {
        return "a number from 0 to 127";
    }
    rules->max_hops = (uint32_t)hops;
    return NULL;
}

_Static_assert(PD_PATH_MAX == 128, "the words above say so");

const char *pd_query_conformance_set_switches(struct pd_switch_set *set, const char *value)
{
    struct pd_switch_set parsed = {0};
    if (pd_switches_parse(value, parsed.switches, PD_CONFORMANCE_SWITCHES_MAX, &parsed.len) != 0) {
        return "1 to 64 switch IDs, as in 17,18";
    }
    *set = parsed;
    return NULL;
}

_Static_assert(PD_CONFORMANCE_SWITCHES_MAX == 64 && PD_CONFORMANCE_ALLOW_MAX == 256,
               "the words of both say so");

/* A prefix up to one of the characters `end`; moves *at to it. */
static int take_prefix(const char **at, const char *end, struct pd_prefix *ret_prefix)
{
    char text[PD_ADDR_TEXT_BYTES + 4];
    size_t len = strcspn(*at, end);
    if (len >= sizeof text) {
        return -PD_E_VALUE;
    }
    memcpy(text, *at, len);
    text[len] = '\0';
    *at += len;
    return pd_prefix_parse(text, ret_prefix);
}

static int parse_allow(struct pd_conformance *rules, const char *at)
{
    for (uint32_t i = 0; i < PD_CONFORMANCE_ALLOW_MAX; i++) {
        struct pd_prefix *src = &rules->allow[i].src, *dst = &rules->allow[i].dst;
        if (take_prefix(&at, ">,", src) || *at++ != '>' || take_prefix(&at, ",", dst) ||
            src->ip_version != dst->ip_version) {
            return -PD_E_VALUE;
        }
        rules->allow_len = i + 1;
        if (!*at++) {
            return 0;
        }
    }
    return -PD_E_VALUE;
}

const char *pd_query_conformance_set_allow(struct pd_conformance *rules, const char *value)
{
    if (parse_allow(rules, value) == 0) {
        return NULL;
    }
    rules->allow_len = 0;
    return "1 to 256 pairs of prefixes of one family, as in "
           "10.0.0.0/24>10.1.0.0/16,fd00::/8>fd00::/8";
}

/* ---- the check ---- */

static bool has_switch(const struct pd_path *path, uint32_t wanted)
{
    for (unsigned i = 0; i < path->len; i++) {
        if (path->switches[i] == wanted) {
            return true;
        }
    }
    return false;
}

static uint32_t count_passed(const struct pd_path *path, const struct pd_switch_set *set)
{
    uint32_t passed = 0;
    for (uint32_t i = 0; i < set->len; i++) {
        passed += has_switch(path, set->switches[i]);
    }
    return passed;
}

static bool is_allowed(const struct pd_conformance *rules, const struct pd_flow_id *flow)
{
    uint8_t bits = flow->ip_version == 6 ? 128 : 32;
    const struct pd_prefix src = {flow->src, flow->ip_version, bits};
    const struct pd_prefix dst = {flow->dst, flow->ip_version, bits};
    for (uint32_t i = 0; i < rules->allow_len; i++) {
        if (pd_prefix_within(&rules->allow[i].src, &src) &&
            pd_prefix_within(&rules->allow[i].dst, &dst)) {
            return true;
        }
    }
    return !rules->allow_len;
}

bool pd_query_conformance_judges_paths(const struct pd_query *query)
{
    const struct pd_conformance *rules = &query->rules;
    return rules->max_hops < PD_PATH_MAX || rules->avoid.len || rules->must_pass.len;
}

unsigned pd_query_conformance_check(const struct pd_query *query,
                                    const struct pd_tib_record *record)
{
    const struct pd_conformance *rules = &query->rules;
    const struct pd_path *path = record->path;
    unsigned broken = 0;
    if (path && path->len) {
        broken |= (unsigned)(path->len - 1u > rules->max_hops) << PD_CONFORMANCE_MAX_HOPS;
        broken |= (unsigned)(count_passed(path, &rules->avoid) > 0) << PD_CONFORMANCE_AVOID;
        broken |= (unsigned)(count_passed(path, &rules->must_pass) < rules->must_pass.len)
                  << PD_CONFORMANCE_MUST_PASS;
    }
    broken |= (unsigned)!is_allowed(rules, &record->flow) << PD_CONFORMANCE_ALLOW;
    return broken;
}
