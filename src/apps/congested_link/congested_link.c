/* SPDX-License-Identifier: Apache-2.0 */
/* congested-link: which links are full, and which flows to move elsewhere (paper 000, Table 2). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "apps/congested_link/use.h"
#include "apps/sums.h"
#include "topology/paths.h"

/* A move is made in thought: the flow's bytes leave the links of its path and join those of the
 * other one, so that two moves do not both take the same room. The largest flow that finds a path
 * with room goes first; flows are moved until the link is below the target. */

#define LINKS_NAMED_MAX 64  /* that moves are looked for */
#define MOVES_MAX       200 /* of one link */

struct moving {
    struct uses *uses;
    double target_bytes; /* that a link may carry in the window */
    double flow_bytes;
    const struct pd_path *from;
    struct pd_path best;
    double best_worst, best_sum; /* bytes of its fullest link, the least of all; of all its links */
};

static double use_of(const struct uses *uses, const struct use *use)
{
    return use->bytes / uses->capacity_bytes;
}

/* Fullest link of the other way, with the flow on it; links that both ways have stay as they are.
 */
static int consider(void *context, const struct pd_path *path)
{
    struct moving *moving = context;
    double worst = 0, sum = 0;

    for (unsigned hop = 0; hop + 1 < path->len; hop++) {
        const struct pd_link_match link = {path->switches[hop], path->switches[hop + 1]};
        const struct use *use = pd_congested_link_uses_find(moving->uses, link);
        double bytes =
            (use ? use->bytes : 0) + (pd_path_crosses(moving->from, link) ? 0 : moving->flow_bytes);

        worst = bytes > worst ? bytes : worst;
        sum += bytes;
    }
    if (worst <= moving->target_bytes &&
        (moving->best_worst < 0 || worst < moving->best_worst ||
         (worst == moving->best_worst && sum < moving->best_sum))) {
        moving->best_worst = worst;
        moving->best_sum = sum;
        moving->best = *path;
    }
    return 0;
}

static void shift(struct uses *uses, const struct pd_path *path, double bytes)
{
    for (unsigned hop = 0; hop + 1 < path->len; hop++) {
        struct use *use = pd_congested_link_uses_find(
            uses, (struct pd_link_match){path->switches[hop], path->switches[hop + 1]});

        if (use) {
            use->bytes += bytes;
        }
    }
}

/* The way to the same rack with the most room that the link is not part of. */
static bool find_way(const struct pd_topology *topology, struct moving *moving,
                     struct pd_link_match away)
{
    uint32_t first = pd_topology_switch(topology, moving->from->switches[0]);
    uint32_t last = pd_topology_switch(topology, moving->from->switches[moving->from->len - 1]);

    moving->best_worst = -1;
    return pd_topology_shortest(topology, first, last, consider, moving) == 0 &&
           moving->best_worst >= 0 && !pd_path_crosses(&moving->best, away);
}

static void note_move(const struct use *use, const struct use_flow *flow,
                      const struct pd_path *best, double seconds, struct pd_report *report)
{
    char ends[PD_ENDS_TEXT_BYTES], to[PD_APP_PATH_TEXT_BYTES];

    pd_app_report_row(report, "moves",
                      json_pack("{s:o, s:s, s:f, s:s}", "link", pd_app_link_json(use->link), "flow",
                                pd_ends_format(&flow->row->flow, ends), "mbps",
                                flow->bytes * 8 / 1e6 / seconds, "to", pd_app_path_text(best, to)));
    pd_app_report_flow(
        report, json_pack("{s:o, s:o, s:o, s:f}", "flow_id", pd_app_flow_json(&flow->row->flow),
                          "path", pd_app_path_json(&flow->row->path), "move_to",
                          pd_app_path_json(best), "mbps", flow->bytes * 8 / 1e6 / seconds));
}

