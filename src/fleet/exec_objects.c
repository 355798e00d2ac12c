/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that travel as JSON objects: what a host's says of others, and the members that every
 * answer has. How they become one, the question knows (query/question.h). */
#include <errno.h>
#include <stdlib.h>

#include "fleet/exec.h"
#include "http/body.h"

#define ANSWER_MAX_BYTES ((uint64_t)64 << 20)

/* ---- a host's answer ---- */

static int read_text(struct pd_answer *answer, char **ret_text, size_t *ret_len)
{
    size_t len = answer->fd >= 0 ? answer->file_bytes : answer->len, at = 0;
    struct pd_gathered_reader reader = {answer, 0};
    char *text = malloc(len + 1);

    if (!text) {
        return -ENOMEM;
    }
    while (at < len) {
        ssize_t n = pd_fleet_gathered_read(&reader, text + at, len - at);

        if (n <= 0) {
            free(text);
            return n ? (int)n : -PD_E_TRUNCATED;
        }
        at += (size_t)n;
    }
    *ret_text = text;
    *ret_len = len;
    return 0;
}

static int read_missing(const json_t *list, struct pd_roster *roster,
                        struct pd_fleet_coverage *host)
{
    size_t i;
    json_t *item;
    int err = json_is_array(list) ? 0 : -PD_E_VALUE;

    json_array_foreach(list, i, item)
    {
        const char *reason = json_string_value(json_object_get(item, "reason"));
        uint64_t id;

        if (err || !reason || pd_query_question_number(item, "id", &id) || id > UINT32_MAX ||
            pd_fleet_roster_speak(roster, (uint32_t)id)) {
            return -PD_E_VALUE;
        }
        err = pd_fleet_coverage_missing(host, (uint32_t)id, reason);
    }
    return err;
}

/* "hosts" and "cost" of a host that asked others. */
static int read_coverage(const json_t *json, struct pd_roster *roster,
                         struct pd_fleet_coverage *host, struct pd_error *error)
{
    const json_t *hosts = json_object_get(json, "hosts"), *cost = json_object_get(json, "cost");
    uint64_t bytes;
    int err = read_missing(json_object_get(hosts, "missing"), roster, host);

    if (err == -ENOMEM) {
        return err;
    }
    if (err || pd_query_question_number(hosts, "asked", &host->asked) ||
        pd_query_question_number(hosts, "answered", &host->answered) ||
        pd_fleet_roster_close(roster, host->asked, host->answered, host->missing_len)) {
        return pd_query_question_wrong(error, "other hosts than were asked");
    }
    if (pd_query_question_number(cost, "bytes", &bytes) ||
        pd_query_question_number(cost, "critical_path_us", &host->below_us)) {
        return pd_query_question_wrong(error, "no \"cost\"");
    }
    host->bytes += bytes;
    return 0;
}

static int load(struct pd_exec_ready *ready, json_t **ret_json, struct pd_error *error)
{
    char *text = NULL;
    size_t len = 0;
    int err = read_text(&ready->answer, &text, &len);

    if (err) {
        return pd_fail(error, err, "its answer cannot be read: %s", pd_error_text(err));
    }
    pd_http_answer_done(&ready->answer);
    err = pd_http_body_json(text, len, ret_json, NULL);
    free(text);
    return err ? pd_query_question_wrong(error, "a body that is no JSON object") : 0;
}

