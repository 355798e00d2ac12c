/* SPDX-License-Identifier: Apache-2.0 */
/* One installed query: made, held, freed; events that wait for it. */
#include <errno.h>
#include <stdlib.h>

#include "agent/counters.h"
#include "agent/installed/list.h"

struct pd_installed_query *pd_installed_hold(struct pd_installed_query *query)
{
    atomic_fetch_add_explicit(&query->held, 1, memory_order_relaxed);
    return query;
}

/* Acquire-release: the last one to let go frees what the others worked on. */
void pd_installed_let_go(struct pd_installed_query *query)
{
    if (!query || atomic_fetch_sub_explicit(&query->held, 1, memory_order_acq_rel) > 1) {
        return;
    }
    for (unsigned i = 0; i < atomic_load_explicit(&query->pending_len, memory_order_relaxed); i++) {
        json_decref(query->pending[(query->pending_first + i) % PD_INSTALLED_PENDING_MAX].alarm);
    }
    pd_fleet_installation_done(&query->what);
    pd_installed_raised_free(query->raised);
    free(query->pending);
    free(query->token);
    free(query->answer);
    free(query);
}

void pd_installed_pend(struct pd_installed *installed, struct pd_installed_query *query,
                       const struct pd_installed_event *event)
{
    unsigned len = atomic_load_explicit(&query->pending_len, memory_order_relaxed);

    if (len == PD_INSTALLED_PENDING_MAX) {
        pd_count(&query->counters.skipped, 1);
        json_decref(event->alarm);
        return;
    }
    query->pending[(query->pending_first + len) % PD_INSTALLED_PENDING_MAX] = *event;
    atomic_store_explicit(&query->pending_len, len + 1, memory_order_relaxed);
    pthread_cond_broadcast(&installed->ready);
}

int pd_installed_copy_members(json_t *object, const struct pd_installed_query *query)
{
    json_t *copy = json_deep_copy(query->what.json);
    int err = copy ? json_object_update(object, copy) : -1;

    json_decref(copy);
    return err;
}

/* What it needs at work. */
static int equip(struct pd_installed_query *query)
{
    const struct pd_query *records = pd_query_document_query(&query->what.document);
    bool conformance = records && records->name == PD_QUERY_CONFORMANCE;
    bool on_records = !query->what.period_ms && query->what.on != PD_TRIGGER_ALARM;

    query->watched = conformance && on_records;
    if (conformance && pd_installed_raised_new(&query->raised)) {
        return -ENOMEM;
    }
    if (!query->what.period_ms && !query->watched) {
        query->pending = calloc(PD_INSTALLED_PENDING_MAX, sizeof *query->pending);
        if (!query->pending) {
            return -ENOMEM;
        }
    }
    return 0;
}

int pd_installed_parse(const json_t *body, struct pd_installed_query **ret_query,
                       struct pd_error *error)
{
    struct pd_installed_query *query = calloc(1, sizeof *query);
    int err;

    if (!query) {
        return pd_fail(error, -ENOMEM, "no memory for one more query");
    }
    atomic_init(&query->held, 1);
    err = pd_fleet_installation_parse(body, &query->what, error);
    if (!err && equip(query)) {
        err = pd_fail(error, -ENOMEM, "no memory for one more query");
    }
    if (err) {
        pd_installed_let_go(query);
        return err;
    }
    query->id = query->what.id;
    *ret_query = query;
    return 0;
}
