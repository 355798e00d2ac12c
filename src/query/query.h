/* SPDX-License-Identifier: Apache-2.0 */
/* Queries: one form for REST, command line, trees and installed queries; parameters -> plan ->
 * answer -> JSON. */
#ifndef PD_QUERY_QUERY_H
#define PD_QUERY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tib/filter.h"

/* The first four names are the paper's (Table 1), the others what its applications need. Names,
 * parameters and their help texts stand in two tables (query.c), from which REST routes, flags,
 * help, completion and the OpenAPI check come.
 *
 * Thread safety: a struct pd_query is plain data; pd_query_run works on the caller's snapshot and
 * memory. */

// clang-format off
#define PD_QUERIES(X)                                                                                         \
    X(GET_FLOWS, "getFlows", "flows over a link: flow ID, path, times, bytes, packets")                        \
    X(GET_PATHS, "getPaths", "paths that a flow took")                                                         \
    X(GET_COUNT, "getCount", "bytes and packets of a flow")                                                    \
    X(GET_DURATION, "getDuration", "first and last packet of a flow")                                          \
    X(TOP_RECORDS, "topRecords", "largest records: flow ID, path, times, bytes, packets")                      \
    X(TOP_FLOWS, "topFlows", "flow IDs with the most bytes or packets")                                        \
    X(TOP_HOSTS, "topHosts", "source addresses with the most bytes or packets")                                \
    X(TOP_LINKS, "topLinks", "links with the most bytes or packets")                                           \
    X(LINK_LOAD, "linkLoad", "bytes and packets of each link in a window of time")                             \
    X(FLOW_SIZES, "flowSizes", "how many flows over a link are how large")                                     \
    X(TRAFFIC_MATRIX, "trafficMatrix", "bytes and packets from each first to each last switch of paths")       \
    X(PATH_BYTES, "pathBytes", "bytes and packets of a flow on each path that it took")                        \
    X(DISTINCT, "distinct", "how many flows or sources there are")                                            \
    X(CONFORMANCE, "conformance", "flows whose path breaks a rule: length, switches, who may talk to whom")
// clang-format on

enum pd_query_name {
#define X(name, text, help) PD_QUERY_##name,
    PD_QUERIES(X)
#undef X
        PD_QUERY_COUNT
};

/* Sets of queries, for the table of parameters. */
#define PD_QUERY_BIT(name) (1U << PD_QUERY_##name)
#define PD_QUERY_EVERY     ((1U << PD_QUERY_COUNT) - 1)
#define PD_QUERY_TOPS                                                                \
    (PD_QUERY_BIT(TOP_RECORDS) | PD_QUERY_BIT(TOP_FLOWS) | PD_QUERY_BIT(TOP_HOSTS) | \
     PD_QUERY_BIT(TOP_LINKS) | PD_QUERY_BIT(LINK_LOAD))
#define PD_QUERY_SIZES PD_QUERY_BIT(FLOW_SIZES)
#define PD_QUERY_DIST  PD_QUERY_BIT(DISTINCT)
#define PD_QUERY_CONF  PD_QUERY_BIT(CONFORMANCE)

// clang-format off
/* id, name in REST, flag of the command line, placeholder of the value, queries that take it, queries that need it, needs an agent,
 * help */
