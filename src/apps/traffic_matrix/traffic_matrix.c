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

#define NAMED_LEN 3 /* pairs that the verdict names */

struct pair {
    uint32_t src, dst;
    uint64_t bytes, pkts;
};

struct matrix {
    const struct pd_topology *topology;
    struct pair *pairs;
    size_t len;
    double bytes;
};

static bool read_switch(const struct matrix *matrix, const json_t *object, const char *member,
                        uint32_t *ret_id)
{
    uint64_t id = 0;

    if (!pd_app_number(object, member, &id) || id > UINT32_MAX ||
        pd_topology_switch(matrix->topology, (uint32_t)id) == PD_NONE) {
        return false;
    }
    *ret_id = (uint32_t)id;
    return true;
}

static bool take(void *context, const json_t *object)
{
    struct matrix *matrix = context;
    struct pair *pair = &matrix->pairs[matrix->len];

    if (!read_switch(matrix, object, "src_switch", &pair->src) ||
        !read_switch(matrix, object, "dst_switch", &pair->dst) ||
        !pd_app_amounts_read(object, &pair->bytes, &pair->pkts)) {
        return false;
    }
    matrix->len++;
    matrix->bytes += (double)pair->bytes;
    return true;
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
        pd_report_say(report, "no traffic in %g s", seconds);
        return;
    }
    for (size_t i = 0; i < matrix->len && i < NAMED_LEN; i++) {
        at += (size_t)snprintf(words + at, sizeof words - at,
                               "%s %" PRIu32 " to %" PRIu32 " %s (%.0f %%)", i ? "," : "",
                               matrix->pairs[i].src, matrix->pairs[i].dst,
                               pd_app_amount((double)matrix->pairs[i].bytes, amount),
                               100 * share(matrix, matrix->pairs[i].bytes));
    }
    pd_report_say(report, "%s in %g s between %zu pairs of racks; most from%s",
                  pd_app_amount(matrix->bytes, total), seconds, matrix->len, words);
}

static void show(const struct matrix *matrix, struct pd_report *report)
{
    for (size_t i = 0; i < matrix->len; i++) {
        const struct pair *pair = &matrix->pairs[i];

        pd_report_row(report, "pairs",
                      json_pack("{s:I, s:I, s:I, s:I, s:f}", "src_switch", (json_int_t)pair->src,
                                "dst_switch", (json_int_t)pair->dst, "bytes",
                                (json_int_t)pair->bytes, "pkts", (json_int_t)pair->pkts, "share",
                                share(matrix, pair->bytes)));
    }
}

static int read_matrix(const json_t *answer, struct matrix *matrix, struct pd_report *report,
                       struct pd_error *error)
{
    size_t room = json_array_size(json_object_get(answer, "pairs"));

    matrix->pairs = calloc(room ? room : 1, sizeof *matrix->pairs);
    if (!matrix->pairs) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    return pd_app_objects(answer, "pairs", report, take, matrix, error);
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    struct matrix matrix = {.topology = call->world->topology};
    struct pd_app_window window;
    json_t *answer = NULL;
    int e = pd_app_window_read(call, &window, error);

    (void)state;
    if (!e) {
        e = pd_app_ask(call, report, "trafficMatrix", pd_app_window_args(&window), NULL, &answer,
                       error);
    }
    if (!e) {
        e = read_matrix(answer, &matrix, report, error);
    }
    if (!e) {
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
    json_decref(answer);
    return e;
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
