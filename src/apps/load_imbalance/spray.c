/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of one flow on each path that it could have taken. */
#include "apps/load_imbalance/spray.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "apps/flows.h"
#include "apps/load_imbalance/chance.h"
#include "apps/sums.h"
#include "topology/paths.h"

#define PATHS_MAX 4096

struct spray_path {
    struct pd_path path;
    uint64_t bytes, pkts;
};

/* Where a switch has several ways on: one of them, and what it should carry. */
struct way {
    uint32_t from, to;
    uint64_t paths, bytes, pkts; /* over it */
};

struct spray {
    struct spray_path *paths; /* all shortest ones, in order */
    size_t paths_len;
    struct way *ways; /* sorted by switch */
    size_t ways_len;
    uint64_t bytes, pkts, other_bytes; /* over shortest paths; over others */
    size_t used;
};

/* The worst switch. */
struct uneven {
    size_t begin, end, most, least; /* its ways */
    double rate_pct, chance;
};

/* ---- the flow ---- */

static json_t *query_args(const struct pd_app_call *call, const struct pd_app_window *window)
{
    static const char *const members[] = {"src_ip", "dst_ip", "src_port", "dst_port", "protocol"};
    json_t *args = pd_app_window_args(window);

    for (size_t i = 0; args && i < sizeof members / sizeof *members; i++) {
        json_t *value = json_object_get(call->args, members[i]);

        if (value) {
            json_object_set(args, members[i], value);
        }
    }
    return args;
}

static bool same_flow(const struct pd_app_row *a, const struct pd_app_row *b)
{
    return pd_flow_id_equal(&a->flow, &b->flow);
}

/* Rows of the flow with the most packets: [*ret_begin, *ret_end). Returns how many flows there are.
 */
static size_t largest_flow(const struct pd_app_flows *flows, size_t *ret_begin, size_t *ret_end)
{
    uint64_t most = 0;
    size_t found = 0;

    for (size_t begin = 0, end; begin < flows->len; begin = end) {
        uint64_t pkts = 0;

        for (end = begin; end < flows->len && same_flow(&flows->rows[begin], &flows->rows[end]);
             end++) {
            pkts += flows->rows[end].pkts;
        }
        if (!found++ || pkts > most) {
            most = pkts;
            *ret_begin = begin;
            *ret_end = end;
        }
    }
    return found;
}

/* ---- its paths ---- */

static int keep_path(void *context, const struct pd_path *path)
{
    struct spray *spray = context;

    if (spray->paths_len == PATHS_MAX) {
        return 1;
    }
    spray->paths[spray->paths_len++].path = *path;
    return 0;
}

static int expect(struct spray *spray, const struct pd_topology *topology,
                  const struct pd_path *path, struct pd_error *error)
{
    uint32_t from = pd_topology_switch(topology, path->switches[0]),
             to = pd_topology_switch(topology, path->switches[path->len - 1]);
    int err;

    spray->paths = calloc(PATHS_MAX, sizeof *spray->paths);
    err = spray->paths ? pd_topology_shortest(topology, from, to, keep_path, spray) : -ENOMEM;
    if (err == -ENOMEM) {
        return pd_fail(error, err, "paths: %s", pd_error_text(err));
    }
    return 0;
}

static void count(struct spray *spray, const struct pd_app_row *row)
{
    for (size_t i = 0; i < spray->paths_len; i++) {
        struct spray_path *at = &spray->paths[i];

        if (!pd_path_equal(&at->path, &row->path)) {
            continue;
        }
        spray->used += !at->pkts && row->pkts;
        at->bytes += row->bytes;
        at->pkts += row->pkts;
        spray->bytes += row->bytes;
        spray->pkts += row->pkts;
        return;
    }
    spray->other_bytes += row->bytes;
}

/* ---- its ways ---- */

static int by_switch(const void *a, const void *b)
{
    const struct way *x = a, *y = b;

    if (x->from != y->from) {
        return x->from > y->from ? 1 : -1;
    }
    return (x->to > y->to) - (x->to < y->to);
}

static int find_ways(struct spray *spray, struct pd_error *error)
{
    size_t len = 0, at = 0;

    spray->ways = calloc(spray->paths_len * PD_PATH_MAX + 1, sizeof *spray->ways);
    if (!spray->ways) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    for (size_t i = 0; i < spray->paths_len; i++) {
        const struct spray_path *path = &spray->paths[i];

        for (unsigned hop = 0; hop + 1 < path->path.len; hop++) {
            spray->ways[len++] = (struct way){
                path->path.switches[hop], path->path.switches[hop + 1], 1, path->bytes, path->pkts};
        }
    }
    if (len) {
        qsort(spray->ways, len, sizeof *spray->ways, by_switch);
    }
    for (size_t i = 1; i < len; i++) {
        if (by_switch(&spray->ways[at], &spray->ways[i])) {
            spray->ways[++at] = spray->ways[i];
            continue;
        }
        spray->ways[at].paths++;
        spray->ways[at].bytes += spray->ways[i].bytes;
        spray->ways[at].pkts += spray->ways[i].pkts;
    }
    spray->ways_len = len ? at + 1 : 0;
    return 0;
}

/* What is to be equal. */
static double per_path(const struct way *way)
{
    return (double)way->pkts / (double)way->paths;
}

/* How uneven the ways of one switch are: packets are what is drawn, so they are what chance is
 * judged by. */
static struct uneven judge(const struct spray *spray, size_t begin, size_t end)
{
    struct uneven uneven = {begin, end, begin, begin, 0, 1};
    double pkts = 0, paths = 0, away;

