/* SPDX-License-Identifier: Apache-2.0 */
/* POST and GET /v1/alarms, and the store as a part of the controller. */
#include "controller/alarms/rest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/alarms/judge.h"
#include "controller/alarms/parameters.h"
#include "controller/alarms/store.h"
#include "controller/events/hub.h"
#include "controller/routes.h"
#include "http/role.h"

#define SPOOL_DIGITS 16u

/* ---- the part ---- */

static void wake_events(void *context)
{
    pd_events_wake(((struct pd_controller *)context)->events);
}

static int open_alarms(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_controller *controller = daemon;
    char directory[4096];
    struct pd_alarm_store_config config = {
        .directory = directory,
        .max_alarms = controller->settings->alarms_kept,
        .max_age_s = controller->settings->alarms_age_s,
        .grown = wake_events,
        .context = controller,
    };

    (void)options;
    if (snprintf(directory, sizeof directory, "%s/alarms", controller->state.path) >=
        (int)sizeof directory) {
        return pd_fail(error, -ENAMETOOLONG, "%s: too long a name", controller->state.path);
    }
    return pd_alarm_store_open(&config, &controller->alarms, error);
}

/* Streams end, and with them their connections. */
static void stop_alarms(void *daemon)
{
    struct pd_controller *controller = daemon;

    if (controller->alarms) {
        pd_alarm_store_stop(controller->alarms);
    }
}

static void close_alarms(void *daemon)
{
    struct pd_controller *controller = daemon;

    pd_alarm_store_close(controller->alarms);
}

const struct pd_part pd_alarms_part = {
    .name = "alarms",
    .open = open_alarms,
    .stop = stop_alarms,
    .close = close_alarms,
};

void pd_controller_alarm(struct pd_controller *controller, const char *by, const char *reason,
                         const char *detail)
{
    struct pd_alarm_message message = {.time_us = pd_clock_wall_us(),
                                       .origin = PD_ALARM_ORIGIN_APP};

    snprintf(message.by, sizeof message.by, "%s", by);
    snprintf(message.reason, sizeof message.reason, "%s", reason);
    snprintf(message.detail, sizeof message.detail, "%s", detail);
    pd_alarm_store_raise(controller->alarms, &message);
}

/* ---- POST ---- */

static int read_host(const struct pd_call *call, uint32_t *ret_host, struct pd_error *error)
{
    const json_t *host = json_object_get(call->body, "host");
    json_int_t id = json_integer_value(host);

    if (!json_is_integer(host) || id < 1 || id > UINT32_MAX) {
        return pd_fail(error, -PD_E_VALUE, "host: expects the ID of a host");
    }
    if (!pd_http_role_speaks_for(call->http, (uint32_t)id)) {
        return pd_fail(error, -PD_E_FORBIDDEN, "host: these credentials are not those of host %lld",
                       (long long)id);
    }
    *ret_host = (uint32_t)id;
    return 0;
}

static int check_known(struct pd_controller *controller, uint32_t host, struct pd_error *error)
{
    struct pd_inventory *inventory = pd_controller_hosts_inventory(controller->hosts);
    bool known = pd_controller_inventory_find(inventory, host) != SIZE_MAX;

    pd_controller_inventory_free(inventory);
    return known ? 0
                 : pd_fail(error, -PD_E_NOT_FOUND, "host: %" PRIu32 " is not in the hosts file",
                           host);
}

static int read_spool(const json_t *body, uint64_t *ret_spool, struct pd_error *error)
{
    const char *text = json_string_value(json_object_get(body, "spool"));
    size_t len = text ? strspn(text, "0123456789abcdef") : 0;

    if (len != SPOOL_DIGITS || text[len]) {
        return pd_fail(error, -PD_E_VALUE, "spool: expects 16 hexadecimal digits");
    }
    *ret_spool = strtoull(text, NULL, 16);
    return 0;
}

/* All or nothing: an agent whose request is refused sends it in parts, and so finds the one alarm
 * that is wrong. */
static int read_alarms(const struct pd_controller_alarm_judge *judge, const json_t *list,
                       struct pd_alarm_message *messages, uint64_t *seqs, struct pd_error *error)
{
    size_t len = json_array_size(list);

    for (size_t i = 0; i < len; i++) {
        char place[32];
        int err = pd_fleet_alarm_message_read(json_array_get(list, i), "seq", &messages[i],
                                              &seqs[i], error);

        err = err ? err : pd_controller_alarm_judge(judge, &messages[i], error);
        snprintf(place, sizeof place, "alarms[%zu]", i);
        if (err) {
            return pd_fail_within(error, place);
        }
        if (i && seqs[i] <= seqs[i - 1]) {
            return pd_fail(error, -PD_E_VALUE, "%s: seq: expects ascending numbers", place);
        }
    }
    return 0;
}