static int by_id(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static bool knows(void *context, uint32_t host)
{
    const struct pd_roster *roster = context;

    return bsearch(&host, roster->ids, roster->len, sizeof *roster->ids, by_id);
}

static int speak(void *context, uint32_t host)
{
    return pd_fleet_roster_speak(context, host);
}

static int check_object(const struct pd_exec *exec, const struct pd_tree *tree, const json_t *json,
                        struct pd_roster *roster, struct pd_fleet_coverage *host,
                        struct pd_error *error)
{
    struct pd_question_hosts hosts = {.host = tree->host,
                                      .alone = !tree->children_len,
                                      .knows = knows,
                                      .speak = speak,
                                      .context = roster};
    int err = 0;

    host->asked = host->answered = 1;
    if (!hosts.alone) {
        err = read_coverage(json, roster, host, error);
    }
    hosts.answered = host->answered;
    return err ? err : exec->question->check(&exec->run, json, &hosts, error);
}

static int check(struct pd_exec *exec, struct pd_exec_ready *ready, struct pd_roster *roster,
                 struct pd_fleet_coverage *host, struct pd_error *error)
{
    json_t *json;
    int err = load(ready, &json, error);

    if (err) {
        return err;
    }
    err = check_object(exec, ready->tree, json, roster, host, error);
    if (err) {
        json_decref(json);
    } else {
        ready->object = json;
    }
    return err;
}

/* ---- answers become one ---- */

static int begin(struct pd_exec *exec, struct pd_error *error)
{
    exec->run.all = json_object();
    if (!exec->run.all) {
        return pd_fail(error, -ENOMEM, "no memory for the answer");
    }
    return exec->question->begin ? exec->question->begin(&exec->run, error) : 0;
}

static uint64_t max_bytes(const struct pd_exec *exec)
{
    (void)exec;
    return ANSWER_MAX_BYTES;
}

static int local(struct pd_exec *exec, struct pd_error *error)
{
    return exec->question->local(&exec->run, &exec->own, error);
}

static int add_own(struct pd_exec *exec, struct pd_error *error)
{
    json_t *own = exec->own;

    if (!own) {
        return 0;
    }
    exec->own = NULL;
    int err = exec->question->merge(&exec->run, exec->given->host->host, true, own, error);
    json_decref(own);
    return err;
}

static int merge(struct pd_exec *exec, struct pd_exec_ready *ready, struct pd_error *error)
{
    const struct pd_tree *tree = ready->tree;
    int err = add_own(exec, error);

    return err ? err
               : exec->question->merge(&exec->run, tree->host, !tree->children_len, ready->object,
                                       error);
}

/* ---- the answer ---- */

static int put(const char *bytes, size_t len, void *context)
{
    const struct pd_query_sink *sink = context;

    return sink->write(sink->context, bytes, len);
}

int pd_fleet_exec_members(struct pd_exec *exec, json_t *answer, bool complete)
{
    int failed = 0;

    if (exec->given->extra) {
        failed |= json_object_update(answer, (json_t *)(uintptr_t)exec->given->extra);
    }
    if (!failed) {
        failed |= pd_fleet_coverage_json(&exec->coverage, pd_fleet_exec_critical_us(exec), answer);
    }
    return failed || json_object_set_new(answer, "complete", json_boolean(complete));
}

static int write_object(struct pd_exec *exec, json_t *answer, bool complete,
                        const struct pd_query_sink *sink, struct pd_error *error)
{
    int err = 0;

    if (pd_fleet_exec_members(exec, answer, complete)) {
        err = pd_fail(error, -ENOMEM, "no memory for the answer");
    } else if (exec->given->within) {
        exec->given->within->answer = json_incref(answer);
    } else if (json_dump_callback(answer, put, (void *)(uintptr_t)sink, JSON_COMPACT)) {
        err = -PD_E_FULL;
    }
    return err;
}

static int write_answer(struct pd_exec *exec, const struct pd_query_sink *sink, bool *ret_complete,
                        struct pd_error *error)
{
    json_t *all = exec->run.all;
    int err = add_own(exec, error);

    if (!err) {
        err = exec->question->finish(&exec->run, error);
    }
    if (err) {
        return err;
    }
    *ret_complete = !exec->coverage.missing_len && !json_is_false(json_object_get(all, "complete"));
    return write_object(exec, all, *ret_complete, sink, error);
}

static void done(struct pd_exec *exec)
{
    if (exec->question->end) {
        exec->question->end(&exec->run);
    }
    json_decref(exec->own);
    json_decref(exec->run.all);
}

const struct pd_exec_carrier pd_fleet_exec_objects = {
    .accept = "application/json",
    .max_bytes = max_bytes,
    .begin = begin,
    .local = local,
    .check = check,
    .merge = merge,
    .write = write_answer,
    .done = done,
};
