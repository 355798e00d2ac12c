/* SPDX-License-Identifier: Apache-2.0 */
/* What `pathdump top` shows: answers turned into rows. */
#include "cli/top/snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/json.h"
#include "cli/names.h"
#include "query/protocol.h"
#include "query/rows/cells.h"

#define FLOWS       200
#define ALARMS      "1000"
#define MINUTE_US   (60 * PD_US_PER_S)
#define DEADLINE_MS 5000
#define BITS        8

/* ---- asking ---- */

static int ask(const struct pd_top_source *source, struct pd_cli_request request,
               json_t **ret_answer, struct pd_error *error)
{
    request.stop = source->stop;
    return pd_cli_server_ask(source->server, request, NULL, ret_answer, error);
}

/* A question to all hosts, or to the agent. Takes `args`. */
static int question(const struct pd_top_source *source, const char *name, json_t *args,
                    json_t **ret_answer, struct pd_error *error)
{
    json_t *document =
        json_pack("{s:s, s:o, s:i}", "query", name, "args", args, "deadline_ms", DEADLINE_MS);
    int err;

    if (document && !source->agent) {
        json_object_set_new(document, "hosts", json_string("all"));
    }
    char *body = document ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    if (!body) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    err = ask(
        source,
        (struct pd_cli_request){.route = source->agent ? "/v1/query" : "/v1/execute", .body = body},
        ret_answer, error);
    free(body);
    return err;
}

static json_t *window_args(void)
{
    uint64_t us = pd_clock_wall_us() - PD_TOP_WINDOW_S * PD_US_PER_S;

    return json_pack("{s:o, s:b}", "from",
                     json_sprintf("%" PRIu64 ".%06" PRIu64, us / PD_US_PER_S, us % PD_US_PER_S),
                     "live", 1);
}

/* ---- links ---- */

/* "9-17" in names, where there are any. */
static json_t *link_text(const struct pd_top_source *source, const char *text)
{
    struct pd_link_match link;
    const char *from, *to;

    if (!source->names || !text || pd_link_parse(text, &link)) {
        return json_string(text ? text : "?");
    }
    from = pd_cli_names_of(source->names, link.from);
    to = pd_cli_names_of(source->names, link.to);
    return from && to ? json_sprintf("%s:%s", from, to) : json_string(text);
}

static void add_link(const struct pd_top_source *source, json_t *rows, const json_t *link)
{
    static const char *const members[] = {"load_bps", "use", "alarms", "suspicion"};
    const char *id = json_string_value(json_object_get(link, "link"));
    const json_t *bytes = json_object_get(link, "bytes");
    json_t *row = json_pack("{s:o, s:s}", "link", link_text(source, id), "id", id ? id : "?");

    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_t *value = json_object_get(link, members[i]);
        if (value) {
            json_object_set(row, members[i], value);
        }
    }
    if (bytes) {
        json_object_set_new(row, "load_bps",
                            json_real(json_number_value(bytes) * BITS / PD_TOP_WINDOW_S));
    }
    json_array_append_new(rows, row);
}

/* What the controller measures of links; a server without that is asked for its records. */
static int read_links(const struct pd_top_source *source, json_t **ret_rows, json_t *header,
                      struct pd_error *error)
{
    static const char *const names[] = {"metrics", NULL}, *const values[] = {
                                                              "load_bps,use,alarms,suspicion"};
    json_t *answer = NULL, *link;
    size_t i;
    int err =
        source->agent
            ? -PD_E_NOT_FOUND
            : ask(source,
                  (struct pd_cli_request){.route = "/v1/links", .names = names, .values = values},
                  &answer, error);

    if (err == -PD_E_NOT_FOUND) {
        err = question(source, "linkLoad", window_args(), &answer, error);
    }
    if (err) {
        return err;
    }
    *ret_rows = json_array();
    json_array_foreach(json_object_get(answer, "links"), i, link)
    {
        add_link(source, *ret_rows, link);
    }
    json_object_set(header, "complete", json_object_get(answer, "complete"));
    json_decref(answer);
    return 0;
}

