/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what is to be installed. */
#include "fleet/installation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/text.h"
#include "json/cursor.h"

static const char *const members[] = {"id", "period_ms", "on", "deadline_ms", "by", NULL};

static const char *const trigger_ids[] = {
#define X(name, id, text) id,
    PD_TRIGGERS(X)
#undef X
};

const char *pd_fleet_trigger_id(enum pd_trigger trigger)
{
    return trigger_ids[trigger];
}

int pd_fleet_trigger_parse(const char *id, enum pd_trigger *ret_trigger)
{
    for (unsigned i = 0; i < PD_TRIGGER_COUNT; i++) {
        if (!strcmp(id, trigger_ids[i])) {
            *ret_trigger = (enum pd_trigger)i;
            return 0;
        }
    }
    return -PD_E_VALUE;
}

static int parse_on(const json_t *body, struct pd_installation *installation,
                    struct pd_error *error)
{
    const char *on = json_string_value(json_object_get(body, "on"));

    if (on && !pd_fleet_trigger_parse(on, &installation->on)) {
        return 0;
    }
    return pd_fail(error, -PD_E_VALUE, "on: expected \"new_flow\", \"evicted\" or \"alarm\"");
}

static int parse_when(const json_t *body, struct pd_installation *installation,
                      struct pd_error *error)
{
    const struct pd_json_cursor at = {.object = body, .err = -PD_E_VALUE, .error = error};
    bool on = json_object_get(body, "on"), period = json_object_get(body, "period_ms");

    if (on == period) {
        return pd_fail(error, -PD_E_VALUE,
                       on ? "period_ms: either this or \"on\", not both"
                          : "period_ms: is missing; either this or \"on\" says when it is to run");
    }
    return on ? parse_on(body, installation, error)
              : pd_json_number_or(&at, "period_ms", PD_INSTALLATION_PERIOD_MIN_MS,
                                  PD_INSTALLATION_PERIOD_MAX_MS, &installation->period_ms);
}

/* A token belongs to one moment; a query that runs again and again has its own. */
static int check_query(const struct pd_query *query, struct pd_error *error)
{
    if (query && query->since[0]) {
        return pd_fail(error, -PD_E_VALUE, "args.since: an installed query takes no token");
    }
    return 0;
}

/* Members in one order, numbers and not texts where they may be either: the same query has one
 * form. */
static int normalise(const json_t *body, struct pd_installation *installation)
{
    json_t *json = pd_query_document_json(&installation->document);
    const char *const copied[] = {"period_ms", "on", "deadline_ms", "by"};

    if (!json) {
        return -ENOMEM;
    }
    installation->json = json;
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++) {
        json_t *member = json_object_get(body, copied[i]);

        if (member && json_object_set_new(json, copied[i], json_deep_copy(member))) {
            return -ENOMEM;
        }
    }
    installation->json_bytes = json_dumpb(json, NULL, 0, JSON_COMPACT);
    return installation->json_bytes ? 0 : -ENOMEM;
}

static int parse(const json_t *body, struct pd_installation *installation, struct pd_error *error)
{
    const struct pd_json_cursor at = {.object = body, .err = -PD_E_VALUE, .error = error};
    int err = pd_query_document_parse(body, members, &installation->document, error);

    if (!err && !installation->document.question->installs) {
        err =
            pd_fail(error, -PD_E_VALUE, "query: %s cannot be installed; a program that asks it can",
                    installation->document.question->name);
    }
    if (!err) {
        err = check_query(pd_query_document_query(&installation->document), error);
    }
    if (!err) {
        err = pd_json_number_or(&at, "id", 1, PD_INSTALLATION_ID_MAX, &installation->id);
    }
    if (!err) {
        err = pd_json_number_or(&at, "deadline_ms", 1, PD_INSTALLATION_DEADLINE_MAX_MS,
                                &installation->deadline_ms);
    }
    if (!err) {
        err = parse_when(body, installation, error);
    }
    if (!err && json_object_get(body, "by")) {
        err = pd_json_text(&at, "by", installation->by, sizeof installation->by);
    }
    if (err) {
        return err;
    }
    err = normalise(body, installation);
    return err ? pd_fail(error, err, "no memory for one more query") : 0;
}

/* Made on the heap: threads of connections have small stacks. */
int pd_fleet_installation_parse(const json_t *json, struct pd_installation *ret_installation,
                                struct pd_error *error)
{
    struct pd_installation *installation = calloc(1, sizeof *installation);
    int err;

    if (!installation) {
        return pd_fail(error, -ENOMEM, "no memory for one more query");
    }
    installation->deadline_ms = PD_INSTALLATION_DEADLINE_MS;
    err = parse(json, installation, error);
    if (err) {
        pd_fleet_installation_done(installation);
    } else {
        *ret_installation = *installation;
    }
    free(installation);
    return err;
}

int pd_fleet_installation_name(json_t *body, const struct pd_http_request *request,
                               struct pd_error *error)
{
    if (json_object_get(body, "by") && request->role == PD_ROLE_ADMIN) {
        return 0;
    }
    if (json_object_get(body, "by")) {
        return pd_fail(error, -PD_E_FORBIDDEN, "by: only a controller may name somebody");
    }
    if (!request->peer || !*request->peer) {
        return 0;
    }
    return json_object_set_new(body, "by", pd_http_text_json(request->peer))
               ? pd_fail(error, -ENOMEM, "no memory for one more query")
               : 0;
}

void pd_fleet_installation_done(struct pd_installation *installation)
{
    pd_query_document_done(&installation->document);
    json_decref(installation->json);
    *installation = (struct pd_installation){0};
}
