/* SPDX-License-Identifier: Apache-2.0 */
/* Flows as localisers want them, asked of all hosts: records of receivers joined with the
 * retransmissions of senders. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/flow_args.h"
#include "apps/rows.h"
#include "base/clock.h"
#include "controller/apps/private.h"
#include "evidence/file.h"

/* Times of records are the receivers', times of retransmissions the senders', and [from, to] is by
 * the controller's clock. Clocks may differ by SLACK_US:
 * - retransmissions are told apart by counters, not by times (senders.h);
 * - a record counts with the packets that fell into [from, to] by its own clock, as if they had
 * come evenly, rounded so that windows that follow each other sum up to all of them; so clocks
 * shift when packets are counted, not how many;
 * - a flow that suffered gets its paths from records up to SLACK_US beside the window as well.
 *
 * Left aside, unless it suffered, is what could lose packets unseen: other protocols than TCP, and
 * flows of acknowledgements, told by their small packets. A datapath may count many segments as one
 * large packet: it counts as many as its bytes need. */

#define SLACK_US      (5 * PD_US_PER_S)
#define ROWS_MAX      (1u << 17)
#define SMALL_BYTES   120 /* mean of packets that only acknowledge */
#define SEGMENT_BYTES 1448
/* Retransmissions are asked for that far back, for senders whose clocks are behind. */
#define OLDEST_LOSS_US (2 * SLACK_US)

struct row {
    struct pd_flow_id flow;
    struct pd_path path;
    uint64_t bytes, pkts; /* within the window */
};

struct gathering {
    uint64_t from_us, to_us;
    struct row *rows;
    size_t len, lost;
    const struct pd_senders *senders;
};

/* ---- records ---- */

/* How many of `all` came by `at`, evenly from `begin` to `end`. */
static uint64_t came_by(uint64_t all, uint64_t begin_us, uint64_t end_us, uint64_t at_us)
{
    if (at_us >= end_us) {
        return all;
    }
    if (at_us < begin_us) {
        return 0;
    }
    return (uint64_t)((double)all * (double)(at_us - begin_us) / (double)(end_us - begin_us));
}

static uint64_t within(const struct gathering *g, const struct pd_app_row *row, uint64_t all)
{
    uint64_t end = came_by(all, row->stime_us, row->etime_us, g->to_us);
    uint64_t begin = came_by(all, row->stime_us, row->etime_us, g->from_us);

    return end > begin ? end - begin : 0;
}

static uint64_t segments(uint64_t bytes, uint64_t pkts)
{
    uint64_t least = bytes / SEGMENT_BYTES;

    return pkts > least ? pkts : least;
}

static int take_row(void *context, const struct pd_app_row *row, const json_t *object)
{
    struct gathering *g = context;
    const struct pd_sender *sender = pd_senders_find(g->senders, &row->flow);
    bool suffered = sender && sender->fresh;
    uint64_t all = segments(row->bytes, row->pkts);
    struct row taken = {.flow = row->flow, .path = row->path};

    (void)object;
    if (!row->flow.ip_version || !row->has_path || row->stime_us > row->etime_us) {
        return 0;
    }
    if (!suffered && (row->flow.protocol != 6 || row->bytes < row->pkts * SMALL_BYTES)) {
        return 0;
    }
    taken.pkts = within(g, row, all);
    taken.bytes = within(g, row, row->bytes);
    if (!taken.pkts && !suffered) {
        return 0;
    }
    if (g->len == ROWS_MAX) {
        g->lost++;
    } else {
        g->rows[g->len++] = taken;
    }
    return 0;
}

static int by_flow_and_path(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = memcmp(&x->flow, &y->flow, sizeof x->flow);

    return order ? order : memcmp(&x->path, &y->path, sizeof x->path);
}

