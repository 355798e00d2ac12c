/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of the member "hosts". */
#include "controller/select.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/nearest.h"

static const char all[] = "all", rack_prefix[] = "rack:";

/* What was chosen so far: a mark for each host of the inventory, so that twice is once. */
struct choice {
    const struct pd_inventory *inventory;
    bool *chosen;
    size_t len;
    struct pd_error *error;
};

static void choose(struct choice *choice, size_t i)
{
    choice->len += !choice->chosen[i];
    choice->chosen[i] = true;
}

/* ---- racks ---- */

static int read_number(const char *text, uint32_t *ret_number)
{
    uint64_t number = 0;
    size_t len = strspn(text, "0123456789");

    if (!len || len > 10 || text[len]) {
        return -PD_E_VALUE;
    }
    for (size_t i = 0; i < len; i++) {
        number = number * 10 + (uint64_t)(text[i] - '0');
    }
    if (number > UINT32_MAX) {
        return -PD_E_VALUE;
    }
    *ret_number = (uint32_t)number;
    return 0;
}

/* Names first: a switch may be called "7". */
static uint32_t find_switch(const struct pd_topology *topology, const char *text)
{
    uint32_t id;

    for (uint32_t i = 0; i < topology->switches_len; i++) {
        const char *name = topology->switches[i].name;

        if (name && !strcmp(name, text)) {
            return i;
        }
    }
    return read_number(text, &id) ? PD_NONE : pd_topology_switch(topology, id);
}

static int choose_rack(struct choice *choice, const char *place, const char *text)
{
    const struct pd_topology *topology = choice->inventory->topology;
    uint32_t rack = find_switch(topology, text);
    bool found = false;

    if (rack == PD_NONE) {
        return pd_fail(choice->error, -PD_E_VALUE,
                       "%s: rack:%.80s: no switch of the topology has this ID or name", place,
                       text);
    }
    if (!pd_topology_role_is_tor(topology->switches[rack].role)) {
        return pd_fail(choice->error, -PD_E_VALUE, "%s: rack:%.80s: this switch has no rack", place,
                       text);
    }
    for (size_t i = 0; i < choice->inventory->hosts_len; i++) {
        if (pd_host_hangs_at(&topology->hosts[choice->inventory->hosts[i].index], rack)) {
            choose(choice, i);
            found = true;
        }
    }
    return found ? 0
                 : pd_fail(choice->error, -PD_E_VALUE,
                           "%s: rack:%.80s: no host of the inventory is in this rack", place, text);
}

/* ---- items ---- */

static int no_host(const struct choice *choice, const char *place, const char *how,
                   const char *text, const char *shown)
{
    size_t i = pd_controller_nearest_host(choice->inventory, text);
    char nearest[PD_INVENTORY_NAME_BYTES + 48] = "";

    if (i != SIZE_MAX) {
        const struct pd_inventory_host *host = &choice->inventory->hosts[i];

        snprintf(nearest, sizeof nearest, "; the nearest is %s (%u)",
                 host->name ? host->name : "host", host->id);
    }
    return pd_fail(choice->error, -PD_E_VALUE, "%s: no host of the inventory %s %.80s%s", place,
                   how, shown, nearest);
}

static int choose_text(struct choice *choice, const char *place, const char *text)
{
    size_t i;

    if (!strcmp(text, all)) {
        for (i = 0; i < choice->inventory->hosts_len; i++) {
            choose(choice, i);
        }
        return 0;
    }
    if (!strncmp(text, rack_prefix, strlen(rack_prefix))) {
        return choose_rack(choice, place, text + strlen(rack_prefix));
    }
    i = pd_controller_inventory_find_name(choice->inventory, text);
    if (i == SIZE_MAX) {
        char quoted[90];

        snprintf(quoted, sizeof quoted, "\"%.80s\"", text);
        return no_host(choice, place, "is called", text, quoted);
    }
    choose(choice, i);
    return 0;
}

static int choose_id(struct choice *choice, const char *place, json_int_t id)
{
    size_t i = id < 0 || id > UINT32_MAX
                   ? SIZE_MAX
                   : pd_controller_inventory_find(choice->inventory, (uint32_t)id);

    if (i == SIZE_MAX) {
        char text[32];

        snprintf(text, sizeof text, "%lld", (long long)id);
        return no_host(choice, place, "has the ID", text, text);
    }
    choose(choice, i);
    return 0;
}

static int choose_item(struct choice *choice, const char *place, const json_t *item)
{
    if (json_is_integer(item)) {
        return choose_id(choice, place, json_integer_value(item));
    }
    if (json_is_string(item)) {
        return choose_text(choice, place, json_string_value(item));
    }
    return pd_fail(choice->error, -PD_E_VALUE,
                   "%s: expects \"all\", \"rack:SWITCH\", a name, an ID, or a list of these",
                   place);
}

static int choose_all_of(struct choice *choice, const json_t *hosts)
{
    char place[40];
    int err = 0;

    if (!json_is_array(hosts)) {
        return choose_item(choice, "hosts", hosts);
    }
    if (json_array_size(hosts) > PD_SELECTION_ITEMS_MAX) {
        return pd_fail(choice->error, -PD_E_VALUE, "hosts: more than %d items",
                       PD_SELECTION_ITEMS_MAX);
    }
    for (size_t i = 0; i < json_array_size(hosts) && !err; i++) {
        snprintf(place, sizeof place, "hosts[%zu]", i);
        err = choose_item(choice, place, json_array_get(hosts, i));
    }
    return err;
}

static int gather(const struct choice *choice, struct pd_selection *ret_selection)
{
    uint32_t *hosts = calloc(choice->len + 1, sizeof *hosts);
    size_t len = 0;

    if (!hosts) {
        return pd_fail(choice->error, -ENOMEM, "%s", strerror(ENOMEM));
    }
    for (size_t i = 0; i < choice->inventory->hosts_len; i++) {
        if (choice->chosen[i]) {
            hosts[len++] = (uint32_t)i;
        }
    }
    *ret_selection = (struct pd_selection){hosts, len};
    return 0;
}

int pd_controller_select(const struct pd_inventory *inventory, const json_t *hosts,
                         struct pd_selection *ret_selection, struct pd_error *error)
{
    struct choice choice = {.inventory = inventory, .error = error};
    int err;

    if (!hosts) {
        return pd_fail(error, -PD_E_VALUE,
                       "hosts: missing; expects \"all\", \"rack:SWITCH\" or a list of IDs");
    }
    choice.chosen = calloc(inventory->hosts_len + 1, sizeof *choice.chosen);
    if (!choice.chosen) {
        return pd_fail(error, -ENOMEM, "%s", strerror(ENOMEM));
    }
    err = choose_all_of(&choice, hosts);
    if (!err && !choice.len) {
        err = pd_fail(error, -PD_E_VALUE, "hosts: this means no host at all");
    }
    if (!err) {
        err = gather(&choice, ret_selection);
    }
    free(choice.chosen);
    return err;
}

void pd_controller_selection_done(struct pd_selection *selection)
{
    free(selection->hosts);
    *selection = (struct pd_selection){0};
}
