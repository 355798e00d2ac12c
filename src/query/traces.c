/* SPDX-License-Identifier: Apache-2.0 */
/* getTraces: parameters, a host's own traces, and how answers become one. */
#include "query/traces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/document.h"
#include "query/members.h"
#include "query/query.h"

#define TRACES_OF_HOST 64      /* about */
#define TRACES_MAX     200000u /* of all hosts together; what is beyond is left out */

struct args {
    struct pd_flow_match flow;
    uint64_t from_us, to_us;
};

/* ---- parameters ---- */

static const struct pd_question_param params[] = {
    {.name = "src_ip", .value = "ADDR", .help = "of flows from this address"},
    {.name = "dst_ip", .value = "ADDR", .help = "to this address"},
    {.name = "src_port", .value = "PORT", .help = "from this port"},
    {.name = "dst_port", .value = "PORT", .help = "to this port"},
    {.name = "protocol", .value = "N", .help = "6: there are traces of TCP alone"},
    {.name = "from", .value = "TIME", .help = "that suffered then or later"},
    {.name = "to", .value = "TIME", .help = "that were traced then or earlier"},
    {0},
};

static int read_one(const struct pd_question *entry, struct pd_query *query, const char *name,
                    const json_t *value, struct pd_error *error)
{
    const char *text = json_string_value(value);
    char room[32];

    if (!pd_query_question_takes(entry, name)) {
        pd_fail(error, -PD_E_UNKNOWN_KEY, "%.64s: unknown parameter of " PD_TRACES_NAME, name);
        if (error) {
            pd_printable(error->text);
        }
        return -PD_E_UNKNOWN_KEY;
    }
    if (json_is_integer(value)) {
        snprintf(room, sizeof room, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        text = room;
    } else if (json_is_real(value)) {
        snprintf(room, sizeof room, "%.6f", json_real_value(value));
        text = room;
    }
    return text ? pd_query_set(query, name, text, error)
                : pd_fail(error, -PD_E_VALUE, "%.64s: expected a text or a number", name);
}

static int read_args(const struct pd_question *entry, const json_t *given, void *ret_asked,
                     struct pd_error *error)
{
    struct pd_query query;
    const char *name;
    json_t *value;
    int err = 0;

    pd_query_init(&query, PD_QUERY_GET_FLOWS);
    json_object_foreach((json_t *)(uintptr_t)given, name, value)
    {
        err = err ? err : read_one(entry, &query, name, value, error);
    }
    err = err ? err : pd_query_finish(&query, error);
    if (!err) {
        const struct args args = {query.filter.flow, query.filter.from_us, query.filter.to_us};
        memcpy(ret_asked, &args, sizeof args);
    }
    return err;
}

/* ---- rows ---- */

static json_t *hop_json(const struct pd_trace_hop *hop, unsigned ttl, uint8_t ip_version)
{
    char addr[PD_ADDR_TEXT_BYTES];

    if (!hop->answered) {
        return json_pack("{s:i, s:n, s:n, s:n}", "ttl", (int)ttl, "addr", "switch", "rtt_us");
    }
    return json_pack("{s:i, s:s, s:o, s:I}", "ttl", (int)ttl, "addr",
                     pd_addr_format(&hop->addr, ip_version, addr), "switch",
                     hop->switch_id ? json_integer(hop->switch_id) : json_null(), "rtt_us",
                     (json_int_t)hop->rtt_us);
}

static json_t *path_json(const struct pd_path *path)
{
    json_t *array = json_array();

    for (uint32_t i = 0; array && i < path->len; i++) {
        if (json_array_append_new(array, json_integer(path->switches[i]))) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

json_t *pd_query_trace_json(const struct pd_trace *trace)
{
    char dip[PD_ADDR_TEXT_BYTES];
    json_t *hops = json_array();

    for (unsigned i = 0; hops && i < trace->hops_len; i++) {
        if (json_array_append_new(hops, hop_json(&trace->hops[i], i + 1, trace->flow.ip_version))) {
            json_decref(hops);
            hops = NULL;
        }
    }
    return json_pack("{s:o, s:s, s:i, s:o, s:b, s:b, s:I, s:I, s:I, s:I, s:i, s:I, s:o}", "flow_id",
                     pd_query_flow_id_json(&trace->flow), "dip",
                     pd_addr_format(&trace->dip, trace->flow.ip_version, dip), "dip_port",
                     (int)trace->dip_port, "path", path_json(&trace->way.path), "reached",
                     (int)trace->way.reached, "consistent", (int)trace->way.consistent, "time_us",
                     (json_int_t)trace->time_us, "last_us", (json_int_t)trace->last_us, "epoch_us",
                     (json_int_t)trace->epoch_us, "retransmissions",
                     (json_int_t)trace->retransmissions, "traffic_class", (int)trace->traffic_class,
                     "flow_label", (json_int_t)trace->flow_label, "hops", hops);
}

int pd_query_trace_of_record(const struct pd_tib_record *record, struct pd_trace *ret_trace)
{
    struct pd_tib_extra extra;
    uint32_t at = 0;

    while (pd_tib_extra_next(record, &at, &extra)) {
        if (extra.kind == PD_TRACE_EXTRA_KIND) {
            ret_trace->flow = record->flow;
            ret_trace->retransmissions = record->retransmissions;
            pd_path_copy(&ret_trace->way.path, record->path);
            return pd_trace_extra_read(extra.bytes, extra.len, ret_trace);
        }
    }
    return -PD_E_NOT_FOUND;
}

/* ---- a host's own part ---- */

struct gathered {
    json_t *rows;
    struct pd_trace *trace; /* room for one */
    bool complete;
};

/* What is no trace although it says so is left out, and the answer says that it is not complete. */
static int take(void *context, const struct pd_tib_record *records, size_t n)
{
    struct gathered *gathered = context;

    for (size_t i = 0; i < n; i++) {
        if (json_array_size(gathered->rows) == TRACES_MAX ||
            pd_query_trace_of_record(&records[i], gathered->trace)) {
            gathered->complete = false;
        } else if (json_array_append_new(gathered->rows, pd_query_trace_json(gathered->trace))) {
            return -ENOMEM;
        }
    }
    return 0;
}

static int local(struct pd_question_run *run, json_t **ret_answer, struct pd_error *error)
{
    const struct args *wanted = run->document->asked;
    const struct pd_question_host *host = run->host;
    const struct pd_tib_filter filter = {.flow = wanted->flow,
                                         .from_us = wanted->from_us,
                                         .to_us = wanted->to_us,
                                         .origins = 1u << PD_ORIGIN_TRACE};
    struct gathered gathered = {json_array(), calloc(1, sizeof *gathered.trace), true};
    bool complete = false;
    int err = !gathered.rows || !gathered.trace ? -ENOMEM : 0;

    if (err) {
        pd_fail(error, err, "no memory for the answer");
    } else if (!host->records) {
        err = pd_fail(error, -PD_E_UNSUPPORTED, "not supported here: this host has no records");
    } else {
        err = host->records(host->context, &filter, take, &gathered, &complete, error);
    }
    free(gathered.trace);
    if (err) {
        json_decref(gathered.rows);
        return err;
    }
    *ret_answer =
        json_pack("{s:o, s:b}", "traces", gathered.rows, "complete", complete && gathered.complete);
    return *ret_answer ? 0 : pd_fail(error, -ENOMEM, "no memory for the answer");
}

/* ---- what another host says ---- */

static bool is_path(const json_t *path)
{
    const json_t *id;
    size_t i;

    if (!json_is_array(path) || json_array_size(path) > PD_PATH_MAX) {
        return false;
    }
    json_array_foreach((json_t *)(uintptr_t)path, i, id)
    {
        if (!json_is_integer(id) || json_integer_value(id) < 0 ||
            json_integer_value(id) > UINT32_MAX) {
            return false;
        }
    }
    return true;
}

static bool is_trace(const json_t *trace, const struct pd_question_hosts *hosts)
{
    uint64_t host = hosts->host, number;
    const json_t *told = json_object_get(trace, "host");
    struct pd_flow_id flow;

    return (told ? !pd_query_question_number(trace, "host", &host) : hosts->alone) &&
           host <= UINT32_MAX && hosts->knows(hosts->context, (uint32_t)host) &&
           !pd_query_flow_id_read(json_object_get(trace, "flow_id"), &flow, NULL) &&
           is_path(json_object_get(trace, "path")) &&
           json_is_boolean(json_object_get(trace, "reached")) &&
           json_is_array(json_object_get(trace, "hops")) &&
           !pd_query_question_number(trace, "time_us", &number) &&
           !pd_query_question_number(trace, "epoch_us", &number) &&
           !pd_query_question_number(trace, "retransmissions", &number);
}

static int check(const struct pd_question_run *run, const json_t *answer,
                 const struct pd_question_hosts *hosts, struct pd_error *error)
{
    const json_t *traces = json_object_get(answer, "traces"), *trace;
    size_t i;

    (void)run;
    if (!json_is_array(traces) || json_array_size(traces) > TRACES_MAX) {
        return pd_query_question_wrong(error, "no list of traces");
    }
    if (!json_is_boolean(json_object_get(answer, "complete"))) {
        return pd_query_question_wrong(error, "no \"complete\"");
    }
    json_array_foreach((json_t *)(uintptr_t)traces, i, trace)
    {
        if (!is_trace(trace, hosts)) {
            return pd_query_question_wrong(error,
                                           "traces that are none, or of none of the hosts asked");
        }
    }
    return 0;
}

/* ---- answers become one ---- */

static int merge(struct pd_question_run *run, uint32_t host, bool alone, json_t *one,
                 struct pd_error *error)
{
    json_t *all = run->all, *traces = json_object_get(all, "traces"), *trace;
    bool whole = json_is_true(json_object_get(one, "complete"));
    int failed = 0;
    size_t i;

    (void)alone;
    if (!traces) {
        traces = json_array();
        failed |= json_object_set_new(all, "traces", traces);
    }
    json_array_foreach(json_object_get(one, "traces"), i, trace)
    {
        if (json_array_size(traces) == TRACES_MAX) {
            whole = false;
            break;
        }
        if (!json_object_get(trace, "host")) {
            failed |= json_object_set_new(trace, "host", json_integer(host));
        }
        failed |= json_array_append(traces, trace);
    }
    if (!whole) {
        failed |= json_object_set_new(all, "complete", json_false());
    }
    return failed ? pd_fail(error, -ENOMEM, "no memory for the answer") : 0;
}

static int finish(struct pd_question_run *run, struct pd_error *error)
{
    json_t *all = run->all;
    int failed = 0;

    if (!json_object_get(all, "traces")) {
        failed |= json_object_set_new(all, "traces", json_array());
    }
    if (!json_object_get(all, "complete")) {
        failed |= json_object_set_new(all, "complete", json_true());
    }
    return failed ? pd_fail(error, -ENOMEM, "no memory for the answer") : 0;
}

const struct pd_question pd_query_question_traces = {
    .name = PD_TRACES_NAME,
    .help = "flows of this host that suffered, and the way that each took",
    .role = PD_ROLE_READ,
    .params = params,
    .posts = true,
    .records = true,
    .args_bytes = sizeof(struct args),
    .groups = TRACES_OF_HOST,
    .read = read_args,
    .local = local,
    .check = check,
    .merge = merge,
    .finish = finish,
};
