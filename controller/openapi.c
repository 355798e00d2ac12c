/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of docs/api/controller.json; CMake rebuilds this file when they change. */
#include "controller/openapi.h"

#include <string.h>

#include "controller/rest.h"
#include "controller/routes.h"
#include "daemon/embed.h"

PD_EMBED("pd_controller_openapi", PD_CONTROLLER_OPENAPI_FILE);

int pd_openapi_answer(struct pd_controller *controller, struct pd_call *call,
                      struct pd_answer *answer, struct pd_problem *problem)
{
    (void)controller;
    (void)call;
    (void)problem;
    json_t *document = pd_rest_described(pd_controller_rest(), pd_controller_openapi);

    if (document) { /* parts have brought routes */
        pd_answer_json(answer, 200, answer->type, document);
        return 0;
    }
    return pd_answer_write(answer, pd_controller_openapi, strlen(pd_controller_openapi));
}
