/* SPDX-License-Identifier: Apache-2.0 */
/* getPoorTCPFlows: parameters, and how the answers of hosts become one. */
#include "query/poor.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "query/document.h"

#define TEXT_BYTES    64
#define FLOWS_OF_HOST 16 /* about */
/* Flows of all hosts together: what is beyond is counted, and the answer is not complete. */
#define FLOWS_MAX 200000u

/* Of a text or a number; NULL: neither. */
static const char *text_of(const json_t *value, char room[TEXT_BYTES])
{
    const char *text = json_string_value(value);

    if (text) {
        return strlen(text) == json_string_length(value) ? text : NULL;
    }
    if (json_is_integer(value)) {
        snprintf(room, TEXT_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_real(value) && json_real_value(value) >= 0 &&
               json_real_value(value) < 1e15) {
        double real = json_real_value(value);

        snprintf(room, TEXT_BYTES, "%.*f", real == floor(real) ? 0 : 6, real);
    } else {
        return NULL;
    }
    return room;
}

static int read_one(const char *name, const char *text, struct pd_poor_question *question,
                    struct pd_error *error)
{
    if (!strcmp(name, "threshold")) {
        return text && !pd_query_number(text, UINT32_MAX, &question->threshold)
                   ? 0
                   : pd_fail(error, -PD_E_VALUE,
                             "threshold: expected a number from 0 to 4294967295");
    }
    if (strcmp(name, "from") != 0) {
        pd_fail(error, -PD_E_UNKNOWN_KEY, "%.64s: unknown parameter of " PD_POOR_NAME, name);
        if (error) {
            pd_printable(error->text);
        }
        return -PD_E_UNKNOWN_KEY;
    }
    if (!text || pd_time_parse(text, &question->from_us)) {
        return pd_fail(error, -PD_E_VALUE,
                       "from: expected seconds since the epoch (1700000000.25) or RFC 3339 "
                       "(2026-11-21T01:02:03Z)");
    }
    question->has_from = true;
    return 0;
}

static int read_args(const struct pd_question *entry, const json_t *args, void *ret_asked,
                     struct pd_error *error)
{
    struct pd_poor_question question = {.threshold = PD_POOR_THRESHOLD};
    const char *name;
    json_t *value;

    (void)entry;
    json_object_foreach((json_t *)(uintptr_t)args, name, value)
    {
        char room[TEXT_BYTES];
        int err = read_one(name, text_of(value, room), &question, error);

        if (err) {
            return err;
        }
    }
    *(struct pd_poor_question *)ret_asked = question;
    return 0;
}

static int local(struct pd_question_run *run, json_t **ret_answer, struct pd_error *error)
{
    const struct pd_question_host *host = run->host;

    return host->tcp ? host->tcp(host->context, run->document->asked, ret_answer, error)
                     : pd_fail(error, -PD_E_UNSUPPORTED,
                               "not supported here: this agent does not watch TCP");
}

/* ---- a host's answer ---- */

/* Flows are of the hosts that were asked, and each says of which one. A host that asked nobody
 * speaks of itself. */
static int check_flows(const json_t *flows, const struct pd_question_hosts *hosts,
                       struct pd_error *error)
{
    const json_t *flow;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)flows, i, flow)
    {
        uint64_t host = hosts->host;

        if (json_object_get(flow, "host") && pd_query_question_number(flow, "host", &host)) {
            host = UINT64_MAX;
        }
        if (!json_is_object(json_object_get(flow, "flow_id")) || host > UINT32_MAX ||
            (!hosts->alone && !json_object_get(flow, "host")) ||
            !hosts->knows(hosts->context, (uint32_t)host)) {
            return pd_query_question_wrong(error, "flows that are none of the hosts asked");
        }
    }
    return 0;
}

