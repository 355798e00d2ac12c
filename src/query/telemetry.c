/* SPDX-License-Identifier: Apache-2.0 */
/* getTelemetry: parameters, a host's own part, and how answers become one. */
#include "query/telemetry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/document.h"
#include "query/query.h"
#include "telemetry/column.h"

enum by { BY_PORT, BY_FLOW, BY_FLOW_PORT };

struct args {
    struct pd_query query; /* which records */
    char name[PD_TELEMETRY_NAME_MAX + 1];
    enum by by;
    struct pd_telemetry_quantiles quantiles;
};

/* ---- parameters ---- */

static const struct pd_question_param params[] = {
    {.name = "name", .value = "NAME", .help = "which value, as the plan names it: latency"},
    {.name = "by", .value = "port|flow|flow-port", .help = "what a row is of, port if not given"},
    {.name = "quantiles", .value = "LIST", .help = "from 0 to 1, 0.5,0.99 if not given"},
    {.name = "link", .value = "A-B", .help = "only of this port: of switch A, towards B"},
    {.name = "src_ip", .value = "IP", .help = "of flows from this address"},
    {.name = "dst_ip", .value = "IP", .help = "to this address"},
    {.name = "src_port", .value = "PORT", .help = "from this port"},
    {.name = "dst_port", .value = "PORT", .help = "to this port"},
    {.name = "protocol", .value = "PROTO", .help = "a number, or tcp, udp, icmp, icmpv6, sctp"},
    {.name = "path", .value = "LIST", .help = "of this path alone"},
    {.name = "from", .value = "TIME", .help = "only records that ended then or later"},
    {.name = "to", .value = "TIME", .help = "only records that began then or earlier"},
    {.name = "since", .value = "TOKEN", .help = "only what was stored after that answer"},
    {.name = "live", .value = "BOOL", .help = "with what is still in the trajectory memory"},
    {0},
};

/* Its text: numbers and lists of them may come as JSON, too. False: it has none. */
static bool text_of(const json_t *value, char *text, size_t size)
{
    size_t used = 0, i;
    json_t *item;

    if (json_is_string(value)) {
        return (size_t)snprintf(text, size, "%s", json_string_value(value)) < size;
    }
    if (json_is_boolean(value)) {
        return (size_t)snprintf(text, size, "%s", json_is_true(value) ? "true" : "false") < size;
    }
    if (json_is_integer(value)) {
        return (size_t)snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value)) <
               size;
    }
    if (json_is_real(value)) {
        return (size_t)snprintf(text, size, "%.6f", json_real_value(value)) < size;
    }
    json_array_foreach((json_t *)(uintptr_t)value, i, item)
    {
        if (used + 1 >= size || json_is_array(item) ||
            !text_of(item, text + used + (i > 0), size - used - 1)) {
            return false;
        }
        if (i > 0) {
            text[used] = ',';
        }
        used += strlen(text + used);
    }
    return used > 0;
}

static int set_name(struct args *args, const char *text, struct pd_error *error)
{
    const size_t len = strlen(text);

    if (!len || len > PD_TELEMETRY_NAME_MAX || !pd_telemetry_is_name(text, len)) {
        return pd_fail(error, -PD_E_VALUE, "name: expected the name of a value of the plan");
    }
    memcpy(args->name, text, len + 1);
    return 0;
}

static int set_by(struct args *args, const char *text, struct pd_error *error)
{
    static const char *const names[] = {"port", "flow", "flow-port"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(text, names[i])) {
            args->by = (enum by)i;
            return 0;
        }
    }
    return pd_fail(error, -PD_E_VALUE, "by: expected port, flow or flow-port");
}

/* One of the list; returns where the next one begins, or NULL. */
static const char *read_share(const char *at, struct pd_telemetry_quantiles *quantiles)
{
    const size_t len = strcspn(at, ",");
    char *text = quantiles->all[quantiles->len].text, *end;

    if (!len || len >= sizeof quantiles->all[0].text || strspn(at, "0123456789.") < len) {
        return NULL;
    }
    memcpy(text, at, len);
    text[len] = '\0';
    quantiles->all[quantiles->len].share = strtod(text, &end);
    if (*end || quantiles->all[quantiles->len].share > 1) {
        return NULL;
    }
    quantiles->len++;
    return at + len + (at[len] == ',');
}

static int set_quantiles(struct args *args, const char *text, struct pd_error *error)
{
    struct pd_telemetry_quantiles quantiles = {.len = 0};
    const char *at = text;

    while (at && *at && quantiles.len < PD_TELEMETRY_QUANTILES_MAX) {
        at = read_share(at, &quantiles);
    }
    if (!at || *at || !quantiles.len) {
        return pd_fail(error, -PD_E_VALUE,
                       "quantiles: expected at most %u numbers from 0 to 1, as in 0.5,0.99",
                       PD_TELEMETRY_QUANTILES_MAX);
    }
    args->quantiles = quantiles;
    return 0;
}

