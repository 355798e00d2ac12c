/* SPDX-License-Identifier: Apache-2.0 */
/* getTraces of all senders, joined with the tags that receivers saw. */
#include "apps/drop_causes/sufferers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/flow_args.h"
#include "apps/rows.h"
#include "apps/traces.h"
#include "base/grow.h"

struct work {
    const struct pd_app_call *call;
    const struct pd_sufferers_ask *ask;
    struct pd_sufferers *all;
    struct pd_report *report;
    bool failed; /* no memory */
};

static int compare(const void *a, const void *b)
{
    return memcmp(&((const struct pd_sufferer *)a)->flow, &((const struct pd_sufferer *)b)->flow,
                  sizeof(struct pd_flow_id));
}

static struct pd_sufferer *find(const struct pd_sufferers *all, const struct pd_flow_id *flow)
{
    const struct pd_sufferer key = {.flow = *flow};

    return all->len ? bsearch(&key, all->flows, all->len, sizeof key, compare) : NULL;
}

static bool is_wanted(const struct pd_sufferers_ask *ask, const struct pd_flow_id *flow)
{
    struct pd_prefix ends[2] = {{flow->src, flow->ip_version, 0}, {flow->dst, flow->ip_version, 0}};

    ends[0].bits = ends[1].bits = flow->ip_version == 4 ? 32 : 128;
    return (!ask->dst_port || flow->dst_port == ask->dst_port) &&
           (!ask->prefix || pd_prefix_within(ask->prefix, &ends[0]) ||
            pd_prefix_within(ask->prefix, &ends[1]));
}

/* ---- traces ---- */

static struct pd_sufferer sufferer_of(const struct pd_app_trace *trace)
{
    return (struct pd_sufferer){.flow = trace->flow,
                                .wire = trace->wire,
                                .host = trace->host,
                                .retransmissions = trace->retransmissions,
                                .reached = trace->reached,
                                .path = trace->path};
}

static void add(struct work *work, const struct pd_sufferer *sufferer)
{
    struct pd_sufferers *all = work->all;

    if (PD_GROW(all->flows, all->room, all->len + 1)) {
        work->failed = true;
        return;
    }
    all->flows[all->len++] = *sufferer;
}

/* A DSACK has taken the vote of those back that lost nothing. */
static void take_traces(struct work *work, const json_t *traces)
{
    const struct pd_sufferers_ask *ask = work->ask;
    struct pd_app_trace trace;
    const json_t *row;
    uint64_t wrong = 0;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)traces, i, row)
    {
        if (!pd_app_trace_read(work->call->world->topology, row, &trace)) {
            wrong++;
        } else if (trace.time_us >= ask->from_us && trace.time_us < ask->to_us &&
                   (trace.retransmissions || ask->over_us) && is_wanted(ask, &trace.flow)) {
            const struct pd_sufferer sufferer = sufferer_of(&trace);

            add(work, &sufferer);
        }
    }
    if (wrong) {
        pd_app_report_lacks(work->report, "%" PRIu64 " traces that made no sense", wrong);
    }
}

/* Traces of several epochs are one flow, with the way of the latest that has one. */
static void unite(struct pd_sufferers *all)
{
    size_t len = 0;

    if (all->len) {
        qsort(all->flows, all->len, sizeof *all->flows, compare);
    }
    for (size_t i = 0; i < all->len; i++) {
        struct pd_sufferer *last = len ? &all->flows[len - 1] : NULL;

        if (!last || compare(last, &all->flows[i]) != 0) {
            all->flows[len++] = all->flows[i];
            continue;
        }
        uint64_t sum = last->retransmissions + all->flows[i].retransmissions;
        if (all->flows[i].path.len) {
            *last = all->flows[i];
        }
        last->retransmissions = sum;
    }
    all->len = len;
}

static int ask_traces(struct work *work, struct pd_error *error)
{
    const struct pd_sufferers_ask *ask = work->ask;
    json_t *args = pd_app_flow_args(NULL, ask->from_us, ask->to_us), *answer = NULL;

    json_object_del(args, "live");
    if (ask->dst_port) {
        json_object_set_new(args, "dst_port", json_integer(ask->dst_port));
    }
    int err = pd_app_ask(work->call, work->report, "getTraces", args,
                         ask->host ? pd_app_host_list(ask->host) : NULL, &answer, error);
    if (!err) {
        take_traces(work, json_object_get(answer, "traces"));
        unite(work->all);
    }
    json_decref(answer);
    return err;
}

/* ---- tags ---- */

