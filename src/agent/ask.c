/* SPDX-License-Identifier: Apache-2.0 */
/* From a question to its answer: form, deadline, turn, this host alone or with those below. */
#include "agent/ask.h"

#include <errno.h>
#include <string.h>

#include "agent/local.h"
#include "agent/question.h"
#include "base/clock.h"
#include "fleet/execute.h"
#include "http/accept.h"

/* One question. */
struct ask {
    struct pd_agent *agent;
    struct pd_answer *answer;
    uint64_t begun_ns; /* of this thread's processor time */
    struct pd_agent_host host;
    enum pd_execute_form form;
    struct pd_document document;
    struct pd_forest forest;
    struct pd_fleet_asker asker; /* the person behind it */
    struct pd_fleet_order order; /* that came with it; zeroed: none is needed */
};

/* A daemon that stops does not wait for long answers, nor does anybody who asked. */
static int write_answer(void *context, const char *bytes, size_t len)
{
    const struct ask *ask = context;

    if (atomic_load_explicit(&ask->agent->stopping, memory_order_relaxed)) {
        return -PD_E_BUSY;
    }
    if (pd_clock_monotonic_ns() > ask->host.deadline_ns) {
        return -PD_E_DEADLINE;
    }
    return pd_http_answer_write(ask->answer, bytes, len);
}

static int choose_form(struct ask *ask, const struct pd_http_request *http, struct pd_error *error)
{
    static const char *const types[] = {
        [PD_EXECUTE_JSON] = "application/json",
        [PD_EXECUTE_NDJSON] = PD_EXECUTE_NDJSON_TYPE,
        [PD_EXECUTE_PARTIAL] = PD_EXECUTE_PARTIAL_TYPE,
    };
    size_t form = 0;
    int err = pd_http_accept_choose(http->accept, types,
                                    pd_query_document_query(&ask->document) ? 3 : 1, &form, error);

    if (!err) {
        ask->form = (enum pd_execute_form)form;
        ask->answer->type = types[form];
    }
    return err;
}

/* ---- alone ---- */

static int answer_query(struct ask *ask, const struct pd_query *query, struct pd_error *error)
{
    struct pd_agent *agent = ask->agent;
    struct pd_query_sink sink = {ask, write_answer};
    int err = pd_agent_host_turn(&ask->host, agent->query_turns, "queries", error);

    if (err) {
        return err;
    }
    err = ask->form == PD_EXECUTE_PARTIAL
              ? pd_agent_local_partial(agent, query, ask->begun_ns, &sink, error)
              : pd_agent_local_answer(
                    agent, query, ask->form == PD_EXECUTE_NDJSON ? PD_FORM_NDJSON : PD_FORM_JSON,
                    &sink, ask->answer, error);
    pd_daemon_admission_give(agent->query_turns, ask->host.client);
    return err;
}

static int answer_alone(struct ask *ask, struct pd_error *error)
{
    struct pd_question_run run = {.document = &ask->document, .host = &ask->host.host};
    const struct pd_query *query = pd_query_document_query(&ask->document);
    json_t *answer;
    int err = query ? answer_query(ask, query, error)
                    : ask->document.question->local(&run, &answer, error);

    if (!err && !query) {
        pd_http_answer_json(ask->answer, 200, ask->answer->type, answer);
    }
    return err;
}

/* ---- with others ---- */

static int answer_tree(struct ask *ask, struct pd_error *error)
{
    struct pd_agent *agent = ask->agent;
    struct pd_execution execution = {
        .fanout = agent->fanout,
        .document = &ask->document,
        .trees = ask->forest.trees,
        .trees_len = ask->forest.trees_len,
        .order = ask->order.bytes ? &ask->order : NULL,
        .asker = &ask->asker,
        .host = &ask->host.host,
        .has_part = true,
        .form = ask->form,
        .deadline_ns = ask->host.deadline_ns,
        .begun_ns = ask->begun_ns,
        .cancelled = &agent->stopping,
    };
    struct pd_query_sink sink = {ask, write_answer};
    struct pd_execute_summary summary;
    int err = pd_fleet_execute(&execution, &sink, &summary, error);

    if (err) {
        return err;
    }
    pd_count(&agent->counters.hosts_asked, summary.asked - 1);
    pd_count(&agent->counters.hosts_missing, summary.asked - summary.answered);
    pd_count(&agent->counters.hosts_adopted, summary.adopted);
    pd_count(&agent->counters.children_refused, summary.refused);
    if (!summary.complete) {
        pd_count(&agent->counters.queries_incomplete, 1);
    }
    return 0;
}

/* ---- requests ---- */

static int finish(const struct ask *ask, int err, struct pd_error *error)
{
    if (!err) {
        err = pd_http_answer_finish(ask->answer);
    }
    if (err == -PD_E_DEADLINE && error->code != err) {
        return pd_fail(error, err, "the deadline passed before the answer was whole");
    }
    if (err && error->code != err) {
        pd_fail(error, err, "the answer cannot be kept: %s", pd_error_text(err));
    }
    return err;
}

static void begin(struct ask *ask, struct pd_agent *agent, const struct pd_request *request,
                  struct pd_answer *answer)
{
    pd_count(&agent->counters.queries, 1);
    *ask = (struct ask){.agent = agent, .answer = answer, .begun_ns = request->begun_ns};
}

