/* SPDX-License-Identifier: Apache-2.0 */
/* path-log: packets that a filter wants, each with the path that it took, from all hosts where they
 * arrive. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apps/args.h"
#include "apps/rows.h"
#include "base/clock.h"
#include "base/grow.h"
#include "query/query.h"

/* Paper 000, Table 2: path-aware packet logger. The agents write capture files; this starts them,
 * waits, and puts what they tell in order of time. */

/* The wait before the first look whether all have finished; each time longer. */
#define LOOK_NS     (50 * PD_NS_PER_MS)
#define LOOK_MAX_NS (800 * PD_NS_PER_MS)
#define GRACE_S     3 /* after the time that was wanted */
#define SHOWN_MAX   1000

struct logged {
    struct pd_app_row row;
    uint64_t time_us;
    uint32_t host;
};

struct gathering {
    const struct pd_app_call *call;
    struct pd_report *report;
    uint64_t id;
    json_t *hosts; /* that log */
    struct logged *packets;
    size_t len, room;
    uint64_t written, bad, unknown;
    uint32_t host; /* whose rows are read */
};

static int request(struct gathering *g, const char *method, const char *route, const json_t *body,
                   const json_t *hosts, json_t **ret_answers, struct pd_error *error)
{
    const struct pd_app_world *world = g->call->world;

    return world->ops->request(world->context, method, route, body, hosts, ret_answers, error);
}

static uint32_t host_of(const json_t *reply)
{
    return (uint32_t)json_integer_value(json_object_get(reply, "host"));
}

/* The answer of a host, or NULL: what it said instead is then in the report. */
static const json_t *answer_of(struct gathering *g, const json_t *reply)
{
    const json_t *answer = json_object_get(reply, "answer");
    const char *error = json_string_value(json_object_get(reply, "error"));

    if (!json_is_object(answer)) {
        pd_app_report_lacks(g->report, "host %" PRIu32 ": %.200s", host_of(reply),
                            error ? error : "no answer");
    }
    return json_is_object(answer) ? answer : NULL;
}

/* ---- start ---- */

static const char *const filter[] = {"src_ip",   "dst_ip",   "src_port",
                                     "dst_port", "protocol", "path"};

static json_t *body_of(const struct gathering *g)
{
    const json_t *args = g->call->args;
    struct pd_link_match link = pd_app_arg_link(args, "link");
    json_t *body = json_pack("{s:I, s:I, s:I, s:I}", "id", (json_int_t)g->id, "seconds",
                             (json_int_t)pd_app_arg_u64(args, "seconds", 0), "max_packets",
                             (json_int_t)pd_app_arg_u64(args, "max_packets", 0), "snap_bytes",
                             (json_int_t)pd_app_arg_u64(args, "snap_bytes", 0));
    char text[PD_LINK_TEXT_BYTES];

    for (size_t i = 0; body && i < sizeof filter / sizeof filter[0]; i++) {
        json_t *value = json_object_get(args, filter[i]);

        if (value && json_object_set(body, filter[i], value)) {
            g->report->failed = true;
        }
    }
    if (body && (link.from || link.to) &&
        json_object_set_new(body, "link", json_string(pd_link_format(link, text)))) {
        g->report->failed = true;
    }
    return body;
}

/* Where the packets arrive: at one host, if that is known. */
static json_t *receivers(const struct gathering *g)
{
    const char *text = pd_app_arg_text(g->call->args, "dst_ip");
    struct pd_addr addr;
    uint8_t version;
    uint32_t host = 0;

    if (text && !pd_addr_parse(text, &addr, &version)) {
        host = pd_app_host_of(g->call->world->topology, &addr, version);
    }
    return host ? json_pack("[I]", (json_int_t)host) : NULL;
}

static int start(struct gathering *g, struct pd_error *error)
{
    json_t *body = body_of(g), *at = receivers(g), *answers = NULL;
    size_t i;
    json_t *reply;
    int err = body ? request(g, "POST", "/v1/logs", body, at, &answers, error)
                   : pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));

    json_array_foreach(answers, i, reply)
    {
        if (answer_of(g, reply) &&
            json_array_append_new(g->hosts, json_integer((json_int_t)host_of(reply)))) {
            g->report->failed = true;
        }
    }
    if (!err && !at && json_array_size(answers) < g->call->world->topology->hosts_len) {
        pd_app_report_lacks(g->report, "%zu of %" PRIu32 " hosts have no agent",
                            g->call->world->topology->hosts_len - json_array_size(answers),
                            g->call->world->topology->hosts_len);
    }
    json_decref(answers);
    json_decref(at);
    json_decref(body);
    return err;
}

