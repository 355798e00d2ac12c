/* SPDX-License-Identifier: Apache-2.0 */
/* A toy application: asks the toy question, and says what the hosts answer. */
#include <errno.h>

#include "apps/apps.h"
#include "apps/report.h"

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    json_t *document = json_pack("{s:s, s:{}, s:s}", "query", "toyHosts", "args", "hosts", "all"),
           *answer = NULL;
    int err;

    (void)state;
    if (!document) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    err = call->world->ops->ask(call->world->context, document, &answer, error);
    json_decref(document);
    if (!err) {
        pd_app_report_say(report, "%d hosts answer",
                          (int)json_integer_value(json_object_get(answer, "seen")));
        pd_app_report_answer(report, answer);
        report->certain = true;
    }
    json_decref(answer);
    return err;
}

extern const struct pd_app_ops toy_application;
const struct pd_app_ops toy_application = {
    .name = "toy",
    .section = "none",
    .help = "how many hosts are there?",
    .period_s = 1,
    .run = run,
};