/* ---- flows ---- */

static json_t *path_text(const struct pd_top_source *source, const json_t *row)
{
    const struct pd_style_names names = {source->names, pd_cli_names_of};
    const struct pd_style style = {.names = source->names ? &names : NULL};
    const struct pd_cli_reader reader = {"", NULL};
    char text[PD_TEXT_WAY_BYTES];
    struct pd_path path;
    struct pd_claim claim;

    return pd_cli_read_path(&reader, row, &path, &claim)
               ? json_null()
               : json_string(pd_row_text_way(&claim, &style, text));
}

static void put_flow(const json_t *row, json_t *ret_row)
{
    const struct pd_cli_reader reader = {"", NULL};
    char end[PD_END_TEXT_BYTES], number[16];
    struct pd_flow_id flow;
    const char *name;

    if (pd_cli_read_flow(&reader, row, &flow)) {
        return;
    }
    name = pd_query_protocol_name(flow.protocol);
    snprintf(number, sizeof number, "%u", flow.protocol);
    json_object_set_new(ret_row, "source",
                        json_string(pd_row_text_end(&flow.src, &flow, flow.src_port, end)));
    json_object_set_new(ret_row, "destination",
                        json_string(pd_row_text_end(&flow.dst, &flow, flow.dst_port, end)));
    json_object_set_new(ret_row, "protocol", json_string(name ? name : number));
}

static json_t *flow_row(const struct pd_top_source *source, const json_t *record)
{
    json_int_t stime = json_integer_value(json_object_get(record, "stime_us"));
    json_int_t etime = json_integer_value(json_object_get(record, "etime_us"));
    double bytes = json_number_value(json_object_get(record, "bytes"));
    double seconds = (double)(etime - stime + 1) / (double)PD_US_PER_S;
    json_t *row = json_pack(
        "{s:o, s:O*, s:O*, s:O*, s:O*}", "path", path_text(source, record), "bytes",
        json_object_get(record, "bytes"), "pkts", json_object_get(record, "pkts"), "stime_us",
        json_object_get(record, "stime_us"), "etime_us", json_object_get(record, "etime_us"));

    put_flow(record, row);
    if (seconds > 0) { /* a single packet has no rate worth the name: that of a second */
        json_object_set_new(row, "rate_bps", json_real(bytes * BITS / (seconds < 1 ? 1 : seconds)));
    }
    return row;
}

static int read_records(const struct pd_top_source *source, const char *link, json_t **ret_rows,
                        struct pd_error *error)
{
    json_t *args = window_args(), *answer, *record;
    size_t i;
    int err;

    json_object_set_new(args, "k", json_integer(FLOWS));
    if (link) {
        json_object_set_new(args, "link", json_string(link));
    }
    err = question(source, "topRecords", args, &answer, error);
    if (err) {
        return err;
    }
    *ret_rows = json_array();
    json_array_foreach(json_object_get(answer, "top"), i, record)
    {
        json_array_append_new(*ret_rows, flow_row(source, record));
    }
    json_decref(answer);
    return 0;
}

int pd_top_flows_over(const struct pd_top_source *source, const char *link, json_t **ret_rows,
                      struct pd_error *error)
{
    return read_records(source, link, ret_rows, error);
}

/* ---- hosts, alarms, verdicts ---- */

static int read_hosts(const struct pd_top_source *source, const json_t *status, json_t **ret_rows,
                      struct pd_error *error)
{
    json_t *answer;
    int err;

