/* SPDX-License-Identifier: Apache-2.0 */
/* The fake world: real queries over an array of records. */
#include "fake_world.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "apps/rows.h"
#include "query/document.h"
#include "query/query.h"

/* ---- answers ---- */

static bool holds(const json_t *list, json_int_t id)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (json_integer_value(json_array_get(list, i)) == id) {
            return true;
        }
    }
    return false;
}

static bool is_missing(const struct fake_world *world, uint32_t host)
{
    for (size_t i = 0; i < world->missing_len; i++) {
        if (world->missing[i].host == host) {
            return true;
        }
    }
    return false;
}

static bool answers(const struct fake_world *world, const json_t *hosts, uint32_t host)
{
    return !is_missing(world, host) && (!json_is_array(hosts) || holds(hosts, host));
}

static json_t *hosts_json(const struct fake_world *world, const json_t *hosts)
{
    size_t asked = json_is_array(hosts) ? json_array_size(hosts) : world->topology->hosts_len;
    json_t *missing = json_array();

    for (size_t i = 0; i < world->missing_len; i++) {
        if (!json_is_array(hosts) || holds(hosts, world->missing[i].host)) {
            json_array_append_new(missing,
                                  json_pack("{s:I, s:s}", "id", (json_int_t)world->missing[i].host,
                                            "reason", world->missing[i].reason));
        }
    }
    return json_pack("{s:I, s:I, s:o}", "asked", (json_int_t)asked, "answered",
                     (json_int_t)(asked - json_array_size(missing)), "missing", missing);
}

static int keep(void *context, const char *bytes, size_t len)
{
    return fwrite(bytes, 1, len, context) == len ? 0 : -1;
}

/* The records of the hosts that answer. */
static size_t gather(const struct fake_world *world, const json_t *hosts,
                     struct pd_tib_record *ret_records)
{
    size_t len = 0;

    for (size_t i = 0; i < world->records_len; i++) {
        const struct pd_tib_record *record = &world->records[i];
        uint32_t host = pd_app_host_of(world->topology, &record->flow.dst, record->flow.ip_version);
        if (answers(world, hosts, host)) {
            ret_records[len++] = *record;
        }
    }
    return len;
}

static json_t *run_query(const struct fake_world *world, const struct pd_document *document,
                         const json_t *hosts)
{
    struct pd_tib_record *records = calloc(FAKE_RECORDS_MAX, sizeof *records);
    char *text = NULL;
    size_t bytes = 0, len = gather(world, hosts, records);
    FILE *out = open_memstream(&text, &bytes);
    struct pd_query_sink sink = {out, keep};
    bool complete;

    assert_int_equal(
        pd_query_run(pd_query_document_query(document), NULL, records, len, &sink, &complete, NULL),
        0);
    fclose(out);
    json_t *answer = json_loads(text, 0, NULL);
    assert_non_null(answer);
    free(text);
    free(records);
    return answer;
}

static json_t *poor_flows(const struct fake_world *world, const json_t *hosts)
{
    json_t *flows = json_array(), *row;
    size_t i;

    json_array_foreach(world->poor, i, row)
    {
        if (answers(world, hosts, (uint32_t)json_integer_value(json_object_get(row, "host")))) {
            json_array_append(flows, row);
        }
    }
    return json_pack("{s:o, s:b, s:s, s:i, s:i}", "flows", flows, "complete", 1, "source", "bpf",
                     "since_us", 0, "forgotten", 0);
}

static json_t *canned(const struct fake_world *world, const char *query)
{
    for (size_t i = 0; i < world->canned_len; i++) {
        if (!strcmp(world->canned[i].query, query)) {
            return json_deep_copy(world->canned[i].answer);
        }
    }
    return NULL;
}

/* The hosts that answer, as if they were one. */
struct asking {
    const struct fake_world *world;
    const json_t *hosts;
};

static int own_tcp(void *context, const struct pd_poor_question *question, json_t **ret_answer,
                   struct pd_error *error)
{
    const struct asking *asking = context;

    (void)question;
    (void)error;
    *ret_answer = poor_flows(asking->world, asking->hosts);
    return 0;
}

static int own_records(void *context, const struct pd_tib_filter *filter,
                       int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n),
                       void *visitor, bool *ret_complete, struct pd_error *error)
{
    const struct asking *asking = context;
    struct pd_tib_record *records = calloc(FAKE_RECORDS_MAX, sizeof *records);
    size_t len = gather(asking->world, asking->hosts, records);
    int err = 0;

    (void)error;
    for (size_t i = 0; i < len && !err; i++) {
        if (pd_tib_filter_matches(filter, &records[i])) {
            err = visit(visitor, &records[i], 1);
        }
    }
    free(records);
    *ret_complete = true;
    return err;
}

