/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump query`: asks a TIB in a folder, or an agent over HTTP. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/http.h"
#include "cli/text.h"
#include "cli/view.h"
#include "query/query.h"
#include "tib/tib.h"

#define TABLE_MAX_BYTES \
    ((size_t)64 << 20) /* of JSON that is read as a whole to be shown as a table */

struct settings {
    const char *tib;
    const char *agent;
    uint64_t timeout_s;
    bool json;
    bool live;
    bool begun; /* `query` was initialised */
    struct pd_query query;
    const char *values[PD_QUERY_PARAM_COUNT]; /* as given, for the agent */
};

/* ---- options: those of the query's table, and where to ask ---- */

static void begin(struct settings *set)
{
    if (!set->begun)
        pd_query_init(&set->query, PD_QUERY_GET_FLOWS);
    set->begun = true;
}

/* Errors of pd_query_set begin with the name in REST; people gave the flag. */
static void name_the_flag(struct pd_error *error)
{
    for (char *at = error->text; *at && *at != ':'; at++) {
        if (*at == '_')
            *at = '-';
    }
}

static int set_param(struct settings *set, unsigned id, const char *value, struct pd_error *error)
{
    begin(set);
    int code = pd_query_set(&set->query, pd_query_params[id].name, value, error);
    if (code)
        name_the_flag(error);
    else
        set->values[id] = value;
    return code;
}

static int set_option(void *target, const char *name, const char *value, struct pd_error *error)
{
    unsigned id = 0;
    while (strcmp(pd_query_params[id].flag, name) != 0)
        id++;
    return set_param(target, id, value, error);
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
#define X(id, rest, flag, placeholder, takers, needers, agent_only, text) \
    {.name = flag,                                                        \
     .type = agent_only ? PD_OPTION_FLAG : PD_OPTION_CALLBACK,            \
     .offset = agent_only ? offsetof(struct settings, live) : 0,          \
     .value = placeholder,                                                \
     .help = text,                                                        \
     .set = agent_only ? NULL : set_option},
    PD_QUERY_PARAMS(X)
#undef X
        {.name = "timeout",
         .type = PD_OPTION_SECONDS,
         .offset = offsetof(struct settings, timeout_s),
         .min = 1,
         .max = 86400,
         .value = "TIME",
         .fallback = "60s",
         .help = "longest silence of the agent"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object, as REST does"},
    {0},
};

static int check(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct settings *set = settings;
    begin(set);
    if (pd_query_name_parse(words->words[0], &set->query.name))
        return pd_fail(error, -PD_E_VALUE, "there is no query \"%.100s\"; there are %s",
                       words->words[0], pd_cli_query.words);
    if (!set->tib == !set->agent)
        return pd_fail(error, -PD_E_VALUE, "either --tib DIR or --agent URL has to be given");
    if (set->live && !set->agent)
        return pd_fail(error, -PD_E_VALUE,
                       "--live: only an agent has a trajectory memory: needs --agent");
    if (set->agent && pd_cli_base_check(set->agent))
        return pd_fail(error, -PD_E_VALUE,
                       "--agent: expects http://HOST:PORT or unix:/SOCKET, not \"%.100s\"",
                       set->agent);
    if (set->live && set_param(set, PD_QUERY_PARAM_LIVE, "true", error))
        return -PD_E_VALUE;
    struct pd_error inner;
    int code = pd_query_finish(&set->query, &inner);
    if (code)
        name_the_flag(&inner);
    return code ? pd_fail(error, code, "--%s", inner.text) : 0;
}

/* ---- where answers go ---- */

/* With --json: straight to stdout, the last bytes kept to see how it ended. */
struct stream {
    char tail[64];
    size_t tail_len;
};

static int stream_write(void *context, const char *bytes, size_t len)
{
    struct stream *stream = context;
    size_t tail = len < sizeof stream->tail ? len : sizeof stream->tail;
    size_t kept = sizeof stream->tail - tail;
    if (stream->tail_len > kept) {
        memmove(stream->tail, stream->tail + stream->tail_len - kept, kept);
        stream->tail_len = kept;
    }
    memcpy(stream->tail + stream->tail_len, bytes + len - tail, tail);
    stream->tail_len += tail;
    return fwrite(bytes, 1, len, stdout) == len ? 0 : -EIO;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* "complete" is the last member: its value stands before the last brace, whatever blanks are between. */
static int stream_complete(const struct stream *stream, bool *ret_complete)
{
    static const char *const ends[] = {"\"complete\":false}", "\"complete\":true}"};
    char packed[sizeof stream->tail];
    size_t len = 0;
    for (size_t i = 0; i < stream->tail_len; i++) {
        if (!is_blank(stream->tail[i]))
            packed[len++] = stream->tail[i];
    }
    for (size_t i = 0; i < 2; i++) {
        size_t end = strlen(ends[i]);
        if (len >= end && !memcmp(packed + len - end, ends[i], end)) {
            *ret_complete = i;
            return 0;
        }
    }
    return -PD_E_TRUNCATED;
}

/* Without: all of it in memory, to be made into a table. */
struct memory {
    char *bytes;
    size_t len;
    size_t max; /* allocated */
};

static int memory_write(void *context, const char *bytes, size_t len)
{
    struct memory *memory = context;
    if (len > TABLE_MAX_BYTES - memory->len)
        return -PD_E_TOO_LARGE;
    if (len > memory->max - memory->len) {
        size_t max = (memory->len + len) * 2;
        char *grown = realloc(memory->bytes, max);
        if (!grown)
            return -ENOMEM;
        memory->bytes = grown;
        memory->max = max;
    }
    memcpy(memory->bytes + memory->len, bytes, len);
    memory->len += len;
    return 0;
}

/* ---- whom to ask ---- */

/* For people: a store's location may hold a password. */
static const char *place_of(const struct settings *set)
{
    static char text[PD_TIB_SHOWN_BYTES];
    return set->tib ? pd_tib_shown(set->tib, text) : set->agent;
}

static int ask_tib(const struct settings *set, const struct pd_query_sink *sink,
                   struct pd_error *error)
{
    struct pd_tib *tib = NULL;
    struct pd_tib_snapshot *snapshot = NULL;
    bool complete;
    int code = pd_tib_open(set->tib, PD_TIB_READ, &(struct pd_tib_config){0}, &tib, error);
    if (code)
        return code;
    code = pd_tib_snapshot(tib, &snapshot);
    if (code)
        pd_fail(error, code, "%.300s: %s", place_of(set), pd_error_text(code));
    else
        code = pd_query_run(&set->query, snapshot, NULL, 0, sink, &complete, error);
    pd_tib_release(snapshot);
    pd_tib_close(tib);
    return code;
}

static int ask_agent(const struct settings *set, const struct pd_query_sink *sink,
                     struct pd_error *error)
{
    const char *names[PD_QUERY_PARAM_COUNT + 1] = {NULL}, *values[PD_QUERY_PARAM_COUNT];
    char route[64];
    size_t len = 0;
    for (size_t i = 0; i < PD_QUERY_PARAM_COUNT; i++) {
        if (set->values[i]) {
            names[len] = pd_query_params[i].name;
            values[len++] = set->values[i];
        }
    }
    snprintf(route, sizeof route, "/v1/%s", pd_query_name_text(set->query.name));
    return pd_cli_ask(&(struct pd_cli_request){.base = set->agent,
                                               .route = route,
                                               .names = names,
                                               .values = values,
                                               .timeout_s = set->timeout_s},
                      sink, error);
}

static int ask(const struct settings *set, const struct pd_query_sink *sink, struct pd_error *error)
{
    struct pd_error inner = {0};
    int code = set->tib ? ask_tib(set, sink, &inner) : ask_agent(set, sink, &inner);
    if (code && !*inner.text) /* the sink stopped it */
        code = code == -PD_E_TOO_LARGE
                   ? pd_fail(&inner, code,
                             "the answer is larger than a table of %zu MiB: narrow it by link, "
                             "flow or time range, or use --json",
                             TABLE_MAX_BYTES >> 20)
                   : pd_fail(&inner, code, "standard output: %s", pd_error_text(code));
    if (code)
        *error = inner;
    return code;
}

/* ---- the command ---- */

static int report(bool complete)
{
    if (complete)
        return PD_CLI_OK;
    fflush(stdout);
    fputs("pathdump query: the answer is not complete: a part of the store could not be read\n",
          stderr);
    return PD_CLI_PARTIAL;
}

static int run_json(const struct settings *set, struct pd_error *error)
{
    struct stream stream = {.tail_len = 0};
    const struct pd_query_sink sink = {&stream, stream_write};
    bool complete = false;
    int code = ask(set, &sink, error);
    if (code)
        return code;
    if (stream_complete(&stream, &complete))
        return pd_fail(error, -PD_E_TRUNCATED, "%.300s: the answer has no \"complete\" at its end",
                       place_of(set));
    if (stream.tail[stream.tail_len - 1] != '\n')
        putchar('\n');
    return report(complete);
}

static int run_table(const struct settings *set, struct pd_error *error)
{
    struct memory memory = {NULL, 0, 0};
    const struct pd_query_sink sink = {&memory, memory_write};
    struct pd_style style = pd_cli_style(stdout);
    bool complete = false;
    int code = ask(set, &sink, error);
    if (!code) {
        code = pd_cli_view(set->query.name, memory.bytes ? memory.bytes : "", memory.len, &style,
                           stdout, &complete, error);
        if (code)
            pd_fail_within(error, place_of(set));
    }
    free(memory.bytes);
    return code ? code : report(complete);
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    (void)words;
    return set->json ? run_json(set, error) : run_table(set, error);
}

#define X(id, name, text) "|" name
static const char names[] = PD_QUERIES(X);
#undef X

const struct pd_cli_command pd_cli_query = {
    .name = "query",
    .synopsis = "--tib DIR | --agent URL  QUERY  [options]",
    .help = "ask which paths flows took, and how much",
    .details =
#define X(id, name, text) "\t" name "\t" text "\n"
        PD_QUERIES(X)
#undef X
            "All of them look at the records that match every option given; * is any value, and "
            "what is not given is any, too. A flow is a flow ID on a path, but for topFlows and "
            "distinct, which go by the flow ID alone. topLinks counts every link of those records' "
            "paths, and trafficMatrix their first and last switches; both leave out trajectories "
            "that fit no path.\n"
            "Times are seconds since the epoch, or RFC 3339. A record belongs to a time range when "
            "it "
            "overlaps it, ends included. Tables show times in UTC.\n"
            "The answer's \"token\", shown with --json, names what the store held: with --since "
            "TOKEN "
            "the same query counts only what was stored after that answer, no record twice or "
            "never. "
            "What --live adds is not stored yet, and comes again once it is.\n"
            "Exits with 3 when a part of the records could not be read: the answer is then what "
            "could.",
    .options = options,
    .words = names + 1,
    .words_min = 1,
    .words_max = 1,
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = run,
};
