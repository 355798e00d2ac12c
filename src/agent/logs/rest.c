/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of packet logs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/logs/logs.h"
#include "agent/rest.h"

static int no_such(const struct pd_request *request, struct pd_problem *problem)
{
    return pd_fail(&problem->error, -PD_E_NOT_FOUND, "there is no packet log %.40s", request->id);
}

static uint64_t id_of(const struct pd_request *request)
{
    uint64_t id;

    return pd_query_number(request->id, UINT64_C(1) << 53, &id) ? 0 : id;
}

/* A switch that counts hands on records, no packets. */
static int sees_packets(struct pd_agent *agent, struct pd_error *error)
{
    struct pd_pipeline_status status;

    if (!agent->logs) {
        return pd_fail(error, -PD_E_CONFLICT, "not supported here: this agent logs no packets");
    }
    pd_agent_pipeline_status(agent->pipeline, &status);
    return status.intake.can & PD_INTAKE_FRAMES
               ? 0
               : pd_fail(error, -PD_E_CONFLICT,
                         "not supported here: the switch hands on records, not packets");
}

int pd_log_rest_log(struct pd_agent *agent, const struct pd_request *request,
                    struct pd_answer *answer, struct pd_problem *problem)
{
    struct pd_packet_request wanted;
    uint64_t id;
    int err = pd_log_packet_request_read(request->body, &wanted, &problem->error);

    if (!err) {
        err = sees_packets(agent, &problem->error);
    }
    if (!err) {
        err = pd_log_packet_logs_add(agent->logs, &wanted, &id, &problem->error);
    }
    if (!err) {
        pd_http_answer_json(answer, 200, answer->type, json_pack("{s:I}", "id", (json_int_t)id));
    }
    return err;
}

int pd_log_rest_logs(struct pd_agent *agent, const struct pd_request *request,
                     struct pd_answer *answer, struct pd_problem *problem)
{
    (void)request;
    (void)problem;
    pd_http_answer_json(answer, 200, answer->type,
                        agent->logs ? pd_log_packet_logs_list(agent->logs)
                                    : json_pack("{s:[]}", "logs"));
    return 0;
}

int pd_log_rest_log_file(struct pd_agent *agent, const struct pd_request *request,
                         struct pd_answer *answer, struct pd_problem *problem)
{
    int err = agent->logs ? pd_log_packet_logs_file(agent->logs, id_of(request), answer)
                          : -PD_E_NOT_FOUND;

    if (!err) {
        answer->type = "application/x-pcapng";
    }
    return err == -PD_E_NOT_FOUND ? no_such(request, problem) : err;
}

int pd_log_rest_log_rows(struct pd_agent *agent, const struct pd_request *request,
                         struct pd_answer *answer, struct pd_problem *problem)
{
    json_t *rows;
    int err =
        agent->logs ? pd_log_packet_logs_rows(agent->logs, id_of(request), &rows) : -PD_E_NOT_FOUND;

    if (!err) {
        pd_http_answer_json(answer, 200, answer->type, rows);
    }
    return err == -PD_E_NOT_FOUND ? no_such(request, problem) : err;
}

int pd_log_rest_unlog(struct pd_agent *agent, const struct pd_request *request,
                      struct pd_answer *answer, struct pd_problem *problem)
{
    const uint64_t id = id_of(request);
    int err = agent->logs ? pd_log_packet_logs_remove(agent->logs, id) : -PD_E_NOT_FOUND;

    if (!err) {
        pd_http_answer_json(answer, 200, answer->type, json_pack("{s:I}", "id", (json_int_t)id));
    }
    return err == -PD_E_NOT_FOUND ? no_such(request, problem) : err;
}
