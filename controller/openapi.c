/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of docs/api/controller.json; CMake rebuilds this file when they change. */
#include "controller/openapi.h"

#include <string.h>

#include "controller/routes.h"
#include "daemon/embed.h"

PD_EMBED("pd_controller_openapi", PD_CONTROLLER_OPENAPI_FILE);

int pd_openapi_answer(struct pd_controller *controller, struct pd_call *call,
                      struct pd_answer *answer, struct pd_problem *problem)
{
    (void)controller;
    (void)call;
    (void)problem;
    return pd_answer_write(answer, pd_controller_openapi, strlen(pd_controller_openapi));
}
