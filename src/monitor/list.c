/* SPDX-License-Identifier: Apache-2.0 */
/* Which connections do poorly: those of the table, read again where they are still open. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "monitor/state.h"

#define REFRESH_MAX 1024 /* connections read one by one; of more, all sockets are read */

struct pick {
    struct pd_monitor *monitor;
    const struct pd_monitor_request *request;
    struct pd_monitor_list *list;
    struct pd_edge edge;
    uint64_t from_ns;
    size_t room;
    bool failed; /* no memory */
};

static struct pd_monitor_flow *add(struct pick *pick)
{
    struct pd_monitor_list *list = pick->list;

    if (list->len == PD_MONITOR_LISTED_MAX) {
        list->complete = false;
        return NULL;
    }
    if (PD_GROW(list->flows, pick->room, list->len + 1)) {
        pick->failed = true;
        return NULL;
    }
    return &list->flows[list->len++];
}

static bool is_wanted(const struct pick *pick, const struct pd_flow_entry *entry, uint32_t recent)
{
    const uint32_t threshold = pick->request->threshold;
    const uint64_t from_ns = pick->from_ns;

    if (!threshold) {
        return entry->last_ns >= from_ns;
    }
    if (pick->request->from_us && entry->retransmission_ns < from_ns) {
        return false;
    }
    return entry->consecutive >= threshold ||
           (pd_monitor_flow_entry_is_half_open(entry) &&
            entry->last.retransmissions >= threshold) ||
           (pick->request->from_us && recent >= threshold);
}

static void list_entries(struct pick *pick)
{
    struct pd_flow_entry *entry;
    uint32_t at = 0;

    while ((entry = pd_monitor_flow_table_next(pick->monitor->table, &at))) {
        uint32_t recent = pd_monitor_flow_entry_recent(entry, pick->from_ns);
        struct pd_monitor_flow *flow;

        if (is_wanted(pick, entry, recent) && (flow = add(pick))) {
            *flow = pd_monitor_flow_of(entry, &pick->edge, recent);
        }
    }
}

/* Of a connection that the table does not keep since it never retransmitted. */
static void take_listed(void *context, const struct pd_monitor_reading *reading)
{
    struct pick *pick = context;
    struct pd_monitor_flow *flow;

    pd_monitor_take(pick->monitor, reading);
    if (pd_monitor_flow_table_find(pick->monitor->table, &reading->flow, reading->cookie) ||
        !(flow = add(pick))) {
        return;
    }
    memset(flow, 0, sizeof *flow);
    pd_monitor_put_figures(reading, flow);
    flow->first_us = flow->last_us = pd_monitor_edge_wall_us(&pick->edge, reading->time_ns);
}

static bool is_read_again(const struct pick *pick, const struct pd_flow_entry *entry)
{
    return !entry->last.closed &&
           is_wanted(pick, entry, pd_monitor_flow_entry_recent(entry, pick->from_ns));
}

/* One that is gone has closed; the source may tell so a moment later. */
static int read_again(struct pd_monitor *monitor, struct pd_flow_entry *entry)
{
    struct pd_monitor_reading reading;
    int err = pd_inet_diag_get(monitor->diag, &entry->last.flow, entry->last.cookie, &reading);

    if (!err && reading.cookie == entry->last.cookie) {
        pd_monitor_take(monitor, &reading);
    } else if (!err || err == -ENOENT) {
        pd_monitor_flow_table_close(monitor->table, entry, pd_clock_monotonic_ns());
    }
    return err == -ENOENT ? 0 : err;
}

/* Nobody tells of acknowledgements: what seems poor is looked at once more. Returns 0 or the first
 * error. */
static int refresh(struct pick *pick)
{
    struct pd_monitor *monitor = pick->monitor;
    struct pd_diag_counters before = pd_inet_diag_counters(monitor->diag);
    struct pd_flow_entry *entry;
    uint32_t at = 0, many = 0;
    int err = 0;

    while ((entry = pd_monitor_flow_table_next(monitor->table, &at))) {
        many += is_read_again(pick, entry);
    }
    if (many > REFRESH_MAX) {
        return pd_monitor_dump(monitor, pd_monitor_take, monitor);
    }
    for (at = 0; !err && (entry = pd_monitor_flow_table_next(monitor->table, &at));) {
        err = is_read_again(pick, entry) ? read_again(monitor, entry) : 0;
    }
    pd_monitor_note_diag(monitor, before);
    return err;
}

/* First what the source has not said yet, then what the sockets say now. */
static void list_locked(struct pick *pick)
{
    struct pd_monitor *monitor = pick->monitor;
    int err;

    pd_monitor_work(monitor);
    err = pick->request->threshold ? refresh(pick) : pd_monitor_dump(monitor, take_listed, pick);
    if (err) {
        pick->list->complete = false;
    }
    list_entries(pick);
}

int pd_monitor_list(struct pd_monitor *monitor, const struct pd_monitor_request *request,
                    struct pd_monitor_list *ret_list)
{
    struct pd_monitor_list list = {.complete = monitor->ops != NULL};
    struct pick pick = {
        .monitor = monitor, .request = request, .list = &list, .edge = pd_monitor_edge_now()};

    pick.from_ns = pd_monitor_edge_monotonic_ns(&pick.edge, request->from_us);
    pthread_mutex_lock(&monitor->lock);
    if (monitor->ops) {
        list_locked(&pick);
    }
    pd_monitor_stat_locked(monitor, &list.stat);
    pthread_mutex_unlock(&monitor->lock);
    if (pick.failed) {
        pd_monitor_list_done(&list);
        return -ENOMEM;
    }
    *ret_list = list;
    return 0;
}

void pd_monitor_list_done(struct pd_monitor_list *list)
{
    free(list->flows);
    *list = (struct pd_monitor_list){.flows = NULL};
}