static int unknown(const char *name, struct pd_error *error)
{
    pd_fail(error, -PD_E_UNKNOWN_KEY, "%.64s: unknown parameter of " PD_TELEMETRY_QUESTION, name);
    if (error) {
        pd_printable(error->text);
    }
    return -PD_E_UNKNOWN_KEY;
}

static bool is_word(const char *name)
{
    return !strcmp(name, "name") || !strcmp(name, "by");
}

static int read_one(const struct pd_question *question, struct args *args, const char *name,
                    const json_t *value, struct pd_error *error)
{
    char *text = calloc(1, PD_QUERY_TOKEN_BYTES);
    int err = 0;

    if (!text) {
        return pd_fail(error, -ENOMEM, "%.64s: no memory", name);
    }
    if (!pd_query_question_takes(question, name)) {
        err = unknown(name, error);
    } else if (is_word(name) && !json_is_string(value)) {
        err = pd_fail(error, -PD_E_VALUE, "%.64s: expected a text", name);
    } else if (!text_of(value, text, PD_QUERY_TOKEN_BYTES)) {
        err = pd_fail(error, -PD_E_VALUE, "%.64s: expected a text or a number", name);
    } else if (!strcmp(name, "name")) {
        err = set_name(args, text, error);
    } else if (!strcmp(name, "by")) {
        err = set_by(args, text, error);
    } else if (!strcmp(name, "quantiles")) {
        err = set_quantiles(args, text, error);
    } else {
        err = pd_query_set(&args->query, name, text, error);
    }
    free(text);
    return err;
}

static int read_args(const struct pd_question *question, const json_t *given, void *ret_asked,
                     struct pd_error *error)
{
    struct args *args = ret_asked;
    const char *name;
    json_t *value;
    int err = set_quantiles(args, "0.5,0.99", error);

    pd_query_init(&args->query, PD_QUERY_GET_FLOWS);
    json_object_foreach((json_t *)(uintptr_t)given, name, value)
    {
        err = err ? err : read_one(question, args, name, value, error);
    }
    if (!err && !*args->name) {
        err = pd_fail(error, -PD_E_VALUE, "name: missing, which value of the plan is asked for");
    }
    return err ? err : pd_query_finish(&args->query, error);
}

/* ---- a host's own part ---- */

struct gathering {
    const struct args *args;
    struct pd_telemetry_rows *rows;
};

/* What the switch at this place, from 1, sent to. */
static uint32_t next_of(const struct pd_path *path, uint32_t place, uint32_t host)
{
    return place < path->len ? path->switches[place] : host;
}

static bool wants_port(const struct args *args, uint32_t sw, uint32_t to)
{
    const struct pd_link_match *link = &args->query.filter.link;

    return (!link->from || link->from == sw) && (!link->to || link->to == to);
}

static int take_series(struct gathering *gathering, const struct pd_tib_record *record,
                       uint32_t host, const struct pd_telemetry_series *series)
{
    const struct args *args = gathering->args;
    const struct pd_path *path = record->path;
    struct pd_telemetry_row_key key = {.has_flow = args->by != BY_PORT};

    if (strcmp(series->name, args->name) != 0 || series->place > path->len) {
        return 0;
    }
    if (series->place) {
        const uint32_t sw = path->switches[series->place - 1];
        const uint32_t to = next_of(path, series->place, host);
        if (!wants_port(args, sw, to)) {
            return 0;
        }
        key.port = args->by != BY_FLOW;
        key.sw = key.port ? sw : 0;
        key.to = key.port ? to : 0;
    }
    if (key.has_flow) {
        key.flow = record->flow;
        key.path = path;
    }
    int err = pd_query_telemetry_rows_add(gathering->rows, &key, series->bins, series->len);
    return err == -PD_E_FULL ? 0 : err;
}

static int take_column(struct gathering *gathering, const struct pd_tib_record *record,
                       const struct pd_tib_extra *extra)
{
    struct pd_telemetry_column column;
    struct pd_telemetry_series series;
    int err = 0;

    if (pd_telemetry_column_open(extra->bytes, extra->len, &column)) {
        pd_query_telemetry_rows_damaged(gathering->rows);
        return 0;
    }
    series.name[0] = '\0';
    while (!err && pd_telemetry_column_next(&column, &series)) {
        err = take_series(gathering, record, column.host, &series);
    }
    return err;
}

static int take(void *context, const struct pd_tib_record *records, size_t n)
{
    struct pd_tib_extra extra;
    int err = 0;

    for (size_t i = 0; i < n && !err; i++) {
        uint32_t at = 0;
        while (!err && records[i].path->len && pd_tib_extra_next(&records[i], &at, &extra)) {
            err = extra.kind == PD_TELEMETRY_COLUMN_KIND ? take_column(context, &records[i], &extra)
                                                         : 0;
        }
    }
    return err;
}

