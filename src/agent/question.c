/* SPDX-License-Identifier: Apache-2.0 */
/* What a question's own part gets to ask: the TCP monitor, and the records. */
#include "agent/question.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/local.h"
#include "agent/poor.h"
#include "base/clock.h"
#include "fleet/execute.h"

struct asking {
    struct pd_agent *agent;
    const char *client;
    uint64_t deadline_ns;
};

static int ask_tcp(void *context, const struct pd_poor_question *question, json_t **ret_answer,
                   struct pd_error *error)
{
    const struct asking *asking = context;

    return pd_agent_poor(asking->agent, question, ret_answer, error);
}

/* ---- records ---- */

static int run_query(struct pd_agent *agent, const struct pd_query *query, json_t **ret_answer,
                     struct pd_error *error)
{
    struct pd_answer answer;
    json_t *json = NULL;
    int e;

    pd_answer_init(&answer);
    e = pd_local_answer(agent, query, PD_FORM_JSON,
                        &(const struct pd_query_sink){&answer, pd_answer_write}, NULL, error);
    if (!e && answer.fd >= 0) {
        e = pd_fail(error, -PD_E_TOO_LARGE, "the answer of the records is too long");
    }
    if (!e && !(json = json_loadb(answer.bytes, answer.len, 0, NULL))) {
        e = pd_fail(error, -ENOMEM, "no memory for the answer of the records");
    }
    pd_answer_done(&answer);
    if (!e) {
        *ret_answer = json;
    }
    return e;
}

static int ask_records(void *context, const struct pd_query *query, json_t **ret_answer,
                       struct pd_error *error)
{
    const struct asking *asking = context;
    struct pd_agent *agent = asking->agent;
    int e = pd_turns_take(agent->query_turns, asking->client, asking->deadline_ns);

    if (e) {
        return pd_fail(error, e, "the records cannot be asked now: %s", pd_error_text(e));
    }
    e = run_query(agent, query, ret_answer, error);
    pd_turns_give(agent->query_turns, asking->client);
    return e;
}

int pd_agent_question(struct pd_agent *agent, const struct pd_question *question, const void *args,
                      const char *client, uint64_t deadline_ns, json_t **ret_answer,
                      struct pd_error *error)
{
    struct asking asking = {agent, client, deadline_ns};
    const struct pd_question_host host = {
        .context = &asking, .host = agent->host_id, .tcp = ask_tcp, .query = ask_records};

    return question->local(args, &host, ret_answer, error);
}

int pd_rest_question(struct pd_agent *agent, const struct pd_request *request,
                     struct pd_answer *answer, struct pd_problem *problem)
{
    _Alignas(max_align_t) unsigned char args[PD_QUESTION_ARGS_BYTES] = {0};
    const char *client = request->http->peer ? request->http->peer : "";
    uint64_t deadline_ns =
        pd_clock_monotonic_ns() + PD_EXECUTE_DEADLINE_MS * (uint64_t)PD_NS_PER_MS;
    json_t *document;
    int e = request->question->read(request->body, args, &problem->error);

    pd_count(&agent->counters.queries, 1);
    if (e) {
        pd_request_name_parameter(problem);
        return e;
    }
    e = pd_agent_question(agent, request->question, args, client, deadline_ns, &document,
                          &problem->error);
    if (!e) {
        pd_answer_json(answer, 200, answer->type, document);
    }
    return e;
}
