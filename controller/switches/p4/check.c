/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a switch with a compiled program, against what they should hold. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/switches/edge.h"
#include "controller/switches/p4/private.h"
#include "controller/switches/p4/wanted.h"

#define ROUTE_BYTES 192u

static void name_route(const struct pd_p4_seat *seat, const char *table, char route[ROUTE_BYTES])
{
    snprintf(route, ROUTE_BYTES, "/v1/switches/%" PRIu32 "/tables/%.100s", seat->status.id, table);
}

/* Rows of another one's in a table of ours are ours to take away: a table is put as a whole. */
static int compare(struct pd_p4_provider *p4, const struct pd_p4_seat *seat, const char *table,
                   const json_t *rows, struct pd_switch_status *status, bool *ret_same,
                   struct pd_error *error)
{
    char route[ROUTE_BYTES];
    json_t *answer = NULL;

    name_route(seat, table, route);
    int err = pd_switch_p4_ask_json(p4, seat->control - 1, route, NULL, &answer, error);
    if (!err) {
        const json_t *found = json_object_get(answer, "rows");
        uint32_t missing = pd_switch_p4_missing(rows, found);
        uint32_t surplus = pd_switch_p4_missing(found, rows);

        status->rules += (uint32_t)json_array_size(rows);
        status->missing += missing;
        status->surplus += surplus;
        *ret_same = !missing && !surplus;
    }
    json_decref(answer);
    return err;
}

static int put(struct pd_p4_provider *p4, const struct pd_p4_seat *seat, const char *table,
               json_t *rows, struct pd_error *error)
{
    char route[ROUTE_BYTES];
    json_t *body = json_pack("{s:O}", "rows", rows), *answer = NULL;

    name_route(seat, table, route);
    int err = pd_switch_p4_ask_json(p4, seat->control - 1, route, body, &answer, error);
    json_decref(body);
    json_decref(answer);
    return err;
}

/* All tables; those that differ are put where `repairs`. */
static int look(struct pd_p4_provider *p4, const struct pd_p4_seat *seat, json_t *tables,
                bool repairs, struct pd_switch_status *status, struct pd_error *error)
{
    const char *table;
    json_t *rows;
    int err = 0;

    status->rules = status->missing = status->differing = status->surplus = 0;
    json_object_foreach(tables, table, rows)
    {
        bool is_same = false;

        err = err ? err : compare(p4, seat, table, rows, status, &is_same, error);
        if (!err && !is_same && repairs) {
            err = put(p4, seat, table, rows, error);
        }
    }
    return err;
}

int pd_switch_p4_check(struct pd_p4_provider *p4, uint32_t index, struct pd_switch_status *status,
                       struct pd_error *error)
{
    const struct pd_topology *topology = p4->config.topology;
    const struct pd_p4_seat *seat = &p4->seats[index];
    json_t *tables = NULL;
    int err = pd_switch_p4_wanted(topology, index, seat->program, p4->config.depth, &tables, error);

    err = err ? err : look(p4, seat, tables, true, status, error);
    if (!err && (status->missing || status->surplus)) {
        err = look(p4, seat, tables, false, status, error);
    }
    json_decref(tables);
    if (!err) {
        const struct pd_of_differences now = {.rules = status->rules,
                                              .edge_open = status->missing || status->surplus};
        status->edge = pd_switch_edge_of(topology, index, &now);
    }
    return err;
}