    if (source->agent) {
        *ret_rows = json_pack("[{s:O*, s:s, s:s, s:I}]", "name", json_object_get(status, "host"),
                              "url", source->server->url, "state", "up", "last_seen_us",
                              (json_int_t)pd_clock_wall_us());
        return *ret_rows ? 0 : pd_fail(error, -ENOMEM, "no memory");
    }
    err = ask(source, (struct pd_cli_request){.route = "/v1/hosts"}, &answer, error);
    if (!err) {
        *ret_rows = json_incref(json_object_get(answer, "hosts"));
        json_decref(answer);
    }
    return err;
}

static json_t *alarm_row(const struct pd_top_source *source, const json_t *alarm)
{
    const json_t *paths = json_object_get(alarm, "paths"),
                 *flow = json_object_get(alarm, "flow_id");
    json_t *row = json_copy((json_t *)(uintptr_t)alarm);
    json_t *way = json_pack("{s:O*}", "path", json_array_get(paths, 0));

    if (json_is_object(flow)) {
        put_flow(alarm, row);
        json_object_set_new(row, "flow",
                            json_sprintf("%s > %s",
                                         json_string_value(json_object_get(row, "source")),
                                         json_string_value(json_object_get(row, "destination"))));
    }
    json_object_set_new(row, "path", json_array_size(paths) ? path_text(source, way) : json_null());
    json_decref(way);
    return row;
}

static int read_alarms(const struct pd_top_source *source, json_t **ret_rows, json_t *header,
                       struct pd_error *error)
{
    static const char *const names[] = {"newest", NULL}, *const values[] = {ALARMS};
    struct pd_cli_request request = {.route = "/v1/alarms"};
    uint64_t now_us = pd_clock_wall_us();
    json_int_t fresh = 0;
    json_t *answer, *alarm;
    size_t i;
    int err;

    if (!source->agent) {
        request.names = names;
        request.values = values;
    }
    err = ask(source, request, &answer, error);
    if (err) {
        return err;
    }
    *ret_rows = json_array();
    json_array_foreach(json_object_get(answer, "alarms"), i, alarm)
    {
        uint64_t time_us = (uint64_t)json_integer_value(json_object_get(alarm, "time_us"));
        fresh += time_us + MINUTE_US > now_us;
        json_array_append_new(*ret_rows, alarm_row(source, alarm));
    }
    json_object_set_new(header, "alarms_minute", json_integer(fresh));
    json_decref(answer);
    return 0;
}

/* The watch, and what stands in its last report. */
static json_t *verdict_row(json_t *watch)
{
    static const char *const members[] = {"certain", "confidence", "verdict", "evidence", "lacks"};
    const json_t *report = json_object_get(watch, "report");
    const char *failed = json_string_value(json_object_get(watch, "error"));
    json_t *row = json_copy(watch), *links = json_object_get(report, "links");

    json_object_del(row, "report");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_t *value = json_object_get(report, members[i]);
        if (value) {
            json_object_set(row, members[i], value);
        }
    }
    if (json_array_size(links)) {
        json_object_set(row, "links", links);
    }
    if (failed) {
        json_object_set_new(row, "verdict", json_sprintf("failed: %s", failed));
    }
    return row;
}

static int read_verdicts(const struct pd_top_source *source, json_t **ret_rows,
                         struct pd_error *error)
{
    json_t *answer, *watch;
    size_t i;
    int err;

    *ret_rows = json_array();
    if (source->agent) {
        return 0; /* watches are the controller's */
    }
    err = ask(source, (struct pd_cli_request){.route = "/v1/watches"}, &answer, error);
    if (err) {
        json_decref(*ret_rows);
        *ret_rows = NULL;
        return err;
    }
    json_array_foreach(json_object_get(answer, "watches"), i, watch)
    {
        json_array_append_new(*ret_rows, verdict_row(watch));
    }
    json_decref(answer);
    return 0;
}

/* ---- all of it ---- */

