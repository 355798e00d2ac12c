/* SPDX-License-Identifier: Apache-2.0 */
/* traffic-matrix: who sends how much to whom, rack by rack (paper 000, section 2.3 and Table 2). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "apps/args.h"
#include "apps/rows.h"
#include "apps/sums.h"
#include "apps/window.h"
#include "base/grow.h"

#define NAMED_LEN 3 /* pairs that the verdict names */

struct pair {
    uint32_t src, dst;
    uint64_t bytes, pkts;
};

struct matrix {
    const struct pd_topology *topology;
    struct pair *pairs;
    size_t len, room;
    size_t strange; /* rows of switches that are not there */
    double bytes;
};

static int take(void *context, const struct pd_app_row *row, const json_t *object)
{
    struct matrix *matrix = context;

    (void)object;
    if (pd_topology_switch(matrix->topology, row->src_switch) == PD_NONE ||
        pd_topology_switch(matrix->topology, row->dst_switch) == PD_NONE) {
        matrix->strange++;
        return 0;
    }
    if (PD_GROW(matrix->pairs, matrix->room, matrix->len + 1)) {
        return -ENOMEM;
    }
    matrix->pairs[matrix->len++] =
        (struct pair){row->src_switch, row->dst_switch, row->bytes, row->pkts};
    matrix->bytes += (double)row->bytes;
    return 0;
}

static int largest_first(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? 1 : -1;
    }
    if (x->src != y->src) {
        return x->src > y->src ? 1 : -1;
    }
    return (x->dst > y->dst) - (x->dst < y->dst);
}

static double share(const struct matrix *matrix, uint64_t bytes)
{
    return matrix->bytes > 0 ? (double)bytes / matrix->bytes : 0;
}

static void say(const struct matrix *matrix, double seconds, struct pd_report *report)
{
    char total[PD_APP_AMOUNT_BYTES], amount[PD_APP_AMOUNT_BYTES], words[200] = "";
    size_t at = 0;

    if (!matrix->len) {
        pd_app_report_say(report, "no traffic in %g s", seconds);
        return;
    }
    for (size_t i = 0; i < matrix->len && i < NAMED_LEN; i++) {
        at += (size_t)snprintf(words + at, sizeof words - at,
                               "%s %" PRIu32 " to %" PRIu32 " %s (%.0f %%)", i ? "," : "",
                               matrix->pairs[i].src, matrix->pairs[i].dst,
                               pd_app_amount((double)matrix->pairs[i].bytes, amount),
                               100 * share(matrix, matrix->pairs[i].bytes));
    }
    pd_app_report_say(report, "%s in %g s between %zu pairs of racks; most from%s",
                      pd_app_amount(matrix->bytes, total), seconds, matrix->len, words);
}

static void show(const struct matrix *matrix, struct pd_report *report)
{
    for (size_t i = 0; i < matrix->len; i++) {
        const struct pair *pair = &matrix->pairs[i];

        pd_app_report_row(report, "pairs",
                          json_pack("{s:I, s:I, s:I, s:I, s:f}", "src_switch",
                                    (json_int_t)pair->src, "dst_switch", (json_int_t)pair->dst,
                                    "bytes", (json_int_t)pair->bytes, "pkts",
                                    (json_int_t)pair->pkts, "share", share(matrix, pair->bytes)));
    }
}

static int ask_matrix(const struct pd_app_call *call, const struct pd_app_window *window,
                      struct matrix *matrix, struct pd_report *report, struct pd_error *error)
{
    const struct pd_app_rows_query query = {
        .name = "trafficMatrix", .list = "pairs", .args = pd_app_window_args(window)};
    int err = pd_app_ask_rows(call, report, &query, take, matrix, NULL, error);

    if (matrix->strange) {
        pd_app_report_lacks(
            report, "%zu rows of an answer (pairs) name switches that are not there: left out",
            matrix->strange);
    }
    return err == -ENOMEM ? pd_fail(error, err, "%s", pd_error_text(err)) : err;
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    struct matrix matrix = {.topology = call->world->topology};
    struct pd_app_window window;
    int err = pd_app_window_read(call, &window, error);

    (void)state;
    if (!err) {
        err = ask_matrix(call, &window, &matrix, report, error);
    }
    if (!err) {
        if (matrix.len) {
            qsort(matrix.pairs, matrix.len, sizeof *matrix.pairs, largest_first);
        }
        say(&matrix, pd_app_window_s(&window), report);
        show(&matrix, report);
        /* It is a measurement: what all hosts counted. */
        report->certain = matrix.len;
        report->confidence = matrix.len ? 1 : 0;
    }
    free(matrix.pairs);
    return err;
}

static const struct pd_app_param params[] = {
    PD_APP_WINDOW_PARAMS("60"),
    {.name = NULL},
};

const struct pd_app_ops pd_app_traffic_matrix = {
    .name = "traffic-matrix",
    .section = "2.3, Table 2",
    .help = "how many bytes and packets does each rack send to each other one?",
    .params = params,
    .period_s = 60,
    .run = run,
};