static int read_judged(struct pd_controller *controller, const struct pd_call *call,
                       struct pd_alarm_message *messages, uint64_t *seqs, struct pd_error *error)
{
    struct pd_credentials_set *set = pd_http_credentials_hold(controller->credentials);
    struct pd_inventory *inventory = pd_controller_hosts_inventory(controller->hosts);
    const struct pd_controller_alarm_judge judge = {.topology = inventory->topology,
                                                    .request = call->http,
                                                    .open = pd_http_credentials_open(set),
                                                    .now_us = pd_clock_wall_us()};
    int err = read_alarms(&judge, json_object_get(call->body, "alarms"), messages, seqs, error);

    pd_controller_inventory_free(inventory);
    pd_http_credentials_drop(set);
    return err;
}

static int take_delivery(struct pd_controller *controller, const struct pd_call *call,
                         struct pd_alarm_delivery *delivery, uint64_t *ret_last,
                         struct pd_error *error)
{
    const json_t *list = json_object_get(call->body, "alarms");
    struct pd_alarm_message *messages = NULL;
    uint64_t *seqs = NULL;
    int err = 0;

    delivery->len = json_array_size(list);
    if (!json_is_array(list) || !delivery->len || delivery->len > PD_ALARM_DELIVERY_MAX) {
        return pd_fail(error, -PD_E_VALUE, "alarms: expects a list of 1 to %u alarms",
                       PD_ALARM_DELIVERY_MAX);
    }
    messages = malloc(delivery->len * sizeof *messages);
    seqs = malloc(delivery->len * sizeof *seqs);
    err = messages && seqs ? read_judged(controller, call, messages, seqs, error) : -ENOMEM;
    if (!err) {
        delivery->messages = messages;
        delivery->seqs = seqs;
        err = pd_alarm_store_add(controller->alarms, delivery, ret_last);
        if (err) {
            pd_fail(error, err, "the alarms cannot be stored: %s",
                    err == -PD_E_VALUE ? "their numbers do not go on" : pd_error_text(err));
        }
    }
    free(messages);
    free(seqs);
    return err;
}

int pd_alarms_take(struct pd_controller *controller, struct pd_call *call, struct pd_answer *answer,
                   struct pd_problem *problem)
{
    struct pd_alarm_delivery delivery = {0};
    struct pd_error *error = &problem->error;
    uint64_t last = 0;
    int err;

    if (json_object_size(call->body) != 3) {
        return pd_fail(error, -PD_E_VALUE, "expects the members host, spool and alarms");
    }
    err = read_host(call, &delivery.host, error);
    if (!err) {
        err = check_known(controller, delivery.host, error);
    }
    if (!err) {
        err = read_spool(call->body, &delivery.spool, error);
    }
    if (!err) {
        err = take_delivery(controller, call, &delivery, &last, error);
    }
    if (!err) {
        pd_http_answer_json(answer, 200, answer->type,
                            json_pack("{s:I}", "last", (json_int_t)last));
    }
    return err;
}

/* ---- GET ---- */

struct listing {
    struct pd_answer *answer;
    bool begun;
    int error;
};

static int write_text(struct listing *listing, const char *text, size_t len)
{
    if (!listing->error) {
        listing->error = pd_http_answer_write(listing->answer, text, len);
    }
    return listing->error;
}

static int list_alarm(void *context, uint64_t id, const char *json, size_t len)
{
    struct listing *listing = context;
    char head[40];
    int head_len =
        snprintf(head, sizeof head, "%s{\"id\":%" PRIu64 ",", listing->begun ? "," : "", id);

    listing->begun = true;
    return write_text(listing, head, (size_t)head_len) || write_text(listing, json, len);
}

int pd_alarms_list(struct pd_controller *controller, struct pd_call *call, struct pd_answer *answer,
                   struct pd_problem *problem)
{
    struct pd_alarm_parameters wanted = {.limit = PD_ALARMS_LIMIT};
    struct listing listing = {answer, false, 0};
    uint64_t next = 0;
    bool more = false;
    char tail[80];
    int err = pd_alarm_parameters_read(call, true, &wanted, problem), len;
    const char *reason = *wanted.reason ? wanted.reason : NULL;

    if (err) {
        return err;
    }
    write_text(&listing, "{\"alarms\":[", 11);
    if (wanted.newest) {
        size_t n = wanted.newest < wanted.limit ? wanted.newest : wanted.limit;
        uint64_t since = 0;

        err = pd_alarm_store_newest(controller->alarms, reason, n, &since);
        wanted.since = since > wanted.since ? since : wanted.since;
    }
    if (!err) {
        err = pd_alarm_store_read(controller->alarms, wanted.since, reason, wanted.limit,
                                  list_alarm, &listing, &next, &more);
    }
    if (err) {
        return pd_fail(&problem->error, err, "the alarms cannot be read: %s", pd_error_text(err));
    }
    len = snprintf(tail, sizeof tail, "],\"last\":%" PRIu64 ",\"more\":%s}", next,
                   more ? "true" : "false");
    write_text(&listing, tail, (size_t)len);
    if (!listing.error) {
        listing.error = pd_http_answer_finish(answer);
    }
    return listing.error ? pd_fail(&problem->error, listing.error, "the answer cannot be kept: %s",
                                   pd_error_text(listing.error))
                         : 0;
}