static json_t *answer_question(const struct fake_world *world, const struct pd_document *document,
                               const json_t *hosts)
{
    struct asking asking = {world, hosts};
    const struct pd_question_host host = {
        .context = &asking, .tcp = own_tcp, .records = own_records};
    struct pd_question_run run = {.document = document, .host = &host, .all = json_object()};
    json_t *one;

    assert_int_equal(document->question->local(&run, &one, NULL), 0);
    assert_int_equal(document->question->merge(&run, 0, true, one, NULL), 0);
    assert_int_equal(document->question->finish(&run, NULL), 0);
    if (document->question->end) {
        document->question->end(&run);
    }
    json_decref(one);
    return run.all;
}

static json_t *live_answer(const struct fake_world *world, json_t *document, const json_t *hosts,
                           const char *query)
{
    static const char *const others[] = {"hosts", "deadline_ms", NULL};
    struct pd_document parsed = {0};
    struct pd_error error = {0};
    json_t *answer;

    if (!strcmp(query, "getPoorTCPFlows")) {
        return poor_flows(world, hosts);
    }
    if (pd_query_document_parse(document, others, &parsed, &error)) {
        fail_msg("%s: %s", query, error.text);
    }
    answer = pd_query_document_query(&parsed) ? run_query(world, &parsed, hosts)
                                              : answer_question(world, &parsed, hosts);
    pd_query_document_done(&parsed);
    return answer;
}

static int ask(void *context, json_t *document, json_t **ret_answer, struct pd_error *error)
{
    struct fake_world *world = context;
    const json_t *hosts = json_object_get(document, "hosts");
    const char *query = json_string_value(json_object_get(document, "query"));
    json_t *answer;

    (void)error;
    world->asked++;
    assert_non_null(query);
    answer = canned(world, query);
    if (!answer) {
        answer = live_answer(world, document, hosts, query);
        json_object_set_new(answer, "hosts", hosts_json(world, hosts));
        if (world->missing_len) {
            json_object_set_new(answer, "complete", json_false());
        }
    }
    *ret_answer = answer;
    return 0;
}

static int alarms(void *context, const char *reason, uint64_t from_us, uint64_t to_us, size_t most,
                  json_t **ret_alarms, struct pd_error *error)
{
    struct fake_world *world = context;
    json_t *list = json_array(), *alarm;
    size_t i;

    (void)error;
    json_array_foreach(world->alarms, i, alarm)
    {
        const char *given = json_string_value(json_object_get(alarm, "reason"));
        uint64_t time_us = (uint64_t)json_integer_value(json_object_get(alarm, "time_us"));
        if ((!reason || (given && !strcmp(given, reason))) && time_us >= from_us &&
            time_us <= to_us) {
            json_array_append(list, alarm);
        }
    }
    while (json_array_size(list) > most) {
        json_array_remove(list, 0);
    }
    *ret_alarms = list;
    return 0;
}

static int observe(void *context, uint64_t from_us, uint64_t to_us, unsigned wanted,
                   const struct pd_evidence_sink *sink, struct pd_report *report,
                   struct pd_error *error)
{
    struct fake_world *world = context;

    (void)wanted;
    return world->observe ? world->observe(world, from_us, to_us, sink, report, error) : 0;
}

static uint64_t now(void *context)
{
    return ((struct fake_world *)context)->now_us;
}

static void edges(void *context, struct pd_app_edges *ret_edges)
{
    *ret_edges = ((struct fake_world *)context)->edges;
}

static const struct pd_app_world_ops fake_ops = {
    .now_us = now, .ask = ask, .alarms = alarms, .observe = observe, .edges = edges};

/* ---- what there is ---- */

struct fake_world *fake_world_new(uint32_t k)
{
    struct fake_world *world = calloc(1, sizeof *world);

    assert_non_null(world);
    assert_int_equal(pd_topology_fat_tree(k, &world->topology, NULL), 0);
    world->now_us = FAKE_NOW_US;
    world->alarms = json_array();
    world->poor = json_array();
    world->world =
        (struct pd_app_world){.ops = &fake_ops, .context = world, .topology = world->topology};
    return world;
}

void fake_world_free(struct fake_world *world)
{
    for (size_t i = 0; i < world->canned_len; i++) {
        json_decref(world->canned[i].answer);
    }
    json_decref(world->alarms);
    json_decref(world->poor);
    pd_topology_free(world->topology);
    free(world);
}

struct pd_tib_record *fake_world_record(struct fake_world *world, const char *src,
                                        uint16_t src_port, const char *dst, uint16_t dst_port,
                                        const char *path, uint64_t began_us_ago,
                                        uint64_t ended_us_ago, uint64_t bytes, uint64_t pkts)
{
    assert_true(world->records_len < FAKE_RECORDS_MAX);
    struct pd_path *of = &world->paths[world->records_len];
    struct pd_tib_record *record = &world->records[world->records_len++];

    *record = (struct pd_tib_record){.path = of,
                                     .stime_us = world->now_us - began_us_ago,
                                     .etime_us = world->now_us - ended_us_ago,
                                     .bytes = bytes,
                                     .pkts = pkts};
    record->flow.src_port = src_port;
    record->flow.dst_port = dst_port;
    record->flow.protocol = 6;
    assert_int_equal(pd_addr_parse(src, &record->flow.src, &record->flow.ip_version), 0);
    assert_int_equal(pd_addr_parse(dst, &record->flow.dst, &record->flow.ip_version), 0);
    if (*path) {
        assert_int_equal(pd_path_parse(path, of), 0);
    }
    return record;
}

