/* SPDX-License-Identifier: Apache-2.0 */
/* tail-latency: which port slows these flows, and is that new (paper 002, Table 2). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "apps/rows.h"
#include "apps/tail_latency/ports.h"
#include "apps/window.h"

#define PORT_TEXT_BYTES 64

static const char *const filter[] = {"src_ip", "dst_ip", "src_port", "dst_port", "protocol"};

/* ---- asking */

static json_t *question_of(const struct pd_app_call *call, const struct pd_app_window *window,
                           const char *by)
{
    json_t *args = pd_app_window_args(window);
    char quantile[16];
    int failed = 0;

    snprintf(quantile, sizeof quantile, "%.6g", pd_app_arg_number(call->args, "quantile", 0.99));
    failed |= json_object_set(args, "name", json_object_get(call->args, "name"));
    failed |= json_object_set_new(args, "by", json_string(by));
    failed |= json_object_set_new(args, "quantiles", json_string(quantile));
    for (size_t i = 0; i < sizeof filter / sizeof *filter; i++) {
        json_t *value = json_object_get(call->args, filter[i]);
        failed |= value && json_object_set(args, filter[i], value);
    }
    if (failed) {
        json_decref(args);
        return NULL;
    }
    return args;
}

static int ask(const struct pd_app_call *call, const struct pd_app_window *window, const char *by,
               struct tail_ports *ports, struct pd_report *report, struct pd_error *error)
{
    json_t *answer = NULL;
    int err = pd_app_ask(call, report, "getTelemetry", question_of(call, window, by), NULL, &answer,
                         error);

    if (!err && pd_tail_latency_ports_take(ports, answer)) {
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    json_decref(answer);
    if (!err && ports->bad) {
        pd_app_report_lacks(report, "%zu rows of an answer are none: left out", ports->bad);
    }
    if (!err && ports->left_out) {
        pd_app_report_lacks(report, "%zu rows had no room", ports->left_out);
    }
    if (!err) {
        pd_tail_latency_ports_judge(ports, pd_app_arg_number(call->args, "quantile", 0.99));
    }
    return err;
}

/* ---- the report */

static const char *port_text(const struct tail_port *port, char text[PORT_TEXT_BYTES])
{
    if (port->to) {
        snprintf(text, PORT_TEXT_BYTES, "%" PRIu32 " towards %" PRIu32, port->sw, port->to);
    } else {
        snprintf(text, PORT_TEXT_BYTES, "%" PRIu32 " towards its hosts", port->sw);
    }
    return text;
}

static bool is_known(const struct tail_port *before)
{
    return before && before->bins.samples;
}

static bool is_new(const struct tail_port *now, const struct tail_port *before)
{
    return is_known(before) && now->low > before->high;
}

static void tell_port(const struct tail_port *port, const struct tail_port *before, double percent,
                      const struct pd_topology *topology, struct pd_report *report)
{
    char text[PORT_TEXT_BYTES];

    if (pd_topology_switch(topology, port->to) != PD_NONE) {
        pd_app_report_link(report, port->sw, port->to);
    }
    pd_app_report_switch(report, port->sw);
    pd_app_report_evidence(report,
                           "%s: %.4g %% of %" PRIu64 " samples are at most %" PRIu64 " (%" PRIu64
                           " to %" PRIu64 "), and at all other hops of a path together "
                           "at most %" PRIu64,
                           port_text(port, text), percent, port->bins.samples, port->value,
                           port->low, port->high, port->others);
    if (is_known(before)) {
        pd_app_report_evidence(
            report, "%s: %s, %" PRIu64 " in the span before (%" PRIu64 " to %" PRIu64 ")",
            port_text(port, text), is_new(port, before) ? "new" : "not new", before->value,
            before->low, before->high);
    } else {
        pd_app_report_evidence(report, "%s: nothing was measured there in the span before",
                               port_text(port, text));
    }
}

static int slowest_first(const void *a, const void *b)
{
    const struct tail_port *const *x = a, *const *y = b;

    if ((*x)->value != (*y)->value) {
        return (*x)->value < (*y)->value ? 1 : -1;
    }
    return (*x)->sw != (*y)->sw ? ((*x)->sw > (*y)->sw ? 1 : -1) : ((*x)->to > (*y)->to) * 2 - 1;
}

static json_t *port_row(const struct tail_port *port, const struct tail_port *before)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:b}", "switch", (json_int_t)port->sw,
                     "to", (json_int_t)port->to, "samples", (json_int_t)port->bins.samples, "value",
                     (json_int_t)port->value, "low", (json_int_t)port->low, "high",
                     (json_int_t)port->high, "before",
                     is_known(before) ? json_integer((json_int_t)before->value) : json_null(),
                     "slow", (int)port->slow);
}

static void show(const struct tail_ports *now, const struct tail_ports *before, uint64_t k,
                 struct pd_report *report)
{
    const struct tail_port **order = calloc(now->len + 1, sizeof(void *));

    for (size_t i = 0; order && i < now->len; i++) {
        order[i] = &now->ports[i];
    }
    if (!order) {
        report->failed = true;
        return;
    }
    qsort(order, now->len, sizeof(void *), slowest_first);
    for (size_t i = 0; i < now->len && i < k; i++) {
        pd_app_report_row(
            report, "ports",
            port_row(order[i], pd_tail_latency_ports_find(before, order[i]->sw, order[i]->to)));
    }
    free((void *)order);
}

