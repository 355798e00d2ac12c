/* SPDX-License-Identifier: Apache-2.0 */
/* ddos: which sources send to one destination, how much, and by which ways they come in (paper 000,
 * Table 2). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "apps/flows.h"
#include "apps/sums.h"
#include "apps/window.h"

#define DESTINATIONS_SHOWN 10
#define FLOWS_SHOWN        20

/* Rows that have something in common, summed; sorted so that rows of a source lie together. */
struct sum {
    const struct pd_app_row *row; /* one of them */
    uint64_t sources, flows, bytes, pkts;
};

struct sums {
    struct sum *list;
    size_t len;
};

static int by_dst(const void *a, const void *b)
{
    const struct pd_app_row *x = a, *y = b;
    int order = memcmp(&x->flow.dst, &y->flow.dst, sizeof x->flow.dst);

    if (order || x->flow.ip_version != y->flow.ip_version) {
        return order ? order : x->flow.ip_version - y->flow.ip_version;
    }
    return memcmp(&x->flow.src, &y->flow.src, sizeof x->flow.src);
}

static int by_src(const void *a, const void *b)
{
    const struct pd_app_row *x = a, *y = b;
    int order = memcmp(&x->flow.src, &y->flow.src, sizeof x->flow.src);

    return order ? order : memcmp(&x->path, &y->path, sizeof x->path);
}

static int by_path(const void *a, const void *b)
{
    const struct pd_app_row *x = a, *y = b;
    int order = memcmp(&x->path, &y->path, sizeof x->path);

    return order ? order : by_src(a, b);
}

static int by_ingress(const void *a, const void *b)
{
    const struct pd_app_row *x = a, *y = b;

    if (x->path.switches[0] != y->path.switches[0]) {
        return x->path.switches[0] > y->path.switches[0] ? 1 : -1;
    }
    return by_src(a, b);
}

static bool same_dst(const struct pd_app_row *a, const struct pd_app_row *b)
{
    return a->flow.ip_version == b->flow.ip_version &&
           !memcmp(&a->flow.dst, &b->flow.dst, sizeof a->flow.dst);
}

static bool same_src_path(const struct pd_app_row *a, const struct pd_app_row *b)
{
    return !by_src(a, b);
}

static bool same_path(const struct pd_app_row *a, const struct pd_app_row *b)
{
    return pd_path_equal(&a->path, &b->path);
}

static bool same_ingress(const struct pd_app_row *a, const struct pd_app_row *b)
{
    return a->path.switches[0] == b->path.switches[0];
}

/* Each way of summing: an order that brings together what is to be summed, and in it the rows of
 * each source. */
static const struct way {
    int (*order)(const void *a, const void *b);
    bool (*same)(const struct pd_app_row *a, const struct pd_app_row *b);
} by_destination = {by_dst, same_dst}, by_source = {by_src, same_src_path},
  by_way = {by_path, same_path}, by_entry = {by_ingress, same_ingress};

static int largest_first(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;

    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? 1 : -1;
    }
    return by_path(x->row, y->row);
}

static int most_sources_first(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;

    if (x->sources != y->sources) {
        return x->sources < y->sources ? 1 : -1;
    }
    return largest_first(a, b);
}

static bool same_source(const struct pd_app_row *a, const struct pd_app_row *b)
{
    return !memcmp(&a->flow.src, &b->flow.src, sizeof a->flow.src);
}

/* `rows` are copied: their order is changed. */
static int sum_up(const struct pd_app_row *rows, size_t len, const struct way *way,
                  struct pd_app_row **ret_rows, struct sums *ret_sums)
{
    struct pd_app_row *copy = calloc(len + 1, sizeof *copy);
    struct sums sums = {calloc(len + 1, sizeof *sums.list), 0};

    if (!copy || !sums.list) {
        free(copy);
        free(sums.list);
        return -ENOMEM;
    }
    if (len) {
        memcpy(copy, rows, len * sizeof *copy);
        qsort(copy, len, sizeof *copy, way->order);
    }
    for (size_t i = 0; i < len; i++) {
        struct sum *sum;
        bool is_new = !i || !way->same(&copy[i - 1], &copy[i]);

        if (is_new) {
            sums.list[sums.len++].row = &copy[i];
        }
        sum = &sums.list[sums.len - 1];
        sum->sources += is_new || !same_source(&copy[i - 1], &copy[i]);
        sum->flows++;
        sum->bytes += copy[i].bytes;
        sum->pkts += copy[i].pkts;
    }
    *ret_rows = copy;
    *ret_sums = sums;
    return 0;
}

/* ---- rows of results ---- */

static json_t *counts(const struct sum *sum, double bytes)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:f}", "sources", (json_int_t)sum->sources, "flows",
                     (json_int_t)sum->flows, "bytes", (json_int_t)sum->bytes, "pkts",
                     (json_int_t)sum->pkts, "share", bytes > 0 ? (double)sum->bytes / bytes : 0);
}

static void show(const struct sum *sum, const char *name, double bytes, struct pd_report *report)
{
    char addr[PD_ADDR_TEXT_BYTES], path[PD_APP_PATH_TEXT_BYTES];
    const struct pd_flow_id *flow = &sum->row->flow;
    json_t *row = counts(sum, bytes);

    if (!strcmp(name, "destinations")) {
        json_object_set_new(row, "dst_ip",
                            json_string(pd_addr_format(&flow->dst, flow->ip_version, addr)));
    }
    if (!strcmp(name, "sources")) {
        json_object_set_new(row, "src_ip",
                            json_string(pd_addr_format(&flow->src, flow->ip_version, addr)));
    }
    if (!strcmp(name, "sources") || !strcmp(name, "paths")) {
        json_object_set_new(row, "path", json_string(pd_app_path_text(&sum->row->path, path)));
    }
    if (!strcmp(name, "ingress")) {
        json_object_set_new(row, "switch", json_integer(sum->row->path.switches[0]));
    }
    if (!strcmp(name, "sources")) {
        json_object_del(row, "sources"); /* one */
    }
    if (!strcmp(name, "destinations")) {
        json_object_del(row, "share");
    }
    pd_app_report_row(report, name, row);
}