    for (size_t i = begin; i < end; i++) {
        pkts += (double)spray->ways[i].pkts;
        paths += (double)spray->ways[i].paths;
    }
    if (pkts <= 0) {
        return uneven;
    }
    for (size_t i = begin; i < end; i++) {
        const struct way *way = &spray->ways[i];

        if (per_path(way) > per_path(&spray->ways[uneven.most])) {
            uneven.most = i;
        }
        if (per_path(way) < per_path(&spray->ways[uneven.least])) {
            uneven.least = i;
        }
    }
    away = (double)spray->ways[uneven.most].pkts -
           pkts * (double)spray->ways[uneven.most].paths / paths;
    uneven.rate_pct = 100 * away / (pkts * (double)spray->ways[uneven.most].paths / paths);
    uneven.chance = pd_load_imbalance_chance_of_load(away, pkts, (double)spray->ways_len);
    return uneven;
}

static struct uneven worst_switch(const struct spray *spray)
{
    struct uneven worst = {.chance = 1};

    for (size_t begin = 0, end; begin < spray->ways_len; begin = end) {
        struct uneven uneven;

        for (end = begin;
             end < spray->ways_len && spray->ways[end].from == spray->ways[begin].from;) {
            end++;
        }
        if (end - begin < 2) {
            continue;
        }
        uneven = judge(spray, begin, end);
        if (uneven.rate_pct > worst.rate_pct) {
            worst = uneven;
        }
    }
    return worst;
}

/* ---- the report ---- */

static void show(const struct spray *spray, struct pd_report *report)
{
    char text[PD_APP_PATH_TEXT_BYTES];

    for (size_t i = 0; i < spray->paths_len; i++) {
        const struct spray_path *path = &spray->paths[i];

        pd_app_report_row(
            report, "paths",
            json_pack("{s:s, s:I, s:I, s:f}", "path", pd_app_path_text(&path->path, text), "bytes",
                      (json_int_t)path->bytes, "pkts", (json_int_t)path->pkts, "share",
                      spray->bytes ? (double)path->bytes / (double)spray->bytes : 0));
    }
}

static void blame(const struct spray *spray, const struct uneven *worst, struct pd_report *report)
{
    const struct way *most = &spray->ways[worst->most], *least = &spray->ways[worst->least];

    pd_app_report_link(report, most->from, most->to);
    pd_app_report_switch(report, most->from);
    pd_app_report_say(report,
                      "unevenly sprayed: switch %" PRIu32 " sends too much to %" PRIu32
                      " and least to %" PRIu32 ", imbalance rate %.0f %%",
                      most->from, most->to, least->to, worst->rate_pct);
    pd_app_report_evidence(
        report,
        "%" PRIu64 " packets over %" PRIu32 "-%" PRIu32 ", %" PRIu64 " over %" PRIu32 "-%" PRIu32
        "; packets drawn evenly do that with a probability of at most %.1g",
        most->pkts, most->from, most->to, least->pkts, least->from, least->to, worst->chance);
    report->certain = true;
    report->confidence = 1 - worst->chance;
}

static void say(const struct spray *spray, double threshold, struct pd_report *report)
{
    struct uneven worst = worst_switch(spray);

    if (spray->other_bytes) {
        pd_app_report_evidence(report, "%" PRIu64 " bytes took paths that are not the shortest",
                               spray->other_bytes);
    }
    if (spray->paths_len < 2) {
        pd_app_report_say(report, "this flow has one shortest path: there is nothing to spread");
    } else if (spray->used < 2) {
        pd_app_report_say(report, "this flow is not sprayed: it took %zu of %zu shortest paths",
                          spray->used, spray->paths_len);
    } else if (worst.rate_pct < threshold) {
        pd_app_report_say(report, "evenly sprayed over %zu of %zu paths: imbalance rate %.0f %%",
                          spray->used, spray->paths_len, worst.rate_pct);
    } else if (worst.chance >= CHANCE_REPORTED) {
        pd_app_report_say(report,
                          "nothing that chance does not explain: imbalance rate %.0f %%, %" PRIu64
                          " packets",
                          worst.rate_pct, spray->pkts);
    } else {
        blame(spray, &worst, report);
    }
}

static int look(const struct pd_app_call *call, const struct pd_app_flows *flows,
                struct spray *spray, struct pd_report *report, struct pd_error *error)
{
    char ends[PD_ENDS_TEXT_BYTES];
    size_t begin = 0, end = 0, found = largest_flow(flows, &begin, &end);
    int err;

    if (!found) {
        pd_app_report_say(report, "no packet of this flow was seen");
        return 0;
    }
    if (found > 1) {
        pd_app_report_lacks(report, "%zu flows are meant: the largest is looked at, %s", found,
                            pd_ends_format(&flows->rows[begin].flow, ends));
    }
    err = expect(spray, call->world->topology, &flows->rows[begin].path, error);
    for (size_t i = begin; i < end && !err; i++) {
        count(spray, &flows->rows[i]);
    }
    err = err ? err : find_ways(spray, error);
    if (!err) {
        say(spray, pd_app_arg_number(call->args, "threshold", 40), report);
        show(spray, report);
    }
    return err;
}

int pd_load_imbalance_spray_run(const struct pd_app_call *call, const struct pd_app_window *window,
                                struct pd_report *report, struct pd_error *error)
{
    struct pd_app_flows flows = {0};
    struct spray spray = {0};
    int err = pd_app_flows_ask(call, report, query_args(call, window), NULL, &flows, error);

    if (!err) {
        pd_app_flows_by_id(&flows);
        err = look(call, &flows, &spray, report, error);
    }
    free(spray.paths);
    free(spray.ways);
    pd_app_flows_done(&flows);
    return err;
}
