/* SPDX-License-Identifier: Apache-2.0 */
/* overlay-loop: does a load balancer get back what it sends, again and again, with nobody to
 * consume it? */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "apps/rows.h"
#include "apps/voices.h"
#include "base/clock.h"
#include "base/grow.h"

/* Paper 000, Table 2 (a row that the paper leaves open): outer addresses that repeat between a load
 * balancer and a physical address. */

#define BALANCERS_MAX 16
#define PORTS_MAX     16
#define PAIRS_MAX     4096
/* Share by which the two directions of a loop may differ: packets under way, slices of records. */
#define UNEVEN     0.05
#define IPIP       4
#define UDP        17
#define IPV6_IN_IP 41
#define GRE        47

/* What was counted between a balancer and another address. */
struct direction {
    uint64_t pkts, bytes, stime_us, etime_us;
    struct pd_flow_id flow; /* one of them */
    struct pd_path path;
};

struct pair {
    struct pd_addr balancer, other;
    uint64_t ip_version;
    struct direction out, back; /* as seen from the balancer */
};

struct survey {
    const struct pd_app_call *call;
    struct pd_report *report;
    struct pd_addr balancers[BALANCERS_MAX];
    uint8_t ip_versions[BALANCERS_MAX];
    size_t balancers_len;
    uint16_t ports[PORTS_MAX];
    size_t ports_len;
    struct pair *pairs;                           /* unsorted: of one balancer at a time */
    size_t pairs_len, pairs_room, first;          /* of the balancer that is looked at */
    size_t at;                                    /* which one that is */
    struct pd_app_voices out_voices, back_voices; /* of pairs that look like loops */
    size_t recent;                                /* pair found last: answers are sorted by flow */
    bool outwards;                                /* which direction is read */
    uint64_t left_out, overlay_flows;
};

/* ---- arguments ---- */

static int read_list(const char *text, const char *name, size_t most,
                     bool (*take)(struct survey *survey, const char *item), struct survey *survey,
                     struct pd_error *error)
{
    char item[PD_ADDR_TEXT_BYTES];
    size_t len = 0;

    for (const char *at = text;; at += *at == ',') {
        size_t bytes = strcspn(at, ",");

        if (!bytes || bytes >= sizeof item || len++ == most) {
            return pd_fail(error, -PD_E_VALUE, "%s: expects a list of 1 to %zu, as in A,B", name,
                           most);
        }
        memcpy(item, at, bytes);
        item[bytes] = '\0';
        if (!take(survey, item)) {
            return pd_fail(error, -PD_E_VALUE, "%s: \"%s\" is not one", name, item);
        }
        at += bytes;
        if (!*at) {
            return 0;
        }
    }
}

static bool take_balancer(struct survey *survey, const char *item)
{
    size_t i = survey->balancers_len++;

    return !pd_addr_parse(item, &survey->balancers[i], &survey->ip_versions[i]);
}

static bool take_port(struct survey *survey, const char *item)
{
    char *end;
    unsigned long port = strtoul(item, &end, 10);

    if (*end || *item < '0' || *item > '9' || port < 1 || port > UINT16_MAX) {
        return false;
    }
    survey->ports[survey->ports_len++] = (uint16_t)port;
    return true;
}

/* ---- what was counted ---- */

static bool is_overlay(const struct survey *survey, const struct pd_flow_id *flow)
{
    if (flow->protocol == IPIP || flow->protocol == IPV6_IN_IP || flow->protocol == GRE) {
        return true;
    }
    for (size_t i = 0; i < survey->ports_len && flow->protocol == UDP; i++) {
        if (flow->dst_port == survey->ports[i]) {
            return true;
        }
    }
    return false;
}

/* That of the balancer and this address; a new one when there is none. NULL: no room, or no memory.
 */
static struct pair *pair_of(struct survey *survey, const struct pd_addr *other)
{
    if (survey->recent >= survey->first && survey->recent < survey->pairs_len &&
        !memcmp(&survey->pairs[survey->recent].other, other, sizeof *other)) {
        return &survey->pairs[survey->recent];
    }
    for (size_t i = survey->first; i < survey->pairs_len; i++) {
        if (memcmp(&survey->pairs[i].other, other, sizeof *other) != 0) {
            continue;
        }
        survey->recent = i;
        return &survey->pairs[i];
    }
    if (survey->pairs_len == PAIRS_MAX) {
        survey->left_out++;
        return NULL;
    }
    if (PD_GROW(survey->pairs, survey->pairs_room, survey->pairs_len + 1)) {
        survey->report->failed = true;
        return NULL;
    }
    survey->pairs[survey->pairs_len] = (struct pair){.balancer = survey->balancers[survey->at],
                                                     .other = *other,
                                                     .ip_version = survey->ip_versions[survey->at]};
    return &survey->pairs[survey->pairs_len++];
}

