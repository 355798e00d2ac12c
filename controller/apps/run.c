/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of applications, and the alarms that come of what they find. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "base/clock.h"
#include "controller/alarms/rest.h"
#include "controller/apps/private.h"

int pd_apps_thread(pthread_t *thread, void *(*run)(void *context), void *context)
{
    pthread_attr_t attr;
    int err;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, PD_APPS_STACK_BYTES);
    err = pthread_create(thread, &attr, run, context);
    pthread_attr_destroy(&attr);
    return -err;
}

int pd_apps_run(const struct pd_app_ops *ops, void *state, const struct pd_app_call *call,
                json_t **ret_report, struct pd_error *error)
{
    struct pd_report report;
    json_t *json = NULL;
    int err;

    pd_app_report_init(&report);
    err = ops->run(state, call, &report, error);
    if (!err) {
        json = pd_app_report_json(&report, ops->name);
        err = json ? 0 : pd_fail(error, -ENOMEM, "no memory for the report");
    }
    pd_app_report_done(&report);
    if (err && error && !*error->text) {
        pd_fail(error, err, "%s", pd_error_text(err));
    }
    if (!err) {
        *ret_report = json;
    }
    return err;
}

/* ---- by hand ---- */

struct hand {
    struct pd_controller *controller;
    const struct pd_app_ops *ops;
    const char *client;
    const json_t *given;
    bool evidence; /* is asked for */
    json_t *report;
    struct pd_error *error;
    int err;
};

