/* SPDX-License-Identifier: Apache-2.0 */
/* Links, paths and hosts that are not there. */
#include "controller/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

/* ---- links ---- */

/* Those from one switch and those to another one; PD_NONE, PD_NONE: all. */
static void offer_links(struct pd_nearest *nearest, const struct pd_topology *topology,
                        uint32_t from, uint32_t to)
{
    bool all = from == PD_NONE && to == PD_NONE;
    char text[32];

    for (uint32_t i = 0; i < topology->switches_len; i++) {
        for (uint32_t k = 0; k < topology->switches_len; k++) {
            if ((all || i == from || k == to) && pd_topology_link(topology, i, k)) {
                snprintf(text, sizeof text, "%u-%u", topology->switches[i].id,
                         topology->switches[k].id);
                pd_nearest_offer(nearest, text);
            }
        }
    }
}

/* The ends are indexes; PD_NONE: no switch, or any. */
static int no_link(const struct pd_topology *topology, const char *member, const char *text,
                   uint32_t from, uint32_t to, struct pd_error *error)
{
    struct pd_nearest nearest = {.text = text};

    offer_links(&nearest, topology, from, to);
    if (!*nearest.found) {
        offer_links(&nearest, topology, PD_NONE, PD_NONE);
    }
    return pd_fail(error, -PD_E_VALUE, "%s: the topology has no link %.40s%s%s", member, text,
                   *nearest.found ? "; the nearest is " : "", nearest.found);
}

/* One end: a switch's ID; "*" or 0 is any. False: there is no such switch. */
static bool read_end(const struct pd_topology *topology, const char *text, uint32_t *ret_index)
{
    uint32_t id = (uint32_t)strtoul(text, NULL, 10);

    *ret_index = *text == '*' || !id ? PD_NONE : pd_topology_switch(topology, id);
    return *text == '*' || !id || *ret_index != PD_NONE;
}

static int check_link(const struct pd_topology *topology, const char *text, struct pd_error *error)
{
    const char *dash = strchr(text, '-');
    uint32_t from, to;

    if (!dash) {
        return 0; /* the question's own to refuse */
    }
    bool known = read_end(topology, text, &from);

    known = read_end(topology, dash + 1, &to) && known;
    if (!known || (from != PD_NONE && to != PD_NONE && !pd_topology_link(topology, from, to))) {
        return no_link(topology, "args.link", text, from, to, error);
    }
    return 0;
}

/* ---- paths ---- */

static int check_step(const struct pd_topology *topology, uint64_t from, uint64_t to,
                      struct pd_error *error)
{
    uint32_t a = pd_topology_switch(topology, (uint32_t)from);
    uint32_t b = pd_topology_switch(topology, (uint32_t)to);
    char text[48];

    if (a != PD_NONE && b != PD_NONE && pd_topology_link(topology, a, b)) {
        return 0;
    }
    snprintf(text, sizeof text, "%llu-%llu", (unsigned long long)from, (unsigned long long)to);
    return no_link(topology, "args.path", text, a, b, error);
}

/* "1,9,17" or [1,9,17], or numbers as texts. */
static int check_path(const struct pd_topology *topology, const json_t *path,
                      struct pd_error *error)
{
    const char *text = json_string_value(path);
    uint64_t before = 0;
    int err = 0;

    for (size_t i = 0; !text && i < json_array_size(path) && !err; i++) {
        const json_t *item = json_array_get(path, i);
        const char *word = json_string_value(item);
        uint64_t id = word ? strtoull(word, NULL, 10) : (uint64_t)json_integer_value(item);

        err = i ? check_step(topology, before, id, error) : 0;
        before = id;
    }
    while (text && *text && !err) {
        uint64_t id = strtoull(text, NULL, 10);

        err = before ? check_step(topology, before, id, error) : 0;
        before = id;
        text += strcspn(text, ",");
        text += *text == ',';
    }
    return err;
}

int pd_controller_check_args(const struct pd_topology *topology, const json_t *args,
                             struct pd_error *error)
{
    const char *link = json_string_value(json_object_get(args, "link"));
    int err = link ? check_link(topology, link, error) : 0;

    return err ? err : check_path(topology, json_object_get(args, "path"), error);
}

/* ---- hosts ---- */

size_t pd_controller_nearest_host(const struct pd_inventory *inventory, const char *text)
{
    struct pd_nearest nearest = {.text = text};
    size_t found = SIZE_MAX;
    char id[16];

    for (size_t i = 0; i < inventory->hosts_len; i++) {
        snprintf(id, sizeof id, "%u", inventory->hosts[i].id);
        if (pd_nearest_offer(&nearest, id)) {
            found = i;
        }
        if (inventory->hosts[i].name && pd_nearest_offer(&nearest, inventory->hosts[i].name)) {
            found = i;
        }
    }
    return found;
}
