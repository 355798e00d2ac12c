/* SPDX-License-Identifier: Apache-2.0 */
/* From a question to its answer: form, deadline, turn, this host alone or with those below. */
#include "agent/ask.h"

#include <errno.h>
#include <string.h>

#include "agent/local.h"
#include "agent/program_host.h"
#include "agent/question.h"
#include "base/clock.h"
#include "fleet/execute.h"
#include "http/accept.h"

/* One question. */
struct ask {
    struct pd_agent *agent;
    struct pd_answer *answer;
    const char *client; /* whose turn it is */
    uint64_t begun_ns;  /* of this thread's processor time */
    uint64_t deadline_ns;
    enum pd_execute_form form;
    struct pd_document document;
    struct pd_forest forest;
};

/* A daemon that stops does not wait for long answers, nor does anybody who asked. */
static int write_answer(void *context, const char *bytes, size_t len)
{
    const struct ask *ask = context;

    if (atomic_load_explicit(&ask->agent->stopping, memory_order_relaxed)) {
        return -PD_E_BUSY;
    }
    if (pd_clock_monotonic_ns() > ask->deadline_ns) {
        return -PD_E_DEADLINE;
    }
    return pd_answer_write(ask->answer, bytes, len);
}

static int choose_form(struct ask *ask, const struct pd_http_request *http, struct pd_error *error)
{
    static const char *const types[] = {
        [PD_EXECUTE_JSON] = "application/json",
        [PD_EXECUTE_NDJSON] = PD_EXECUTE_NDJSON_TYPE,
        [PD_EXECUTE_PARTIAL] = PD_EXECUTE_PARTIAL_TYPE,
    };
    size_t form = 0;
    int e =
        pd_accept_choose(http->accept, types,
                         ask->document.is_program || ask->document.question ? 1 : 3, &form, error);

    if (!e) {
        ask->form = (enum pd_execute_form)form;
        ask->answer->type = types[form];
    }
    return e;
}

static int take_turn(const struct ask *ask, struct pd_turns *turns, const char *what,
                     struct pd_error *error)
{
    int e = pd_turns_take(turns, ask->client, ask->deadline_ns);

    if (e == -PD_E_BUSY) {
        pd_count(&ask->agent->counters.queries_refused, 1);
        return pd_fail(error, e, "too many %s are waiting already; try again", what);
    }
    if (e) {
        pd_fail(error, e, "the deadline passed before the %s could begin", what);
        return e;
    }
    if (!atomic_load_explicit(&ask->agent->stopping, memory_order_relaxed)) {
        return 0;
    }
    pd_turns_give(turns, ask->client); /* so all that wait are gone at once */
    return pd_fail(error, -PD_E_BUSY, "this agent is about to stop");
}

/* ---- this host's own part ---- */

static int local_query(void *context, const struct pd_document *document,
                       struct pd_query_merge *merge, uint64_t deadline_ns, struct pd_error *error)
{
    struct ask *ask = context;
    struct pd_picture *picture;
    int e = take_turn(ask, ask->agent->query_turns, "queries", error);

    (void)deadline_ns;
    if (e) {
        return e;
    }
    e = pd_local_open(ask->agent, &document->query, &picture, error);
    if (!e) {
        e = pd_query_merge_local(merge, picture->snapshot, picture->rows, picture->rows_len, error);
        pd_picture_free(picture);
    }
    pd_turns_give(ask->agent->query_turns, ask->client);
    return e;
}

/* However far the deadline is: a program may keep the processor only so long. */
static int local_program(void *context, const struct pd_document *document, uint64_t deadline_ns,
                         json_t **ret_result, struct pd_error *error)
{
    struct ask *ask = context;
    int e = take_turn(ask, ask->agent->program_turns, "programs", error);

    if (e) {
        return e;
    }
    uint64_t until_ns = pd_clock_monotonic_ns() + ask->agent->program_time_ns;
    pd_count(&ask->agent->counters.programs, 1);
    e = pd_program_host_run(ask->agent, document->program, document->args,
                            until_ns < deadline_ns ? until_ns : deadline_ns, ret_result, NULL,
                            error);
    if (e) {
        pd_count(&ask->agent->counters.programs_failed, 1);
    }
    pd_turns_give(ask->agent->program_turns, ask->client);
    return e;
}

static int local_question(void *context, const struct pd_document *document, json_t **ret_answer,
                          struct pd_error *error)
{
    const struct ask *ask = context;

    return pd_agent_question(ask->agent, document->question, document->question_args, ask->client,
                             ask->deadline_ns, ret_answer, error);
}

/* ---- alone ---- */

static int answer_query(struct ask *ask, const struct pd_query *query, struct pd_error *error)
{
    struct pd_query_sink sink = {ask, write_answer};
    int e = take_turn(ask, ask->agent->query_turns, "queries", error);

    if (e) {
        return e;
    }
    e = ask->form == PD_EXECUTE_PARTIAL
            ? pd_local_partial(ask->agent, query, ask->begun_ns, &sink, error)
            : pd_local_answer(ask->agent, query,
                              ask->form == PD_EXECUTE_NDJSON ? PD_FORM_NDJSON : PD_FORM_JSON, &sink,
                              ask->answer, error);
    pd_turns_give(ask->agent->query_turns, ask->client);
    return e;
}

static int answer_program(struct ask *ask, struct pd_error *error)
{
    json_t *result;
    int e = local_program(ask, &ask->document, ask->deadline_ns, &result, error);

    if (!e) {
        pd_answer_json(ask->answer, 200, ask->answer->type, json_pack("{s:o}", "result", result));
    }
    return e;
}

