/* SPDX-License-Identifier: Apache-2.0 */
/* Executions whose answers are JSON: what a host's answer says of hosts, and the members that every
 * answer has. */
#include <errno.h>
#include <stdlib.h>

#include "fleet/exec.h"
#include "http/body.h"

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
        ssize_t n = pd_gathered_read(&reader, text + at, len - at);

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

int pd_exec_json_wrong(struct pd_error *error, const char *what)
{
    return pd_fail(error, -PD_E_VALUE, "its answer has %s", what);
}

int pd_exec_json_number(const json_t *object, const char *name, uint64_t *ret_number)
{
    const json_t *number = json_object_get(object, name);

    if (!json_is_integer(number) || json_integer_value(number) < 0 ||
        (uint64_t)json_integer_value(number) > PD_TIB_SUM_MAX) {
        return -PD_E_VALUE;
    }
    *ret_number = (uint64_t)json_integer_value(number);
    return 0;
}

static int read_missing(const json_t *list, struct pd_roster *roster, struct pd_census *host)
{
    size_t i;
    json_t *item;
    int code = json_is_array(list) ? 0 : -PD_E_VALUE;

    json_array_foreach(list, i, item)
    {
        const char *reason = json_string_value(json_object_get(item, "reason"));
        uint64_t id;

        if (code || !reason || pd_exec_json_number(item, "id", &id) || id > UINT32_MAX ||
            pd_roster_speak(roster, (uint32_t)id)) {
            return -PD_E_VALUE;
        }
        code = pd_census_missing(host, (uint32_t)id, reason);
    }
    return code;
}

/* "hosts" and "cost" of a host that asked others. */
int pd_exec_json_census(const json_t *json, struct pd_roster *roster, struct pd_census *host,
                        struct pd_error *error)
{
    const json_t *hosts = json_object_get(json, "hosts"), *cost = json_object_get(json, "cost");
    uint64_t bytes;
    int code = read_missing(json_object_get(hosts, "missing"), roster, host);

    if (code == -ENOMEM) {
        return code;
    }
    if (code || pd_exec_json_number(hosts, "asked", &host->asked) ||
        pd_exec_json_number(hosts, "answered", &host->answered) || host->asked != roster->len ||
        host->answered != roster->len - host->missing_len) {
        return pd_exec_json_wrong(error, "other hosts than were asked");
    }
    if (pd_exec_json_number(cost, "bytes", &bytes) ||
        pd_exec_json_number(cost, "critical_path_us", &host->below_us)) {
        return pd_exec_json_wrong(error, "no \"cost\"");
    }
    host->bytes += bytes;
    return 0;
}

int pd_exec_json_load(struct pd_exec_ready *ready, json_t **ret_json, struct pd_error *error)
{
    char *text = NULL;
    size_t len = 0;
    int code = read_text(&ready->answer, &text, &len);

    if (code) {
        return pd_fail(error, code, "its answer cannot be read: %s", pd_error_text(code));
    }
    pd_answer_done(&ready->answer);
    code = pd_body_json(text, len, ret_json, NULL);
    free(text);
    return code ? pd_exec_json_wrong(error, "a body that is no JSON object") : 0;
}

/* ---- the answer ---- */

static int put(const char *bytes, size_t len, void *context)
{
    const struct pd_query_sink *sink = context;

    return sink->write(sink->context, bytes, len);
}

static int fill(struct pd_exec *exec, json_t *answer, bool complete)
{
    int failed = !answer;

    if (!failed && exec->given->extra) {
        failed |= json_object_update(answer, (json_t *)(uintptr_t)exec->given->extra);
    }
    if (!failed) {
        failed |= pd_census_json(&exec->census, pd_exec_critical_us(exec), answer);
    }
    return failed || json_object_set_new(answer, "complete", json_boolean(complete));
}

int pd_exec_json_write(struct pd_exec *exec, json_t *answer, bool complete,
                       const struct pd_query_sink *sink, struct pd_error *error)
{
    int code = 0;

    if (fill(exec, answer, complete)) {
        code = pd_fail(error, -ENOMEM, "no memory for the answer");
    } else if (json_dump_callback(answer, put, (void *)(uintptr_t)sink, JSON_COMPACT)) {
        code = -PD_E_FULL;
    }
    json_decref(answer);
    return code;
}

void pd_exec_json_done(struct pd_exec *exec)
{
    json_decref(exec->own);
    json_decref(exec->result);
}