/* Returns how many were moved. */
static unsigned relieve(const struct pd_app_call *call, struct uses *uses, struct use *use,
                        double target, double seconds, struct pd_report *report)
{
    struct moving moving = {.uses = uses, .target_bytes = target * uses->capacity_bytes};
    unsigned moved = 0;

    for (size_t i = 0; i < uses->flows_len && moved < MOVES_MAX; i++) {
        struct use_flow *flow = &uses->flows[i];

        if (use->bytes <= moving.target_bytes) {
            break;
        }
        if (flow->moved || flow->bytes <= 0 || !pd_path_crosses(&flow->row->path, use->link)) {
            continue;
        }
        moving.from = &flow->row->path;
        moving.flow_bytes = flow->bytes;
        if (!find_way(call->world->topology, &moving, use->link)) {
            continue;
        }
        shift(uses, moving.from, -flow->bytes);
        shift(uses, &moving.best, flow->bytes);
        flow->moved = true;
        moved++;
        note_move(use, flow, &moving.best, seconds, report);
    }
    return moved;
}

/* ---- the report ---- */

static int fullest_first(const void *a, const void *b)
{
    const struct use *const *x = a, *const *y = b;

    if ((*x)->bytes != (*y)->bytes) {
        return (*x)->bytes < (*y)->bytes ? 1 : -1;
    }
    return (*x)->link.from != (*y)->link.from
               ? ((*x)->link.from > (*y)->link.from ? 1 : -1)
               : ((*x)->link.to > (*y)->link.to) - ((*x)->link.to < (*y)->link.to);
}

static void show_links(const struct uses *uses, struct use *const *order, uint64_t k,
                       double seconds, struct pd_report *report)
{
    for (size_t i = 0; i < uses->len && i < k && order[i]->bytes > 0; i++) {
        json_t *use = uses->capacity_bytes > 0 ? json_real(use_of(uses, order[i])) : NULL;
        json_t *measured = order[i]->measured >= 0 ? json_real(order[i]->measured) : NULL;

        pd_app_report_row(report, "links",
                          json_pack("{s:o, s:f, s:o*, s:o*, s:I}", "link",
                                    pd_app_link_json(order[i]->link), "mbps",
                                    order[i]->bytes * 8 / 1e6 / seconds, "use", use, "measured",
                                    measured, "flows", (json_int_t)order[i]->flows));
    }
}

static void relieve_all(const struct pd_app_call *call, struct uses *uses, struct use *const *order,
                        size_t full, double target, double seconds, struct pd_report *report)
{
    for (size_t i = 0; i < full; i++) {
        struct use *use = order[i];
        double before = use_of(uses, use);
        unsigned moved;

        pd_app_report_link(report, use->link.from, use->link.to);
        moved = i < LINKS_NAMED_MAX ? relieve(call, uses, use, target, seconds, report) : 0;
        if (use_of(uses, use) <= target) {
            pd_app_report_evidence(
                report,
                "%" PRIu32 "-%" PRIu32
                " is %.0f %% full; with %u flow%s moved (those before included) %.0f %%",
                use->link.from, use->link.to, 100 * before, moved, moved == 1 ? "" : "s",
                100 * use_of(uses, use));
        } else {
            pd_app_report_evidence(
                report,
                "%" PRIu32 "-%" PRIu32 " is %.0f %% full; the moves that find room leave %.0f %%",
                use->link.from, use->link.to, 100 * before, 100 * use_of(uses, use));
        }
    }
}

/* Nothing is full of what nobody knows. */
static void say_loads(const struct uses *uses, struct use *const *order, double seconds,
                      struct pd_report *report)
{
    char rate[PD_APP_AMOUNT_BYTES];

    pd_app_report_lacks(report,
                        "the capacity of links is not known (link_mbps): whether any is full");
    if (uses->flows_len && uses->len) {
        pd_app_report_say(
            report, "which links are full is not known; the busiest is %" PRIu32 "-%" PRIu32 ", %s",
            order[0]->link.from, order[0]->link.to,
            pd_app_rate(order[0]->bytes * 8 / seconds, rate));
    } else {
        pd_app_report_say(report, "no traffic");
    }
}

