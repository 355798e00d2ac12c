/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/execute. */
#include "controller/execute.h"

#include "controller/routes.h"

int pd_execute_answer(struct pd_controller *controller, struct pd_call *call,
                      struct pd_answer *answer, struct pd_problem *problem)
{
    (void)controller;
    (void)call;
    (void)answer;
    return pd_fail(&problem->error, -PD_E_UNSUPPORTED, "not yet");
}

/* ---- the part */

static int open_part(struct pd_controller *controller, struct pd_error *error)
{
    const struct pd_turns_limits limits = {
        .working = (unsigned)controller->settings->queries_at_once,
        .waiting = (unsigned)controller->settings->queries_waiting,
        .waiting_per_client = (unsigned)controller->settings->queries_waiting};
    int e = pd_turns_new(&limits, &controller->turns);

    if (!e)
        e = pd_programs_new(NULL, &controller->programs);
    return e ? pd_fail(error, e, "queries: %s", pd_error_text(e)) : 0;
}

static void close_part(struct pd_controller *controller)
{
    pd_programs_free(controller->programs);
    pd_turns_free(controller->turns);
}

const struct pd_controller_part pd_execute_part = {
    .name = "queries", .open = open_part, .close = close_part};
