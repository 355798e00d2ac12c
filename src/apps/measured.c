/* SPDX-License-Identifier: Apache-2.0 */
/* Measured ports, from answers that other hosts may have made up. */
#include "apps/measured.h"

#include <errno.h>
#include <stdlib.h>

#include "apps/args.h"
#include "apps/rows.h"
#include "base/grow.h"

#define PPM            1e6
#define PORTS_MAX      65536u
#define USED_MAX       1000 /* of a capacity: more is no measurement */
#define VALUES_SUM_MAX 9e15

static int by_link(const void *a, const void *b)
{
    const struct pd_app_measured_port *x = a, *y = b;

    return x->link.from != y->link.from ? (x->link.from > y->link.from ? 1 : -1)
                                        : (x->link.to > y->link.to) - (x->link.to < y->link.to);
}

/* The mean of a row's values; negative: it has none. */
static double mean_of(const json_t *row)
{
    const json_t *pair;
    double sum = 0, samples = 0;
    size_t i;

    json_array_foreach(json_object_get(row, "values"), i, pair)
    {
        const double value = json_number_value(json_array_get(pair, 0));
        const double count = json_number_value(json_array_get(pair, 1));
        if (json_array_size(pair) != 2 || !(value >= 0) || !(count >= 0) ||
            !(value < VALUES_SUM_MAX) || !(count < VALUES_SUM_MAX)) {
            return -1;
        }
        sum += value * count;
        samples += count;
    }
    return samples > 0 && sum / samples <= USED_MAX * PPM ? sum / samples / PPM : -1;
}

static int take_row(struct pd_app_measured *measured, const json_t *row)
{
    const double used = mean_of(row);
    uint64_t sw, to;

    if (used < 0 || !pd_app_number(row, "switch", &sw) || !pd_app_number(row, "to", &to) || !sw ||
        !to || sw > UINT32_MAX || to > UINT32_MAX || measured->len == PORTS_MAX) {
        return 0;
    }
    if (PD_GROW(measured->ports, measured->room, measured->len + 1)) {
        return -ENOMEM;
    }
    measured->ports[measured->len++] =
        (struct pd_app_measured_port){{(uint32_t)sw, (uint32_t)to}, used};
    return 0;
}

static json_t *question_of(const struct pd_app_call *call, const struct pd_app_window *window)
{
    json_t *args = pd_app_window_args(window);
    const json_t *given = json_object_get(call->args, "measured");
    int failed = json_object_set_new(args, "name",
                                     json_string(given ? json_string_value(given) : "utilisation"));

    failed |= json_object_set_new(args, "by", json_string("port"));
    failed |= json_object_set_new(args, "quantiles", json_string("0.5"));
    if (failed) {
        json_decref(args);
        return NULL;
    }
    return args;
}

int pd_app_measured_ask(const struct pd_app_call *call, const struct pd_app_window *window,
                        struct pd_app_measured *ret_measured)
{
    json_t *answer = NULL, *row;
    struct pd_error ignored;
    size_t i;
    int err = pd_app_ask(call, NULL, "getTelemetry", question_of(call, window), NULL, &answer,
                         &ignored); /* who did not answer is told for the bytes */

    *ret_measured = (struct pd_app_measured){0};
    if (err) {
        return err == -ENOMEM ? err : 0;
    }
    json_array_foreach(json_object_get(answer, "rows"), i, row)
    {
        err = err ? err : take_row(ret_measured, row);
    }
    json_decref(answer);
    if (ret_measured->len) {
        qsort(ret_measured->ports, ret_measured->len, sizeof *ret_measured->ports, by_link);
    }
    return err;
}

void pd_app_measured_done(struct pd_app_measured *measured)
{
    free(measured->ports);
    *measured = (struct pd_app_measured){0};
}

double pd_app_measured_used(const struct pd_app_measured *measured, struct pd_link_match link)
{
    const struct pd_app_measured_port key = {.link = link};
    const struct pd_app_measured_port *port =
        measured->len
            ? bsearch(&key, measured->ports, measured->len, sizeof *measured->ports, by_link)
            : NULL;

    return port ? port->used : -1;
}
