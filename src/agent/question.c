/* SPDX-License-Identifier: Apache-2.0 */
/* This host as questions see it. */
#include "agent/question.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/local.h"
#include "agent/poor.h"
#include "agent/program_host.h"
#include "base/clock.h"
#include "query/merge.h"
#include "tib/tib.h"

int pd_agent_host_turn(const struct pd_agent_host *asked, struct pd_daemon_admission *admission,
                       const char *what, struct pd_error *error)
{
    int err = pd_daemon_admission_take(admission, asked->client, asked->deadline_ns);

    if (err == -PD_E_BUSY) {
        pd_count(&asked->agent->counters.queries_refused, 1);
        return pd_fail(error, err, "too many %s are waiting already; try again", what);
    }
    if (err) {
        pd_fail(error, err, "the deadline passed before the %s could begin", what);
        return err;
    }
    if (!atomic_load_explicit(&asked->agent->stopping, memory_order_relaxed)) {
        return 0;
    }
    pd_daemon_admission_give(admission, asked->client); /* so all that wait are gone at once */
    return pd_fail(error, -PD_E_BUSY, "this agent is about to stop");
}

/* ---- the TCP monitor ---- */

static int ask_tcp(void *context, const struct pd_poor_question *question, json_t **ret_answer,
                   struct pd_error *error)
{
    const struct pd_agent_host *asked = context;

    return pd_agent_poor(asked->agent, question, ret_answer, error);
}

/* ---- records ---- */

static int run_query(struct pd_agent *agent, const struct pd_query *query, json_t **ret_answer,
                     struct pd_error *error)
{
    struct pd_answer answer;
    json_t *json = NULL;
    int err;

    pd_http_answer_init(&answer);
    err = pd_agent_local_answer(agent, query, PD_FORM_JSON,
                                &(const struct pd_query_sink){&answer, pd_http_answer_write}, NULL,
                                error);
    if (!err && answer.fd >= 0) {
        err = pd_fail(error, -PD_E_TOO_LARGE, "the answer of the records is too long");
    }
    if (!err && !(json = json_loadb(answer.bytes, answer.len, 0, NULL))) {
        err = pd_fail(error, -ENOMEM, "no memory for the answer of the records");
    }
    pd_http_answer_done(&answer);
    if (!err) {
        *ret_answer = json;
    }
    return err;
}

static int ask_records(void *context, const struct pd_query *query, json_t **ret_answer,
                       struct pd_error *error)
{
    const struct pd_agent_host *asked = context;
    struct pd_agent *agent = asked->agent;
    int err = pd_agent_host_turn(asked, agent->query_turns, "queries", error);

    if (err) {
        return err;
    }
    err = run_query(agent, query, ret_answer, error);
    pd_daemon_admission_give(agent->query_turns, asked->client);
    return err;
}

static int scan_records(void *context, const struct pd_question_scan *scan,
                        int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n),
                        void *visitor, bool *ret_complete, struct pd_error *error)
{
    const struct pd_agent_host *asked = context;
    int err = pd_agent_host_turn(asked, asked->agent->query_turns, "queries", error);

    if (err) {
        return err;
    }
    err = pd_agent_local_scan(asked->agent, scan, visit, visitor, ret_complete, error);
    pd_daemon_admission_give(asked->agent->query_turns, asked->client);
    return err;
}

static int visit_records(void *context, const struct pd_tib_filter *filter,
                         int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n),
                         void *visitor, bool *ret_complete, struct pd_error *error)
{
    const struct pd_question_scan scan = {.filter = filter, .live = true};

    return scan_records(context, &scan, visit, visitor, ret_complete, error);
}

static int give_groups(void *context, const struct pd_query *query, struct pd_query_merge *merge,
                       struct pd_error *error)
{
    const struct pd_agent_host *asked = context;
    struct pd_agent_snapshot *snapshot;
    int err = pd_agent_host_turn(asked, asked->agent->query_turns, "queries", error);

    if (err) {
        return err;
    }
    err = pd_agent_local_open(asked->agent, query, &snapshot, error);
    if (!err) {
        err = pd_query_merge_local(merge, snapshot->tib, snapshot->rows, snapshot->rows_len, error);
        pd_agent_snapshot_free(snapshot);
    }
    pd_daemon_admission_give(asked->agent->query_turns, asked->client);
    return err;
}

/* ---- programs ---- */

/* However far the deadline is: a program may keep the processor only so long. */
static int run_program(void *context, const char *source, json_t *args, json_t **ret_result,
                       struct pd_error *error)
{
    const struct pd_agent_host *asked = context;
    struct pd_agent *agent = asked->agent;
    int err = pd_agent_host_turn(asked, agent->program_turns, "programs", error);

    if (err) {
        return err;
    }
    const struct pd_program_host_caller caller = {.origin = PD_ALARM_ORIGIN_PROGRAM,
                                                  .by = asked->asker->name,
                                                  .may_alarm =
                                                      pd_fleet_asker_may_alarm(asked->asker)};
    uint64_t until_ns = pd_clock_monotonic_ns() + agent->program_time_ns;
    pd_count(&agent->counters.programs, 1);
    err = pd_agent_program_host_run(agent, &caller, source, args,
                                    until_ns < asked->deadline_ns ? until_ns : asked->deadline_ns,
                                    ret_result, NULL, error);
    if (err) {
        pd_count(&agent->counters.programs_failed, 1);
    }
    pd_daemon_admission_give(agent->program_turns, asked->client);
    return err;
}

void pd_agent_host_init(struct pd_agent_host *asked, struct pd_agent *agent, const char *client,
                        uint64_t deadline_ns)
{
    struct pd_program_limits limits = agent->program_limits;

    limits.deadline_ns = deadline_ns;
    asked->agent = agent;
    asked->client = client;
    asked->deadline_ns = deadline_ns;
    pd_program_merger_init(&asked->merger, agent->programs, &limits);
    asked->host = (struct pd_question_host){
        .context = asked,
        .host = agent->host_id,
        .tcp = ask_tcp,
        .query = ask_records,
        .records = visit_records,
        .scan = scan_records,
        .groups = give_groups,
        .program = run_program,
        .merger = agent->programs ? &asked->merger.merger : NULL,
    };
}

void pd_agent_host_limit(struct pd_agent_host *asked, uint64_t deadline_ns)
{
    asked->deadline_ns = asked->merger.limits.deadline_ns = deadline_ns;
}
