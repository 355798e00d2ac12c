/* SPDX-License-Identifier: Apache-2.0 */
/* Links of a choice and what they carried. */
#include "apps/load_imbalance/loads.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "apps/sums.h"
#include "base/grow.h"

/* ---- which links ---- */

static int out_of_memory(struct pd_error *error)
{
    return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
}

static int add_link(struct loads *loads, uint32_t from, uint32_t to, uint32_t group,
                    struct pd_error *error)
{
    if (PD_GROW(loads->links, loads->links_room, loads->links_len + 1)) {
        return out_of_memory(error);
    }
    loads->links[loads->links_len++] =
        (struct load_link){.link = {from, to}, .group = group, .measured = -1};
    return 0;
}

/* Racks below, then what joins them, then what joins pods. */
static unsigned level_of(const struct pd_switch *at)
{
    switch (at->role) {
    case PD_ROLE_TOR:
    case PD_ROLE_LEAF: return 0;
    case PD_ROLE_AGG: return 1;
    default: return 2;
    }
}

static int add_uplinks(struct loads *loads, const struct pd_topology *topology, uint32_t index,
                       struct pd_error *error)
{
    const struct pd_switch *at = &topology->switches[index];
    size_t before = loads->links_len;
    int err = 0;

    for (uint32_t i = 0; i < at->switch_neighbours && !err; i++) {
        const struct pd_switch *next = &topology->switches[at->neighbours[i].node];

        if (level_of(next) > level_of(at)) {
            err = add_link(loads, at->id, next->id, loads->groups_len, error);
        }
    }
    if (!err && loads->links_len - before < 2) {
        loads->links_len = before; /* nothing to choose from */
    } else if (!err) {
        loads->groups_len++;
    }
    return err;
}

static int add_listed(struct loads *loads, const struct pd_topology *topology, const char *text,
                      struct pd_error *error)
{
    char copy[PD_APP_TEXT_MAX + 1], *state = NULL;
    int err = 0;

    if (strlen(text) >= sizeof copy) {
        return pd_fail(error, -PD_E_VALUE, "links: too long");
    }
    strcpy(copy, text); /* NOLINT: the length was looked at */
    for (char *word = strtok_r(copy, ",", &state); word && !err;
         word = strtok_r(NULL, ",", &state)) {
        struct pd_link_match link;

        if (pd_link_parse(word, &link) || !pd_app_link_exists(topology, link)) {
            return pd_fail(error, -PD_E_VALUE,
                           "links: expects links between switches of the topology, 9-17,9-18");
        }
        err = add_link(loads, link.from, link.to, 0, error);
    }
    loads->groups_len = 1;
    return err;
}

static int by_link(const void *a, const void *b)
{
    const struct load_link *x = a, *y = b;

    if (x->link.from != y->link.from) {
        return x->link.from > y->link.from ? 1 : -1;
    }
    return (x->link.to > y->link.to) - (x->link.to < y->link.to);
}

static int check_links(struct loads *loads, struct pd_error *error)
{
    if (loads->links_len < 2) {
        return pd_fail(error, -PD_E_VALUE,
                       "links: expects two links or more, or a switch with two uplinks or more");
    }
    qsort(loads->links, loads->links_len, sizeof *loads->links, by_link);
    for (size_t i = 1; i < loads->links_len; i++) {
        if (!by_link(&loads->links[i - 1], &loads->links[i])) {
            return pd_fail(error, -PD_E_VALUE, "links: one is given twice");
        }
    }
    return 0;
}

int pd_load_imbalance_loads_choose(struct loads *loads, const struct pd_app_call *call,
                                   struct pd_error *error)
{
    const struct pd_topology *topology = call->world->topology;
    const char *links = pd_app_arg_text(call->args, "links");
    uint64_t id = pd_app_arg_u64(call->args, "switch", 0);
    uint32_t at = id && id <= UINT32_MAX ? pd_topology_switch(topology, (uint32_t)id) : PD_NONE;
    int err = 0;

    if (links) {
        err = add_listed(loads, topology, links, error);
    } else if (id && at == PD_NONE) {
        err = pd_fail(error, -PD_E_VALUE, "switch: expects a switch of the topology");
    } else if (id) {
        err = add_uplinks(loads, topology, at, error);
    }
    for (uint32_t i = 0; !links && !id && !err && i < topology->switches_len; i++) {
        err = add_uplinks(loads, topology, i, error);
    }
    return err ? err : check_links(loads, error);
}

uint32_t pd_load_imbalance_loads_switch(const struct loads *loads)
{
    uint32_t from = loads->links[0].link.from;

    return loads->links[loads->links_len - 1].link.from == from ? from : 0;
}

/* ---- what they carried ---- */

static struct load_link *find(const struct loads *loads, uint32_t from, uint32_t to)
{
    const struct load_link key = {.link = {from, to}};

    return bsearch(&key, loads->links, loads->links_len, sizeof key, by_link);
}