static void judge(const struct pd_app_call *call, struct uses *uses, struct use **order,
                  double seconds, struct pd_report *report)
{
    double above = pd_app_arg_number(call->args, "above", 0.8);
    double target = pd_app_arg_number(call->args, "target", 0.7);
    size_t full = 0;

    qsort(order, uses->len, sizeof(struct use *), fullest_first);
    show_links(uses, order, pd_app_arg_u64(call->args, "k", 10), seconds, report);
    if (uses->capacity_bytes <= 0) {
        say_loads(uses, order, seconds, report);
        return;
    }
    while (full < uses->len && use_of(uses, order[full]) > above) {
        full++;
    }
    report->certain = uses->flows_len > 0;
    report->confidence = uses->flows_len ? 1 : 0;
    if (!uses->flows_len) {
        pd_app_report_say(report, "no traffic");
    } else if (!full) {
        pd_app_report_say(report,
                          "no link is congested: the fullest is %" PRIu32 "-%" PRIu32 ", %.0f %%",
                          order[0]->link.from, order[0]->link.to, 100 * use_of(uses, order[0]));
    } else {
        pd_app_report_say(report,
                          "%zu link%s more than %.0f %% full; the fullest is %" PRIu32 "-%" PRIu32
                          ", %.0f %%",
                          full, full == 1 ? " is" : "s are", 100 * above, order[0]->link.from,
                          order[0]->link.to, 100 * use_of(uses, order[0]));
    }
    relieve_all(call, uses, order, full, target, seconds, report);
}

static int check(const struct pd_app_call *call, struct pd_error *error)
{
    double above = pd_app_arg_number(call->args, "above", 0.8);
    double target = pd_app_arg_number(call->args, "target", 0.7);

    if (above <= 0 || target <= 0 || target > above) {
        return pd_fail(error, -PD_E_VALUE,
                       "target: expects a share above 0, at most that of `above`");
    }
    return 0;
}

/* The loads that are judged: bytes that arrived, and what ports measured. */
static int count(const struct pd_app_call *call, const struct pd_app_flows *flows,
                 const struct pd_app_window *window, uint64_t mbps, struct uses *uses,
                 struct pd_report *report)
{
    struct pd_app_measured measured = {0};
    int err = pd_congested_link_uses_count(uses, call->world->topology, flows, window, mbps);

    err = err ? err : pd_app_measured_ask(call, window, &measured);
    size_t len = err ? 0 : pd_congested_link_uses_measure(uses, &measured);
    if (len) {
        pd_app_report_evidence(report, "the ports of %zu of %zu links measured their utilisation",
                               len, uses->len);
    }
    pd_app_measured_done(&measured);
    return err;
}

static int look(const struct pd_app_call *call, const struct pd_app_flows *flows,
                const struct pd_app_window *window, uint64_t mbps, struct pd_report *report,
                struct pd_error *error)
{
    struct uses uses = {0};
    struct use **order = NULL;
    int err = count(call, flows, window, mbps, &uses, report);

    if (!err) {
        order = calloc(uses.len + 1,
                       sizeof(struct use *)); /* NOLINT(bugprone-sizeof-expression): of pointers */
    }
    if (order) {
        for (size_t i = 0; i < uses.len; i++) {
            order[i] = &uses.list[i];
        }
        judge(call, &uses, order, pd_app_window_s(window), report);
    } else {
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    free(order);
    pd_congested_link_uses_done(&uses);
    return err;
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    uint64_t mbps = pd_app_arg_u64(call->args, "link_mbps", call->world->link_mbps);
    struct pd_app_flows flows = {0};
    struct pd_app_window window;
    int err = check(call, error);

    (void)state;
    if (!err) {
        err = pd_app_window_read(call, &window, error);
    }
    if (!err) {
        err = pd_app_flows_ask(call, report, pd_app_window_args(&window), NULL, &flows, error);
    }
    if (!err) {
        err = look(call, &flows, &window, mbps, report, error);
    }
    pd_app_flows_done(&flows);
    return err;
}

static const struct pd_app_param params[] = {
    {.name = "link_mbps",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .help = "capacity of a link; the controller's setting unless given"},
    {.name = "above",
     .kind = PD_APP_NUMBER,
     .value = "R",
     .fallback = "0.8",
     .help = "share of the capacity beyond which a link is congested"},
    {.name = "target",
     .kind = PD_APP_NUMBER,
     .value = "R",
     .fallback = "0.7",
     .help = "flows are moved until it carries no more than this"},
    {.name = "k",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .fallback = "10",
     .help = "how many links are listed"},
    PD_APP_MEASURED_PARAM,
    PD_APP_WINDOW_PARAMS("10"),
    {.name = NULL},
};

const struct pd_app_ops pd_app_congested_link = {
    .name = "congested-link",
    .section = "Table 2",
    .help = "which links are full, and which flows would relieve them elsewhere?",
    .params = params,
    .period_s = 10,
    .run = run,
};