static int see_flow(void *context, const struct pd_app_row *row, const json_t *object)
{
    struct survey *survey = context;
    struct pair *pair;
    struct direction *d;

    (void)object;
    if (!row->flow.ip_version || !is_overlay(survey, &row->flow)) {
        return 0;
    }
    survey->overlay_flows++;
    pair = pair_of(survey, survey->outwards ? &row->flow.dst : &row->flow.src);
    if (!pair) {
        return 0;
    }
    d = survey->outwards ? &pair->out : &pair->back;
    if (!d->pkts || row->stime_us < d->stime_us) {
        d->stime_us = row->stime_us;
    }
    d->etime_us = row->etime_us > d->etime_us ? row->etime_us : d->etime_us;
    d->pkts += row->pkts;
    d->bytes += row->bytes;
    d->flow = row->flow;
    d->path = row->path;
    return 0;
}

static int ask_direction(struct survey *survey, bool outwards, uint64_t from_us, uint64_t to_us,
                         struct pd_error *error)
{
    char text[PD_ADDR_TEXT_BYTES];
    const struct pd_app_rows_query query = {
        .name = "getFlows",
        .list = "flows",
        .args = json_pack(
            "{s:s, s:f, s:f, s:b}", outwards ? "src_ip" : "dst_ip",
            pd_addr_format(&survey->balancers[survey->at], survey->ip_versions[survey->at], text),
            "from", (double)from_us / 1e6, "to", (double)to_us / 1e6, "live", 1)};

    survey->outwards = outwards;
    return pd_app_ask_rows(survey->call, survey->report, &query, see_flow, survey, NULL, error);
}

/* ---- what it means ---- */

static bool nearly(uint64_t a, uint64_t b, uint64_t slack)
{
    uint64_t more = a > b ? a : b, less = a > b ? b : a;

    return (double)(more - less) <= (double)more * UNEVEN + (double)slack;
}

/* Both directions carry the same packets, at the same time: as many of them, and as many bytes. */
static bool goes_round(const struct pair *pair, uint64_t least_pkts)
{
    const struct direction *out = &pair->out, *back = &pair->back;
    uint64_t mtu = 1500;

    return out->pkts >= least_pkts && back->pkts >= least_pkts &&
           nearly(out->pkts, back->pkts, 1) && nearly(out->bytes, back->bytes, mtu) &&
           out->stime_us <= back->etime_us && back->stime_us <= out->etime_us;
}

static void add_flow(struct survey *survey, const struct direction *d)
{
    pd_app_report_flow(survey->report,
                       json_pack("{s:o, s:o, s:I, s:I}", "flow_id", pd_app_flow_json(&d->flow),
                                 "path", pd_app_path_json(&d->path), "pkts", (json_int_t)d->pkts,
                                 "bytes", (json_int_t)d->bytes));
}

static void add_pair(struct survey *survey, const struct pair *pair, bool round)
{
    char balancer[PD_ADDR_TEXT_BYTES], other[PD_ADDR_TEXT_BYTES];
    uint8_t version = (uint8_t)pair->ip_version;

    pd_addr_format(&pair->balancer, version, balancer);
    pd_addr_format(&pair->other, version, other);
    pd_app_report_row(survey->report, "pairs",
                      json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:b}", "balancer", balancer,
                                "other", other, "pkts_out", (json_int_t)pair->out.pkts, "pkts_back",
                                (json_int_t)pair->back.pkts, "bytes_out",
                                (json_int_t)pair->out.bytes, "bytes_back",
                                (json_int_t)pair->back.bytes, "loop", round));
    if (!round) {
        return;
    }
    add_flow(survey, &pair->out);
    add_flow(survey, &pair->back);
    pd_app_voices_add(&survey->out_voices, survey->call->world->topology, &pair->out.flow);
    pd_app_voices_add(&survey->back_voices, survey->call->world->topology, &pair->back.flow);
    pd_app_report_evidence(
        survey->report,
        "%s sent %" PRIu64 " packets of %" PRIu64 " bytes to %s and got back %" PRIu64
        " of %" PRIu64 " bytes in the same time",
        balancer, pair->out.pkts, pair->out.bytes, other, pair->back.pkts, pair->back.bytes);
}

