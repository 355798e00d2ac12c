/* SPDX-License-Identifier: Apache-2.0 */
/* Loads of links, from the flows over them. */
#include "apps/congested_link/use.h"

#include <errno.h>
#include <stdlib.h>

static int by_link(const void *a, const void *b)
{
    const struct use *x = a, *y = b;

    if (x->link.from != y->link.from) {
        return x->link.from > y->link.from ? 1 : -1;
    }
    return (x->link.to > y->link.to) - (x->link.to < y->link.to);
}

static int largest_first(const void *a, const void *b)
{
    const struct use_flow *x = a, *y = b;

    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? 1 : -1;
    }
    return (x->row > y->row) - (x->row < y->row);
}

static size_t hops_of(const struct pd_app_flows *flows)
{
    size_t hops = 0;

    for (size_t i = 0; i < flows->len; i++) {
        hops += flows->rows[i].path.len;
    }
    return hops;
}

/* Uses of one link become one. */
static void merge(struct uses *uses)
{
    size_t at = 0;

    if (!uses->len) {
        return;
    }
    qsort(uses->list, uses->len, sizeof *uses->list, by_link);
    for (size_t i = 1; i < uses->len; i++) {
        if (by_link(&uses->list[at], &uses->list[i])) {
            uses->list[++at] = uses->list[i];
            continue;
        }
        uses->list[at].bytes += uses->list[i].bytes;
        uses->list[at].flows += uses->list[i].flows;
    }
    uses->len = at + 1;
}

/* Each link, in each direction: what is empty has room, too. */
static size_t links_of(const struct pd_topology *topology)
{
    size_t links = 0;

    for (uint32_t i = 0; i < topology->switches_len; i++) {
        links += topology->switches[i].switch_neighbours;
    }
    return links;
}

static void add_links(struct uses *uses, const struct pd_topology *topology)
{
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        const struct pd_switch *at = &topology->switches[i];

        for (uint32_t n = 0; n < at->switch_neighbours; n++) {
            uses->list[uses->len++] =
                (struct use){{at->id, topology->switches[at->neighbours[n].node].id}, 0, 0, -1};
        }
    }
}

int pd_congested_link_uses_count(struct uses *uses, const struct pd_topology *topology,
                                 const struct pd_app_flows *flows,
                                 const struct pd_app_window *window, uint64_t link_mbps)
{
    uses->capacity_bytes = (double)link_mbps * 1e6 / 8 * pd_app_window_s(window);
    uses->list = calloc(links_of(topology) + hops_of(flows) + 1, sizeof *uses->list);
    uses->flows = calloc(flows->len + 1, sizeof *uses->flows);
    if (!uses->list || !uses->flows) {
        return -ENOMEM;
    }
    add_links(uses, topology);
    for (size_t i = 0; i < flows->len; i++) {
        const struct pd_app_row *row = &flows->rows[i];
        double bytes =
            (double)row->bytes * pd_app_window_share(window, row->stime_us, row->etime_us);

        uses->flows[uses->flows_len++] = (struct use_flow){row, bytes, false};
        for (unsigned hop = 0; hop + 1 < row->path.len; hop++) {
            uses->list[uses->len++] =
                (struct use){{row->path.switches[hop], row->path.switches[hop + 1]}, bytes, 1, -1};
        }
    }
    merge(uses);
    if (uses->flows_len) {
        qsort(uses->flows, uses->flows_len, sizeof *uses->flows, largest_first);
    }
    return 0;
}

size_t pd_congested_link_uses_measure(struct uses *uses, const struct pd_app_measured *measured)
{
    size_t len = 0;

    for (size_t i = 0; i < uses->len; i++) {
        struct use *use = &uses->list[i];
        double bytes;

        use->measured = pd_app_measured_used(measured, use->link);
        bytes = use->measured * uses->capacity_bytes;
        use->bytes = bytes > use->bytes ? bytes : use->bytes;
        len += use->measured >= 0;
    }
    return len;
}

struct use *pd_congested_link_uses_find(const struct uses *uses, struct pd_link_match link)
{
    const struct use key = {.link = link};

    return uses->len ? bsearch(&key, uses->list, uses->len, sizeof key, by_link) : NULL;
}

void pd_congested_link_uses_done(struct uses *uses)
{
    free(uses->list);
    free(uses->flows);
    *uses = (struct uses){0};
}
