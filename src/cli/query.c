/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump query`: asks a TIB in a folder, an agent, or all servers through their controller. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/fleet.h"
#include "cli/http.h"
#include "cli/names.h"
#include "cli/progress.h"
#include "cli/question.h"
#include "cli/report.h"
#include "cli/server.h"
#include "cli/table.h"
#include "cli/view.h"
#include "query/rows/text.h"
#include "tib/tib.h"

/* An answer is late by this much at most, once its deadline has passed. */
#define TIMEOUT_MARGIN_S 10

struct settings {
    struct pd_cli_question question; /* first: its options need it */
    const char *tib;
    const char *agent;
    struct pd_cli_server controller;
    const char *hosts;
    const char *mode;
    uint64_t fanout;
    uint64_t deadline_ms;
    uint64_t partial_after_ms;
    bool json;
    bool ndjson;
    struct pd_cli_table table;
    const char *topology; /* of names; NULL: the controller's */
};

static int check_mode(void *target, const char *name, const char *value, struct pd_error *error)
{
    (void)target;
    if (strcmp(value, "auto") && strcmp(value, "direct") && strcmp(value, "tree")) {
        return pd_fail(error, -PD_E_VALUE, "%s: expected auto, direct or tree, not \"%.100s\"",
                       name, value);
    }
    return 0;
}

static const struct pd_option options[] = {
    {.name = "tib",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, tib),
     .value = "DIR",
     .help = "ask the TIB in this folder, or at mongodb://HOST:PORT/DB"},
    {.name = "agent",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, agent),
     .value = "URL",
     .help = "ask this agent: http://HOST:PORT or unix:/SOCKET"},
    PD_CLI_SERVER_OPTIONS(struct settings, controller),
    {.name = "hosts",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, hosts),
     .value = "HOSTS",
     .help = "which ones: all, rack:SWITCH, or IDs or names as in 21,22",
     .set = pd_cli_hosts_check},
    {.name = "mode",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, mode),
     .value = "auto|direct|tree",
     .help = "how the controller asks them, auto when not given",
     .set = check_mode},
    {.name = "fanout",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, fanout),
     .min = 2,
     .max = 4096,
     .value = "N",
     .help = "children of each node of the tree"},
    {.name = "deadline-ms",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, deadline_ms),
     .min = 1,
     .max = 3600000, /* as the controller */
     .value = "N",
     .help = "who has not answered by then is missing"},
    {.name = "partial-after",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, partial_after_ms),
     .min = 1,
     .max = 3600000, /* as the controller */
     .value = "MS",
     .help = "take what is there by then, and say what is not"},
    PD_CLI_QUESTION_OPTIONS,
    PD_CLI_JSON_OPTION(struct settings, json),
    {.name = "ndjson",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, ndjson),
     .help = "print JSON: a line for each row as it comes, then the rest"},
    PD_CLI_TABLE_OPTIONS(struct settings, table),
    PD_CLI_NAMES_OPTION(struct settings, table),
    {.name = "topology",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, topology),
     .value = "FILE",
     .help = "names of switches, where no controller has them"},
    {0},
};

static bool asks_controller(const struct settings *set)
{
    return !set->tib && !set->agent;
}

/* A query over records, which is answered row by row. */
static bool asks_records(const struct settings *set)
{
    return set->question.question && set->question.question->query;
}

/* A store can be asked, too. */
static bool asks_store(const struct settings *set)
{
    return asks_records(set) || (set->question.question && set->question.question->records);
}

static int check_place(struct settings *set, struct pd_error *error)
{
    const char *fleet = set->hosts              ? "--hosts"
                        : set->mode             ? "--mode"
                        : set->fanout           ? "--fanout"
                        : set->partial_after_ms ? "--partial-after"
                                                : NULL;
    const char *served = set->question.live      ? "--live"
                         : set->question.program ? "--program"
                         : !asks_store(set)      ? set->question.question->name
                         : set->deadline_ms      ? "--deadline-ms"
                                                 : NULL;
    if (!!set->tib + !!set->agent + !!set->controller.url > 1) {
        return pd_fail(error, -PD_E_VALUE, "only one of --tib, --agent and --controller");
    }
    if (fleet && !asks_controller(set)) {
        return pd_fail(error, -PD_E_VALUE, "%s: only a controller asks several: needs --controller",
                       fleet);
    }
    if (served && set->tib) {
        return pd_fail(error, -PD_E_VALUE,
                       "%s: only a running agent can do that: needs --agent or --controller",
                       served);
    }
    if (set->tib) {
        return 0;
    }
    if (set->agent) {
        return pd_cli_url_check("--agent", set->agent, error);
    }
    if (!set->controller.url && !getenv("PATHDUMP_CONTROLLER")) {
        return pd_fail(error, -PD_E_VALUE,
                       "either --tib DIR, --agent URL or --controller URL has to be given");
    }
    return pd_cli_server_check(&set->controller, error);
}

static int check(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct settings *set = settings;
    int err = pd_cli_question_check(&set->question, words, error);
    if (!err) {
        err = check_place(set, error);
    }
    if (!err && set->json && set->ndjson) {
        err = pd_fail(error, -PD_E_VALUE, "either --json or --ndjson");
    }
    if (!err && set->table.csv && (set->json || set->ndjson)) {
        err = pd_fail(error, -PD_E_VALUE, "either --csv or %s", set->json ? "--json" : "--ndjson");
    }
    if (!err) {
        err = pd_cli_table_check(&set->table, set->json, error);
    }
    if (!err && set->table.names && !set->topology && !asks_controller(set)) {
        err = pd_fail(error, -PD_E_VALUE, "--names: needs --topology FILE, or a controller");
    }
    return err;
}

/* ---- whom to ask ---- */

/* For people: a store's location may hold a password. */
static const char *place_of(const struct settings *set)
{
    static char text[PD_TIB_SHOWN_BYTES];
    return set->tib ? pd_tib_shown(set->tib, text) : set->agent ? set->agent : set->controller.url;
}

/* A store as a host that has nothing else. */
struct asked_store {
    const struct settings *set;
    struct pd_tib_snapshot *snapshot;
};

static int scan_store(void *context, const struct pd_question_scan *scan,
                      int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n),
                      void *visitor, bool *ret_complete, struct pd_error *error)
{
    const struct asked_store *store = context;
    int err = pd_tib_scan(store->snapshot, scan->filter, visit, visitor);

    if (!err && scan->ret_token) {
        err = pd_tib_token(store->snapshot, scan->ret_token);
        err = err == -PD_E_UNSUPPORTED ? 0 : err;
    }
    *ret_complete = !pd_tib_snapshot_damaged(store->snapshot);
    if (err == -PD_E_VALUE && scan->filter->since) {
        return pd_fail(error, err, "since: this store gave no such token: \"%.64s\"",
                       scan->filter->since);
    }
    return err ? pd_fail(error, err, "%.300s: %s", place_of(store->set), pd_error_text(err)) : 0;
}

static int visit_store(void *context, const struct pd_tib_filter *filter,
                       int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n),
                       void *visitor, bool *ret_complete, struct pd_error *error)
{
    const struct pd_question_scan scan = {.filter = filter};

    return scan_store(context, &scan, visit, visitor, ret_complete, error);
}

static int dump(const char *bytes, size_t len, void *context)
{
    const struct pd_query_sink *sink = context;

    return sink->write(sink->context, bytes, len);
}

static int ask_object(const struct settings *set, const struct pd_document *document,
                      struct pd_tib_snapshot *snapshot, const struct pd_query_sink *sink,
                      struct pd_error *error)
{
    struct asked_store store = {set, snapshot};
    const struct pd_question_host host = {
        .context = &store, .records = visit_store, .scan = scan_store};
    struct pd_question_run run = {.document = document, .host = &host};
    json_t *answer = NULL;
    int err = document->question->local(&run, &answer, error);

    if (!err && json_dump_callback(answer, dump, (void *)(uintptr_t)sink, JSON_COMPACT)) {
        err = -PD_E_FULL; /* the sink's words are told */
    }
    json_decref(answer);
    return err;
}

static int ask_tib(const struct settings *set, const struct pd_query_sink *sink,
                   struct pd_error *error)
{
    struct pd_tib *tib = NULL;
    struct pd_tib_snapshot *snapshot = NULL;
    struct pd_document document;
    bool complete;
    int err = pd_cli_question_make(&set->question, &document, error);
    if (err) {
        return err;
    }
    err = pd_tib_open(set->tib, PD_TIB_READ, &(struct pd_tib_config){0}, &tib, error);
    if (err) {
        goto out;
    }
    err = pd_tib_snapshot(tib, &snapshot);
    if (err) {
        pd_fail(error, err, "%.300s: %s", place_of(set), pd_error_text(err));
    } else if (!pd_query_document_query(&document)) {
        err = ask_object(set, &document, snapshot, sink, error);
    } else {
        err = pd_query_run_as(pd_query_document_query(&document),
                              set->ndjson ? PD_FORM_NDJSON : PD_FORM_JSON, snapshot, NULL, 0, sink,
                              &complete, error);
    }
out:
    pd_query_document_done(&document);
    pd_tib_release(snapshot);
    pd_tib_close(tib);
    return err;
}

static struct pd_cli_request request_to(const struct settings *set, const char *base)
{
    uint64_t deadline_s = set->deadline_ms / 1000 + TIMEOUT_MARGIN_S;
    bool longer = set->deadline_ms && deadline_s > set->controller.timeout_s;
    return (struct pd_cli_request){.base = base,
                                   .access = &set->controller.access,
                                   .accept = set->ndjson ? "application/x-ndjson" : NULL,
                                   .timeout_s = longer ? deadline_s : set->controller.timeout_s};
}

static int ask_agent(const struct settings *set, const struct pd_query_sink *sink,
                     struct pd_error *error)
{
    const char *names[PD_QUERY_PARAM_COUNT + PD_CLI_ARGS_MAX + 2] = {NULL};
    const char *values[sizeof names / sizeof *names], *name;
    struct pd_cli_request request = request_to(set, set->agent);
    json_t *args = pd_cli_question_args(&set->question), *value;
    char route[64];
    size_t len = 0;
    json_object_foreach(args, name, value)
    {
        names[len] = name;
        values[len++] = json_string_value(value);
    }
    snprintf(route, sizeof route, "/v1/%s", set->question.question->name);
    request.route = route;
    request.names = names;
    request.values = values;
    int err = args ? pd_cli_ask(&request, sink, error) : pd_fail(error, -ENOMEM, "no memory");
    json_decref(args);
    return err;
}

/* Shows on stderr that somebody is waited for, unless the answer comes up on the same terminal
 * piece by piece. */
static int post(const struct settings *set, struct pd_cli_request request, const json_t *document,
                const struct pd_query_sink *sink, struct pd_error *error)
{
    struct pd_progress progress;
    char *body = json_dumps(document, JSON_COMPACT);
    bool piecewise = (set->json || set->ndjson) && isatty(STDOUT_FILENO);
    if (!body) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    pd_cli_progress_begin(&progress, asks_controller(set) ? "waiting for the hosts" : "waiting");
    if (!piecewise) {
        request.waiting = pd_cli_progress_wait;
        request.waiting_context = &progress;
    }
    request.body = body;
    int err = pd_cli_ask(&request, sink, error);
    pd_cli_progress_end(&progress);
    free(body);
    return err;
}

static int add_number(json_t *document, const char *name, uint64_t number)
{
    return number ? json_object_set_new(document, name, json_integer((json_int_t)number)) : 0;
}

/* What the document says beside the question. */
static int add_how(const struct settings *set, json_t *document, struct pd_error *error)
{
    json_t *hosts = NULL;
    int err = 0;
    bool bad = add_number(document, "deadline_ms", set->deadline_ms);
    if (asks_controller(set)) {
        err = pd_cli_hosts_json(set->hosts ? set->hosts : "all", &hosts, error);
        if (err) {
            return err;
        }
        bad = bad || json_object_set_new(document, "hosts", hosts) ||
              add_number(document, "fanout", set->fanout) ||
              add_number(document, "partial_after_ms", set->partial_after_ms) ||
              (set->mode && json_object_set_new(document, "mode", json_string(set->mode)));
    }
    return bad ? pd_fail(error, -ENOMEM, "no memory") : 0;
}

/* The controller any question, an agent a program. */
static int ask_by_document(const struct settings *set, const struct pd_query_sink *sink,
                           struct pd_error *error)
{
    struct pd_cli_request request = request_to(set, set->agent ? set->agent : set->controller.url);
    json_t *document = NULL;
    request.route = set->agent ? "/v1/query" : "/v1/execute";
    int err = pd_cli_question_document(&set->question, &document, error);
    if (!err) {
        err = add_how(set, document, error);
    }
    if (!err) {
        err = post(set, request, document, sink, error);
    }
    json_decref(document);
    return err;
}

static int ask(const struct settings *set, const struct pd_query_sink *sink, struct pd_error *error)
{
    struct pd_error inner = {0};
    int err;
    if (set->tib) {
        err = ask_tib(set, sink, &inner);
    } else if (set->agent && asks_records(set) && !set->deadline_ms) {
        err = ask_agent(set, sink, &inner);
    } else {
        err = ask_by_document(set, sink, &inner);
    }
    if (err && !*inner.text) { /* the sink stopped it */
        pd_cli_sink_fail(err, &inner);
    }
    if (err) {
        *error = inner;
    }
    return err;
}

/* ---- the command ---- */

static int run_json(const struct settings *set, struct pd_error *error)
{
    struct pd_cli_stream stream;
    pd_cli_stream_begin(&stream);
    const struct pd_query_sink sink = pd_cli_stream_sink(&stream);
    int err = ask(set, &sink, error);
    if (err) {
        return err;
    }
    if (set->question.program && !stream.found) {
        stream.found = true;
        stream.outcome.complete = true;
    }
    if (pd_cli_stream_end(&stream) || !stream.found) {
        return pd_fail(error, -PD_E_TRUNCATED, "%.300s: the answer has no \"complete\" at its end",
                       place_of(set));
    }
    return pd_cli_outcome_report("query", &stream.outcome);
}

static int view(const struct settings *set, const struct pd_cli_memory *memory,
                struct pd_cli_outcome *ret_outcome, struct pd_error *error)
{
    const struct pd_question *question =
        set->question.question ? set->question.question : &pd_query_question_program;
    struct pd_cli_namer namer = {0};
    struct pd_style style = {0};
    int err = pd_cli_namer_begin(&namer, set->table.names, set->topology, &set->controller, &style,
                                 error);

    if (!err) {
        const struct pd_style_names *names = style.names;
        style = pd_cli_table_style(&set->table);
        style.names = names;
        err = pd_cli_view(question, memory->bytes ? memory->bytes : "", memory->len, &style, stdout,
                          ret_outcome, error);
    }
    pd_cli_namer_end(&namer);
    return err;
}

static int run_table(const struct settings *set, struct pd_error *error)
{
    struct pd_cli_memory memory = {NULL, 0, 0};
    const struct pd_query_sink sink = pd_cli_memory_sink(&memory);
    struct pd_cli_outcome outcome;
    int err = ask(set, &sink, error);
    if (!err && view(set, &memory, &outcome, error)) {
        err = error->code;
        pd_fail_within(error, place_of(set));
    }
    free(memory.bytes);
    return err ? err : pd_cli_outcome_report("query", &outcome);
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    int err = set->json || set->ndjson ? run_json(set, error) : run_table(set, error);

    (void)words;
    return err == -PD_E_UNKNOWN_KEY ? pd_cli_usage_error("query", error) : err;
}

const struct pd_cli_command pd_cli_query = {
    .name = "query",
    .synopsis = "--tib DIR | --agent URL | --controller URL [--hosts HOSTS]  QUERY | --program "
                "FILE  [options]",
    .help = "ask which paths flows took, and how much",
    .details = PD_CLI_QUESTION_ITEMS
    "All of them look at the records that match every option given; * is any value, and "
    "what is not given is any, too. A flow is a flow ID on a path, but for topFlows and "
    "distinct, which go by the flow ID alone. topLinks counts every link of those records' "
    "paths, and trafficMatrix their first and last switches; both leave out trajectories "
    "that fit no path.\n"
    "Times are seconds since the epoch, RFC 3339, or as people say them: now, today, yesterday, "
    "-5m (s, m, h, d, also -1h30m), and 2026-11-22 14:00, 2026-11-22, 14:00 by the clock of this "
    "machine. Switches may be given by name: --link tor-1-1:agg-1-1, --path tor-1-1,agg-1-1. "
    "A record belongs to a time range when "
    "it "
    "overlaps it, ends included. Tables show times in UTC, with --local those of this machine.\n"
    "The answer's \"token\", shown with --json, names what the store held: with --since "
    "TOKEN "
    "the same query counts only what was stored after that answer, no record twice or "
    "never. "
    "What --live adds is not stored yet, and comes again once it is.\n"
    "With --controller all servers are asked, or those of --hosts, and their answers are merged. "
    "It says how many hosts answered and which are missing.\n"
    "A program is Lua with a function run(args), which each server runs, and perhaps merge(a, "
    "b): see docs/programs.md.\n"
    "With --csv numbers are bytes, packets and microseconds, times RFC 3339 in UTC, paths 1-9-17; "
    "lines end in a line feed. Nothing stands beside the rows but the names of the columns.\n"
    "Exits with 3 when a part of the records could not be read or a host did not answer: the "
    "answer is then what could.",
    .more_details = pd_cli_question_others,
    .options = options,
    .words = PD_CLI_QUESTION_WORD,
    .words_min = 0,
    .words_max = 1,
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = run,
};