static int check(const struct pd_question_run *run, const json_t *json,
                 const struct pd_question_hosts *hosts, struct pd_error *error)
{
    const json_t *flows = json_object_get(json, "flows");
    const char *source = json_string_value(json_object_get(json, "source"));
    uint64_t number;

    (void)run;
    if (!json_is_array(flows) || json_array_size(flows) > FLOWS_MAX) {
        return pd_query_question_wrong(error, "no list of flows");
    }
    if (!json_is_boolean(json_object_get(json, "complete")) || !source || strlen(source) > 32 ||
        pd_query_question_number(json, "since_us", &number) ||
        pd_query_question_number(json, "forgotten", &number)) {
        return pd_query_question_wrong(error, "no source, since_us, forgotten and complete");
    }
    return check_flows(flows, hosts, error);
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

static void add_number(json_t *all, const char *name, uint64_t more)
{
    uint64_t sum = number_of(all, name) + more;

    set_number(all, name, sum < PD_TIB_SUM_MAX ? sum : PD_TIB_SUM_MAX);
}

/* What is true of all of them. */
void pd_query_poor_merge_members(json_t *all, const json_t *one)
{
    const json_t *before = json_object_get(all, "source"), *source = json_object_get(one, "source");
    uint64_t since_us = number_of(one, "since_us");

    if (number_of(all, "since_us") > since_us) {
        since_us = number_of(all, "since_us");
    }
    set_number(all, "since_us", since_us);
    add_number(all, "forgotten", number_of(one, "forgotten"));
    add_number(all, "left_out", number_of(one, "left_out"));
    if (before && !json_equal(before, source)) {
        json_object_set_new(all, "source", json_string("mixed"));
    } else {
        json_object_set(all, "source", (json_t *)(uintptr_t)source);
    }
    if (!json_is_false(json_object_get(all, "complete"))) {
        json_object_set(all, "complete", json_object_get(one, "complete"));
    }
}

void pd_query_poor_leave_out(json_t *all, uint64_t flows)
{
    if (flows) {
        add_number(all, "left_out", flows);
        json_object_set_new(all, "complete", json_false());
    }
}

static int merge(struct pd_question_run *run, uint32_t host, bool alone, json_t *one,
                 struct pd_error *error)
{
    json_t *all = run->all, *flows = json_object_get(all, "flows"), *flow;
    uint64_t left_out = 0;
    size_t i;
    int failed = 0;

    (void)alone;
    if (!flows) {
        flows = json_array();
        failed |= json_object_set_new(all, "flows", flows);
    }
    pd_query_poor_merge_members(all, one);
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
    pd_query_poor_leave_out(all, left_out);
    return failed ? pd_fail(error, -ENOMEM, "no memory for the answer") : 0;
}

/* Nobody answered: nothing was watched. */
int pd_query_poor_finish(struct pd_question_run *run, struct pd_error *error)
{
    json_t *answer = run->all;

    (void)error;
    if (json_object_get(answer, "source")) {
        return 0;
    }
    json_object_set_new(answer, "flows", json_array());
    json_object_set_new(answer, "source", json_string("none"));
    json_object_set_new(answer, "complete", json_false());
    set_number(answer, "since_us", 0);
    set_number(answer, "forgotten", 0);
    set_number(answer, "left_out", 0);
    return 0;
}

/* ---- the entry ---- */

static const struct pd_question_param params[] = {
    {.name = "threshold", .value = "N", .help = "retransmissions in a row, 3 when not given"},
    {.name = "from", .value = "TIME", .help = "only connections that were seen then or later"},
    {0},
};

static const struct pd_question_call call = {
    .name = "get_poor_tcp_flows", .list = "flows", .member = "flow_id"};

const struct pd_question pd_query_question_poor = {
    .name = PD_POOR_NAME,
    .help = "TCP connections of this host that have to send again and again",
    .role = PD_ROLE_READ,
    .params = params,
    .posts = true,
    .call = &call,
    .args_bytes = sizeof(struct pd_poor_question),
    .groups = FLOWS_OF_HOST,
    .read = read_args,
    .local = local,
    .check = check,
    .merge = merge,
    .finish = pd_query_poor_finish,
};
