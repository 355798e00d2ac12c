/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/apps, POST /v1/apps/{id}, and applications as a part of the controller. */
#include <errno.h>
#include <stdlib.h>

#include "apps/args.h"
#include "base/clock.h"
#include "controller/apps/private.h"
#include "controller/routes.h"

/* ---- the list ---- */

static json_t *alarms_json(const struct pd_app_trigger *triggers)
{
    json_t *list = json_array();

    for (; triggers && triggers->reason; triggers++) {
        json_array_append_new(list, json_string(triggers->reason));
    }
    return list;
}

static json_t *app_json(const struct pd_app_ops *ops)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:f, s:b}", "name", ops->name, "section",
                     ops->section, "help", ops->help, "params", pd_app_params_json(ops), "alarms",
                     alarms_json(ops->triggers), "period_s", ops->period_s, "packets",
                     ops->packet_in != NULL);
}

int pd_apps_answer(struct pd_controller *controller, struct pd_call *call, struct pd_answer *answer,
                   struct pd_problem *problem)
{
    json_t *list = json_array();
    int failed = !list;

    (void)controller;
    (void)call;
    for (size_t i = 0; pd_apps[i]; i++) {
        failed |= json_array_append_new(list, app_json(pd_apps[i]));
    }
    if (failed) {
        json_decref(list);
        return pd_fail(&problem->error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    pd_http_answer_json(answer, 200, answer->type, json_pack("{s:o}", "apps", list));
    return 0;
}

/* ---- one of them ---- */

/* "evidence": true of the body is no argument of the application. */
static bool take_evidence(json_t *body)
{
    bool wanted = json_is_true(json_object_get(body, "evidence"));

    if (wanted) {
        json_object_del(body, "evidence");
    }
    return wanted;
}

static int run_in_turn(struct pd_controller *controller, const struct pd_app_ops *ops,
                       const struct pd_call *call, bool evidence, json_t **ret_report,
                       struct pd_error *error)
{
    const char *client = call->http->peer ? call->http->peer : "";
    struct pd_daemon_admission *admission = controller->apps->admission;
    int err =
        pd_daemon_admission_take(admission, client, pd_clock_monotonic_ns() + PD_APPS_WAIT_NS);

    if (err) {
        pd_count(&controller->counters.apps_refused, 1);
        return pd_fail(error, -PD_E_BUSY, "too many applications run already; try again");
    }
    pd_count(&controller->counters.apps_runs, 1);
    err = pd_apps_by_hand(controller, ops, client, call->body, evidence, ret_report, error);
    pd_daemon_admission_give(admission, client);
    pd_count(&controller->counters.apps_failed, err != 0);
    return err;
}

int pd_app_run_answer(struct pd_controller *controller, struct pd_call *call,
                      struct pd_answer *answer, struct pd_problem *problem)
{
    const struct pd_app_ops *ops = pd_app_find(call->id);
    json_t *report, *args = NULL;
    bool evidence = take_evidence(call->body);
    int err;

    if (!ops) {
        return pd_fail(&problem->error, -PD_E_NOT_FOUND, "there is no application \"%.40s\"",
                       call->id);
    }
    /* what is wrong is told at once; with the topology it is looked at once more */
    err = pd_app_args_read(ops, NULL, call->body, &args, &problem->error);
    json_decref(args);
    if (!err) {
        err = run_in_turn(controller, ops, call, evidence, &report, &problem->error);
    }
    if (!err) {
        pd_http_answer_json(answer, 200, answer->type, report);
    }
    return err;
}

/* ---- the part ---- */

static int open_apps(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_controller *controller = daemon;
    const struct pd_daemon_admission_limits limits = {.working = PD_APPS_AT_ONCE,
                                                      .waiting = PD_APPS_WAITING,
                                                      .waiting_per_client = PD_APPS_WAITING};
    struct pd_apps *apps = calloc(1, sizeof *apps);
    int err = apps ? 0 : -ENOMEM;

    (void)options;
    controller->apps = apps;
    if (!err) {
        err = pd_daemon_admission_new(&limits, &apps->admission);
    }
    if (!err) {
        err = pd_apps_kept_open(&apps->kept);
    }
    if (!err) {
        err = pd_apps_residents_open(controller, &apps->residents);
    }
    if (!err) {
        err = pd_apps_packets_open(controller, &apps->packets);
    }
    if (err) {
        return pd_fail(error, err, "applications: %s", pd_error_text(err));
    }
    return pd_app_watches_open(controller, &apps->watches, error);
}

static void stop_apps(void *daemon)
{
    struct pd_controller *controller = daemon;
    struct pd_apps *apps = controller->apps;

    if (apps->watches) {
        pd_app_watches_stop(apps->watches);
    }
    if (apps->packets) {
        pd_apps_packets_stop(apps->packets);
    }
}

static void close_apps(void *daemon)
{
    struct pd_controller *controller = daemon;
    struct pd_apps *apps = controller->apps;

    if (!apps) {
        return;
    }
    stop_apps(controller);
    pd_app_watches_close(apps->watches);
    pd_apps_packets_close(apps->packets);
    pd_apps_residents_close(apps->residents);
    pd_apps_kept_close(apps->kept);
    pd_daemon_admission_free(apps->admission);
    free(apps);
    controller->apps = NULL;
}

const struct pd_part pd_apps_part = {
    .name = "applications", .open = open_apps, .stop = stop_apps, .close = close_apps};