/* Ways of the fabric alone: hosts at the ends are the flow's. */
static bool copy_way(const struct pd_topology *topology, const struct pd_evidence_way *way,
                     struct pd_path *ret_path)
{
    ret_path->len = 0;
    for (uint32_t i = 0; i < way->nodes_len; i++) {
        if (pd_topology_switch(topology, way->nodes[i]) != PD_NONE && ret_path->len < PD_PATH_MAX) {
            ret_path->switches[ret_path->len++] = way->nodes[i];
        } else if (i && i + 1 < way->nodes_len) {
            return false;
        }
    }
    return way->reached && ret_path->len;
}

static int take_tags(void *context, const struct pd_evidence_period *period)
{
    struct work *work = context;

    for (size_t i = 0; i < period->rows_len; i++) {
        const struct pd_evidence_row *row = &period->rows[i];
        struct pd_sufferer *sufferer = find(work->all, &row->flow);

        if (!sufferer || row->kind != PD_EVIDENCE_FLOW || row->ways_len > PD_SUFFERER_WAYS_MAX) {
            continue;
        }
        sufferer->ways_len = 0;
        for (size_t w = 0; w < row->ways_len; w++) {
            if (row->ways[w].origin == PD_EVIDENCE_FROM_TAGS &&
                copy_way(work->call->world->topology, &row->ways[w],
                         &sufferer->ways[sufferer->ways_len])) {
                sufferer->ways_len++;
            }
        }
    }
    return 0;
}

/* Where nothing is tagged, nobody is asked. */
static int ask_tags(struct work *work, struct pd_error *error)
{
    const struct pd_app_world *world = work->call->world;
    const struct pd_evidence_sink sink = {work, take_tags};

    if (!world->ops->observe || !world->topology->codecs_len || !work->all->len) {
        return 0;
    }
    return world->ops->observe(world->context, work->ask->from_us, work->ask->to_us,
                               work->ask->over_us > 0 ? PD_APP_EACH_FLOW : PD_APP_FLOWS, &sink,
                               work->report, error);
}

/* ---- slow ones ---- */

static int take_slow(void *context, const struct pd_app_row *row, const json_t *object)
{
    struct work *work = context;
    struct pd_sufferer *known = find(work->all, &row->flow);
    uint64_t srtt_us = 0;

    (void)pd_app_number(object, "srtt_us", &srtt_us);
    if (srtt_us <= work->ask->over_us || !is_wanted(work->ask, &row->flow)) {
        return 0;
    }
    if (known) {
        known->retransmissions = UINT64_MAX; /* for now: it stays */
    } else {
        work->all->without_way++;
    }
    return 0;
}

/* Of those that were traced the slow ones stay, each with one vote. */
static int keep_slow(struct work *work, struct pd_error *error)
{
    json_t *args = pd_app_flow_args(NULL, work->ask->from_us, UINT64_MAX), *answer = NULL;
    size_t len = 0;

    json_object_del(args, "live");
    json_object_set_new(args, "threshold", json_integer(0));
    int err =
        pd_app_ask(work->call, work->report, "getPoorTCPFlows", args,
                   work->ask->host ? pd_app_host_list(work->ask->host) : NULL, &answer, error);
    if (!err) {
        err = pd_app_rows(answer, "flows", work->report, take_slow, work, error);
    }
    json_decref(answer);
    for (size_t i = 0; i < work->all->len && !err; i++) {
        if (work->all->flows[i].retransmissions == UINT64_MAX) {
            work->all->flows[len] = work->all->flows[i];
            work->all->flows[len++].retransmissions = 1;
        }
    }
    work->all->len = len;
    return err;
}

int pd_drop_cause_sufferers_ask(const struct pd_app_call *call, const struct pd_sufferers_ask *ask,
                                struct pd_sufferers *ret_sufferers, struct pd_report *report,
                                struct pd_error *error)
{
    struct pd_sufferers all = {0};
    struct work work = {.call = call, .ask = ask, .all = &all, .report = report};
    int err = ask_traces(&work, error);

    if (!err) {
        err = ask_tags(&work, error);
    }
    if (!err && ask->over_us) {
        err = keep_slow(&work, error);
    }
    if (!err && work.failed) {
        err = pd_fail(error, -ENOMEM, "drop-causes: %s", pd_error_text(-ENOMEM));
    }
    if (err) {
        pd_drop_cause_sufferers_done(&all);
        return err;
    }
    for (size_t i = 0; i < all.len; i++) {
        all.without_way += !all.flows[i].path.len && !all.flows[i].ways_len;
    }
    *ret_sufferers = all;
    return 0;
}

void pd_drop_cause_sufferers_done(struct pd_sufferers *sufferers)
{
    free(sufferers->flows);
    *sufferers = (struct pd_sufferers){0};
}
