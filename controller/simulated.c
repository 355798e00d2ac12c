/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/execute without hosts: the simulator answers for all of them. */
#include "controller/simulated.h"

#include <errno.h>

#include "controller/apps/private.h"

static int say_why(json_t *answer, struct pd_error *error)
{
    if (json_object_set_new(answer, "mode", json_string("direct")) ||
        json_object_set_new(answer, "why", json_string("direct: the network is simulated"))) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    return 0;
}

int pd_controller_simulated_execute(struct pd_controller *controller, const json_t *document,
                                    const struct pd_items *items, json_t **ret_answer,
                                    struct pd_error *error)
{
    static const char *const ways[] = {"mode", "fanout", "partial_after_ms"};
    const struct pd_app_world *world = controller->simulated;
    json_t *question = json_copy((json_t *)(uintptr_t)document), *answer = NULL;
    int err;

    if (!question) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        json_object_del(question, ways[i]);
    }
    pd_count(&controller->counters.executes, 1);
    err = items && items->group ? world->ops->rows(world->context, question, items, &answer, error)
                                : world->ops->ask(world->context, question, &answer, error);
    json_decref(question);
    if (!err) {
        err = say_why(answer, error);
    }
    if (err) {
        pd_count(&controller->counters.executes_failed, 1);
        json_decref(answer);
        return err;
    }
    *ret_answer = answer;
    return 0;
}
