/* SPDX-License-Identifier: Apache-2.0 */
/* load-imbalance: does a balancer spread flows, or the packets of one flow, evenly? (paper 000,
 * sections 2.3 and 4.2) */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "apps/load_imbalance/chance.h"
#include "apps/load_imbalance/loads.h"
#include "apps/load_imbalance/spray.h"
#include "apps/sums.h"
#include "tib/record.h"

/* The paper's metric: λ = (Lmax / mean - 1) · 100 %. Deviation: besides λ the chance is judged that
 * hashing alone made it (chance.h); the paper leaves that to who reads the figure. */

struct judged {
    uint32_t group;
    double rate_pct;
    double chance; /* that flows of these sizes, each put by itself, make such a load */
    size_t top;    /* link with the highest load */
    bool measured; /* loads are those that ports measured */
    uint64_t run;  /* so many largest flows lie on one link … */
    size_t run_link;
    uint64_t run_bytes, next_bytes; /* the smallest of them; the largest flow elsewhere */
    double run_chance;
};

static double rate_of(double most, double sum, double links)
{
    return sum > 0 ? (most / (sum / links) - 1) * 100 : 0;
}

/* Bytes that arrived over a link, or the share of the group's that its port measured. */
static double load_of(const struct load_link *link, double sum, double measured)
{
    return measured > 0 ? link->measured / measured * sum : (double)link->bytes;
}

static void judge_load(const struct loads *loads, struct judged *judged)
{
    size_t begin, end;
    double sum = 0, squares = 0, most = 0, measured = 0;

    pd_load_imbalance_loads_group(loads, judged->group, &begin, &end);
    judged->top = begin;
    judged->measured = pd_load_imbalance_loads_measured(loads, judged->group);
    for (size_t i = begin; i < end; i++) {
        sum += (double)loads->links[i].bytes;
        squares += loads->links[i].squares;
        measured += judged->measured ? loads->links[i].measured : 0;
    }
    for (size_t i = begin; i < end; i++) {
        double load = load_of(&loads->links[i], sum, measured);

        if (load > most) {
            most = load;
            judged->top = i;
        }
    }
    judged->rate_pct = rate_of(most, sum, (double)(end - begin));
    judged->chance = pd_load_imbalance_chance_of_load(most - sum / (double)(end - begin), squares,
                                                      (double)loads->links_len);
}

/* Are the largest flows all on one link? A hash by size does that. */
static void judge_sizes(const struct loads *loads, struct judged *judged)
{
    size_t begin, end, at, links_begin, links_end;

    pd_load_imbalance_loads_group(loads, judged->group, &links_begin, &links_end);
    pd_load_imbalance_loads_group_flows(loads, judged->group, &begin, &end);
    for (at = begin; at < end && loads->flows[at].link == loads->flows[begin].link;) {
        at++;
    }
    judged->next_bytes = at < end ? loads->flows[at].bytes : 0;
    /* Flows of the same size as one elsewhere show no border. */
    while (at > begin && loads->flows[at - 1].bytes <= judged->next_bytes) {
        at--;
    }
    judged->run = at - begin;
    judged->run_bytes = at > begin ? loads->flows[at - 1].bytes : 0;
    judged->run_link = begin < end ? loads->flows[begin].link : links_begin;
    judged->run_chance = at < end ? pd_load_imbalance_chance_of_run(
                                        judged->run, links_end - links_begin, loads->groups_len)
                                  : 1;
}

/* The group that chance explains least, then the one with the highest rate. */
static struct judged worst_group(const struct loads *loads)
{
    struct judged worst = {.chance = 2, .run_chance = 2};

    for (uint32_t group = 0; group < loads->groups_len; group++) {
        struct judged judged = {.group = group};
        double least, before = fmin(worst.chance, worst.run_chance);

        judge_load(loads, &judged);
        judge_sizes(loads, &judged);
        least = fmin(judged.chance, judged.run_chance);
        if (least < before || (least == before && judged.rate_pct > worst.rate_pct)) {
            worst = judged;
        }
    }
    return worst;
}

/* ---- figures ---- */

static void show_links(const struct loads *loads, uint32_t group, struct pd_report *report)
{
    size_t begin, end;
    double sum = 0;

    pd_load_imbalance_loads_group(loads, group, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        sum += (double)loads->links[i].bytes;
    }
    for (size_t i = begin; i < end; i++) {
        const struct load_link *link = &loads->links[i];

        json_t *measured = link->measured >= 0 ? json_real(link->measured) : NULL;

        pd_app_report_row(report, "links",
                          json_pack("{s:o, s:I, s:I, s:f, s:o*}", "link",
                                    pd_app_link_json(link->link), "bytes", (json_int_t)link->bytes,
                                    "flows", (json_int_t)link->flows, "share",
                                    sum > 0 ? (double)link->bytes / sum : 0, "measured", measured));
    }
}

