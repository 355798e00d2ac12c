/* SPDX-License-Identifier: Apache-2.0 */
/* What installed queries need of the agent: snapshots of its records, runs of programs, alarms. */
#include "agent/installed/host.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/installed/installed.h"
#include "agent/local.h"
#include "agent/program_host.h"

#define FILE_NAME "installed.json"

static int run_query(void *context, const struct pd_query *query, const struct pd_query_sink *sink,
                     struct pd_error *error)
{
    return pd_agent_local_answer(context, query, PD_FORM_JSON, sink, NULL, error);
}

/* Whoever may install may raise alarms. */
static int run_program(void *context, const char *by, const char *source, json_t *args,
                       uint64_t deadline_ns, json_t **ret_result, uint64_t *ret_alarms,
                       struct pd_error *error)
{
    const struct pd_program_host_caller caller = {
        .origin = PD_ALARM_ORIGIN_INSTALLED, .by = by, .may_alarm = true};

    return pd_agent_program_host_run(context, &caller, source, args, deadline_ns, ret_result,
                                     ret_alarms, error);
}

/* ---- conformance ---- */

struct search {
    const struct pd_query *query;
    pd_installed_found *found;
    void *context;
};

static int judge(void *context, const struct pd_tib_record *groups, size_t n)
{
    const struct search *search = context;
    int err = 0;

    for (size_t i = 0; i < n && !err; i++) {
        unsigned broken = pd_query_conformance_check(search->query, &groups[i]);

        for (unsigned rule = 0; broken && rule < PD_CONFORMANCE_RULE_COUNT && !err; rule++) {
            if (broken & 1U << rule) {
                err = search->found(search->context, &groups[i],
                                    pd_query_conformance_rule_text((enum pd_conformance_rule)rule));
            }
        }
    }
    return err;
}

static int write_token(struct pd_tib_snapshot *snapshot, char *ret_token)
{
    char *token;
    int err = pd_tib_token(snapshot, &token);

    if (err) {
        return err;
    }
    snprintf(ret_token, PD_QUERY_TOKEN_BYTES, "%s",
             strlen(token) < PD_QUERY_TOKEN_BYTES ? token : "");
    free(token);
    return 0;
}

static int find_violations(void *context, const struct pd_query *query, pd_installed_found *found,
                           void *found_context, char *ret_token, struct pd_error *error)
{
    struct search search = {query, found, found_context};
    struct pd_tib_filter filter = query->filter;
    struct pd_agent_snapshot *snapshot;
    int err = pd_agent_local_open(context, query, &snapshot, error);

    if (err) {
        return err;
    }
    filter.since = query->since[0] ? query->since : NULL;
    const struct pd_tib_grouping grouping = {.by = PD_TIB_BY_FLOW_PATH,
                                             .memory_bytes = query->memory_bytes,
                                             .without_times = true,
                                             .live = snapshot->rows,
                                             .live_len = snapshot->rows_len};

    err = pd_tib_group(snapshot->tib, &filter, &grouping, judge, &search);
    if (!err) {
        err = write_token(snapshot->tib, ret_token);
    }
    pd_agent_snapshot_free(snapshot);
    return err ? pd_fail(error, err, "the store cannot be searched: %s", pd_error_text(err)) : 0;
}

/* ---- records ---- */

static int scan_records(void *context, const struct pd_question_scan *scan,
                        int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n),
                        void *visitor, bool *ret_complete, struct pd_error *error)
{
    return pd_agent_local_scan(context, scan, visit, visitor, ret_complete, error);
}

/* ---- alarms ---- */

static void raise_alarm(void *context, const struct pd_installed_alarm *alarm)
{
    const struct pd_agent *agent = context;

    pd_alarms_raise(agent->alarms, &(struct pd_alarm_raise){.reason = alarm->reason,
                                                            .flow = alarm->flow,
                                                            .paths = alarm->path,
                                                            .paths_len = alarm->path ? 1 : 0,
                                                            .mark = alarm->mark,
                                                            .detail = alarm->detail,
                                                            .origin = PD_ALARM_ORIGIN_INSTALLED,
                                                            .by = alarm->by});
}

/* With the lock of the alarms held: only copies are made. */
static void hear_alarm(void *context, const struct pd_alarm *alarm)
{
    const struct pd_agent *agent = context;
    struct pd_alarm_message message;

    if (!pd_installed_hears(agent->installed)) {
        return;
    }
    pd_alarm_message_make(alarm, &message);
    pd_installed_alarmed(agent->installed, alarm->flow.ip_version ? &alarm->flow : NULL,
                         pd_fleet_alarm_message_json(&message));
}

/* ---- life ---- */

int pd_installed_open(struct pd_agent *agent, const char *folder, struct pd_model *model,
                      struct pd_error *error)
{
    const struct pd_installed_host host = {agent,           run_query,   run_program,
                                           find_violations, raise_alarm, scan_records};
    char file[PATH_MAX];
    int err;

    snprintf(file, sizeof file, "%s/" FILE_NAME, folder);
    err = pd_installed_new(file, &host, model, &agent->installed, error);
    if (!err) {
        pd_alarms_listen(agent->alarms, hear_alarm, agent);
    }
    return err;
}
