/* SPDX-License-Identifier: Apache-2.0 */
/* The queries' names and parameters: from texts (REST, flags) to a struct pd_query. */
#include "query/query.h"

#include <string.h>

#include "base/clock.h"
#include "query/conform.h"
#include "query/plan.h"
#include "query/protocol.h"

static const char *const names[] = {
#define X(name, text, help) text,
    PD_QUERIES(X)
#undef X
};

const struct pd_question_param pd_query_params[] = {
#define X(id, name, flag, value, takers, needers, agent_only, help) \
    {name, flag, value, help, takers, needers, agent_only},
    PD_QUERY_PARAMS(X)
#undef X
        {0}};

const char *pd_query_name_text(enum pd_query_name name)
{
    return names[name];
}

int pd_query_name_parse(const char *text, enum pd_query_name *ret_name)
{
    for (int i = 0; i < PD_QUERY_COUNT; i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret_name = (enum pd_query_name)i;
            return 0;
        }
    }
    return -PD_E_NOT_FOUND;
}

void pd_query_init(struct pd_query *query, enum pd_query_name name)
{
    *query = (struct pd_query){.name = name,
                               .filter = {.to_us = UINT64_MAX, .origins = 1u << PD_ORIGIN_TAGS},
                               .k = PD_QUERY_K,
                               .by = PD_TIB_ORDER_BYTES,
                               .of = PD_TIB_BY_FLOW,
                               .bin_bytes = 1,
                               .columns = name == PD_QUERY_TOP_RECORDS,
                               .rules.max_hops = PD_PATH_MAX,
                               .memory_bytes = PD_QUERY_MEMORY_BYTES};
}

static bool is_wildcard(const char *value)
{
    return strcmp(value, "*") == 0;
}

/* Each set_… takes one parameter's text and returns what is expected instead, or NULL when it is
 * fine. */

static const char *set_link(struct pd_query *query, const char *value)
{
    if (is_wildcard(value) || pd_link_parse(value, &query->filter.link) == 0) {
        return NULL;
    }
    return "two switch IDs, as in 9-17; either may be *";
}

static const char one_family[] = "an address of the same family as the other one";

/* The address fixes the family of the flow: both addresses have to be of one. */
static const char *set_ip(struct pd_query *query, const char *value, unsigned field)
{
    struct pd_flow_match *match = &query->filter.flow;
    struct pd_addr addr;
    uint8_t version;
    if (is_wildcard(value)) {
        return NULL;
    }
    if (pd_addr_parse(value, &addr, &version) != 0) {
        return "an IPv4 or IPv6 address, or *";
    }
    if (match->id.ip_version && match->id.ip_version != version) {
        return one_family;
    }
    *(field == PD_FLOW_SRC_IP ? &match->id.src : &match->id.dst) = addr;
    match->id.ip_version = version;
    match->fields |= field;
    return NULL;
}

int pd_query_number(const char *text, uint64_t max, uint64_t *ret_number)
{
    uint64_t number = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 16 || text[digits]) {
        return -PD_E_VALUE;
    }
    for (; *text; text++) {
        number = number * 10 + (uint64_t)(*text - '0');
    }
    if (number > max) {
        return -PD_E_VALUE;
    }
    *ret_number = number;
    return 0;
}

static const char *set_port(struct pd_query *query, const char *value, unsigned field)
{
    struct pd_flow_match *match = &query->filter.flow;
    uint64_t port;
    if (is_wildcard(value)) {
        return NULL;
    }
    if (pd_query_number(value, UINT16_MAX, &port) != 0) {
        return "a number from 0 to 65535, or *";
    }
    *(field == PD_FLOW_SRC_PORT ? &match->id.src_port : &match->id.dst_port) = (uint16_t)port;
    match->fields |= field;
    return NULL;
}

static const char *set_protocol(struct pd_query *query, const char *value)
{
    uint64_t number;
    unsigned named;
    if (is_wildcard(value)) {
        return NULL;
    }
    if (pd_query_protocol_number(value, &named) == 0) {
        number = named;
    } else if (pd_query_number(value, UINT8_MAX, &number) != 0) {
        return "a number from 0 to 255, a name such as tcp, or *";
    }
    query->filter.flow.id.protocol = (uint8_t)number;
    query->filter.flow.fields |= PD_FLOW_PROTOCOL;
    return NULL;
}

static const char *set_path(struct pd_query *query, const char *value)
{
    if (pd_path_parse(value, &query->path) != 0) {
        return "switch IDs from first to last, as in 1,9,17,11,3";
    }
    return NULL;
}