static int answer_question(struct ask *ask, struct pd_error *error)
{
    json_t *answer;
    int e = local_question(ask, &ask->document, &answer, error);

    if (!e) {
        pd_answer_json(ask->answer, 200, ask->answer->type, answer);
    }
    return e;
}

/* ---- with others ---- */

static int answer_tree(struct ask *ask, struct pd_error *error)
{
    struct pd_agent *agent = ask->agent;
    struct pd_execute_local local = {
        .context = ask,
        .host = agent->host_id,
        .programs = agent->programs,
        .limits = agent->program_limits,
        .query = local_query,
        .program = local_program,
        .question = local_question,
    };
    struct pd_execution execution = {
        .fanout = agent->fanout,
        .document = &ask->document,
        .trees = ask->forest.trees,
        .trees_len = ask->forest.trees_len,
        .local = &local,
        .form = ask->form,
        .deadline_ns = ask->deadline_ns,
        .begun_ns = ask->begun_ns,
        .cancelled = &agent->stopping,
    };
    struct pd_query_sink sink = {ask, write_answer};
    struct pd_execute_summary summary;
    int e = pd_execute(&execution, &sink, &summary, error);

    if (e) {
        return e;
    }
    pd_count(&agent->counters.hosts_asked, summary.asked - 1);
    pd_count(&agent->counters.hosts_missing, summary.asked - summary.answered);
    pd_count(&agent->counters.hosts_adopted, summary.adopted);
    if (!summary.complete) {
        pd_count(&agent->counters.queries_incomplete, 1);
    }
    return 0;
}

/* ---- requests ---- */

static int finish(const struct ask *ask, int e, struct pd_error *error)
{
    if (!e) {
        e = pd_answer_finish(ask->answer);
    }
    if (e == -PD_E_DEADLINE && error->code != e) {
        return pd_fail(error, e, "the deadline passed before the answer was whole");
    }
    if (e && error->code != e) {
        pd_fail(error, e, "the answer cannot be kept: %s", pd_error_text(e));
    }
    return e;
}

static struct ask begin(struct pd_agent *agent, const struct pd_request *request,
                        struct pd_answer *answer)
{
    pd_count(&agent->counters.queries, 1);
    return (struct ask){
        .agent = agent,
        .answer = answer,
        .client = request->http->peer ? request->http->peer : "",
        .begun_ns = request->begun_ns,
    };
}

int pd_ask_named(struct pd_agent *agent, const struct pd_request *request, struct pd_answer *answer,
                 struct pd_problem *problem)
{
    struct ask ask = begin(agent, request, answer);
    int e = pd_execute_deadline(NULL, &ask.deadline_ns, &problem->error);

    if (!e) {
        e = choose_form(&ask, request->http, &problem->error);
    }
    return e ? e
             : finish(&ask, answer_query(&ask, &request->query, &problem->error), &problem->error);
}

/* Nobody asks himself: by way of others he would not even notice. */
static int check_forest(const struct ask *ask, struct pd_error *error)
{
    size_t len;
    uint32_t *ids = pd_trees_ids(ask->forest.trees, ask->forest.trees_len, &len);
    int e = 0;

    if (!ids) {
        return pd_fail(error, -ENOMEM, "children: no memory");
    }
    for (size_t i = 0; i < len && ask->agent->host_id && !e; i++) {
        if (ids[i] == ask->agent->host_id) {
            e = pd_fail(error, -PD_E_VALUE, "children: host %u is this one", ids[i]);
        }
    }
    free(ids);
    return e ? e
           : ask->agent->fanout || !len
               ? 0
               : pd_fail(error, -PD_E_UNSUPPORTED, "children: this host asks nobody");
}

static int read_question(struct ask *ask, const struct pd_request *request, struct pd_error *error)
{
    static const char *const others[] = {"deadline_ms", "children", NULL};
    int e = pd_execute_deadline(json_object_get(request->body, "deadline_ms"), &ask->deadline_ns,
                                error);

    if (!e) {
        e = pd_document_parse(request->body, others, &ask->document, error);
    }
    if (!e) {
        e = pd_forest_parse(json_object_get(request->body, "children"), &ask->forest, error);
    }
    if (!e && ask->forest.trees_len && request->http->role != PD_ROLE_ADMIN &&
        request->http->role !=
            PD_ROLE_AGENT) { /* in this host's name, at URLs of the client's choice */
        e = pd_fail(error, -PD_E_FORBIDDEN,
                    "children: only a controller or an agent may name them");
    }
    if (!e) {
        e = check_forest(ask, error);
    }
    return e ? e : choose_form(ask, request->http, error);
}

int pd_rest_query(struct pd_agent *agent, const struct pd_request *request,
                  struct pd_answer *answer, struct pd_problem *problem)
{
    struct ask ask = begin(agent, request, answer);
    struct pd_error *error = &problem->error;
    int e = read_question(&ask, request, error);

    if (!e) {
        e = ask.forest.trees_len      ? answer_tree(&ask, error)
            : ask.document.is_program ? answer_program(&ask, error)
            : ask.document.question   ? answer_question(&ask, error)
                                      : answer_query(&ask, &ask.document.query, error);
        e = finish(&ask, e, error);
    }
    pd_document_done(&ask.document);
    pd_forest_done(&ask.forest);
    return e;
}