/* ---- wait ---- */

static bool has_finished(const struct gathering *g, const json_t *answer)
{
    const json_t *logs = json_object_get(answer, "logs"), *log;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)logs, i, log)
    {
        const char *state = json_string_value(json_object_get(log, "state"));

        if (json_integer_value(json_object_get(log, "id")) == (json_int_t)g->id) {
            return !state || strcmp(state, "running") != 0;
        }
    }
    return true; /* it is not there any more: nothing to wait for */
}

static int all_finished(struct gathering *g, bool *ret_finished, struct pd_error *error)
{
    json_t *answers, *reply;
    bool finished = true;
    size_t i;
    int err = request(g, "GET", "/v1/logs", NULL, g->hosts, &answers, error);

    if (err) {
        return err;
    }
    json_array_foreach(answers, i, reply)
    {
        const json_t *answer = json_object_get(reply, "answer");

        finished = finished && (!answer || has_finished(g, answer));
    }
    json_decref(answers);
    *ret_finished = finished;
    return 0;
}

static int wait_for_all(struct gathering *g, struct pd_error *error)
{
    struct timespec pause = {0, (long)LOOK_NS};
    const uint64_t seconds = pd_app_arg_u64(g->call->args, "seconds", 0) + GRACE_S;
    const uint64_t until_ns = pd_clock_monotonic_ns() + seconds * PD_NS_PER_S;
    bool finished = false;
    int err = 0;

    while (!err && !finished && pd_clock_monotonic_ns() < until_ns) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        if (pause.tv_nsec < (long)LOOK_MAX_NS) {
            pause.tv_nsec *= 2;
        }
        err = all_finished(g, &finished, error);
    }
    if (!err && !finished) {
        pd_app_report_lacks(g->report, "some hosts were still logging when they were asked");
    }
    return err;
}

/* ---- gather ---- */

static int keep(void *context, const struct pd_app_row *row, const json_t *object)
{
    struct gathering *g = context;
    uint64_t time_us;

    if (!row->has_path || !row->flow.ip_version || !pd_app_number(object, "time_us", &time_us)) {
        g->bad++;
        return 0;
    }
    if (row->path.len && !pd_app_path_exists(g->call->world->topology, &row->path)) {
        g->unknown++;
        return 0;
    }
    if (PD_GROW(g->packets, g->room, g->len + 1)) {
        return -ENOMEM;
    }
    g->packets[g->len++] = (struct logged){*row, time_us, g->host};
    return 0;
}

static void add_file(struct gathering *g, const json_t *answer, uint64_t packets)
{
    uint64_t bytes = 0;
    char route[40];

    (void)pd_app_number(answer, "bytes", &bytes);
    snprintf(route, sizeof route, "/v1/logs/%" PRIu64, g->id);
    pd_app_report_row(g->report, "files",
                      json_pack("{s:I, s:I, s:I, s:s}", "host", (json_int_t)g->host, "packets",
                                (json_int_t)packets, "bytes", (json_int_t)bytes, "route", route));
}

static int read_host(struct gathering *g, const json_t *answer, struct pd_error *error)
{
    const size_t before = g->len;
    uint64_t packets = 0, dropped = 0, late = 0;
    int err;

    if (!pd_app_number(answer, "packets", &packets) ||
        !pd_app_number(answer, "dropped", &dropped) || !pd_app_number(answer, "too_late", &late)) {
        pd_app_report_lacks(g->report, "host %" PRIu32 ": its answer is not in order", g->host);
        return 0;
    }
    err = pd_app_rows(answer, "rows", g->report, keep, g, error);
    if (err == -ENOMEM) {
        return err;
    }
    if (err) { /* no rows: a host that says something else */
        pd_app_report_lacks(g->report, "host %" PRIu32 ": its answer is not in order", g->host);
    }
    g->written += packets;
    if (dropped) {
        pd_app_report_lacks(g->report, "host %" PRIu32 " dropped %" PRIu64 " packets of its log",
                            g->host, dropped);
    }
    if (late) {
        pd_app_report_lacks(g->report,
                            "host %" PRIu32 " had as many packets as were wanted before the end",
                            g->host);
    }
    if (packets > g->len - before) {
        pd_app_report_evidence(g->report,
                               "host %" PRIu32 ": %zu of %" PRIu64
                               " packets are told here, all are in its file",
                               g->host, g->len - before, packets);
    }
    add_file(g, answer, packets);
    return 0;
}