static void say(struct survey *survey, const struct pair *first, size_t loops)
{
    char balancer[PD_ADDR_TEXT_BYTES], other[PD_ADDR_TEXT_BYTES];
    struct pd_report *report = survey->report;

    if (!survey->balancers_len) {
        pd_app_report_lacks(report, "which hosts are load balancers is not known (balancers)");
        pd_app_report_say(report, "no load balancer was given: nothing was looked at");
        return;
    }
    if (!survey->overlay_flows) {
        pd_app_report_lacks(report,
                            "no host recorded overlay packets of these balancers: agents have "
                            "to see both ends of the tunnels");
    }
    if (survey->left_out) {
        pd_app_report_lacks(report, "%" PRIu64 " flows of more pairs than are looked at",
                            survey->left_out);
    }
    if (!loops) {
        pd_app_report_say(report, "no balancer gets back what it sends");
        return;
    }
    pd_app_report_say(report,
                      "what %s sends to %s seems to come back: likely an overlay loop, not proven "
                      "(inner packets are not seen); %zu such pairs",
                      pd_addr_format(&first->balancer, (uint8_t)first->ip_version, balancer),
                      pd_addr_format(&first->other, (uint8_t)first->ip_version, other), loops);
    pd_app_report_lacks(report,
                        "hosts see outer headers alone: a service that answers each packet with "
                        "one of the same size looks the same");
    report->confidence = 0.7;
}

static void judge(struct survey *survey)
{
    uint64_t least = pd_app_arg_u64(survey->call->args, "min_pkts", 20);
    const struct pair *first = NULL;
    size_t loops = 0;

    for (size_t i = 0; i < survey->pairs_len; i++) {
        bool round = goes_round(&survey->pairs[i], least);

        if (round && !loops++) {
            first = &survey->pairs[i];
        }
        if (survey->pairs[i].out.pkts && survey->pairs[i].back.pkts) {
            add_pair(survey, &survey->pairs[i], round);
        }
    }
    pd_app_voices_say(&survey->out_voices, "what balancers sent", survey->report);
    pd_app_voices_say(&survey->back_voices, "what came back", survey->report);
    if (loops) {
        pd_app_edges_say(survey->call, survey->report);
    }
    say(survey, first, loops);
}

static int ask_all(struct survey *survey, struct pd_error *error)
{
    uint64_t to_us = survey->call->world->ops->now_us(survey->call->world->context);
    uint64_t back_us = (uint64_t)(pd_app_arg_number(survey->call->args, "seconds", 30) * 1e6);
    uint64_t from_us = to_us > back_us ? to_us - back_us : 0;
    int err = 0;

    for (survey->at = 0; survey->at < survey->balancers_len && !err; survey->at++) {
        survey->first = survey->pairs_len;
        err = ask_direction(survey, true, from_us, to_us, error);
        if (!err) {
            err = ask_direction(survey, false, from_us, to_us, error);
        }
    }
    return err;
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    struct survey survey = {.call = call, .report = report};
    const char *balancers = pd_app_arg_text(call->args, "balancers");
    int err = balancers
                  ? read_list(balancers, "balancers", BALANCERS_MAX, take_balancer, &survey, error)
                  : 0;

    (void)state;
    if (!err) {
        err = read_list(pd_app_arg_text(call->args, "ports"), "ports", PORTS_MAX, take_port,
                        &survey, error);
    }
    if (!err) {
        err = ask_all(&survey, error);
    }
    if (!err) {
        judge(&survey);
    }
    free(survey.pairs);
    return err;
}

static const struct pd_app_param params[] = {
    {.name = "balancers",
     .kind = PD_APP_TEXT,
     .value = "LIST",
     .help = "addresses of load balancers, virtual or their own: 10.1.1.2,10.2.1.2"},
    {.name = "ports",
     .kind = PD_APP_TEXT,
     .value = "LIST",
     .fallback = "4789,8472,6081",
     .help = "UDP ports of the overlay; GRE and IP in IP always belong to it"},
    {.name = "seconds",
     .kind = PD_APP_SECONDS,
     .value = "S",
     .fallback = "30",
     .help = "how far to look back"},
    {.name = "min_pkts",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .fallback = "20",
     .help = "fewer packets than that are no loop"},
    {.name = 0},
};

const struct pd_app_ops pd_app_overlay_loop = {
    .name = "overlay-loop",
    .section = "Table 2",
    .help = "do packets go round between a load balancer and a physical address?",
    .params = params,
    .period_s = 30,
    .run = run,
};