#define PD_QUERY_PARAMS(X)                                                                                              \
    X(LINK, "link", "link", "A-B", PD_QUERY_EVERY, PD_QUERY_SIZES, false,                                               \
      "link that was crossed, from switch A to B; * is any")                                                            \
    X(SRC_IP, "src_ip", "src-ip", "IP", PD_QUERY_EVERY, 0, false, "source address, IPv4 or IPv6")                       \
    X(DST_IP, "dst_ip", "dst-ip", "IP", PD_QUERY_EVERY, 0, false, "destination address")                                \
    X(SRC_PORT, "src_port", "src-port", "PORT", PD_QUERY_EVERY, 0, false, "source port, 0 to 65535")                    \
    X(DST_PORT, "dst_port", "dst-port", "PORT", PD_QUERY_EVERY, 0, false, "destination port")                           \
    X(PROTOCOL, "protocol", "protocol", "PROTO", PD_QUERY_EVERY, 0, false, "a number, or tcp, udp, icmp, icmpv6, sctp") \
    X(PATH, "path", "path", "LIST", PD_QUERY_EVERY, 0, false, "switches of the path, from first to last: 1,9,17")       \
    X(ORIGIN, "origin", "origin", "ORIGIN", PD_QUERY_EVERY, 0, false, "how the path is known: tags (default), trace, probe or any") \
    X(FROM, "from", "from", "TIME", PD_QUERY_EVERY, 0, false, "only what ended then or later: epoch or RFC 3339")       \
    X(TO, "to", "to", "TIME", PD_QUERY_EVERY, 0, false, "only what began then or earlier")                              \
    X(SINCE, "since", "since", "TOKEN", PD_QUERY_EVERY, 0, false, "only what was stored after the answer with this token") \
    X(K, "k", "k", "N", PD_QUERY_TOPS, 0, false, "how many (top queries), 10 when not given")                                  \
    X(BY, "by", "by", "bytes|pkts", PD_QUERY_TOPS, 0, false, "what is large (top queries), bytes when not given")              \
    X(BIN_BYTES, "bin_bytes", "bin-bytes", "N", PD_QUERY_SIZES, PD_QUERY_SIZES, false, "width of a bin in bytes (flowSizes)")    \
    X(OF, "of", "of", "flows|sources", PD_QUERY_DIST, PD_QUERY_DIST, false, "what to count (distinct)")                 \
    X(MAX_HOPS, "max_hops", "max-hops", "N", PD_QUERY_CONF, 0, false, "most hops that a path may have (conformance)")   \
    X(AVOID, "avoid", "avoid", "LIST", PD_QUERY_CONF, 0, false, "switches that no path may have: 17,18 (conformance)")          \
    X(MUST_PASS, "must_pass", "must-pass", "LIST", PD_QUERY_CONF, 0, false, "switches that every path must have (conformance)") \
    X(ALLOW, "allow", "allow", "PAIRS", PD_QUERY_CONF, 0, false, "prefixes that may talk: SRC>DST,SRC>DST (conformance)") \
    X(LIVE, "live", "live", "BOOL", PD_QUERY_EVERY, 0, true, "include what is still in the trajectory memory")
// clang-format on

enum pd_query_param_id {
#define X(id, name, flag, value, takers, needers, agent_only, help) PD_QUERY_PARAM_##id,
    PD_QUERY_PARAMS(X)
#undef X
        PD_QUERY_PARAM_COUNT
};

/* A parameter of a question: "src_ip" in REST, --src-ip on the command line. */
struct pd_question_param {
    const char *name;  /* with underscores */
    const char *flag;  /* with dashes */
    const char *value; /* placeholder in help: "IP"; all values where they are few: "bytes|pkts" */
    const char *help;
    unsigned takers;  /* of several that share a list bit n: the n-th takes it; 0: all do */
    unsigned needers; /* and cannot do without it */
    bool agent_only;  /* `live`: needs a trajectory memory */
};
extern const struct pd_question_param pd_query_params[]; /* ends with a NULL name */

/* Default limit of one query: about 2 million flows. */
#define PD_QUERY_MEMORY_BYTES (UINT64_C(256) << 20)
/* Of a token, with the final NUL: stores of many hosts have long ones. */
#define PD_QUERY_TOKEN_BYTES 16384
#define PD_QUERY_K           10                       /* when nothing else is asked for */
#define PD_QUERY_WINDOW_US   (10 * UINT64_C(1000000)) /* of linkLoad, likewise: the last so long */

/* ---- the rules of "conformance" ---- */

#define PD_CONFORMANCE_SWITCHES_MAX 64
#define PD_CONFORMANCE_ALLOW_MAX    256

// clang-format off
#define PD_CONFORMANCE_RULES(X) \
    X(MAX_HOPS, "max_hops")     \
    X(AVOID, "avoid")           \
    X(MUST_PASS, "must_pass")   \
    X(ALLOW, "allow")
// clang-format on

enum pd_conformance_rule {
#define X(name, text) PD_CONFORMANCE_##name,
    PD_CONFORMANCE_RULES(X)
#undef X
        PD_CONFORMANCE_RULE_COUNT
};

struct pd_switch_set {
    uint32_t len;
    uint32_t switches[PD_CONFORMANCE_SWITCHES_MAX];
};