static int gather(struct gathering *g, struct pd_error *error)
{
    char route[40];
    json_t *answers, *reply;
    size_t i;
    int err;

    snprintf(route, sizeof route, "/v1/logged/%" PRIu64, g->id);
    err = request(g, "GET", route, NULL, g->hosts, &answers, error);
    if (err) {
        return err;
    }
    json_array_foreach(answers, i, reply)
    {
        const json_t *answer = answer_of(g, reply);

        g->host = host_of(reply);
        if (answer && !err) {
            err = read_host(g, answer, error);
        }
    }
    json_decref(answers);
    return err;
}

/* ---- tell ---- */

static int by_time(const void *a, const void *b)
{
    const struct logged *x = a, *y = b;

    if (x->time_us != y->time_us) {
        return x->time_us < y->time_us ? -1 : 1;
    }
    return (x->host > y->host) - (x->host < y->host);
}

static int by_flow(const void *a, const void *b)
{
    const struct logged *x = a, *y = b;
    const int flow = memcmp(&x->row.flow, &y->row.flow, sizeof x->row.flow);

    return flow ? flow : memcmp(&x->row.path, &y->row.path, sizeof x->row.path);
}

static const char *path_text(const struct pd_path *path, char text[PD_APP_PATH_TEXT_BYTES])
{
    return path->len ? pd_app_path_text(path, text) : "none: its tags fit no path";
}

static void show_packets(struct gathering *g)
{
    const uint64_t most = pd_app_arg_u64(g->call->args, "rows", 0);
    char ends[PD_ENDS_TEXT_BYTES], path[PD_APP_PATH_TEXT_BYTES];

    qsort(g->packets, g->len, sizeof *g->packets, by_time);
    for (size_t i = 0; i < g->len && i < most; i++) {
        const struct logged *packet = &g->packets[i];

        pd_app_report_row(g->report, "packets",
                          json_pack("{s:I, s:I, s:s, s:s, s:I}", "time_us",
                                    (json_int_t)packet->time_us, "host", (json_int_t)packet->host,
                                    "flow", pd_ends_format(&packet->row.flow, ends), "path",
                                    path_text(&packet->row.path, path), "bytes",
                                    (json_int_t)packet->row.bytes));
    }
}

/* Each flow with each of its paths once. */
static size_t show_flows(struct gathering *g)
{
    size_t paths = 0, end;

    qsort(g->packets, g->len, sizeof *g->packets, by_flow);
    for (size_t i = 0; i < g->len; i = end, paths++) {
        const struct logged *packet = &g->packets[i];

        for (end = i + 1; end < g->len && !by_flow(packet, &g->packets[end]); end++)
            ;
        pd_app_report_flow(g->report, json_pack("{s:o, s:o, s:I}", "flow_id",
                                                pd_app_flow_json(&packet->row.flow), "path",
                                                pd_app_path_json(&packet->row.path), "pkts",
                                                (json_int_t)(end - i)));
    }
    return paths;
}