#define ANY_ORIGIN 0u

static const char *set_origin(struct pd_query *query, const char *value)
{
    uint8_t origin;
    bool any = strcmp(value, "any") == 0;
    if (!any &&
        (pd_origin_parse(value, &origin) ||
         (origin != PD_ORIGIN_TAGS && origin != PD_ORIGIN_TRACE && origin != PD_ORIGIN_PROBE))) {
        return "tags, trace, probe or any";
    }
    query->filter.origins = any ? ANY_ORIGIN : 1u << origin;
    return NULL;
}

static const char *set_time(const char *value, uint64_t *ret_us)
{
    if (pd_time_parse(value, ret_us) == 0) {
        return NULL;
    }
    return "seconds since the epoch (1700000000.25) or RFC 3339 (2026-11-21T01:02:03Z)";
}

static const char *set_live(struct pd_query *query, const char *value)
{
    if (strcmp(value, "true") == 0 || strcmp(value, "1") == 0) {
        query->live = true;
    } else if (strcmp(value, "false") != 0 && strcmp(value, "0") != 0) {
        return "true or false";
    }
    return NULL;
}

/* A token is written back into JSON as it is: only what needs no escape there. Whether it is one,
 * its store tells. */
static const char *set_since(struct pd_query *query, const char *value)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  ".:_-";
    size_t len = strlen(value);
    if (!len || len >= sizeof query->since || strspn(value, allowed) != len) {
        return "the \"token\" of an earlier answer";
    }
    memcpy(query->since, value, len + 1);
    return NULL;
}

static const char *set_k(struct pd_query *query, const char *value)
{
    uint64_t k;
    if (pd_query_number(value, UINT32_MAX, &k) != 0 || !k) {
        return "a number from 1 to 4294967295";
    }
    query->k = k;
    return NULL;
}

static const char *set_by(struct pd_query *query, const char *value)
{
    if (strcmp(value, "bytes") == 0) {
        query->by = PD_TIB_ORDER_BYTES;
    } else if (strcmp(value, "pkts") == 0) {
        query->by = PD_TIB_ORDER_PKTS;
    } else {
        return "bytes or pkts";
    }
    return NULL;
}

static const char *set_bin_bytes(struct pd_query *query, const char *value)
{
    uint64_t bytes;
    if (pd_query_number(value, PD_TIB_SUM_MAX, &bytes) != 0 || !bytes) {
        return "a number of bytes from 1 to 9007199254740991";
    }
    query->bin_bytes = bytes;
    return NULL;
}

static const char *set_of(struct pd_query *query, const char *value)
{
    if (strcmp(value, "flows") == 0) {
        query->of = PD_TIB_BY_FLOW;
    } else if (strcmp(value, "sources") == 0) {
        query->of = PD_TIB_BY_SOURCE;
    } else {
        return "flows or sources";
    }
    return NULL;
}

static const char *set_param(struct pd_query *query, enum pd_query_param_id id, const char *value)
{
    switch (id) {
    case PD_QUERY_PARAM_LINK: return set_link(query, value);
    case PD_QUERY_PARAM_SRC_IP: return set_ip(query, value, PD_FLOW_SRC_IP);
    case PD_QUERY_PARAM_DST_IP: return set_ip(query, value, PD_FLOW_DST_IP);
    case PD_QUERY_PARAM_SRC_PORT: return set_port(query, value, PD_FLOW_SRC_PORT);
    case PD_QUERY_PARAM_DST_PORT: return set_port(query, value, PD_FLOW_DST_PORT);
    case PD_QUERY_PARAM_PROTOCOL: return set_protocol(query, value);
    case PD_QUERY_PARAM_PATH: return set_path(query, value);
    case PD_QUERY_PARAM_ORIGIN: return set_origin(query, value);
    case PD_QUERY_PARAM_FROM: return set_time(value, &query->filter.from_us);
    case PD_QUERY_PARAM_TO: return set_time(value, &query->filter.to_us);
    case PD_QUERY_PARAM_SINCE: return set_since(query, value);
    case PD_QUERY_PARAM_K: return set_k(query, value);
    case PD_QUERY_PARAM_BY: return set_by(query, value);
    case PD_QUERY_PARAM_BIN_BYTES: return set_bin_bytes(query, value);
    case PD_QUERY_PARAM_OF: return set_of(query, value);
    case PD_QUERY_PARAM_MAX_HOPS: return pd_query_conformance_set_max_hops(&query->rules, value);
    case PD_QUERY_PARAM_AVOID: return pd_query_conformance_set_switches(&query->rules.avoid, value);
    case PD_QUERY_PARAM_MUST_PASS:
        return pd_query_conformance_set_switches(&query->rules.must_pass, value);
    case PD_QUERY_PARAM_ALLOW: return pd_query_conformance_set_allow(&query->rules, value);
    case PD_QUERY_PARAM_LIVE: return set_live(query, value);
    case PD_QUERY_PARAM_COUNT: break;
    }
    return "nothing";
}