/* 1, 2, 5, 10, 20, 50 … : the least bin that holds the flow. */
static uint64_t bin_of(uint64_t bytes)
{
    static const uint64_t steps[] = {1, 2, 5};
    uint64_t scale = 1;

    for (; scale < UINT64_C(1000000000000000); scale *= 10) {
        for (unsigned i = 0; i < 3; i++) {
            if (bytes <= steps[i] * scale) {
                return steps[i] * scale;
            }
        }
    }
    return PD_TIB_SUM_MAX;
}

/* Flows of a group come largest first: those of a link are counted bin by bin. */
static void show_sizes(const struct loads *loads, uint32_t group, struct pd_report *report)
{
    size_t begin, end, first, last;

    pd_load_imbalance_loads_group(loads, group, &begin, &end);
    pd_load_imbalance_loads_group_flows(loads, group, &first, &last);
    for (size_t link = begin; link < end; link++) {
        uint64_t bin = 0, flows = 0;

        for (size_t i = last; i-- > first;) {
            if (loads->flows[i].link != link) {
                continue;
            }
            if (bin != bin_of(loads->flows[i].bytes) && flows) {
                pd_app_report_row(report, "sizes",
                                  json_pack("{s:o, s:I, s:I}", "link",
                                            pd_app_link_json(loads->links[link].link), "upto_bytes",
                                            (json_int_t)bin, "flows", (json_int_t)flows));
                flows = 0;
            }
            bin = bin_of(loads->flows[i].bytes);
            flows++;
        }
        if (flows) {
            pd_app_report_row(report, "sizes",
                              json_pack("{s:o, s:I, s:I}", "link",
                                        pd_app_link_json(loads->links[link].link), "upto_bytes",
                                        (json_int_t)bin, "flows", (json_int_t)flows));
        }
    }
}

/* One row for each interval that had traffic; tells how many of them were at the threshold or
 * beyond. */
static void show_rates(const struct loads *loads, uint32_t group, double threshold,
                       struct pd_report *report)
{
    size_t begin, end, busy = 0, beyond = 0;

    pd_load_imbalance_loads_group(loads, group, &begin, &end);
    for (size_t t = 0; t < loads->intervals_len; t++) {
        double most = 0, sum = 0, rate;

        for (size_t i = begin; i < end; i++) {
            double bytes = loads->cells[i * loads->intervals_len + t];

            most = fmax(most, bytes);
            sum += bytes;
        }
        rate = rate_of(most, sum, (double)(end - begin));
        if (sum <= 0) {
            continue;
        }
        busy++;
        beyond += rate >= threshold;
        pd_app_report_row(
            report, "rate",
            json_pack("{s:f, s:f}", "t_s", (double)t * loads->interval_s, "rate_pct", rate));
    }
    if (busy) {
        pd_app_report_evidence(report, "in %zu of %zu intervals of %g s the rate was %g %% or more",
                               beyond, busy, loads->interval_s, threshold);
    }
}

/* ---- the verdict ---- */

static void say_sizes(const struct loads *loads, const struct judged *judged,
                      struct pd_report *report)
{
    struct pd_link_match link = loads->links[judged->run_link].link;
    char least[PD_APP_AMOUNT_BYTES], next[PD_APP_AMOUNT_BYTES];

    pd_app_amount((double)judged->run_bytes, least);
    pd_app_amount((double)judged->next_bytes, next);
    pd_app_report_link(report, link.from, link.to);
    pd_app_report_say(report,
                      "flows are split by size: all %" PRIu64 " flows of %s and more take %" PRIu32
                      "-%" PRIu32 "; imbalance rate %.0f %%",
                      judged->run, least, link.from, link.to, judged->rate_pct);
    pd_app_report_evidence(
        report,
        "the %" PRIu64 " largest flows, down to %s, are on %" PRIu32 "-%" PRIu32
        "; the largest elsewhere has %s; chance does that with a probability of at most %.1g",
        judged->run, least, link.from, link.to, next, judged->run_chance);
}

static void say_load(const struct loads *loads, const struct judged *judged,
                     struct pd_report *report)
{
    const struct load_link *top = &loads->links[judged->top];
    char amount[PD_APP_AMOUNT_BYTES];

    pd_app_report_link(report, top->link.from, top->link.to);
    pd_app_report_say(report,
                      "uneven: %" PRIu32 "-%" PRIu32 " carries the most, imbalance rate %.0f %%",
                      top->link.from, top->link.to, judged->rate_pct);
    pd_app_report_evidence(
        report,
        "%" PRIu32 "-%" PRIu32 " carried %s in %" PRIu64
        " flows; flows of these sizes, hashed, do that with a probability of at most %.1g",
        top->link.from, top->link.to, pd_app_amount((double)top->bytes, amount), top->flows,
        judged->chance);
}

static void say(const struct loads *loads, const struct judged *judged, double threshold,
                struct pd_report *report)
{
    bool by_size = judged->run_chance < CHANCE_REPORTED;
    double chance = by_size ? judged->run_chance : judged->chance;