static void tell(struct gathering *g)
{
    const size_t hosts = json_array_size(g->hosts);
    size_t paths = 0;

    if (g->len) {
        show_packets(g);
        paths = show_flows(g);
    }
    if (g->bad) {
        pd_app_report_lacks(g->report, "%" PRIu64 " rows that are not in order", g->bad);
    }
    if (g->unknown) {
        pd_app_report_lacks(
            g->report, "%" PRIu64 " packets by paths that the topology does not have", g->unknown);
    }
    if (!hosts) {
        pd_app_report_say(g->report, "no host could log packets");
    } else if (!g->written) {
        pd_app_report_say(g->report, "no packet was wanted by the filter at %zu host%s", hosts,
                          hosts == 1 ? "" : "s");
    } else {
        pd_app_report_say(g->report, "%" PRIu64 " packets at %zu host%s, %zu flows and paths",
                          g->written, hosts, hosts == 1 ? "" : "s", paths);
    }
    g->report->certain = hosts > 0;
    g->report->confidence = hosts ? 1 : 0;
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    struct gathering g = {.call = call, .report = report, .hosts = json_array()};
    int err = 0;

    (void)state;
    g.id = call->world->ops->now_us(call->world->context);
    if (!call->world->ops->request) {
        err = pd_fail(error, -PD_E_UNSUPPORTED, "there are no agents here that see packets");
    } else if (!g.hosts) {
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    if (!err) {
        err = start(&g, error);
    }
    if (!err && json_array_size(g.hosts)) {
        err = wait_for_all(&g, error);
    }
    if (!err && json_array_size(g.hosts)) {
        err = gather(&g, error);
    }
    if (!err) {
        tell(&g);
    }
    json_decref(g.hosts);
    free(g.packets);
    return err;
}

static const struct pd_app_param params[] = {
    {.name = "src_ip", .kind = PD_APP_ADDRESS, .value = "IP", .help = "source address"},
    {.name = "dst_ip",
     .kind = PD_APP_ADDRESS,
     .value = "IP",
     .help = "destination address: its host alone logs then"},
    {.name = "src_port", .kind = PD_APP_INTEGER, .value = "PORT", .help = "source port"},
    {.name = "dst_port", .kind = PD_APP_INTEGER, .value = "PORT", .help = "destination port"},
    {.name = "protocol",
     .kind = PD_APP_TEXT,
     .value = "PROTO",
     .help = "a number, or tcp, udp, icmp, icmpv6, sctp"},
    {.name = "link",
     .kind = PD_APP_LINK,
     .value = "A-B",
     .help = "packets that crossed it, from switch A to B"},
    {.name = "path",
     .kind = PD_APP_TEXT,
     .value = "LIST",
     .help = "packets of this very path: 1,9,17,11,3"},
    {.name = "seconds",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .fallback = "5",
     .help = "how long, 1 to 60"},
    {.name = "max_packets",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .fallback = "1000",
     .help = "how many at each host"},
    {.name = "snap_bytes",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .fallback = "256",
     .help = "how much of each packet, 64 to 65535"},
    {.name = "rows",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .fallback = "100",
     .help = "how many packets are told here"},
    {.name = 0},
};

/* What each agent would refuse is refused here, once: the filter is read as agents read it. */
static int check_filter(const json_t *args, struct pd_error *error)
{
    struct pd_query query;
    char room[24];
    int err = 0;

    pd_query_init(&query, PD_QUERY_GET_FLOWS);
    for (size_t i = 0; i < sizeof filter / sizeof filter[0] && !err; i++) {
        const json_t *value = json_object_get(args, filter[i]);

        snprintf(room, sizeof room, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        if (value) {
            err = pd_query_set(&query, filter[i],
                               json_is_string(value) ? json_string_value(value) : room, error);
        }
    }
    return err ? err : pd_query_finish(&query, error);
}

/* An operator waits for the answer, and a turn of the controller with him. */
static int check_and_run(void *state, const struct pd_app_call *call, struct pd_report *report,
                         struct pd_error *error)
{
    const uint64_t seconds = pd_app_arg_u64(call->args, "seconds", 0);
    int err = check_filter(call->args, error);

    if (err) {
        return err;
    }
    if (seconds < 1 || seconds > 60) {
        return pd_fail(error, -PD_E_VALUE, "seconds: expects a number from 1 to 60");
    }
    if (pd_app_arg_u64(call->args, "rows", 0) > SHOWN_MAX) {
        return pd_fail(error, -PD_E_VALUE, "rows: expects a number from 0 to %d", SHOWN_MAX);
    }
    return run(state, call, report, error);
}

const struct pd_app_ops pd_app_path_log = {
    .name = "path-log",
    .section = "Table 2",
    .help = "which packets of a flow, a link or a path arrive, and by which path did each come?",
    .params = params,
    .period_s = 60,
    .run = check_and_run,
};
