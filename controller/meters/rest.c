/* SPDX-License-Identifier: Apache-2.0 */
/* Routes of the meters: monitors and segments. */
#include <errno.h>
#include <stdlib.h>

#include "controller/meters/private.h"
#include "http/text.h"
#include "json/cursor.h"

#define COUNT_MAX UINT64_C(1000000000)

static int give(struct pd_answer *answer, struct pd_problem *problem, json_t *document)
{
    if (!document) {
        return pd_fail(&problem->error, -ENOMEM, "no memory for the answer");
    }
    pd_http_answer_json(answer, 200, answer->type, document);
    return 0;
}

/* ---- monitors ---- */

static json_t *monitor_json(const struct pd_meters *meters, const struct pd_meters_monitor *monitor)
{
    const bool heard = meters->epoch && monitor->heard_epoch == meters->epoch;
    const char *state = !meters->generation  ? "stopped"
                        : heard              ? "counting"
                        : monitor->reason[0] ? "silent"
                                             : "waiting";

    return json_pack("{s:I,s:s,s:s,s:I,s:o,s:I,s:I,s:I,s:I}", "id", (json_int_t)monitor->id, "url",
                     monitor->url, "state", state, "epoch", (json_int_t)monitor->heard_epoch,
                     "reason", pd_http_text_json(heard ? "" : monitor->reason), "late",
                     (json_int_t)monitor->late, "strays", (json_int_t)monitor->strays, "disagree",
                     (json_int_t)monitor->disagree, "full", (json_int_t)monitor->full);
}

/* With the lock held. */
static json_t *settings_json(const struct pd_meters *meters)
{
    const struct pd_meter_loop_settings *s = &meters->settings;

    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "alpha", (json_int_t)s->alpha, "beta",
                     (json_int_t)s->beta, "delta", (json_int_t)s->delta, "eta", (json_int_t)s->eta,
                     "epoch_ms", (json_int_t)meters->epoch_ms, "epochs", (json_int_t)s->epochs,
                     "epochs_min", (json_int_t)s->epochs_min, "rules", (json_int_t)s->rules_max);
}

static json_t *loop_json(const struct pd_meter_loop_counters *c)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "now", (json_int_t)c->rules, "added",
                     (json_int_t)c->added, "removed", (json_int_t)c->removed, "moved",
                     (json_int_t)c->moved, "full", (json_int_t)c->full, "transient",
                     (json_int_t)c->transient);
}

static int get_monitors(void *daemon, struct pd_call *call, struct pd_answer *answer,
                        struct pd_problem *problem)
{
    struct pd_meters *meters = &pd_meters;
    json_t *list = json_array();
    int failed = 0;

    (void)daemon;
    (void)call;
    pthread_mutex_lock(&meters->lock);
    for (uint32_t m = 0; m < meters->monitors_len && !failed; m++) {
        failed = json_array_append_new(list, monitor_json(meters, &meters->monitors[m]));
    }
    json_t *document = json_pack("{s:b,s:I,s:o,s:o,s:o}", "running", meters->generation != 0,
                                 "epoch", (json_int_t)meters->epoch, "settings",
                                 meters->generation ? settings_json(meters) : json_null(), "rules",
                                 loop_json(&meters->loop_counters), "monitors", list);
    pthread_mutex_unlock(&meters->lock);
    if (failed) {
        json_decref(document);
        document = NULL;
    }
    return give(answer, problem, document);
}

static int read_u32(const struct pd_json_cursor *at, const char *member, uint64_t least,
                    uint64_t most, uint32_t *number)
{
    uint64_t value = *number;
    const int err = pd_json_number_or(at, member, least, most, &value);

    *number = (uint32_t)value;
    return err;
}

static int read_settings(const struct pd_json_cursor *at, struct pd_meter_loop_settings *s,
                         uint64_t *epoch_ms)
{
    static const char *const names[] = {"alpha",  "beta",       "delta", "eta", "epoch_ms",
                                        "epochs", "epochs_min", "rules", NULL};
    int err = pd_json_only(at, names);

    err = err ? err : pd_json_number_or(at, "alpha", 0, COUNT_MAX, &s->alpha);
    err = err ? err : read_u32(at, "beta", 0, 65536, &s->beta);
    err = err ? err : read_u32(at, "delta", 1, 65536, &s->delta);
    err = err ? err : read_u32(at, "eta", 0, COUNT_MAX, &s->eta);
    err = err ? err : pd_json_number_or(at, "epoch_ms", 20, 60000, epoch_ms);
    err = err ? err : read_u32(at, "epochs", 1, PD_METER_EPOCHS_MAX, &s->epochs);
    s->epochs_min = s->epochs_min < s->epochs ? s->epochs_min : s->epochs;
    err = err ? err : read_u32(at, "epochs_min", 1, s->epochs, &s->epochs_min);
    return err ? err : read_u32(at, "rules", 1, 1U << 20, &s->rules_max);
}

