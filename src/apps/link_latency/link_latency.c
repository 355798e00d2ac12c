/* SPDX-License-Identifier: Apache-2.0 */
/* link-latency: which directions are slower than they were, and which hop makes a flow slow? */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "apps/flow_args.h"
#include "apps/link_latency/past.h"
#include "apps/links.h"
#include "apps/rows.h"
#include "topology/links.h"

#define METRIC "hop_latency_ns"

/* Paper 001, section II-D: the controller knows the latency of each link in each direction. Probes
 * of hosts tell it (link metrics); here each direction is compared with itself. */

struct latency {
    struct past *links;
    uint32_t len;
};

static int open_latency(const struct pd_app_call *call, void **ret_state, struct pd_error *error)
{
    struct latency *state = calloc(1, sizeof *state);

    if (state) {
        state->len = 2 * call->world->topology->fabric_links_len;
        state->links = calloc((size_t)state->len + 1, sizeof *state->links);
    }
    if (!state || !state->links) {
        free(state);
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    *ret_state = state;
    return 0;
}

static void close_latency(void *context)
{
    struct latency *state = context;

    if (state) {
        free(state->links);
        free(state);
    }
}

/* ---- the flow ---- */

/* "10.1.1.2:1000", "[fd00::2]:1000" */
static bool read_end(const char *text, size_t len, struct pd_addr *addr, uint8_t *version,
                     uint16_t *port)
{
    char copy[PD_END_TEXT_BYTES], *colon, *end, *host = copy;

    if (len >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    colon = strrchr(copy, ':');
    if (!colon || colon == copy || !colon[1]) {
        return false;
    }
    *colon = '\0';
    if (*host == '[' && colon[-1] == ']') {
        colon[-1] = '\0';
        host++;
    }
    errno = 0;
    const unsigned long number = strtoul(colon + 1, &end, 10);
    *port = (uint16_t)number;
    return !*end && !errno && number <= UINT16_MAX && colon[1] != '-' && colon[1] != '+' &&
           !pd_addr_parse(host, addr, version);
}

static int read_flow(const char *text, struct pd_flow_id *ret_flow, struct pd_error *error)
{
    const char *arrow = strchr(text, '>');
    const char *slash = strrchr(text, '/');
    const size_t len = slash ? (size_t)(slash - text) : strlen(text);
    struct pd_flow_id flow = {.protocol = slash && !strcmp(slash, "/udp") ? 17 : 6};
    uint8_t version = 0;
    bool good = arrow && (!slash || !strcmp(slash, "/udp") || !strcmp(slash, "/tcp")) &&
                (size_t)(arrow - text) < len;

    good = good &&
           read_end(text, (size_t)(arrow - text), &flow.src, &flow.ip_version, &flow.src_port) &&
           read_end(arrow + 1, len - (size_t)(arrow + 1 - text), &flow.dst, &version,
                    &flow.dst_port) &&
           version == flow.ip_version;
    if (!good) {
        return pd_fail(error, -PD_E_VALUE,
                       "flow: expects ends like 10.1.1.2:1000>10.2.1.2:80, behind them /udp where "
                       "it is no TCP");
    }
    *ret_flow = flow;
    return 0;
}

struct hops {
    const struct pd_app_call *call;
    const struct latency *state;
    const struct pd_app_links *now;
    struct pd_report *report;
    uint32_t worst; /* directed link; PD_NONE: none yet */
    float excess;
    unsigned paths;
};

static void show_hop(struct hops *hops, uint32_t link)
{
    const struct past *past = &hops->state->links[link];
    const float now = hops->now->values[link], middle = pd_link_latency_past_middle(past);
    const float excess = now - middle;
    char text[PD_LINKS_TEXT_BYTES];

    pd_app_report_row(hops->report, "hops",
                      json_pack("{s:s, s:o, s:o, s:b}", "link",
                                pd_topology_links_format(hops->call->world->topology, link, text),
                                "latency_ns", isnan(now) ? json_null() : json_real(now),
                                "before_ns", isnan(middle) ? json_null() : json_real(middle),
                                "slow", past->slow));
    if (!isnan(excess) && past->slow && (hops->worst == PD_NONE || excess > hops->excess)) {
        hops->worst = link;
        hops->excess = excess;
    }
}

static int take_path(void *context, const struct pd_app_row *row, const json_t *object)
{
    struct hops *hops = context;
    const struct pd_topology *topology = hops->call->world->topology;

    (void)object;
    hops->paths += row->path.len > 0;
    for (unsigned i = 0; i + 1 < row->path.len; i++) {
        uint32_t link = pd_topology_links_by_ids(topology, row->path.switches[i],
                                                 row->path.switches[i + 1], NULL);
        if (link != PD_NONE && link < hops->now->len) {
            show_hop(hops, link);
        }
    }
    return 0;
}

static int ask_flow(struct hops *hops, const char *text, struct pd_error *error)
{
    const double back_s = pd_app_arg_number(hops->call->args, "window", 60);
    const uint64_t now_us = hops->call->world->ops->now_us(hops->call->world->context);
    const uint64_t back_us = (uint64_t)(back_s * 1e6);
    char ends[PD_ENDS_TEXT_BYTES], link[PD_LINKS_TEXT_BYTES];
    struct pd_flow_id flow;
    int err = read_flow(text, &flow, error);

    if (!err) {
        const struct pd_app_rows_query query = {
            .name = "getFlows",
            .list = "flows",
            .args = pd_app_flow_args(&flow, now_us > back_us ? now_us - back_us : 0, now_us)};
        err = pd_app_ask_rows(hops->call, hops->report, &query, take_path, hops, NULL, error);
    }
    if (err) {
        return err;
    }
    pd_ends_format(&flow, ends);
    if (!hops->paths) {
        pd_app_report_say(hops->report, "%s: no path of it is in a record", ends);
    } else if (hops->worst == PD_NONE) {
        pd_app_report_say(hops->report, "%s: no hop of it is slower than it was", ends);
    } else {
        pd_topology_links_format(hops->call->world->topology, hops->worst, link);
        pd_app_report_say(hops->report, "%s is slowed by %s: %.3g us more than before", ends, link,
                          (double)hops->excess / 1e3);
        const struct pd_link_match match = pd_app_links_ends(hops->call, hops->worst);
        pd_app_report_link(hops->report, match.from, match.to);
    }
    return 0;
}

/* ---- all directions ---- */

static void tell_slow(const struct pd_app_call *call, const struct latency *state,
                      const struct pd_app_links *now, struct pd_report *report)
{
    char text[PD_LINKS_TEXT_BYTES] = "", first[PD_LINKS_TEXT_BYTES] = "";
    unsigned slow = 0;

    for (uint32_t i = 0; i < now->len; i++) {
        const struct past *past = &state->links[i];
        if (!past->slow || isnan(now->values[i])) {
            continue;
        }
        const struct pd_link_match match = pd_app_links_ends(call, i);
        const float before = pd_link_latency_past_middle(past);
        pd_topology_links_format(call->world->topology, i, text);
        if (!slow++) {
            memcpy(first, text, sizeof first);
        }
        pd_app_report_link(report, match.from, match.to);
        pd_app_report_row(report, "links",
                          json_pack("{s:s, s:f, s:f}", "link", text, "latency_ns",
                                    (double)now->values[i], "before_ns", (double)before));
    }
    if (slow) {
        pd_app_report_say(report, "%u direction%s slower than before: %s%s", slow,
                          slow == 1 ? " is" : "s are", first, slow == 1 ? "" : ", …");
    } else {
        pd_app_report_say(report, "no direction is slower than before");
    }
}

/* Whether the past of any direction is long enough to say something. */
static void tell_past(const struct latency *state, struct pd_report *report)
{
    uint32_t young = 0;

    for (uint32_t i = 0; i < state->len; i++) {
        young += !pd_link_latency_past_needed(state->links[i].past_len, state->len);
    }
    if (young) {
        pd_app_report_lacks(report, "%u of %u directed links have no past yet to compare with",
                            young, state->len);
    }
}

static int run_latency(void *context, const struct pd_app_call *call, struct pd_report *report,
                       struct pd_error *error)
{
    struct latency *state = context;
    const char *flow = pd_app_arg_text(call->args, "flow");
    struct pd_app_links now = {0};
    int err = pd_app_links_read(call, METRIC, report, &now, error);

    for (uint32_t i = 0; i < now.len && i < state->len && !err; i++) {
        if (!isnan(now.values[i])) {
            pd_link_latency_past_take(&state->links[i], now.values[i], state->len);
        }
    }
    if (!err && now.values) {
        tell_past(state, report);
    }
    if (!err && flow) {
        struct hops hops = {call, state, &now, report, PD_NONE, 0, 0};
        err = ask_flow(&hops, flow, error);
    } else if (!err) {
        tell_slow(call, state, &now, report);
    }
    report->certain = now.known > 0;
    report->confidence = now.known ? 0.99 : 0;
    pd_app_links_done(&now);
    return err;
}

static const struct pd_app_param params[] = {
    {.name = "flow",
     .kind = PD_APP_TEXT,
     .value = "SRC>DST",
     .help = "of this flow's hops: 10.1.1.2:1000>10.2.1.2:80, with /udp where it is no TCP"},
    {.name = "window",
     .kind = PD_APP_SECONDS,
     .value = "S",
     .fallback = "60",
     .help = "how far back the flow's paths are looked for"},
    {.name = NULL, .kind = PD_APP_TEXT},
};

const struct pd_app_ops pd_app_link_latency = {
    .name = "link-latency",
    .section = "001, II-D",
    .help = "which directions are slower than they were, or which hop slows a flow?",
    .params = params,
    .period_s = 0.5,
    .keep_s = 600,
    .open = open_latency,
    .run = run_latency,
    .close = close_latency,
};
