/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/execute. */
#include "controller/routes.h"

int pd_execute_answer(struct pd_controller *controller, struct pd_call *call,
                      struct pd_answer *answer, struct pd_problem *problem)
{
    (void)controller;
    (void)call;
    (void)answer;
    return pd_fail(&problem->error, -PD_E_UNSUPPORTED, "not yet");
}
