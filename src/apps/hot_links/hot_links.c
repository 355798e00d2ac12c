/* SPDX-License-Identifier: Apache-2.0 */
/* hot-links: which directions have a queue that stands, and which flows are on them? */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "apps/args.h"
#include "apps/links.h"
#include "apps/rows.h"
#include "apps/sums.h"
#include "apps/window.h"
#include "topology/links.h"

#define METRIC    "queue_bytes"
#define LINKS_MAX 16 /* whose flows are asked for */

/* Paper 001, figure 6: congested links from the queues that probes meet; the flows on them are
 * those of the TIB (paper 000). A probe meets what is there when it comes, so the mean of many is
 * the queue's. A direction is hot when a probe meets a full packet in the mean: with arrivals at
 * random that is a use of 62 % (M/M/1: use² / (1 - use) = 1). */

struct hot {
    uint32_t link;
    float queue_bytes;
};

static int fullest_first(const void *a, const void *b)
{
    const struct hot *x = a, *y = b;

    return (x->queue_bytes < y->queue_bytes) - (x->queue_bytes > y->queue_bytes);
}

/* The caller's to free; NULL: none is, or there is no memory. */
static struct hot *find_hot(const struct pd_app_links *links, double least, uint32_t *ret_len)
{
    struct hot *hot = calloc((size_t)links->len + 1, sizeof *hot);

    *ret_len = 0;
    for (uint32_t i = 0; i < links->len && hot; i++) {
        if (!isnan(links->values[i]) && links->values[i] >= least) {
            hot[(*ret_len)++] = (struct hot){i, links->values[i]};
        }
    }
    if (hot) {
        qsort(hot, *ret_len, sizeof *hot, fullest_first);
    }
    return hot;
}

struct on_link {
    struct pd_report *report;
    const char *link;
};

static int take_flow(void *context, const struct pd_app_row *row, const json_t *object)
{
    const struct on_link *on = context;
    char ends[PD_ENDS_TEXT_BYTES];

    (void)object;
    if (!row->flow.ip_version) {
        return 0;
    }
    pd_app_report_row(on->report, "flows",
                      json_pack("{s:s, s:s, s:I, s:I}", "link", on->link, "flow",
                                pd_ends_format(&row->flow, ends), "bytes", (json_int_t)row->bytes,
                                "pkts", (json_int_t)row->pkts));
    pd_app_report_flow(on->report,
                       json_pack("{s:o, s:s, s:I}", "flow_id", pd_app_flow_json(&row->flow), "link",
                                 on->link, "bytes", (json_int_t)row->bytes));
    return 0;
}

static int ask_flows(const struct pd_app_call *call, const struct pd_app_window *window,
                     const char *link, struct pd_report *report, struct pd_error *error)
{
    struct on_link on = {report, link};
    json_t *args = pd_app_window_args(window);

    if (args) {
        json_object_set_new(args, "link", json_string(link));
        json_object_set_new(args, "by", json_string("bytes"));
        json_object_set_new(args, "k",
                            json_integer((json_int_t)pd_app_arg_u64(call->args, "k", 10)));
    }
    const struct pd_app_rows_query query = {.name = "topFlows", .list = "top", .args = args};
    return pd_app_ask_rows(call, report, &query, take_flow, &on, NULL, error);
}

/* Parallel links are one to records. */
static const char *pair_text(const struct pd_app_call *call, uint32_t link, char *text, size_t len)
{
    const struct pd_link_match ends = pd_app_links_ends(call, link);

    snprintf(text, len, "%u-%u", ends.from, ends.to);
    return text;
}

static int tell(const struct pd_app_call *call, const struct hot *hot, uint32_t len,
                const struct pd_app_window *window, struct pd_report *report,
                struct pd_error *error)
{
    char text[PD_LINKS_TEXT_BYTES];
    int err = 0;

    for (uint32_t i = 0; i < len; i++) {
        const struct pd_link_match ends = pd_app_links_ends(call, hot[i].link);

        pd_app_report_link(report, ends.from, ends.to);
        pd_app_report_row(
            report, "links",
            json_pack("{s:s, s:f}", "link",
                      pd_topology_links_format(call->world->topology, hot[i].link, text),
                      "queue_bytes", (double)hot[i].queue_bytes));
    }
    for (uint32_t i = 0; i < len && i < LINKS_MAX && !err; i++) {
        err =
            ask_flows(call, window, pair_text(call, hot[i].link, text, sizeof text), report, error);
    }
    if (len > LINKS_MAX) {
        pd_app_report_lacks(report, "flows of %u links beyond the fullest %d", len - LINKS_MAX,
                            LINKS_MAX);
    }
    return err;
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    const double least = pd_app_arg_number(call->args, "queue", 1500);
    struct pd_app_links links = {0};
    struct pd_app_window window;
    struct hot *hot = NULL;
    uint32_t len = 0;
    char text[PD_LINKS_TEXT_BYTES];
    int err = pd_app_window_read(call, &window, error);

    (void)state;
    err = err ? err : pd_app_links_read(call, METRIC, report, &links, error);
    hot = err ? NULL : find_hot(&links, least, &len);
    err = err || hot ? err : pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    if (!err && len) {
        pd_app_report_say(report, "%u direction%s congested; the longest queue is %.0f bytes on %s",
                          len, len == 1 ? " is" : "s are", (double)hot[0].queue_bytes,
                          pd_topology_links_format(call->world->topology, hot[0].link, text));
        err = tell(call, hot, len, &window, report, error);
    } else if (!err) {
        pd_app_report_say(report, "no direction is congested");
    }
    report->certain = links.known > 0; /* a measurement */
    report->confidence = links.known ? 1 : 0;
    free(hot);
    pd_app_links_done(&links);
    return err;
}

static const struct pd_app_param params[] = {
    {.name = "queue",
     .kind = PD_APP_NUMBER,
     .value = "BYTES",
     .fallback = "1500",
     .help = "a direction is congested when probes meet so much in the mean"},
    {.name = "k",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .fallback = "10",
     .help = "how many flows of each link"},
    PD_APP_WINDOW_PARAMS("10"),
    {.name = NULL, .kind = PD_APP_TEXT},
};

const struct pd_app_ops pd_app_hot_links = {
    .name = "hot-links",
    .section = "001, II-D",
    .help = "which directions are congested, and which flows are on them?",
    .params = params,
    .period_s = 1,
    .run = run,
};