static int post_monitors(void *daemon, struct pd_call *call, struct pd_answer *answer,
                         struct pd_problem *problem)
{
    struct pd_meters *meters = &pd_meters;
    struct pd_meter_loop_settings settings = PD_METER_LOOP_DEFAULTS;
    uint64_t epoch_ms = 100;
    static uint64_t generations; /* with the lock */
    const struct pd_json_cursor at = {
        .object = call->body, .err = -PD_E_VALUE, .error = &problem->error};
    const int err = read_settings(&at, &settings, &epoch_ms);

    if (err) {
        return err;
    }
    if (!meters->monitors_len) {
        return pd_fail(&problem->error, -PD_E_CONFLICT,
                       "this controller has no monitors: start it with --monitors FILE");
    }
    pthread_mutex_lock(&meters->lock);
    meters->settings = settings;
    meters->epoch_ms = epoch_ms;
    meters->generation = ++generations;
    pthread_cond_signal(&meters->wake);
    pthread_mutex_unlock(&meters->lock);
    return get_monitors(daemon, call, answer, problem);
}

static int delete_monitors(void *daemon, struct pd_call *call, struct pd_answer *answer,
                           struct pd_problem *problem)
{
    struct pd_meters *meters = &pd_meters;

    pthread_mutex_lock(&meters->lock);
    meters->generation = 0;
    if (meters->started) {
        pthread_cond_signal(&meters->wake);
    }
    pthread_mutex_unlock(&meters->lock);
    return get_monitors(daemon, call, answer, problem);
}

/* ---- segments ---- */

static json_t *path_json(const struct pd_path *path)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < path->len; i++) {
        json_array_append_new(list, json_integer(path->switches[i]));
    }
    return list;
}

/* "why": of one that is starved. */
static json_t *segment_json(const struct pd_meters_segment_view *view)
{
    const struct pd_meter_segment *s = &view->segment;
    const char *why = s->state != PD_METER_SEGMENT_STARVED ? NULL
                      : s->rules_full                      ? "no room for more rules"
                                                           : "no other flow of it is large enough";

    return json_pack("{s:o,s:I,s:I,s:I,s:I,s:s,s:b,s:o}", "path", path_json(view->path), "flows",
                     (json_int_t)s->flows, "sent", (json_int_t)s->sent, "lost", (json_int_t)s->lost,
                     "epochs", (json_int_t)s->epochs, "state",
                     pd_meter_segment_state_name(s->state), "loses", s->loses, "why",
                     why ? json_string(why) : json_null());
}

static int get_segments(void *daemon, struct pd_call *call, struct pd_answer *answer,
                        struct pd_problem *problem)
{
    struct pd_meters *meters = &pd_meters;
    json_t *list = json_array();
    int failed = list ? 0 : -ENOMEM;

    (void)daemon;
    (void)call;
    pthread_mutex_lock(&meters->lock);
    for (size_t i = 0; i < meters->views_len && !failed; i++) {
        failed = json_array_append_new(list, segment_json(&meters->views[i]));
    }
    pthread_mutex_unlock(&meters->lock);
    if (failed) {
        json_decref(list);
        list = NULL;
    }
    return give(answer, problem, list);
}

const struct pd_part_route pd_meters_routes[] = {
    {.route = {"GET", "/v1/monitors", PD_ROLE_READ, "switches with meters, and how they are"},
     .handler = get_monitors},
    {.route = {"POST", "/v1/monitors", PD_ROLE_ADMIN, "begin to count what segments lose"},
     .handler = post_monitors},
    {.route = {"DELETE", "/v1/monitors", PD_ROLE_ADMIN, "end it"}, .handler = delete_monitors},
    {.route = {"GET", "/v1/segments", PD_ROLE_READ, "what segments lost lately"},
     .handler = get_segments},
    {.handler = NULL},
};