void fake_world_alarm(struct fake_world *world, uint32_t host, const char *reason,
                      const struct pd_flow_id *flow)
{
    json_t *alarm = json_pack(
        "{s:I, s:I, s:I, s:s, s:o, s:[], s:s}", "id",
        (json_int_t)json_array_size(world->alarms) + 1, "host", (json_int_t)host, "time_us",
        (json_int_t)world->now_us, "reason", reason, "flow_id", pd_app_flow_json(flow), "paths",
        "detail", "3 retransmissions in 200 ms (consecutive 3, timeouts 1, srtt 300 us)");

    assert_int_equal(json_array_append_new(world->alarms, alarm), 0);
}

void fake_world_poor(struct fake_world *world, uint32_t host, const struct pd_flow_id *flow,
                     uint64_t retransmissions, uint64_t throughput_bps)
{
    json_t *row =
        json_pack("{s:o, s:I, s:s, s:I, s:I, s:i, s:i, s:I}", "flow_id", pd_app_flow_json(flow),
                  "host", (json_int_t)host, "state", "established", "retransmissions",
                  (json_int_t)retransmissions, "consecutive", (json_int_t)retransmissions,
                  "timeouts", 0, "backoff", 0, "throughput_bps", (json_int_t)throughput_bps);

    assert_int_equal(json_array_append_new(world->poor, row), 0);
}

void fake_world_missing(struct fake_world *world, uint32_t host, const char *reason)
{
    assert_true(world->missing_len < FAKE_MISSING_MAX);
    world->missing[world->missing_len].host = host;
    world->missing[world->missing_len++].reason = reason;
}

void fake_world_canned(struct fake_world *world, const char *query, const char *json)
{
    json_t *answer = json_loads(json, JSON_DECODE_ANY, NULL);
    size_t at = 0;

    assert_non_null(answer);
    while (at < world->canned_len && strcmp(world->canned[at].query, query) != 0) {
        at++;
    }
    assert_true(at < FAKE_CANNED_MAX);
    if (at < world->canned_len) {
        json_decref(world->canned[at].answer);
    } else {
        world->canned_len++;
    }
    world->canned[at].query = query;
    world->canned[at].answer = answer;
}

/* ---- a run ---- */

static int run(struct fake_world *world, const char *name, const char *given, json_t **ret_report,
               struct pd_error *error)
{
    const struct pd_app_ops *app = pd_app_find(name);
    json_t *read = given ? json_loads(given, 0, NULL) : NULL, *args = NULL;
    struct pd_app_call call = {.world = &world->world};
    struct pd_report report;
    void *state = NULL;
    int err;

    assert_non_null(app);
    assert_true(!given || read);
    err = pd_app_args_read(app, world->topology, read, &args, error);
    json_decref(read);
    if (err) {
        return err;
    }
    call.args = args;
    pd_app_report_init(&report);
    err = app->open ? app->open(&call, &state, error) : 0;
    if (!err) {
        err = app->run(state, &call, &report, error);
        if (app->close) {
            app->close(state);
        }
    }
    *ret_report = err ? NULL : pd_app_report_json(&report, app->name);
    pd_app_report_done(&report);
    json_decref(args);
    return err;
}

json_t *fake_world_run(struct fake_world *world, const char *app, const char *args)
{
    struct pd_error error = {0};
    json_t *report = NULL;

    if (run(world, app, args, &report, &error)) {
        fail_msg("%s: %s", app, error.text);
    }
    assert_non_null(report);
    return report;
}

int fake_world_fails(struct fake_world *world, const char *app, const char *args)
{
    struct pd_error error = {0};
    json_t *report = NULL;
    int err = run(world, app, args, &report, &error);

    json_decref(report);
    assert_int_not_equal(err, 0);
    assert_true(*error.text);
    return err;
}

/* ---- looking into reports ---- */

const char *report_verdict(const json_t *report)
{
    return json_string_value(json_object_get(report, "verdict"));
}

bool report_certain(const json_t *report)
{
    return json_is_true(json_object_get(report, "certain"));
}

bool report_has(const json_t *report, const char *list, const char *words)
{
    const json_t *texts = json_object_get(report, list);

    for (size_t i = 0; i < json_array_size(texts); i++) {
        if (strstr(json_string_value(json_array_get(texts, i)), words)) {
            return true;
        }
    }
    return false;
}

const json_t *report_rows(const json_t *report, const char *name)
{
    return json_object_get(json_object_get(report, "results"), name);
}