/* What was judged becomes the report's "evidence_rows", as lines of a file. */
static int run_with_evidence(struct hand *hand, struct pd_apps_hand *run,
                             const struct pd_app_call *call)
{
    struct pd_apps_world *world = run->world;
    char *text = NULL;
    size_t bytes = 0;

    world->join.copy = hand->evidence ? open_memstream(&text, &bytes) : NULL;
    if (hand->evidence && !world->join.copy) {
        return pd_fail(hand->error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    int err = hand->ops->packet_in
                  ? pd_apps_resident_run(hand->controller->apps->residents, hand->ops, call->args,
                                         &hand->report, hand->error)
                  : pd_apps_run(hand->ops, run->state, call, &hand->report, hand->error);
    if (world->join.copy && fclose(world->join.copy) && !err) {
        json_decref(hand->report);
        err = pd_fail(hand->error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    if (world->join.copy && !err) {
        json_object_set_new(hand->report, "evidence_rows", json_stringn(text, bytes));
    }
    world->join.copy = NULL;
    free(text);
    return err;
}

/* An application that gets packets has a state of its own. */
static int open_state(const struct hand *hand, struct pd_apps_hand *run)
{
    const struct pd_app_call call = {.world = &run->world->world, .args = run->args};
    int err = run->opened || run->ops->packet_in || !run->ops->open
                  ? 0
                  : run->ops->open(&call, &run->state, hand->error);

    run->opened |= !err && !run->ops->packet_in;
    return err;
}

/* With arguments that were read; whoever wants to see the evidence wants all of it. */
static struct pd_apps_hand *go_on(const struct hand *hand, struct pd_apps_hand *begun)
{
    struct pd_apps_hand *kept =
        hand->evidence ? NULL
                       : pd_apps_kept_take(hand->controller->apps->kept, hand->ops, begun->args);

    if (!kept) {
        return begun;
    }
    snprintf(kept->world->client, sizeof kept->world->client, "%s", hand->client);
    pd_apps_hand_free(begun);
    return kept;
}

static int begin(const struct hand *hand, struct pd_apps_hand **ret_run)
{
    struct pd_apps_hand *run = calloc(1, sizeof *run);

    if (!run) {
        return -ENOMEM;
    }
    run->ops = hand->ops;
    int err = pd_apps_world_open(hand->controller, hand->client, &run->world);
    if (!err) {
        err = pd_app_args_read(hand->ops, run->world->world.topology, hand->given, &run->args,
                               hand->error);
    }
    if (!err) {
        run = go_on(hand, run);
        err = open_state(hand, run);
    }
    if (err) {
        pd_apps_hand_free(run);
    } else {
        *ret_run = run;
    }
    return err;
}

static int open_and_run(struct hand *hand)
{
    struct pd_apps_hand *run;
    int err = begin(hand, &run);

    if (err) {
        return err;
    }
    err = run_with_evidence(hand, run,
                            &(struct pd_app_call){.world = &run->world->world, .args = run->args});
    if (err || hand->evidence) {
        pd_apps_hand_free(run);
    } else {
        pd_apps_kept_put(hand->controller->apps->kept, run);
    }
    return err;
}

static void *run_hand(void *context)
{
    struct hand *hand = context;

    hand->err = open_and_run(hand);
    return NULL;
}

int pd_apps_by_hand(struct pd_controller *controller, const struct pd_app_ops *ops,
                    const char *client, const json_t *args, bool evidence, json_t **ret_report,
                    struct pd_error *error)
{
    struct hand hand = {.controller = controller,
                        .ops = ops,
                        .client = client,
                        .given = args,
                        .evidence = evidence,
                        .error = error};
    pthread_t thread;
    int err = pd_apps_thread(&thread, run_hand, &hand);

    if (err) {
        return pd_fail(error, err, "no thread for this run: %s", pd_error_text(err));
    }
    pthread_join(thread, NULL);
    if (!hand.err) {
        *ret_report = hand.report;
    } else if (!error->code) {
        pd_fail(error, hand.err, "%s", pd_error_text(hand.err));
    }
    return hand.err;
}

/* ---- what is new ---- */

/* Figures in the sentence differ from run to run. */
static json_t *without_digits(const json_t *verdict)
{
    const char *from = json_string_value(verdict);
    char text[PD_REPORT_TEXT_BYTES], *to = text;

    for (; from && *from && to < text + sizeof text - 1; from++) {
        if (*from < '0' || *from > '9') {
            *to++ = *from;
        }
    }
    *to = '\0';
    return json_string(text);
}

/* What makes a finding: the rest of a report may differ from run to run. */
static json_t *found_in(const json_t *report)
{
    return json_pack(
        "{s:o*, s:O, s:O, s:O}", "verdict", without_digits(json_object_get(report, "verdict")),
        "links", json_object_get(report, "links"), "switches", json_object_get(report, "switches"),
        "certain", json_object_get(report, "certain"));
}

static bool names_something(const json_t *found)
{
    return json_array_size(json_object_get(found, "links")) ||
           json_array_size(json_object_get(found, "switches"));
}

/* APP_SILENT_DROPS */
static void name_reason(const char *app, char reason[PD_ALARM_REASON_BYTES])
{
    snprintf(reason, PD_ALARM_REASON_BYTES, "APP_%s", app);
    for (char *at = reason; *at; at++) {
        if (*at == '-') {
            *at = '_';
        } else if (*at >= 'a' && *at <= 'z') {
            *at = (char)(*at - 'a' + 'A');
        }
    }
}

void pd_apps_remember(struct pd_controller *controller, const struct pd_app_ops *ops,
                      struct pd_apps_memory *memory, const json_t *report)
{
    json_t *found = found_in(report);
    bool flows = json_array_size(json_object_get(report, "flows"));
    char reason[PD_ALARM_REASON_BYTES];

    if (!found || (memory->found && json_equal(found, memory->found))) {
        json_decref(found);
        return;
    }
    if (names_something(found) || flows || memory->found_something) {
        name_reason(ops->name, reason);
        pd_controller_alarm(controller, ops->name, reason,
                            json_string_value(json_object_get(report, "verdict")));
        pd_count(&controller->counters.apps_alarms, 1);
    }
    memory->found_something = names_something(found) || flows;
    json_decref(memory->found);
    memory->found = found;
}
