/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of docs/api/controller.json, with the questions that hosts can be asked; CMake rebuilds
 * this file when they change. */
#include "controller/openapi.h"

#include <errno.h>

#include "controller/rest.h"
#include "controller/routes.h"
#include "daemon/embed.h"
#include "query/question.h"

PD_EMBED("pd_controller_openapi", PD_CONTROLLER_OPENAPI_FILE);

static json_t *params_json(const struct pd_question *question)
{
    json_t *list = json_array();

    for (const struct pd_question_param *param = question->params; param && param->name; param++) {
        if (pd_query_question_takes(question, param->name)) {
            json_array_append_new(list,
                                  json_pack("{s:s, s:s, s:s, s:b}", "name", param->name, "value",
                                            param->value, "help", param->help, "required",
                                            (int)(param->needers >> question->place & 1)));
        }
    }
    return list;
}

/* What POST /v1/execute takes as "query", each with its parameters: the map makes forms of them. */
static json_t *queries_json(void)
{
    json_t *list = json_array();

    for (size_t i = 0; pd_query_questions[i]; i++) {
        const struct pd_question *question = pd_query_questions[i];

        if (!question->member && question->role == PD_ROLE_READ) {
            json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", question->name, "help",
                                                  question->help, "params", params_json(question)));
        }
    }
    return list;
}

static json_t *document(void)
{
    json_t *described = pd_daemon_rest_described(pd_controller_rest(), pd_controller_openapi);
    json_t *whole = described ? described : json_loads(pd_controller_openapi, 0, NULL);
    json_t *schemas = json_object_get(json_object_get(whole, "components"), "schemas");

    json_object_set_new(json_object_get(schemas, "Execute"), "x-queries", queries_json());
    return whole;
}

int pd_controller_openapi_answer(struct pd_controller *controller, struct pd_call *call,
                                 struct pd_answer *answer, struct pd_problem *problem)
{
    (void)controller;
    (void)call;
    (void)problem;
    json_t *whole = document();

    if (!whole) {
        return -ENOMEM;
    }
    pd_http_answer_json(answer, 200, answer->type, whole);
    return 0;
}
