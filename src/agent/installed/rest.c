/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of installed queries. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/installed/installed.h"
#include "agent/rest.h"
#include "program/program.h"

static int no_such(const struct pd_request *request, struct pd_problem *problem)
{
    return pd_fail(&problem->error, -PD_E_NOT_FOUND, "no query %.40s is installed", request->id);
}

static int parse_id(const struct pd_request *request, uint64_t *ret_id)
{
    size_t len = strlen(request->id);

    if (!len || len > 16 || strspn(request->id, "0123456789") != len) {
        return -PD_E_NOT_FOUND;
    }
    *ret_id = strtoull(request->id, NULL, 10);
    return 0;
}

static void answer_id(struct pd_answer *answer, uint64_t id)
{
    pd_http_answer_json(answer, 200, answer->type, json_pack("{s:I}", "id", (json_int_t)id));
}

int pd_installed_rest_install(struct pd_agent *agent, const struct pd_request *request,
                              struct pd_answer *answer, struct pd_problem *problem)
{
    uint64_t id;
    int err = pd_programs_check_document(agent->programs, request->body, &problem->error);

    if (!err) {
        err = pd_fleet_installation_name(request->body, request->http, &problem->error);
    }
    if (!err) {
        err = pd_installed_add(agent->installed, request->body, &id, &problem->error);
    }

    if (!err) {
        answer_id(answer, id);
    }
    return err;
}

int pd_installed_rest_installed(struct pd_agent *agent, const struct pd_request *request,
                                struct pd_answer *answer, struct pd_problem *problem)
{
    (void)request;
    (void)problem;
    pd_http_answer_json(answer, 200, answer->type, pd_installed_list(agent->installed));
    return 0;
}

int pd_installed_rest_installed_one(struct pd_agent *agent, const struct pd_request *request,
                                    struct pd_answer *answer, struct pd_problem *problem)
{
    json_t *query;
    uint64_t id;
    int err = parse_id(request, &id);

    if (!err) {
        err = pd_installed_get(agent->installed, id, &query);
    }
    if (err == -PD_E_NOT_FOUND) {
        return no_such(request, problem);
    }
    if (!err) {
        pd_http_answer_json(answer, 200, answer->type, query);
    }
    return err;
}

int pd_installed_rest_uninstall(struct pd_agent *agent, const struct pd_request *request,
                                struct pd_answer *answer, struct pd_problem *problem)
{
    uint64_t id;

    if (parse_id(request, &id)) {
        return no_such(request, problem);
    }
    int err = pd_installed_remove(agent->installed, id, &problem->error);

    if (!err) {
        answer_id(answer, id);
    }
    return err;
}