/* What stands of the slow ports. */
struct slow {
    size_t ports, fresh, unknown; /* unknown: of which nothing was measured before */
    const struct tail_port *first;
};

static void say(const struct slow *slow, size_t measured, double percent, struct pd_report *report)
{
    char text[PORT_TEXT_BYTES];

    if (!measured) {
        pd_app_report_say(report, "nothing was measured");
    } else if (!slow->ports) {
        pd_app_report_say(report, "no port makes the tail of a path alone");
    } else if (slow->ports == 1) {
        pd_app_report_say(report,
                          "switch %s slows these flows: %.4g %% of packets wait at most "
                          "%" PRIu64 "%s",
                          port_text(slow->first, text), percent, slow->first->value,
                          slow->fresh     ? ", which is new"
                          : slow->unknown ? "; nothing was measured there before"
                                          : ", as before");
    } else {
        pd_app_report_say(report, "%zu ports slow these flows, %zu of them anew; most switch %s",
                          slow->ports, slow->fresh, port_text(slow->first, text));
    }
}

/* A port of which nothing was measured before may always have been slow: never for certain. */
static void judge(const struct pd_app_call *call, const struct tail_ports *now,
                  const struct tail_ports *before, struct pd_report *report)
{
    const double percent = 100 * pd_app_arg_number(call->args, "quantile", 0.99);
    struct slow slow = {0};
    size_t few = 0;

    for (size_t i = 0; i < now->len; i++) {
        const struct tail_port *port = &now->ports[i];
        const struct tail_port *then = pd_tail_latency_ports_find(before, port->sw, port->to);
        few += !port->enough;
        if (port->slow) {
            slow.ports++;
            slow.fresh += is_new(port, then);
            slow.unknown += !is_known(then);
            slow.first = !slow.first || port->value > slow.first->value ? port : slow.first;
            tell_port(port, then, percent, call->world->topology, report);
        }
    }
    if (few) {
        pd_app_report_lacks(report, "%zu of %zu ports have too few samples for that quantile", few,
                            now->len);
    }
    if (slow.unknown) {
        pd_app_report_lacks(report,
                            "what %zu of %zu slow ports were like before: nothing was measured",
                            slow.unknown, slow.ports);
    }
    report->certain = now->len > 0 && !few && !slow.unknown;
    report->confidence = now->len ? 0.95 : 0;
    say(&slow, now->len, percent, report);
}

static int check(const struct pd_app_call *call, struct pd_error *error)
{
    const double quantile = pd_app_arg_number(call->args, "quantile", 0.99);

    return quantile > 0 && quantile < 1
               ? 0
               : pd_fail(error, -PD_E_VALUE, "quantile: expects a number between 0 and 1");
}

/* The span that ends where the window begins. */
static struct pd_app_window span_before(const struct pd_app_call *call,
                                        const struct pd_app_window *window)
{
    const uint64_t us = (uint64_t)(pd_app_arg_number(call->args, "before", 60) * 1e6);

    return (struct pd_app_window){.from_us = window->from_us > us ? window->from_us - us : 0,
                                  .to_us = window->from_us ? window->from_us - 1 : 0};
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    struct tail_ports now = {0}, before = {0};
    struct pd_app_window window;
    int err = check(call, error);

    (void)state;
    if (!err) {
        err = pd_app_window_read(call, &window, error);
    }
    if (!err) {
        err = ask(call, &window, "flow-port", &now, report, error);
    }
    if (!err) { /* of it only ports matter, and flows of a minute are many rows */
        const struct pd_app_window then = span_before(call, &window);
        err = ask(call, &then, "port", &before, report, error);
    }
    if (!err) {
        judge(call, &now, &before, report);
        show(&now, &before, pd_app_arg_u64(call->args, "k", 10), report);
    }
    pd_tail_latency_ports_done(&now);
    pd_tail_latency_ports_done(&before);
    return err;
}

static const struct pd_app_param params[] = {
    PD_APP_WINDOW_PARAMS("10"),
    {.name = "before",
     .kind = PD_APP_SECONDS,
     .value = "S",
     .fallback = "60",
     .help = "how long the span before is, for what is new"},
    {.name = "name",
     .kind = PD_APP_TEXT,
     .value = "NAME",
     .fallback = "latency",
     .help = "which value of the telemetry plan"},
    {.name = "quantile",
     .kind = PD_APP_NUMBER,
     .value = "Q",
     .fallback = "0.99",
     .help = "what the tail is"},
    {.name = "src_ip", .kind = PD_APP_ADDRESS, .value = "IP", .help = "of flows from here"},
    {.name = "dst_ip", .kind = PD_APP_ADDRESS, .value = "IP", .help = "to here"},
    {.name = "src_port", .kind = PD_APP_INTEGER, .value = "PORT", .help = "from this port"},
    {.name = "dst_port", .kind = PD_APP_INTEGER, .value = "PORT", .help = "to this port"},
    {.name = "protocol", .kind = PD_APP_TEXT, .value = "PROTO", .help = "tcp, udp, a number"},
    {.name = "k",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .fallback = "10",
     .help = "how many ports to show"},
    {.name = NULL},
};

const struct pd_app_ops pd_app_tail_latency = {
    .name = "tail-latency",
    .section = "PINT, Table 2",
    .help = "which port slows these flows, and is that new?",
    .params = params,
    .period_s = 2,
    .run = run,
};