static void sum_links(const json_t *links, json_t *header)
{
    const json_t *link, *hottest = NULL;
    double sum = 0, most = -1;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)links, i, link)
    {
        double bps = json_number_value(json_object_get(link, "load_bps"));
        sum += bps;
        if (bps > most) {
            most = bps;
            hottest = link;
        }
    }
    json_object_set_new(header, "bps", json_real(sum));
    if (hottest) {
        json_object_set(header, "hottest", json_object_get(hottest, "link"));
        json_object_set_new(header, "hottest_bps", json_real(most));
    }
}

static int read_table(const struct pd_top_source *source, const struct pd_top_table *table,
                      const json_t *status, json_t *const kept[PD_TOP_TABLES], json_t **ret_rows,
                      struct pd_error *error)
{
    switch ((enum pd_top_name)(table - pd_top_tables)) {
    case PD_TOP_FLOWS: return read_records(source, NULL, ret_rows, error);
    case PD_TOP_HOSTS: return read_hosts(source, status, ret_rows, error);
    case PD_TOP_VERDICTS: return read_verdicts(source, ret_rows, error);
    case PD_TOP_LINKS:
    case PD_TOP_ALARMS: break;
    }
    *ret_rows = json_incref(kept[table - pd_top_tables]);
    return 0;
}

int pd_top_snapshot_take(const struct pd_top_source *source, const struct pd_top_table *table,
                         struct pd_top_snapshot *ret, struct pd_error *error)
{
    json_t *kept[PD_TOP_TABLES] = {NULL}, *status = NULL, *rows = NULL, *header = json_object();
    int err = ask(source, (struct pd_cli_request){.route = "/v1/status"}, &status, error);

    json_object_set_new(header, "at_us", json_integer((json_int_t)pd_clock_wall_us()));
    if (!err && json_is_object(json_object_get(status, "hosts"))) {
        json_object_set(header, "hosts", json_object_get(status, "hosts"));
    }
    err = err ? err : read_links(source, &kept[PD_TOP_LINKS], header, error);
    err = err ? err : read_alarms(source, &kept[PD_TOP_ALARMS], header, error);
    err = err ? err : read_table(source, table, status, kept, &rows, error);
    if (!err) {
        sum_links(kept[PD_TOP_LINKS], header);
        *ret = (struct pd_top_snapshot){table, rows, json_incref(header)};
    }
    json_decref(kept[PD_TOP_LINKS]);
    json_decref(kept[PD_TOP_ALARMS]);
    json_decref(status);
    json_decref(header);
    return err;
}

void pd_top_snapshot_done(struct pd_top_snapshot *snapshot)
{
    json_decref(snapshot->rows);
    json_decref(snapshot->header);
    *snapshot = (struct pd_top_snapshot){0};
}

const char *pd_top_header_text(const json_t *header, char text[PD_TOP_HEADER_BYTES])
{
    const json_t *hosts = json_object_get(header, "hosts");
    const char *hottest = json_string_value(json_object_get(header, "hottest"));
    char sum[PD_TEXT_NUMBER_BYTES], most[PD_TEXT_NUMBER_BYTES], word[80], up[64] = "";

    if (hosts) {
        snprintf(up, sizeof up,
                 "hosts %" JSON_INTEGER_FORMAT " up, %" JSON_INTEGER_FORMAT " missing  ",
                 json_integer_value(json_object_get(hosts, "up")),
                 json_integer_value(json_object_get(hosts, "missing")));
    }
    snprintf(text, PD_TOP_HEADER_BYTES, "%s%" JSON_INTEGER_FORMAT " alarms/min  %s%s%s%s%s%s", up,
             json_integer_value(json_object_get(header, "alarms_minute")),
             pd_row_text_rate(json_number_value(json_object_get(header, "bps")), sum),
             hottest ? "  hottest " : "",
             hottest ? pd_row_text_word(hottest, word, sizeof word) : "", hottest ? " " : "",
             hottest
                 ? pd_row_text_rate(json_number_value(json_object_get(header, "hottest_bps")), most)
                 : "",
             json_is_false(json_object_get(header, "complete")) ? "  (incomplete)" : "");
    return text;
}