int pd_query_set(struct pd_query *query, const char *name, const char *value,
                 struct pd_error *error)
{
    unsigned id = 0;
    while (id < PD_QUERY_PARAM_COUNT && strcmp(name, pd_query_params[id].name) != 0) {
        id++;
    }
    if (id == PD_QUERY_PARAM_COUNT) {
        return pd_fail(error, -PD_E_UNKNOWN_KEY, "%.64s: unknown parameter of %s", name,
                       names[query->name]);
    }
    if (query->given & 1U << id) {
        return pd_fail(error, -PD_E_VALUE, "%s: given twice", name);
    }

    const char *expected = set_param(query, (enum pd_query_param_id)id, value);
    if (expected) {
        return pd_fail(error, expected == one_family ? -PD_E_CONFLICT : -PD_E_VALUE,
                       "%s: expected %s, not \"%.64s\"", name, expected, value);
    }
    query->given |= 1U << id;
    return 0;
}

static int check_given(const struct pd_query *query, struct pd_error *error)
{
    for (unsigned id = 0; id < PD_QUERY_PARAM_COUNT; id++) {
        const struct pd_question_param *param = &pd_query_params[id];
        unsigned bit = 1U << query->name;
        bool given = query->given & 1U << id;
        if (given && !(param->takers & bit)) {
            return pd_fail(error, -PD_E_UNKNOWN_KEY, "%s: %s does not take it", param->name,
                           names[query->name]);
        }
        if (!given && param->needers & bit) {
            return pd_fail(error, -PD_E_VALUE, "%s: is missing; %s needs it: %s", param->name,
                           names[query->name], param->help);
        }
    }
    return 0;
}

struct pd_tib_filter pd_query_filter(const struct pd_query *query)
{
    struct pd_tib_filter filter = query->filter;
    filter.path = query->given & 1U << PD_QUERY_PARAM_PATH ? &query->path : NULL;
    filter.since = *query->since ? query->since : NULL;
    return filter;
}

/* Counts of different origins are never added: what a trace counted are other packets than what
 * tags were on. */
static int check_origin(const struct pd_query *query, struct pd_error *error)
{
    if (query->filter.origins != ANY_ORIGIN || pd_query_plan_tells_origin(query)) {
        return 0;
    }
    return pd_fail(error, -PD_E_VALUE,
                   "origin: %s gives sums, and sums of different origins are not added; expected "
                   "tags, trace or probe",
                   names[query->name]);
}

static bool is_given(const struct pd_query *query, enum pd_query_param_id param)
{
    return query->given >> param & 1;
}

/* linkLoad has both ends, and all links unless it was told how many. */
static void set_window(struct pd_query *query)
{
    if (!is_given(query, PD_QUERY_PARAM_TO)) {
        query->filter.to_us = pd_clock_wall_us();
    }
    if (!is_given(query, PD_QUERY_PARAM_FROM)) {
        const uint64_t to_us = query->filter.to_us;
        query->filter.from_us = to_us > PD_QUERY_WINDOW_US ? to_us - PD_QUERY_WINDOW_US : 0;
    }
    if (!is_given(query, PD_QUERY_PARAM_K)) {
        query->k = UINT64_MAX;
    }
}

int pd_query_finish(struct pd_query *query, struct pd_error *error)
{
    char from[PD_TIME_TEXT_BYTES], to[PD_TIME_TEXT_BYTES];
    int err = check_given(query, error);
    if (err) {
        return err;
    }
    if (query->name == PD_QUERY_CONFORMANCE && !pd_query_conformance_judges_paths(query) &&
        !query->rules.allow_len) {
        return pd_fail(error, -PD_E_VALUE,
                       "max_hops: is missing; conformance needs it, avoid, must_pass or allow");
    }
    err = check_origin(query, error);
    if (err) {
        return err;
    }
    if (query->name == PD_QUERY_LINK_LOAD) {
        set_window(query);
    }
    if (query->filter.from_us <= query->filter.to_us) {
        return 0;
    }
    return pd_fail(error, -PD_E_VALUE, "to: %s is before from, %s",
                   pd_time_format(query->filter.to_us, to),
                   pd_time_format(query->filter.from_us, from));
}
