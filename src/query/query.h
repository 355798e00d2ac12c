/* SPDX-License-Identifier: Apache-2.0 */
/* Queries: one form for REST, command line and (later) installed queries; parameters -> plan -> answer -> JSON. */
#ifndef PD_QUERY_QUERY_H
#define PD_QUERY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tib/tib.h"

/* The query names are the paper's (Table 1): getFlows, getPaths, getCount, getDuration. Names, parameters and their
 * help texts stand in two tables (query.c), from which REST routes, flags, help, completion and the OpenAPI check come.
 *
 * Thread safety: a struct pd_query is plain data; pd_query_run works on the caller's snapshot and memory. */

#define PD_QUERIES(X)                                                                   \
    X(GET_FLOWS, "getFlows", "flows over a link: flow ID, path, times, bytes, packets") \
    X(GET_PATHS, "getPaths", "paths that a flow took")                                  \
    X(GET_COUNT, "getCount", "bytes and packets of a flow")                             \
    X(GET_DURATION, "getDuration", "first and last packet of a flow")

enum pd_query_name {
#define X(name, text, help) PD_QUERY_##name,
    PD_QUERIES(X)
#undef X
        PD_QUERY_COUNT
};

// clang-format off
/* id, name in REST, flag of the command line, placeholder of the value, needs an agent, help */
#define PD_QUERY_PARAMS(X)                                                                                             \
    X(LINK, "link", "link", "A-B", false, "link that was crossed, from switch A to B; * is any")                        \
    X(SRC_IP, "src_ip", "src-ip", "IP", false, "source address, IPv4 or IPv6")                                         \
    X(DST_IP, "dst_ip", "dst-ip", "IP", false, "destination address")                                                  \
    X(SRC_PORT, "src_port", "src-port", "PORT", false, "source port, 0 to 65535")                                      \
    X(DST_PORT, "dst_port", "dst-port", "PORT", false, "destination port")                                             \
    X(PROTOCOL, "protocol", "protocol", "PROTO", false, "a number, or tcp, udp, icmp, icmpv6, sctp")                  \
    X(PATH, "path", "path", "LIST", false, "switches of the path, from first to last: 1,9,17")                      \
    X(FROM, "from", "from", "TIME", false, "only what ended then or later: epoch or RFC 3339")                      \
    X(TO, "to", "to", "TIME", false, "only what began then or earlier")                                             \
    X(LIVE, "live", "live", "BOOL", true, "include what is still in the trajectory memory")
// clang-format on

enum pd_query_param_id {
#define X(id, name, flag, value, agent_only, help) PD_QUERY_PARAM_##id,
    PD_QUERY_PARAMS(X)
#undef X
        PD_QUERY_PARAM_COUNT
};

/* One parameter: "src_ip" in REST, --src-ip on the command line. */
struct pd_query_param {
    const char *name;  /* with underscores */
    const char *flag;  /* with dashes */
    const char *value; /* placeholder in help: "IP" */
    const char *help;
    bool agent_only; /* `live`: needs a trajectory memory */
};
extern const struct pd_query_param pd_query_params[]; /* ends with a NULL name */

#define PD_QUERY_MEMORY_BYTES \
    (UINT64_C(256) << 20) /* default limit of one query: about 2 million flows */

struct pd_query {
    enum pd_query_name name;
    struct pd_tib_filter filter; /* filter.path points to `path` once "path" was set */
    struct pd_path path;
    bool live;
    unsigned given;        /* bit n: parameter n was set */
    uint64_t memory_bytes; /* most that grouping may take; beyond: -PD_E_TOO_LARGE */
};

const char *pd_query_name_text(enum pd_query_name name);
int pd_query_name_parse(const char *text, enum pd_query_name *ret_name); /* 0 or -PD_E_NOT_FOUND */
void pd_query_init(struct pd_query *query, enum pd_query_name name);

/* Sets a parameter from its text; `name` with `_`. "*" is the wildcard for link and flow ID fields.
 * -PD_E_UNKNOWN_KEY, -PD_E_VALUE; `error` names the parameter and what is expected. Setting one twice is an error. */
int pd_query_set(struct pd_query *query, const char *name, const char *value,
                 struct pd_error *error);

/* After the last parameter: checks what concerns several (from <= to). */
int pd_query_finish(struct pd_query *query, struct pd_error *error);

/* Where the answer's bytes go; a non-zero return stops the query with that value. */
struct pd_query_sink {
    void *context;
    int (*write)(void *context, const char *bytes, size_t len);
};

/* Runs over the snapshot (may be NULL) plus `live` rows (records of the trajectory memory, decoded; NULL/0 when none;
 * those that do not match the query are skipped) and writes the JSON answer, in pieces, as docs/api/openapi.json
 * describes. Rows are sorted, so equal stores give equal bytes. `complete` is what the answer's "complete" says: false when
 * a segment of the TIB is damaged or a sum reached 2^53 - 1. Returns 0, what the sink returned, -PD_E_TOO_LARGE when
 * memory_bytes did not do, -ENOMEM or a store error; except where the sink failed, nothing was written then. */
int pd_query_run(const struct pd_query *query, struct pd_tib_snapshot *snapshot,
                 const struct pd_tib_record *live, size_t live_len,
                 const struct pd_query_sink *sink, bool *ret_complete, struct pd_error *error);

#endif