struct pd_conformance {
    uint32_t max_hops;  /* PD_PATH_MAX: any */
    uint32_t allow_len; /* 0: everybody may talk to everybody */
    struct pd_switch_set avoid, must_pass;
    struct {
        struct pd_prefix src, dst;
    } allow[PD_CONFORMANCE_ALLOW_MAX];
};

struct pd_query {
    enum pd_query_name name;
    /* but for `path` and `since`, which stand below: see pd_query_filter */
    struct pd_tib_filter filter;
    struct pd_path path;
    char since[PD_QUERY_TOKEN_BYTES]; /* "": all */
    uint64_t k;
    enum pd_tib_order by; /* BYTES or PKTS */
    enum pd_tib_by of;    /* FLOW or SOURCE */
    uint64_t bin_bytes;
    bool live;
    bool columns; /* live records come with their further columns, as stored ones do */
    struct pd_conformance rules;
    unsigned given;        /* bit n: parameter n was set */
    uint64_t memory_bytes; /* most that grouping may take; beyond: -PD_E_TOO_LARGE */
};

/* Decimal digits alone, at most 16 and `max`. 0 or -PD_E_VALUE. */
int pd_query_number(const char *text, uint64_t max, uint64_t *ret_number);

const char *pd_query_name_text(enum pd_query_name name);
int pd_query_name_parse(const char *text, enum pd_query_name *ret_name); /* 0 or -PD_E_NOT_FOUND */
void pd_query_init(struct pd_query *query, enum pd_query_name name);

/* Sets a parameter from its text; `name` with `_`. "*" is the wildcard for link and flow ID fields.
 * -PD_E_UNKNOWN_KEY, -PD_E_VALUE; `error` names the parameter and what is expected. Setting one
 * twice is an error. */
int pd_query_set(struct pd_query *query, const char *name, const char *value,
                 struct pd_error *error);

/* After the last parameter, when the name is settled: refuses what this query does not take, misses
 * what it needs, and checks what concerns several (from <= to). The words begin with the
 * parameter's name. */
int pd_query_finish(struct pd_query *query, struct pd_error *error);

/* The rules that a record breaks: bit n is rule n of enum pd_conformance_rule; 0: it conforms, or
 * the query has no rules. Whether the query's filter wants the record is not looked at
 * (pd_tib_filter_matches). A trajectory that fits no path has no switches to judge: it can break
 * `allow` alone; the answer counts those under "infeasible", the agent alarms them as such. */
unsigned pd_query_conformance_check(const struct pd_query *query,
                                    const struct pd_tib_record *record);
const char *pd_query_conformance_rule_text(enum pd_conformance_rule rule);

/* The filter, pointing to the path and token of `query` wherever that was copied to. */
struct pd_tib_filter pd_query_filter(const struct pd_query *query);

/* Where the answer's bytes go; a non-zero return stops the query with that value. */
struct pd_query_sink {
    void *context;
    int (*write)(void *context, const char *bytes, size_t len);
};

/* JSON: one object. NDJSON: each row of its list on a line of its own, then an object with all
 * other members on the last line. EVENTS: the same as server-sent events, the last one named "end".
 */
enum pd_query_form { PD_FORM_JSON, PD_FORM_NDJSON, PD_FORM_EVENTS };

/* Runs over the snapshot (may be NULL) plus `live` rows (records of the trajectory memory, decoded;
 * NULL/0 when none; those that do not match the query are skipped) and writes the JSON answer, in
 * pieces, as docs/api/openapi.json describes. Rows are sorted, so equal stores give equal bytes but
 * for the token. `complete` is what the answer's "complete" says: false when a segment of the TIB
 * is damaged or a sum reached 2^53 - 1. Returns 0, what the sink returned, -PD_E_TOO_LARGE when
 * memory_bytes did not do, -ENOMEM or a store error; except where the sink failed, nothing was
 * written then. */
int pd_query_run(const struct pd_query *query, struct pd_tib_snapshot *snapshot,
                 const struct pd_tib_record *live, size_t live_len,
                 const struct pd_query_sink *sink, bool *ret_complete, struct pd_error *error);

/* The same in either form. */
int pd_query_run_as(const struct pd_query *query, enum pd_query_form form,
                    struct pd_tib_snapshot *snapshot, const struct pd_tib_record *live,
                    size_t live_len, const struct pd_query_sink *sink, bool *ret_complete,
                    struct pd_error *error);

#endif
