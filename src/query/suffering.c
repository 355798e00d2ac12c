/* SPDX-License-Identifier: Apache-2.0 */
/* sufferingFlows: getPoorTCPFlows in few words: rows of numbers, merged into one list. */
#include "query/suffering.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "query/document.h"
#include "query/members.h"
#include "query/poor.h"

#define FLOWS_OF_HOST 16      /* about */
#define FLOWS_MAX     200000u /* of all hosts together */

/* ---- parameters ---- */

static int read_args(const struct pd_question *entry, const json_t *args, void *ret_asked,
                     struct pd_error *error)
{
    struct pd_poor_question question = {.threshold = 1, .has_from = true};
    const json_t *from = json_object_get(args, "from_us");
    const char *name;
    json_t *value;

    (void)entry;
    json_object_foreach((json_t *)(uintptr_t)args, name, value)
    {
        if (strcmp(name, "from_us") != 0) {
            pd_fail(error, -PD_E_UNKNOWN_KEY, "%.64s: unknown parameter of " PD_SUFFERING_NAME,
                    name);
            if (error) {
                pd_printable(error->text);
            }
            return -PD_E_UNKNOWN_KEY;
        }
    }
    if (from && pd_query_json_number(from, PD_TIB_SUM_MAX, &question.from_us)) {
        return pd_fail(error, -PD_E_VALUE, "from_us: expected microseconds since the epoch");
    }
    memcpy(ret_asked, &question, sizeof question);
    return 0;
}

/* ---- a host's own part ---- */

/* Of a flow's retransmissions, those that tell of no loss of its data. */
static json_t *spared_of(const json_t *poor)
{
    json_int_t all = json_integer_value(json_object_get(poor, "retransmissions"));
    json_int_t spared = json_integer_value(json_object_get(poor, "duplicates")) +
                        json_integer_value(json_object_get(poor, "empty"));

    return json_integer(spared < all ? spared : all);
}

static json_t *short_row(const json_t *poor)
{
    const json_t *total = json_object_get(poor, "retransmissions");
    const json_t *recent = json_object_get(poor, "recent");
    struct pd_flow_id flow;
    json_t *row = NULL;

    if (!pd_query_flow_id_read(json_object_get(poor, "flow_id"), &flow, NULL)) {
        row = pd_query_flow_row_json(&flow);
    }
    if (row && (json_array_append(row, (json_t *)(uintptr_t)total) ||
                json_array_append(row, (json_t *)(uintptr_t)(recent ? recent : total)) ||
                json_array_append_new(row, spared_of(poor)))) {
        json_decref(row);
        return NULL;
    }
    if (row && json_object_get(poor, "host")) {
        json_array_append(row, json_object_get(poor, "host"));
    }
    return row;
}

static int local(struct pd_question_run *run, json_t **ret_answer, struct pd_error *error)
{
    const struct pd_question_host *host = run->host;
    json_t *poor = NULL, *flows = json_array(), *row;
    int failed = !flows;
    size_t i;
    int err = host->tcp ? host->tcp(host->context, run->document->asked, &poor, error)
                        : pd_fail(error, -PD_E_UNSUPPORTED,
                                  "not supported here: this agent does not watch TCP");

    json_array_foreach(json_object_get(poor, "flows"), i, row)
    {
        failed |= json_array_append_new(flows, short_row(row));
    }
    if (!err && (failed || json_object_set(poor, "flows", flows) ||
                 json_object_set_new(poor, "left_out", json_integer(0)))) {
        err = pd_fail(error, -ENOMEM, "no memory for the answer");
    }
    json_decref(flows);
    if (err) {
        json_decref(poor);
    } else {
        *ret_answer = poor;
    }
    return err;
}

/* ---- a host's answer ---- */

/* A host that asked nobody speaks of itself. */
static bool is_row(const json_t *row, const struct pd_question_hosts *hosts)
{
    size_t len = json_array_size(row);
    uint64_t number, host = hosts->host;
    struct pd_flow_id flow;

    return (len == PD_SUFFERING_LEN ? pd_query_row_number(row, PD_SUFFERING_HOST, &host)
                                    : len == PD_SUFFERING_HOST && hosts->alone) &&
           host <= UINT32_MAX && hosts->knows(hosts->context, (uint32_t)host) &&
           pd_query_flow_row_read(row, &flow) &&
           pd_query_row_number(row, PD_SUFFERING_TOTAL, &number) &&
           pd_query_row_number(row, PD_SUFFERING_RECENT, &number) &&
           pd_query_row_number(row, PD_SUFFERING_SPARED, &number);
}

static int check(const struct pd_question_run *run, const json_t *answer,
                 const struct pd_question_hosts *hosts, struct pd_error *error)
{
    const json_t *flows = json_object_get(answer, "flows"), *row;
    const char *source = json_string_value(json_object_get(answer, "source"));
    uint64_t number;
    size_t i;

    (void)run;
    if (!json_is_array(flows) || json_array_size(flows) > FLOWS_MAX) {
        return pd_query_question_wrong(error, "no list of flows");
    }
    if (!json_is_boolean(json_object_get(answer, "complete")) || !source || strlen(source) > 32 ||
        pd_query_question_number(answer, "since_us", &number) ||
        pd_query_question_number(answer, "forgotten", &number) ||
        pd_query_question_number(answer, "left_out", &number)) {
        return pd_query_question_wrong(error,
                                       "no source, since_us, forgotten, left_out and complete");
    }
    json_array_foreach((json_t *)(uintptr_t)flows, i, row)
    {
        if (!is_row(row, hosts)) {
            return pd_query_question_wrong(error, "flows that are none of the hosts asked");
        }
    }
    return 0;
}

/* ---- answers become one ---- */

static int merge(struct pd_question_run *run, uint32_t host, bool alone, json_t *one,
                 struct pd_error *error)
{
    json_t *all = run->all;
    json_t *flows = json_object_get(all, "flows"), *row;
    uint64_t left_out = 0;
    int failed = 0;
    size_t i;

    (void)alone;
    if (!flows) {
        flows = json_array();
        failed |= json_object_set_new(all, "flows", flows);
    }
    pd_query_poor_merge_members(all, one);
    json_array_foreach(json_object_get(one, "flows"), i, row)
    {
        if (json_array_size(flows) >= FLOWS_MAX) {
            left_out++;
            continue;
        }
        if (json_array_size(row) == PD_SUFFERING_HOST) {
            failed |= json_array_append_new(row, json_integer(host));
        }
        failed |= json_array_append(flows, row);
    }
    pd_query_poor_leave_out(all, left_out);
    return failed ? pd_fail(error, -ENOMEM, "no memory for the answer") : 0;
}

/* ---- the entry ---- */

static const struct pd_question_param params[] = {
    {.name = "from_us",
     .value = "N",
     .help = "only those that did so then or later, microseconds since the epoch"},
    {0},
};

const struct pd_question pd_query_question_suffering = {
    .name = PD_SUFFERING_NAME,
    .help = "TCP connections of this host that sent packets again, in few words",
    .role = PD_ROLE_READ,
    .params = params,
    .posts = true,
    .args_bytes = sizeof(struct pd_poor_question),
    .groups = FLOWS_OF_HOST,
    .read = read_args,
    .local = local,
    .check = check,
    .merge = merge,
    .finish = pd_query_poor_finish,
};
