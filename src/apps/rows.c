/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the world, and the rows of its answers. */
#include "apps/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "query/members.h"
#include "query/way.h"

#define NUMBER_MAX ((UINT64_C(1) << 53) - 1)

/* ---- asking ---- */

int pd_app_ask(const struct pd_app_call *call, struct pd_report *report, const char *query,
               json_t *args, json_t *hosts, json_t **ret_answer, struct pd_error *error)
{
    const struct pd_app_world *world = call->world;
    json_t *document =
        json_pack("{s:s, s:o, s:o}", "query", query, "args", args ? args : json_object(), "hosts",
                  hosts ? hosts : json_string("all"));
    json_t *answer = NULL;
    int e;

    if (!document) {
        return pd_fail(error, -ENOMEM, "%s: %s", query, pd_error_text(-ENOMEM));
    }
    e = world->ops->ask
            ? world->ops->ask(world->context, document, &answer, error)
            : pd_fail(error, -PD_E_UNSUPPORTED, "%s: there are no hosts to ask here", query);
    json_decref(document);
    if (e) {
        return e;
    }
    if (report) {
        pd_report_answer(report, answer);
    }
    *ret_answer = answer;
    return 0;
}

/* No flow retransmits that often: the answer says who is there, and nothing else. */
int pd_app_roll_call(const struct pd_app_call *call, struct pd_report *report,
                     struct pd_error *error)
{
    json_t *answer;
    int e =
        pd_app_ask(call, report, "getPoorTCPFlows",
                   json_pack("{s:I}", "threshold", (json_int_t)UINT32_MAX), NULL, &answer, error);

    if (!e) {
        json_decref(answer);
    }
    return e;
}

int pd_app_alarms(const struct pd_app_call *call, const char *reason, uint64_t from_us,
                  uint64_t to_us, size_t most, json_t **ret_alarms, struct pd_error *error)
{
    const struct pd_app_world *world = call->world;
    json_t *alarms = NULL;
    int e = 0;

    if (world->ops->alarms) {
        e = world->ops->alarms(world->context, reason, from_us, to_us, most, &alarms, error);
    } else {
        alarms = json_array();
    }
    if (!e && !json_is_array(alarms)) {
        json_decref(alarms);
        e = pd_fail(error, -ENOMEM, "alarms: %s", pd_error_text(-ENOMEM));
    }
    if (!e) {
        *ret_alarms = alarms;
    }
    return e;
}

/* ---- flows, paths ---- */

json_t *pd_app_flow_json(const struct pd_flow_id *flow)
{
    return pd_flow_id_json(flow);
}

bool pd_app_flow_read(const json_t *object, struct pd_flow_id *ret_flow)
{
    return !pd_flow_id_read(object, ret_flow, NULL);
}

bool pd_app_path_read(const json_t *row, struct pd_path *ret_path)
{
    const json_t *switches = json_object_get(row, "path");
    const char *member;
    struct pd_path path;
    struct pd_claim claim;

    if (json_is_array(switches) && !json_array_size(switches) && !json_object_get(row, "tags")) {
        ret_path->len = 0;
        return true;
    }
    if (pd_way_read(row, &path, &claim, &member)) {
        return false;
    }
    pd_path_copy(ret_path, &path);
    return true;
}

json_t *pd_app_path_json(const struct pd_path *path)
{
    return pd_path_json(path);
}

const char *pd_app_path_text(const struct pd_path *path, char text[PD_APP_PATH_TEXT_BYTES])
{
    size_t at = 0;

    *text = '\0';
    for (unsigned i = 0; i < path->len && i < PD_PATH_MAX; i++) {
        at += (size_t)snprintf(text + at, PD_APP_PATH_TEXT_BYTES - at, "%s%" PRIu32, i ? "-" : "",
                               path->switches[i]);
    }
    return text;
}

bool pd_app_path_exists(const struct pd_topology *topology, const struct pd_path *path)
{
    uint32_t before = PD_NONE;

    for (unsigned i = 0; i < path->len; i++) {
        uint32_t at = pd_topology_switch(topology, path->switches[i]);

        if (at == PD_NONE || (i && !pd_topology_link(topology, before, at))) {
            return false;
        }
        before = at;
    }
    return path->len;
}

