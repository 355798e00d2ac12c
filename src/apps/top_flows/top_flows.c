/* SPDX-License-Identifier: Apache-2.0 */
/* top-flows: the largest flows, and heavy hitters (paper 000, section 2.3 and Table 2). */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "apps/args.h"
#include "apps/rows.h"
#include "apps/sums.h"
#include "apps/window.h"

#define K_MAX 10000 /* rows of a report */

/* ---- all that there was, for shares ---- */

static int add_bytes(void *context, const struct pd_app_row *row, const json_t *object)
{
    (void)object;
    *(double *)context += (double)row->bytes;
    return 0;
}

static json_t *query_args(const struct pd_app_call *call, const struct pd_app_window *window)
{
    json_t *args = pd_app_window_args(window), *link = json_object_get(call->args, "link");

    if (args && link) {
        json_object_set(args, "link", link);
    }
    return args;
}

/* By pairs of racks rather than by flows: few rows, the same sum. */
static int ask_total(const struct pd_app_call *call, const struct pd_app_window *window,
                     struct pd_report *report, double *ret_bytes, struct pd_error *error)
{
    const struct pd_app_rows_query query = {
        .name = "trafficMatrix", .list = "pairs", .args = query_args(call, window)};
    double bytes = 0;
    int err = pd_app_ask_rows(call, report, &query, add_bytes, &bytes, NULL, error);

    if (!err) {
        *ret_bytes = bytes;
    }
    return err;
}

/* ---- the flows ---- */

struct top {
    struct pd_report *report;
    double total, heavy_share; /* of bytes */
    bool by_bytes;
    uint64_t len, heavy;
    double heavy_bytes, first_bytes;
    char first[PD_ENDS_TEXT_BYTES];
};

static double share_of(const struct top *top, const struct pd_app_row *row)
{
    double share = top->total > 0 ? (double)row->bytes / top->total : 0;

    return share < 1 ? share : 1; /* it grew between two questions */
}

static int take(void *context, const struct pd_app_row *row, const json_t *object)
{
    struct top *top = context;
    double share = share_of(top, row);
    char ends[PD_ENDS_TEXT_BYTES];

    (void)object;
    if (!row->flow.ip_version) {
        return 0;
    }
    if (!top->len++) {
        pd_ends_format(&row->flow, top->first);
        top->first_bytes = (double)row->bytes;
    }
    pd_app_report_row(top->report, "flows",
                      json_pack("{s:s, s:i, s:I, s:I, s:f}", "flow",
                                pd_ends_format(&row->flow, ends), "protocol", row->flow.protocol,
                                "bytes", (json_int_t)row->bytes, "pkts", (json_int_t)row->pkts,
                                "share", share));
    if (share < top->heavy_share) {
        return 0;
    }
    top->heavy++;
    top->heavy_bytes += (double)row->bytes;
    pd_app_report_flow(top->report,
                       json_pack("{s:o, s:I, s:I, s:f}", "flow_id", pd_app_flow_json(&row->flow),
                                 "bytes", (json_int_t)row->bytes, "pkts", (json_int_t)row->pkts,
                                 "share", share));
    return 0;
}

static void say(const struct top *top, double seconds, uint64_t k, struct pd_report *report)
{
    char all[PD_APP_AMOUNT_BYTES], heavy[PD_APP_AMOUNT_BYTES];

    if (!top->len) {
        pd_app_report_say(report, "no flows in %g s", seconds);
        return;
    }
    pd_app_amount(top->total, all);
    if (top->heavy) {
        pd_app_report_say(
            report, "%" PRIu64 " heavy hitter%s, each with %.3g %% of %s or more: %s together",
            top->heavy, top->heavy == 1 ? "" : "s", 100 * top->heavy_share, all,
            pd_app_amount(top->heavy_bytes, heavy));
    } else {
        pd_app_report_say(report, "no heavy hitters: no flow has %.3g %% of %s",
                          100 * top->heavy_share, all);
    }
    pd_app_report_evidence(report, "the largest flow is %s, %s", top->first,
                           pd_app_amount(top->first_bytes, heavy));
    if (top->by_bytes && top->heavy == top->len && top->len >= k) {
        pd_app_report_lacks(
            report, "flows beyond the first %" PRIu64 " (k), which may be heavy as well", k);
    }
    if (!top->by_bytes) {
        pd_app_report_evidence(report, "these are the flows with the most packets");
    }
    report->certain = true; /* a measurement */
    report->confidence = 1;
}

static int ask_top(const struct pd_app_call *call, const struct pd_app_window *window, uint64_t k,
                   struct top *top, struct pd_error *error)
{
    const char *by = pd_app_arg_text(call->args, "by");
    const struct pd_app_rows_query query = {
        .name = "topFlows", .list = "top", .args = query_args(call, window)};

    top->by_bytes = !by || *by != 'p';
    json_object_set_new(query.args, "k", json_integer((json_int_t)k));
    json_object_set_new(query.args, "by", json_string(by ? by : "bytes"));
    return pd_app_ask_rows(call, top->report, &query, take, top, NULL, error);
}

static int check(const struct pd_app_call *call, uint64_t k, struct pd_error *error)
{
    const char *by = pd_app_arg_text(call->args, "by");
    double share = pd_app_arg_number(call->args, "share", 0.1);

    if (!k || k > K_MAX) {
        return pd_fail(error, -PD_E_VALUE, "k: expects a number from 1 to %d", K_MAX);
    }
    if (share <= 0 || share > 1) {
        return pd_fail(error, -PD_E_VALUE, "share: expects a number above 0, at most 1");
    }
    if (by && strcmp(by, "bytes") != 0 && strcmp(by, "pkts") != 0) {
        return pd_fail(error, -PD_E_VALUE, "by: expects bytes or pkts");
    }
    return 0;
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    uint64_t k = pd_app_arg_u64(call->args, "k", 10);
    struct top top = {.report = report, .heavy_share = pd_app_arg_number(call->args, "share", 0.1)};
    struct pd_app_window window;
    int err = check(call, k, error);

    (void)state;
    if (!err) {
        err = pd_app_window_read(call, &window, error);
    }
    if (!err) {
        err = ask_total(call, &window, report, &top.total, error);
    }
    if (!err) {
        err = ask_top(call, &window, k, &top, error);
    }
    if (!err) {
        say(&top, pd_app_window_s(&window), k, report);
    }
    return err;
}

static const struct pd_app_param params[] = {
    {.name = "k", .kind = PD_APP_INTEGER, .value = "N", .fallback = "10", .help = "how many flows"},
    {.name = "by",
     .kind = PD_APP_TEXT,
     .value = "bytes|pkts",
     .fallback = "bytes",
     .help = "what is large"},
    {.name = "share",
     .kind = PD_APP_NUMBER,
     .value = "R",
     .fallback = "0.1",
     .help = "a heavy hitter has at least this share of all bytes"},
    {.name = "link", .kind = PD_APP_LINK, .value = "A-B", .help = "only flows over this link"},
    PD_APP_WINDOW_PARAMS("60"),
    {.name = NULL},
};

const struct pd_app_ops pd_app_top_flows = {
    .name = "top-flows",
    .section = "2.3, Table 2",
    .help = "which flows are the largest, and which of them are heavy hitters?",
    .params = params,
    .period_s = 60,
    .run = run,
};