static size_t merge_slices(struct row *rows, size_t len)
{
    size_t kept = 0;

    qsort(rows, len, sizeof *rows, by_flow_and_path);
    for (size_t i = 0; i < len; i++) {
        if (kept && !by_flow_and_path(&rows[kept - 1], &rows[i])) {
            rows[kept - 1].bytes += rows[i].bytes;
            rows[kept - 1].pkts += rows[i].pkts;
        } else {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

/* ---- rows of evidence ---- */

struct observations {
    struct pd_evidence_way *ways;
    struct pd_evidence_row *flows;
    size_t ways_len, flows_len;
};

static void add_flow(struct observations *o, const struct gathering *g, const struct row *rows,
                     size_t len)
{
    const struct pd_sender *sender = pd_senders_find(g->senders, &rows->flow);
    struct pd_evidence_row flow = {.kind = PD_EVIDENCE_FLOW,
                                   .flow = rows->flow,
                                   .lost = sender ? sender->fresh : 0,
                                   .ways = o->ways + o->ways_len};

    /* With packets on some paths, the others did not matter in this window. */
    bool some = false;
    for (size_t i = 0; i < len; i++) {
        some |= rows[i].pkts > 0;
    }
    for (size_t i = 0; i < len; i++) {
        if (rows[i].pkts || !some) {
            o->ways[o->ways_len++] = (struct pd_evidence_way){.nodes = rows[i].path.switches,
                                                              .nodes_len = rows[i].path.len,
                                                              .reached = true,
                                                              .origin = PD_EVIDENCE_FROM_TAGS,
                                                              .pkts = rows[i].pkts,
                                                              .bytes = rows[i].bytes};
            flow.pkts += rows[i].pkts;
        }
    }
    flow.ways_len = (size_t)(o->ways + o->ways_len - flow.ways);
    o->flows[o->flows_len++] = flow;
}

static bool has_row(const struct gathering *g, const struct pd_flow_id *flow)
{
    size_t low = 0, high = g->len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = memcmp(&g->rows[middle].flow, flow, sizeof *flow);

        if (!order) {
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

/* Flows that suffered and of which no record is known: they have no path, and localisers count
 * them. */
static void add_pathless(struct observations *o, const struct gathering *g)
{
    for (size_t i = 0; i < g->senders->len; i++) {
        if (g->senders->flows[i].fresh && !has_row(g, &g->senders->flows[i].flow)) {
            o->flows[o->flows_len++] = (struct pd_evidence_row){.kind = PD_EVIDENCE_FLOW,
                                                                .flow = g->senders->flows[i].flow,
                                                                .pkts = PD_EVIDENCE_UNKNOWN,
                                                                .lost = g->senders->flows[i].fresh};
        }
    }
}

/* `copy`: written there as well; NULL: nowhere. */
static int hand_over(const struct gathering *g, FILE *copy, const struct pd_evidence_sink *sink,
                     struct pd_error *error)
{
    struct observations o = {
        .ways = calloc(g->len + 1, sizeof *o.ways),
        .flows = calloc(g->len + g->senders->len + 1, sizeof *o.flows),
    };
    int e = o.ways && o.flows ? 0 : pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));

    for (size_t i = 0, next; i < g->len && !e; i = next) {
        for (next = i + 1; next < g->len && pd_flow_id_equal(&g->rows[i].flow, &g->rows[next].flow);
             next++)
            ;
        add_flow(&o, g, &g->rows[i], next - i);
    }
    if (!e) {
        add_pathless(&o, g);
        const struct pd_evidence_period period = {
            .from_us = g->from_us, .to_us = g->to_us, .rows = o.flows, .rows_len = o.flows_len};

        e = copy ? pd_evidence_write(copy, &period) : 0;
        e = e ? pd_fail(error, e, "evidence: %s", pd_error_text(e))
              : sink->take(sink->context, &period);
    }
    free(o.ways);
    free(o.flows);
    return e;
}

/* ---- asking ---- */

static int ask_senders(struct pd_apps_world *world, const struct pd_app_call *call,
                       uint64_t from_us, struct pd_report *report, struct pd_error *error)
{
    uint64_t back_us = world->senders.asked ? OLDEST_LOSS_US : 0;
    json_t *args = pd_app_flow_args(NULL, from_us > back_us ? from_us - back_us : 0, UINT64_MAX);
    json_t *answer = NULL;

    json_object_del(args, "live");
    json_object_set_new(args, "threshold", json_integer(1));
    int e = pd_app_ask(call, report, "getPoorTCPFlows", args, NULL, &answer, error);
    const char *source = json_string_value(json_object_get(answer, "source"));
    if (!e && source && (!strcmp(source, "none") || !strcmp(source, "mixed"))) {
        pd_report_lacks(report, "TCP is not watched in the same way on all hosts, or not at all");
    }
    if (!e) {
        e = pd_senders_take(&world->senders, answer, report, error);
    }
    json_decref(answer);
    if (!e && world->senders.lost) {
        pd_report_lacks(report, "%" PRIu64 " flows that suffer, for which there was no room",
                        world->senders.lost);
    }
    return e;
}

static int ask_receivers(const struct pd_app_call *call, struct gathering *g,
                         struct pd_report *report, struct pd_error *error)
{
    json_t *answer = NULL;
    int e = pd_app_ask(call, report, "getFlows",
                       pd_app_flow_args(NULL, g->from_us > SLACK_US ? g->from_us - SLACK_US : 1,
                                        g->to_us + SLACK_US),
                       NULL, &answer, error);

    size_t rows = json_array_size(json_object_get(answer, "flows"));
    g->rows = e ? NULL : calloc((rows < ROWS_MAX ? rows : ROWS_MAX) + 1, sizeof *g->rows);
    if (!e && !g->rows) {
        e = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    if (!e) {
        e = pd_app_rows(answer, "flows", report, take_row, g, error);
    }
    json_decref(answer);
    if (!e && g->lost) {
        pd_report_lacks(report, "%zu flows for which there was no room", g->lost);
    }
    return e;
}

int pd_apps_observe(void *context, uint64_t from_us, uint64_t to_us,
                    const struct pd_evidence_sink *sink, struct pd_report *report,
                    struct pd_error *error)
{
    struct pd_apps_world *world = context;
    const struct pd_app_call call = {.world = &world->world};
    struct gathering g = {.from_us = from_us, .to_us = to_us, .senders = &world->senders};
    int e = ask_senders(world, &call, from_us, report, error);

    /* What was lost before a monitor began is not known: packets of then must not clear anything.
     */
    if (!e && world->senders.since_us > g.from_us) {
        g.from_us = world->senders.since_us < to_us ? world->senders.since_us : to_us;
    }
    if (!e) {
        e = ask_receivers(&call, &g, report, error);
    }
    if (!e) {
        g.len = merge_slices(g.rows, g.len);
        e = hand_over(&g, world->evidence, sink, error);
    }
    free(g.rows);
    return e;
}