/* ---- rows ---- */

bool pd_app_number(const json_t *object, const char *member, uint64_t *ret_number)
{
    return !pd_member_number(object, member, 0, NUMBER_MAX, ret_number, NULL);
}

/* Zero where there is none. */
static bool read_optional(const json_t *object, const char *member, uint64_t *ret_number)
{
    return !json_object_get(object, member) || pd_app_number(object, member, ret_number);
}

bool pd_app_row_read(const json_t *object, struct pd_app_row *ret_row)
{
    const json_t *flow = json_object_get(object, "flow_id");
    struct pd_app_row row = {.has_path = json_object_get(object, "path")};

    if (!flow && !row.has_path) {
        return false;
    }
    if (flow && !pd_app_flow_read(flow, &row.flow)) {
        return false;
    }
    if (row.has_path && !pd_app_path_read(object, &row.path)) {
        return false;
    }
    if (!read_optional(object, "stime_us", &row.stime_us) ||
        !read_optional(object, "etime_us", &row.etime_us) ||
        !read_optional(object, "bytes", &row.bytes) || !read_optional(object, "pkts", &row.pkts)) {
        return false;
    }
    *ret_row = row;
    return true;
}

int pd_app_rows(const json_t *answer, const char *list, struct pd_report *report,
                int (*visit)(void *context, const struct pd_app_row *row, const json_t *object),
                void *context, struct pd_error *error)
{
    const json_t *rows = json_object_get(answer, list), *object;
    size_t i, wrong = 0;
    int e = 0;

    if (!json_is_array(rows)) {
        return pd_fail(error, -PD_E_VALUE, "an answer of the hosts has no list \"%s\"", list);
    }
    json_array_foreach((json_t *)(uintptr_t)rows, i, object)
    {
        struct pd_app_row row;

        if (!pd_app_row_read(object, &row)) {
            wrong++;
        } else if ((e = visit(context, &row, object))) {
            break;
        }
    }
    if (wrong && report) {
        pd_report_lacks(report, "%zu rows of an answer (%s) were not in order: left out", wrong,
                        list);
    }
    return e;
}

bool pd_app_alarm_read(const json_t *object, struct pd_app_alarm *ret_alarm)
{
    const json_t *flow = json_object_get(object, "flow_id");
    struct pd_app_alarm alarm = {0};
    uint64_t host = 0;

    if (!pd_app_number(object, "time_us", &alarm.time_us) ||
        !read_optional(object, "id", &alarm.id) ||
        pd_member_text(object, "reason", alarm.reason, sizeof alarm.reason, NULL)) {
        return false;
    }
    if (json_object_get(object, "host") &&
        pd_member_number(object, "host", 0, UINT32_MAX, &host, NULL)) {
        return false;
    }
    if (flow && !json_is_null(flow) && !pd_app_flow_read(flow, &alarm.flow)) {
        return false;
    }
    alarm.host = (uint32_t)host;
    *ret_alarm = alarm;
    return true;
}

/* ---- topology ---- */

static bool has_addr(const struct pd_host *host, const struct pd_addr *addr, uint8_t ip_version)
{
    for (uint32_t i = 0; i < host->addrs_len; i++) {
        if (host->ip_versions[i] == ip_version && !memcmp(&host->addrs[i], addr, sizeof *addr)) {
            return true;
        }
    }
    return false;
}

uint32_t pd_app_host_of(const struct pd_topology *topology, const struct pd_addr *addr,
                        uint8_t ip_version)
{
    uint32_t tor = pd_topology_tor_of(topology, addr, ip_version);
    const struct pd_switch *rack = tor == PD_NONE ? NULL : &topology->switches[tor];

    for (uint32_t i = rack ? rack->switch_neighbours : 0; rack && i < rack->neighbours_len; i++) {
        const struct pd_host *host = &topology->hosts[rack->neighbours[i].node];

        if (has_addr(host, addr, ip_version)) {
            return host->id;
        }
    }
    return 0;
}