static void spread(struct loads *loads, size_t link, const struct pd_app_row *row,
                   const struct pd_app_window *window)
{
    uint64_t step = (uint64_t)(loads->interval_s * 1e6);

    for (size_t i = 0; i < loads->intervals_len; i++) {
        uint64_t begin = window->from_us + i * step, end = begin + step - 1;
        struct pd_app_window part = {begin, end < window->to_us ? end : window->to_us};

        if (part.from_us > row->etime_us) {
            break;
        }
        if (part.to_us >= row->stime_us) {
            loads->cells[link * loads->intervals_len + i] +=
                (double)row->bytes * pd_app_window_share(&part, row->stime_us, row->etime_us);
        }
    }
}

static int add_flow(struct loads *loads, uint32_t link, uint64_t bytes)
{
    if (PD_GROW(loads->flows, loads->flows_room, loads->flows_len + 1)) {
        return -ENOMEM;
    }
    loads->flows[loads->flows_len++] = (struct load_flow){link, bytes};
    return 0;
}

static int count_row(struct loads *loads, const struct pd_app_row *row,
                     const struct pd_app_window *window)
{
    int err = 0;

    for (unsigned hop = 0; hop + 1 < row->path.len && !err; hop++) {
        struct load_link *link = find(loads, row->path.switches[hop], row->path.switches[hop + 1]);

        if (!link) {
            continue;
        }
        link->bytes += row->bytes;
        link->pkts += row->pkts;
        link->flows++;
        link->squares += (double)row->bytes * (double)row->bytes;
        spread(loads, (size_t)(link - loads->links), row, window);
        err = add_flow(loads, (uint32_t)(link - loads->links), row->bytes);
    }
    return err;
}

/* Groups are numbered in the order of their links: by link is by group. */
struct order {
    uint32_t group;
    struct load_flow flow;
};

static int by_group(const void *a, const void *b)
{
    const struct order *x = a, *y = b;

    if (x->group != y->group) {
        return x->group > y->group ? 1 : -1;
    }
    if (x->flow.bytes != y->flow.bytes) {
        return x->flow.bytes < y->flow.bytes ? 1 : -1;
    }
    return (x->flow.link > y->flow.link) - (x->flow.link < y->flow.link);
}

static int sort_flows(struct loads *loads)
{
    struct order *order = calloc(loads->flows_len ? loads->flows_len : 1, sizeof *order);

    if (!order) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < loads->flows_len; i++) {
        order[i] = (struct order){loads->links[loads->flows[i].link].group, loads->flows[i]};
    }
    qsort(order, loads->flows_len, sizeof *order, by_group);
    for (size_t i = 0; i < loads->flows_len; i++) {
        loads->flows[i] = order[i].flow;
    }
    free(order);
    return 0;
}

int pd_load_imbalance_loads_count(struct loads *loads, const struct pd_app_flows *flows,
                                  const struct pd_app_window *window, double interval_s,
                                  struct pd_error *error)
{
    double intervals = ceil(pd_app_window_s(window) / interval_s);
    int err = 0;

    if (interval_s < 0.001 || intervals > LOADS_INTERVALS_MAX ||
        intervals * (double)loads->links_len > (double)LOADS_CELLS_MAX) {
        return pd_fail(error, -PD_E_VALUE,
                       "interval: expects a longer one: at most %d intervals in the window",
                       LOADS_INTERVALS_MAX);
    }
    loads->interval_s = interval_s;
    loads->intervals_len = (size_t)intervals;
    loads->cells = calloc(loads->links_len * loads->intervals_len, sizeof *loads->cells);
    if (!loads->cells) {
        return out_of_memory(error);
    }
    for (size_t i = 0; i < flows->len && !err; i++) {
        err = count_row(loads, &flows->rows[i], window);
    }
    err = err ? err : sort_flows(loads);
    return err ? out_of_memory(error) : 0;
}

size_t pd_load_imbalance_loads_measure(struct loads *loads, const struct pd_app_measured *measured)
{
    size_t len = 0;

    for (size_t i = 0; i < loads->links_len; i++) {
        loads->links[i].measured = pd_app_measured_used(measured, loads->links[i].link);
        len += loads->links[i].measured >= 0;
    }
    return len;
}

bool pd_load_imbalance_loads_measured(const struct loads *loads, uint32_t group)
{
    size_t begin, end;
    double sum = 0;

    pd_load_imbalance_loads_group(loads, group, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        if (loads->links[i].measured < 0) {
            return false;
        }
        sum += loads->links[i].measured;
    }
    return sum > 0;
}

void pd_load_imbalance_loads_done(struct loads *loads)
{
    free(loads->links);
    free(loads->cells);
    free(loads->flows);
    *loads = (struct loads){0};
}

void pd_load_imbalance_loads_group(const struct loads *loads, uint32_t group, size_t *ret_begin,
                                   size_t *ret_end)
{
    size_t at = 0;

    while (at < loads->links_len && loads->links[at].group != group) {
        at++;
    }
    *ret_begin = at;
    while (at < loads->links_len && loads->links[at].group == group) {
        at++;
    }
    *ret_end = at;
}

void pd_load_imbalance_loads_group_flows(const struct loads *loads, uint32_t group,
                                         size_t *ret_begin, size_t *ret_end)
{
    size_t at = 0;

    while (at < loads->flows_len && loads->links[loads->flows[at].link].group != group) {
        at++;
    }
    *ret_begin = at;
    while (at < loads->flows_len && loads->links[loads->flows[at].link].group == group) {
        at++;
    }
    *ret_end = at;
}