    if (!loads->flows_len) {
        pd_app_report_say(report, "no traffic over these links");
        return;
    }
    if (judged->rate_pct < threshold) {
        pd_app_report_say(report, "even: imbalance rate %.0f %%, below %g %%", judged->rate_pct,
                          threshold);
        return;
    }
    if (chance >= CHANCE_REPORTED) {
        pd_app_report_say(
            report,
            "nothing that chance does not explain: imbalance rate %.0f %%, but so few large flows "
            "come to lie that way",
            judged->rate_pct);
        return;
    }
    if (by_size) {
        say_sizes(loads, judged, report);
    } else {
        say_load(loads, judged, report);
    }
    pd_app_report_switch(report, loads->links[by_size ? judged->run_link : judged->top].link.from);
    report->certain = true;
    report->confidence = 1 - chance;
}

/* ---- a run ---- */

static json_t *query_args(const struct loads *loads, const struct pd_app_window *window)
{
    json_t *args = pd_app_window_args(window);
    uint32_t from = pd_load_imbalance_loads_switch(loads);

    if (args && from) {
        json_object_set_new(args, "link", json_sprintf("%" PRIu32 "-*", from));
    }
    return args;
}

static int measure(const struct pd_app_call *call, const struct pd_app_window *window,
                   struct loads *loads, struct pd_error *error)
{
    struct pd_app_measured measured = {0};
    int err = pd_app_measured_ask(call, window, &measured);

    pd_load_imbalance_loads_measure(loads, &measured);
    pd_app_measured_done(&measured);
    return err ? pd_fail(error, err, "%s", pd_error_text(err)) : 0;
}

static int balance(const struct pd_app_call *call, const struct pd_app_window *window,
                   struct pd_report *report, struct pd_error *error)
{
    double threshold = pd_app_arg_number(call->args, "threshold", 40);
    struct loads loads = {0};
    struct pd_app_flows flows = {0};
    int err = pd_load_imbalance_loads_choose(&loads, call, error);

    if (!err) {
        err = pd_app_flows_ask(call, report, query_args(&loads, window), NULL, &flows, error);
    }
    if (!err) {
        err = pd_load_imbalance_loads_count(&loads, &flows, window,
                                            pd_app_arg_number(call->args, "interval", 5), error);
    }
    if (!err) {
        err = measure(call, window, &loads, error);
    }
    if (!err) {
        struct judged judged = worst_group(&loads);

        if (judged.measured) {
            pd_app_report_evidence(report, "loads are the utilisation that ports measured");
        }
        say(&loads, &judged, threshold, report);
        show_links(&loads, judged.group, report);
        show_sizes(&loads, judged.group, report);
        show_rates(&loads, judged.group, threshold, report);
    }
    pd_app_flows_done(&flows);
    pd_load_imbalance_loads_done(&loads);
    return err;
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    struct pd_app_window window;
    int err = pd_app_window_read(call, &window, error);

    (void)state;
    if (err) {
        return err;
    }
    return json_object_get(call->args, "dst_ip")
               ? pd_load_imbalance_spray_run(call, &window, report, error)
               : balance(call, &window, report, error);
}

static const struct pd_app_param params[] = {
    {.name = "links", .kind = PD_APP_TEXT, .value = "LIST", .help = "links to compare: 9-17,9-18"},
    {.name = "switch",
     .kind = PD_APP_INTEGER,
     .value = "ID",
     .help = "compare the uplinks of this switch; neither: of each switch, the worst is shown"},
    {.name = "threshold",
     .kind = PD_APP_NUMBER,
     .value = "PCT",
     .fallback = "40",
     .help = "imbalance rate in per cent under which nothing is reported"},
    {.name = "interval",
     .kind = PD_APP_SECONDS,
     .value = "S",
     .fallback = "5",
     .help = "the rate is told for each interval of so long"},
    {.name = "src_ip",
     .kind = PD_APP_ADDRESS,
     .value = "IP",
     .help = "packet spraying: the flow's source"},
    {.name = "dst_ip",
     .kind = PD_APP_ADDRESS,
     .value = "IP",
     .help = "packet spraying: the flow's destination; its packets are compared path by path"},
    {.name = "src_port",
     .kind = PD_APP_INTEGER,
     .value = "PORT",
     .help = "packet spraying: its source port"},
    {.name = "dst_port",
     .kind = PD_APP_INTEGER,
     .value = "PORT",
     .help = "packet spraying: its destination port"},
    {.name = "protocol",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .help = "packet spraying: its protocol"},
    PD_APP_MEASURED_PARAM,
    PD_APP_WINDOW_PARAMS("60"),
    {.name = NULL},
};

const struct pd_app_ops pd_app_load_imbalance = {
    .name = "load-imbalance",
    .section = "4.2",
    .help = "does a balancer spread flows, or the packets of one flow, evenly over its links?",
    .params = params,
    .period_s = 5,
    .run = run,
};