/* From the deadline on it is known what the host may be asked. */
static int read_deadline(struct ask *ask, const struct pd_request *request,
                         const json_t *deadline_ms, struct pd_error *error)
{
    const char *peer = request->http->peer;
    uint64_t deadline_ns = 0;
    int err = pd_fleet_execute_deadline(deadline_ms, &deadline_ns, error);

    pd_agent_host_init(&ask->host, ask->agent, peer ? peer : "", deadline_ns);
    ask->host.asker = &ask->asker;
    return err;
}

int pd_agent_rest_question(struct pd_agent *agent, const struct pd_request *request,
                           struct pd_answer *answer, struct pd_problem *problem)
{
    struct pd_error *error = &problem->error;
    struct ask ask;
    int err;

    begin(&ask, agent, request, answer);
    ask.document = request->document; /* stays the request's */
    err = read_deadline(&ask, request, NULL, error);
    if (!err) {
        err = choose_form(&ask, request->http, error);
    }
    return err ? err : finish(&ask, answer_alone(&ask, error), error);
}

/* Nobody asks himself: by way of others he would not even notice. */
static int check_forest(const struct ask *ask, struct pd_error *error)
{
    size_t len;
    uint32_t *ids = pd_fleet_trees_ids(ask->forest.trees, ask->forest.trees_len, &len);
    int err = 0;

    if (!ids) {
        return pd_fail(error, -ENOMEM, "children: no memory");
    }
    for (size_t i = 0; i < len && ask->agent->host_id && !err; i++) {
        if (ids[i] == ask->agent->host_id) {
            err = pd_fail(error, -PD_E_VALUE, "children: host %u is this one", ids[i]);
        }
    }
    free(ids);
    return err ? err
           : ask->agent->fanout || !len
               ? 0
               : pd_fail(error, -PD_E_UNSUPPORTED, "children: this host asks nobody");
}

/* Until its deadline is over, and nobody's clock more than the tolerance ahead, it is good. */
static void limit_time(struct ask *ask)
{
    uint64_t until_us = ask->order.terms.deadline_us + PD_FLEET_ORDER_TOLERANCE_US;
    uint64_t now_us = pd_clock_wall_us();
    uint64_t left_ns = until_us > now_us ? (until_us - now_us) * PD_NS_PER_US : 0;
    uint64_t until_ns = pd_clock_monotonic_ns() + left_ns;

    if (until_ns < ask->host.deadline_ns) {
        pd_agent_host_limit(&ask->host, until_ns);
    }
}

/* Where nobody needs one, what claims to be an order still is one. */
static int check_unneeded_order(const char *text, struct pd_error *error)
{
    struct pd_fleet_order order = {.chain_len = 0};
    int err = text && *text ? pd_fleet_order_read(text, &order, error) : 0;

    pd_fleet_order_done(&order);
    return err;
}

static int take_order(struct ask *ask, const struct pd_request *request, struct pd_error *error)
{
    struct pd_agent *agent = ask->agent;
    int err;

    if (!pd_agent_orders_needed(agent->orders, request->http, ask->forest.trees_len != 0)) {
        return check_unneeded_order(request->http->order, error);
    }
    err = pd_agent_orders_take(agent->orders, request->http, request->body, &ask->forest,
                               &ask->order, error);
    if (err) {
        pd_count(&agent->counters.orders_refused, 1);
        return err;
    }
    limit_time(ask);
    return 0;
}

/* A controller's word for whom it asks; an agent's is the controller's, whose order it has. */
static int read_asker(struct ask *ask, const struct pd_request *request, struct pd_error *error)
{
    const json_t *asker = json_object_get(request->body, "asker");

    ask->asker = pd_fleet_asker_of(request->http);
    if (!asker) {
        return 0;
    }
    if (request->http->role != PD_ROLE_ADMIN && request->http->role != PD_ROLE_AGENT) {
        return pd_fail(error, -PD_E_FORBIDDEN, "asker: only a controller may name one");
    }
    return pd_fleet_asker_read(asker, &ask->asker, error);
}

static int read_question(struct ask *ask, const struct pd_request *request, struct pd_error *error)
{
    static const char *const others[] = {"deadline_ms", "children", "asker", NULL};
    int err = read_deadline(ask, request, json_object_get(request->body, "deadline_ms"), error);

    if (!err) {
        err = pd_query_document_parse(request->body, others, &ask->document, error);
    }
    if (!err) {
        err =
            pd_fleet_forest_parse(json_object_get(request->body, "children"), &ask->forest, error);
    }
    if (!err && ask->forest.trees_len && request->http->role != PD_ROLE_ADMIN &&
        request->http->role !=
            PD_ROLE_AGENT) { /* in this host's name, at URLs of the client's choice */
        err = pd_fail(error, -PD_E_FORBIDDEN,
                      "children: only a controller or an agent may name them");
    }
    if (!err) {
        err = read_asker(ask, request, error);
    }
    if (!err) {
        err = check_forest(ask, error);
    }
    if (!err) {
        err = take_order(ask, request, error);
    }
    return err ? err : choose_form(ask, request->http, error);
}

int pd_agent_rest_query(struct pd_agent *agent, const struct pd_request *request,
                        struct pd_answer *answer, struct pd_problem *problem)
{
    struct pd_error *error = &problem->error;
    struct ask ask;
    int err;

    begin(&ask, agent, request, answer);
    err = read_question(&ask, request, error);
    if (!err) {
        err = ask.forest.trees_len ? answer_tree(&ask, error) : answer_alone(&ask, error);
        err = finish(&ask, err, error);
    }
    pd_query_document_done(&ask.document);
    pd_fleet_order_done(&ask.order);
    pd_fleet_forest_done(&ask.forest);
    return err;
}