static int show_all(const struct pd_app_row *rows, size_t len, const struct way *way,
                    const char *name, double bytes, size_t *ret_len, struct pd_report *report)
{
    struct pd_app_row *copy;
    struct sums sums;
    int err = sum_up(rows, len, way, &copy, &sums);

    if (err) {
        return err;
    }
    if (sums.len) {
        qsort(sums.list, sums.len, sizeof *sums.list, largest_first);
    }
    for (size_t i = 0; i < sums.len; i++) {
        show(&sums.list[i], name, bytes, report);
    }
    *ret_len = sums.len;
    free(copy);
    free(sums.list);
    return 0;
}

/* ---- the destination ---- */

static void name_findings(const struct pd_app_row *rows, size_t len, struct pd_report *report)
{
    for (size_t i = 0; i < len; i++) {
        pd_app_report_switch(report, rows[i].path.switches[0]);
    }
    for (size_t i = 0; i < len && i < FLOWS_SHOWN; i++) {
        pd_app_report_flow(report, pd_app_flows_json(&rows[i]));
    }
}

static int dissect(const struct pd_app_call *call, const struct sum *destination,
                   const struct pd_app_row *rows, double seconds, struct pd_report *report)
{
    uint64_t least = pd_app_arg_u64(call->args, "sources", 100);
    double mbps = (double)destination->bytes * 8 / 1e6 / seconds,
           least_mbps = pd_app_arg_number(call->args, "mbps", 0);
    char addr[PD_ADDR_TEXT_BYTES], amount[PD_APP_AMOUNT_BYTES];
    size_t paths = 0, entries = 0, pairs = 0, len = destination->flows;
    int err;

    pd_addr_format(&destination->row->flow.dst, destination->row->flow.ip_version, addr);
    pd_app_amount((double)destination->bytes, amount);
    err = show_all(rows, len, &by_source, "sources", (double)destination->bytes, &pairs, report);
    if (!err) {
        err = show_all(rows, len, &by_way, "paths", (double)destination->bytes, &paths, report);
    }
    if (!err) {
        err =
            show_all(rows, len, &by_entry, "ingress", (double)destination->bytes, &entries, report);
    }
    if (err) {
        return err;
    }
    report->certain = true; /* that they send, not why */
    report->confidence = 1;
    if (destination->sources < least || mbps < least_mbps) {
        pd_app_report_say(report,
                          "nothing: %s has the most sources, %" PRIu64 ", which send %s in %g s",
                          addr, destination->sources, amount, seconds);
        return 0;
    }
    pd_app_report_say(report,
                      "%" PRIu64 " sources send %s to %s in %g s, by %zu paths from %zu switches",
                      destination->sources, amount, addr, seconds, paths, entries);
    pd_app_report_evidence(report, "%" PRIu64 " flows, %" PRIu64 " packets, %.3g Mb/s",
                           destination->flows, destination->pkts, mbps);
    name_findings(rows, len, report);
    return 0;
}

static int judge(const struct pd_app_call *call, const struct pd_app_flows *flows, double seconds,
                 struct pd_report *report)
{
    struct pd_app_row *rows;
    struct sums sums;
    int err = sum_up(flows->rows, flows->len, &by_destination, &rows, &sums);

    if (err) {
        return err;
    }
    if (sums.len) {
        qsort(sums.list, sums.len, sizeof *sums.list, most_sources_first);
    }
    for (size_t i = 0; i < sums.len && i < DESTINATIONS_SHOWN; i++) {
        show(&sums.list[i], "destinations", 0, report);
    }
    if (sums.len) {
        err = dissect(call, &sums.list[0], sums.list[0].row, seconds, report);
    } else {
        pd_app_report_say(report, "no flows in %g s", seconds);
    }
    free(rows);
    free(sums.list);
    return err;
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    json_t *args, *dst = json_object_get(call->args, "dst_ip");
    struct pd_app_flows flows = {0};
    struct pd_app_window window;
    int err = pd_app_window_read(call, &window, error);

    (void)state;
    if (err) {
        return err;
    }
    args = pd_app_window_args(&window);
    if (args && dst) {
        json_object_set(args, "dst_ip", dst);
    }
    err = pd_app_flows_ask(call, report, args, NULL, &flows, error);
    if (!err && judge(call, &flows, pd_app_window_s(&window), report)) {
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    pd_app_flows_done(&flows);
    return err;
}

static const struct pd_app_param params[] = {
    {.name = "dst_ip",
     .kind = PD_APP_ADDRESS,
     .value = "IP",
     .help = "the destination; the one with the most sources unless given"},
    {.name = "sources",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .fallback = "100",
     .help = "so many sources are many"},
    {.name = "mbps",
     .kind = PD_APP_NUMBER,
     .value = "R",
     .fallback = "0",
     .help = "and they have to send so much together"},
    PD_APP_WINDOW_PARAMS("60"),
    {.name = NULL},
};

const struct pd_app_ops pd_app_ddos = {
    .name = "ddos",
    .section = "Table 2",
    .help = "which sources send to one destination, how much, and by which ways?",
    .params = params,
    .period_s = 60,
    .run = run,
};