static int scan(const struct pd_question_host *host, struct gathering *gathering, char **ret_token,
                bool *ret_complete, struct pd_error *error)
{
    const struct args *args = gathering->args;
    struct pd_tib_filter filter = pd_query_filter(&args->query);
    const struct pd_question_scan scan = {
        .filter = &filter, .live = args->query.live, .columns = true, .ret_token = ret_token};

    filter.link = (struct pd_link_match){0}; /* a port may lead to a host; see wants_port */
    if (host->scan) {
        return host->scan(host->context, &scan, take, gathering, ret_complete, error);
    }
    return host->records
               ? host->records(host->context, &filter, take, gathering, ret_complete, error)
               : pd_fail(error, -PD_E_UNSUPPORTED, "there are no records here");
}

static int no_memory(struct pd_error *error)
{
    return pd_fail(error, -ENOMEM, "no memory for the answer");
}

static int local(struct pd_question_run *run, json_t **ret_answer, struct pd_error *error)
{
    const struct args *args = run->document->asked;
    struct gathering gathering = {args, pd_query_telemetry_rows_new()};
    bool complete = true;
    char *token = NULL;
    int err =
        gathering.rows ? scan(run->host, &gathering, &token, &complete, error) : no_memory(error);
    json_t *answer = NULL;

    if (!err && !complete) {
        pd_query_telemetry_rows_damaged(gathering.rows);
    }
    if (!err) {
        answer = pd_query_telemetry_rows_json(gathering.rows, &args->quantiles);
        err = !answer || (token && json_object_set_new(answer, "token", json_string(token)))
                  ? no_memory(error)
                  : 0;
    }
    free(token);
    pd_query_telemetry_rows_free(gathering.rows);
    if (err) {
        json_decref(answer);
    } else {
        *ret_answer = answer;
    }
    return err;
}

/* ---- answers of others ---- */

static int check(const struct pd_question_run *run, const json_t *answer,
                 const struct pd_question_hosts *hosts, struct pd_error *error)
{
    const json_t *rows = json_object_get(answer, "rows"), *row;
    size_t i;

    (void)run;
    (void)hosts;
    if (!json_is_array(rows) || json_array_size(rows) > PD_TELEMETRY_ROWS_MAX ||
        !json_is_boolean(json_object_get(answer, "complete"))) {
        return pd_query_question_wrong(error, "no list of rows and \"complete\"");
    }
    json_array_foreach((json_t *)(uintptr_t)rows, i, row)
    {
        if (!pd_query_telemetry_row_valid(row)) {
            return pd_query_question_wrong(error, "rows that are none");
        }
    }
    return 0;
}

/* Rows so far, which live from the first answer to the end. */
static struct pd_telemetry_rows *rows_of(struct pd_question_run *run)
{
    if (!run->own) {
        run->own = pd_query_telemetry_rows_new();
    }
    return run->own;
}

static int merge(struct pd_question_run *run, uint32_t host, bool alone, json_t *answer,
                 struct pd_error *error)
{
    struct pd_telemetry_rows *rows = rows_of(run);
    json_t *row;
    size_t i;

    (void)host;
    (void)alone;
    if (!rows) {
        return no_memory(error);
    }
    json_array_foreach(json_object_get(answer, "rows"), i, row)
    {
        if (pd_query_telemetry_row_add(rows, row) == -ENOMEM) {
            return no_memory(error);
        }
    }
    if (!json_is_true(json_object_get(answer, "complete"))) {
        pd_query_telemetry_rows_damaged(rows);
    }
    return 0;
}

static int finish(struct pd_question_run *run, struct pd_error *error)
{
    const struct args *args = run->document->asked;
    const struct pd_telemetry_rows *rows = rows_of(run);
    json_t *answer =
        rows ? pd_query_telemetry_rows_json(rows, args ? &args->quantiles : NULL) : NULL;
    const int failed = !answer || json_object_update(run->all, answer);

    json_decref(answer);
    return failed ? no_memory(error) : 0;
}

static void end(struct pd_question_run *run)
{
    pd_query_telemetry_rows_free(run->own);
    run->own = NULL;
}

/* ---- the entry ---- */

static const struct pd_question_call call = {.name = "get_telemetry", .list = "rows"};

const struct pd_question pd_query_question_telemetry = {
    .name = PD_TELEMETRY_QUESTION,
    .help = "what hops measured: quantiles by port, flow or both",
    .role = PD_ROLE_READ,
    .params = params,
    .posts = true,
    .installs = true,
    .records = true,
    .call = &call,
    .args_bytes = sizeof(struct args),
    .groups = 64,
    .read = read_args,
    .local = local,
    .check = check,
    .merge = merge,
    .finish = finish,
    .end = end,
};
