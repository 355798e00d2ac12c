/* SPDX-License-Identifier: Apache-2.0 */
/* Executions of getPoorTCPFlows: the flows of all hosts in one list, each with its host. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/exec.h"

#define ANSWER_MAX_BYTES ((uint64_t)64 << 20)
/* Flows of all hosts together: what is beyond is counted, and the answer is not complete. */
#define FLOWS_MAX 200000u

static int begin(struct pd_exec *exec, struct pd_error *error)
{
    exec->result = json_pack("{s:[]}", "flows");
    return exec->result ? 0 : pd_fail(error, -ENOMEM, "no memory for the answer");
}

static uint64_t max_bytes(const struct pd_exec *exec)
{
    (void)exec;
    return ANSWER_MAX_BYTES;
}

static int run_local(struct pd_exec *exec, struct pd_error *error)
{
    const struct pd_execution *given = exec->given;

    return given->local->poor(given->local->context, given->document, &exec->own, error);
}

/* ---- a host's answer ---- */

static int by_id(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Flows are of the hosts that were asked, and each says of which one. A host that asked nobody
 * speaks of itself. */
static int check_flows(const json_t *flows, const struct pd_tree *tree,
                       const struct pd_roster *roster, struct pd_error *error)
{
    const json_t *flow;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)flows, i, flow)
    {
        uint64_t host = tree->host;

        if (json_object_get(flow, "host") && pd_exec_json_number(flow, "host", &host)) {
            host = UINT64_MAX;
        }
        if (!json_is_object(json_object_get(flow, "flow_id")) || host > UINT32_MAX ||
            (tree->children_len && !json_object_get(flow, "host")) ||
            !bsearch(&(uint32_t){(uint32_t)host}, roster->ids, roster->len, sizeof *roster->ids,
                     by_id)) {
            return pd_exec_json_wrong(error, "flows that are none of the hosts asked");
        }
    }
    return 0;
}

static int check_members(const json_t *json, const struct pd_tree *tree,
                         const struct pd_roster *roster, struct pd_error *error)
{
    const json_t *flows = json_object_get(json, "flows");
    const char *source = json_string_value(json_object_get(json, "source"));
    uint64_t number;

    if (!json_is_array(flows) || json_array_size(flows) > FLOWS_MAX) {
        return pd_exec_json_wrong(error, "no list of flows");
    }
    if (!json_is_boolean(json_object_get(json, "complete")) || !source || strlen(source) > 32 ||
        pd_exec_json_number(json, "since_us", &number) ||
        pd_exec_json_number(json, "forgotten", &number)) {
        return pd_exec_json_wrong(error, "no source, since_us, forgotten and complete");
    }
    return check_flows(flows, tree, roster, error);
}

static int check(struct pd_exec *exec, struct pd_exec_ready *ready, struct pd_roster *roster,
                 struct pd_census *host, struct pd_error *error)
{
    json_t *json;
    int code = pd_exec_json_load(ready, &json, error);

    (void)exec;
    if (code) {
        return code;
    }
    code = check_members(json, ready->tree, roster, error);
    if (!code && ready->tree->children_len) {
        code = pd_exec_json_census(json, roster, host, error);
    } else {
        host->asked = host->answered = 1;
    }
    if (code) {
        json_decref(json);
    } else {
        ready->value = json;
    }
    return code;
}

/* ---- answers become one ---- */

static void set_number(json_t *object, const char *name, uint64_t number)
{
    json_object_set_new(object, name, json_integer((json_int_t)number));
}

static uint64_t number_of(const json_t *object, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(object, name));
}

/* What is true of all of them. */
static void merge_members(json_t *all, const json_t *one)
{
    const json_t *before = json_object_get(all, "source"), *source = json_object_get(one, "source");
    uint64_t since_us = number_of(one, "since_us");

    if (number_of(all, "since_us") > since_us) {
        since_us = number_of(all, "since_us");
    }
    set_number(all, "since_us", since_us);
    set_number(all, "forgotten", number_of(all, "forgotten") + number_of(one, "forgotten"));
    set_number(all, "left_out", number_of(all, "left_out") + number_of(one, "left_out"));
    if (before && !json_equal(before, source)) {
        json_object_set_new(all, "source", json_string("mixed"));
    } else {
        json_object_set(all, "source", (json_t *)(uintptr_t)source);
    }
    if (!json_is_false(json_object_get(all, "complete"))) {
        json_object_set(all, "complete", json_object_get(one, "complete"));
    }
}

static int add(struct pd_exec *exec, uint32_t host, const json_t *one, struct pd_error *error)
{
    json_t *flows = json_object_get(exec->result, "flows"), *flow;
    uint64_t left_out = 0;
    size_t i;
    int failed = 0;

    merge_members(exec->result, one);
    json_array_foreach(json_object_get(one, "flows"), i, flow)
    {
        if (json_array_size(flows) >= FLOWS_MAX) {
            left_out++;
            continue;
        }
        if (!json_object_get(flow, "host")) {
            failed |= json_object_set_new(flow, "host", json_integer(host));
        }
        failed |= json_array_append(flows, flow);
    }
    if (left_out) {
        set_number(exec->result, "left_out", number_of(exec->result, "left_out") + left_out);
        json_object_set_new(exec->result, "complete", json_false());
    }
    return failed ? pd_fail(error, -ENOMEM, "no memory for the answer") : 0;
}

static int add_own(struct pd_exec *exec, struct pd_error *error)
{
    json_t *own = exec->own;

    if (!own) {
        return 0;
    }
    exec->own = NULL;
    int code = add(exec, exec->given->local->host, own, error);
    json_decref(own);
    return code;
}

static int merge(struct pd_exec *exec, struct pd_exec_ready *ready, struct pd_error *error)
{
    int code = add_own(exec, error);

    return code ? code : add(exec, ready->tree->host, ready->value, error);
}

/* Nobody answered: nothing was watched. */
static void fill_up(json_t *answer)
{
    if (json_object_get(answer, "source")) {
        return;
    }
    json_object_set_new(answer, "source", json_string("none"));
    json_object_set_new(answer, "complete", json_false());
    set_number(answer, "since_us", 0);
    set_number(answer, "forgotten", 0);
    set_number(answer, "left_out", 0);
}

static int write_answer(struct pd_exec *exec, const struct pd_query_sink *sink, bool *ret_complete,
                        struct pd_error *error)
{
    int code = add_own(exec, error);

    if (code) {
        return code;
    }
    fill_up(exec->result);
    *ret_complete =
        !exec->census.missing_len && json_is_true(json_object_get(exec->result, "complete"));
    return pd_exec_json_write(exec, json_incref(exec->result), *ret_complete, sink, error);
}

const struct pd_exec_kind pd_exec_poor = {
    .accept = "application/json",
    .max_bytes = max_bytes,
    .begin = begin,
    .local = run_local,
    .check = check,
    .merge = merge,
    .write = write_answer,
    .done = pd_exec_json_done,
};
