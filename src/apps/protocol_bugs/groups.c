/* SPDX-License-Identifier: Apache-2.0 */
/* protocol-bugs: groups of suffering flows that no link explains: what they have in common, and
 * whether their links lose anything of others. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/flow_args.h"
#include "apps/protocol_bugs/protocol_bugs.h"
#include "apps/rows.h"

enum kind { PAIR, SOURCE, DESTINATION, PORT, KINDS }; /* the more special first */
enum { FOUND_MAX = 16, FLOWS_SHOWN_MAX = 20 };

struct key {
    enum kind kind;
    uint64_t value;
    uint32_t flow;
};

struct group {
    enum kind kind;
    uint64_t value;
    size_t suffering, healthy;
};

static uint64_t value_of(const struct pb_flow *flow, enum kind kind)
{
    switch (kind) {
    case PAIR: return (uint64_t)flow->src_host << 32 | flow->dst_host;
    case SOURCE: return flow->src_host;
    case DESTINATION: return flow->dst_host;
    default: return (uint64_t)flow->id.protocol << 16 | flow->id.dst_port;
    }
}

static bool is_in(const struct pb_flow *flow, const struct group *group)
{
    return value_of(flow, group->kind) == group->value;
}

static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;

    if (x->kind != y->kind) {
        return x->kind < y->kind ? -1 : 1;
    }
    return (x->value > y->value) - (x->value < y->value);
}

/* ---- the best group ---- */

/* At least half of its flows have to suffer, those that sent too little to tell aside. Most flows
 * first, then the purest, then the most special. */
static bool is_better(const struct group *a, const struct group *b)
{
    if (a->suffering < PB_FLOWS_MIN || a->healthy > a->suffering) {
        return false;
    }
    if (a->suffering != b->suffering) {
        return a->suffering > b->suffering;
    }
    return a->healthy < b->healthy;
}

static struct group find_best(const struct pb_case *c, struct key *keys)
{
    struct group best = {.suffering = 0}, group;
    size_t len = 0;

    for (uint32_t i = 0; i < c->flows_len; i++) {
        const struct pb_flow *flow = &c->flows[i];
        bool counts = pb_suffers(flow) || flow->pkts >= PB_PEER_PKTS;

        for (enum kind kind = 0; kind < KINDS && counts && !flow->explained; kind++) {
            if (kind == PORT || (flow->src_host && flow->dst_host)) {
                keys[len++] = (struct key){kind, value_of(flow, kind), i};
            }
        }
    }
    qsort(keys, len, sizeof *keys, by_key);
    for (size_t i = 0; i < len; i++) {
        if (!i || by_key(&keys[i - 1], &keys[i])) {
            group = (struct group){.kind = keys[i].kind, .value = keys[i].value};
        }
        bool suffers = pb_suffers(&c->flows[keys[i].flow]);
        group.suffering += suffers;
        group.healthy += !suffers;
        if ((i + 1 == len || by_key(&keys[i], &keys[i + 1])) && is_better(&group, &best)) {
            best = group;
        }
    }
    return best;
}

/* ---- its links ---- */

struct finding {
    struct group group;
    double pkts, lost;
    size_t clean, dirty, open; /* links that its suffering flows cross */
};

/* What others sent over each link, and what they lost; the links of the group. */
static void sum_links(struct pb_case *c, struct finding *f)
{
    struct pb_links *links = &c->links;

    memset(links->pkts, 0, links->len * sizeof(double));
    memset(links->lost, 0, links->len * sizeof(double));
    memset(links->own, 0, links->len * sizeof(bool));
    for (size_t i = 0; i < c->flows_len; i++) {
        const struct pb_flow *flow = &c->flows[i];
        bool own = is_in(flow, &f->group) && pb_suffers(flow);
        double all = 0;

        for (unsigned l = 0; l < flow->links_len; l++) {
            all = fmax(all, (double)flow->links[l].share);
        }
        f->pkts += own ? flow->pkts : 0;
        f->lost += own ? flow->lost : 0;
        for (unsigned l = 0; l < flow->links_len; l++) {
            double share = all > 0 ? (double)flow->links[l].share / all : 1;
            uint32_t number = flow->links[l].number;

            links->own[number] |= own;
            links->pkts[number] += own ? 0 : flow->pkts * share;
            links->lost[number] += own ? 0 : flow->lost * share;
        }
    }
}

/* A link is clean when others lose less than a tenth of what the group loses there. */
static void judge_links(struct pb_case *c, struct finding *f)
{
    sum_links(c, f);
    double rate = f->pkts > 0 ? f->lost / f->pkts : 0;
    for (uint32_t l = 0; l < c->links.len; l++) {
        if (!c->links.own[l]) {
            continue;
        }
        if (c->links.lost[l] > 2 && c->links.lost[l] > rate / 10 * c->links.pkts[l]) {
            f->dirty++;
        } else if (c->links.pkts[l] >= PB_CLEAN_PKTS) {
            f->clean++;
        } else {
            f->open++;
        }
    }
}

/* ---- the report ---- */

static void name_group(const struct group *group, char *text, size_t size)
{
    unsigned long long value = group->value;

    switch (group->kind) {
    case PAIR:
        snprintf(text, size, "host %llu to host %llu", value >> 32, value & UINT32_MAX);
        break;
    case SOURCE: snprintf(text, size, "host %llu as sender", value); break;
    case DESTINATION: snprintf(text, size, "host %llu as receiver", value); break;
    default: snprintf(text, size, "port %llu of protocol %llu", value & 0xffff, value >> 16); break;
    }
}

static void show_flows(struct pb_case *c, const struct group *group)
{
    size_t shown = 0;

    for (size_t i = 0; i < c->flows_len && shown < FLOWS_SHOWN_MAX; i++) {
        const struct pb_flow *flow = &c->flows[i];

        if (flow->explained || !is_in(flow, group) || !pb_suffers(flow)) {
            continue;
        }
        shown++;
        pd_app_report_flow(c->report,
                           json_pack("{s:o, s:I, s:I}", "flow_id", pd_app_flow_json(&flow->id),
                                     "retransmissions", (json_int_t)flow->lost, "pkts",
                                     (json_int_t)flow->pkts));
    }
}

static void show(struct pb_case *c, const struct finding *f, const char *name)
{
    const struct group *group = &f->group;

    pd_app_report_row(c->report, "groups",
                      json_pack("{s:s, s:I, s:I, s:f, s:I, s:I}", "what", name, "flows",
                                (json_int_t)group->suffering, "well", (json_int_t)group->healthy,
                                "loss", f->lost / f->pkts, "links_clean", (json_int_t)f->clean,
                                "links_open", (json_int_t)f->open));
    pd_app_report_evidence(
        c->report,
        "%s: %zu flows lose %.2f %%, %zu do not suffer; %zu of the %zu links that "
        "they cross lose next to nothing of others",
        name, group->suffering, 100 * f->lost / f->pkts, group->healthy, f->clean,
        f->clean + f->open);
    show_flows(c, group);
}

/* Links that nobody else crosses speak neither for nor against it. */
static bool is_found(const struct finding *f)
{
    return !f->dirty && f->clean > f->open && f->pkts > 0;
}

static void take_off(struct pb_case *c, const struct group *group)
{
    for (size_t i = 0; i < c->flows_len; i++) {
        c->flows[i].explained |= is_in(&c->flows[i], group);
    }
}

static void conclude_one(struct pb_case *c, struct finding *f, size_t *found, char *first,
                         size_t size)
{
    char name[96];

    name_group(&f->group, name, sizeof name);
    judge_links(c, f);
    if (is_found(f)) {
        double share = (double)f->clean / (double)(f->clean + f->open);

        show(c, f, name);
        if (!(*found)++) {
            snprintf(first, size, "%s", name);
        }
        c->report->confidence = fmax(c->report->confidence, 0.9 * share);
    } else {
        pd_app_report_evidence(
            c->report,
            "%s: %zu flows suffer over %zu links that lose packets of others, too, "
            "and %zu that nobody else crosses: nothing follows from it",
            name, f->group.suffering, f->dirty, f->open);
    }
    take_off(c, &f->group);
}

/* A flow over a link that is known to drop packets is explained. */
static int explain(struct pb_case *c)
{
    struct pd_verdict verdict;
    size_t explained = 0;
    int err = pd_localiser_locate(c->localiser, &verdict);

    for (size_t v = 0; v < verdict.links_len && !err; v++) {
        uint32_t number =
            pd_protocol_bug_link_number(c, verdict.links[v].from, verdict.links[v].to);

        for (size_t i = 0; i < c->flows_len; i++) {
            for (unsigned l = 0; l < c->flows[i].links_len; l++) {
                c->flows[i].explained |= c->flows[i].links[l].number == number;
            }
        }
        pd_app_report_evidence(c->report, "%u-%u drops packets: flows over it are left aside",
                               verdict.links[v].from, verdict.links[v].to);
    }
    for (size_t i = 0; i < c->flows_len; i++) {
        explained += c->flows[i].explained && pb_suffers(&c->flows[i]);
    }
    if (explained) {
        pd_app_report_evidence(c->report, "%zu suffering flows are explained by links", explained);
    }
    return err;
}

static void say(struct pb_case *c, size_t found, const char *first)
{
    size_t suffering = 0;

    for (size_t i = 0; i < c->flows_len; i++) {
        suffering += pb_suffers(&c->flows[i]);
    }
    if (found) {
        pd_app_report_say(c->report,
                          "no link explains why %zu group%s of flows suffer%s: suspect hosts or "
                          "protocol (%s%s)",
                          found, found == 1 ? "" : "s", found == 1 ? "s" : "", first,
                          found == 1 ? "" : ", …");
    } else {
        pd_app_report_say(c->report,
                          "nothing points to a protocol or a host: %zu flows suffer, of %zu seen",
                          suffering, c->flows_len);
    }
    if (c->congested) {
        pd_app_report_evidence(c->report, "%llu times a flow was left aside: over a full link",
                               (unsigned long long)c->congested);
    }
    if (c->uncounted) {
        pd_app_report_lacks(c->report,
                            "%llu times a flow suffered of which only its trace is known, and not "
                            "what it sent",
                            (unsigned long long)c->uncounted);
    }
    if (c->pathless) {
        pd_app_report_evidence(c->report, "%llu times a suffering flow had no path that is known",
                               (unsigned long long)c->pathless);
    }
    if (c->lost) {
        pd_app_report_lacks(c->report, "%llu flows for which there was no room",
                            (unsigned long long)c->lost);
    }
}

int pd_protocol_bug_conclude(struct pb_case *c, struct pd_error *error)
{
    struct key *keys = calloc(c->flows_len * KINDS + 1, sizeof *keys);
    int err = keys ? explain(c) : -ENOMEM;
    char first[96] = "";
    size_t found = 0;

    for (int round = 0; round < FOUND_MAX && !err; round++) {
        struct finding finding = {.group = find_best(c, keys)};

        if (!finding.group.suffering) {
            break;
        }
        conclude_one(c, &finding, &found, first, sizeof first);
    }
    free(keys);
    if (err) {
        return pd_fail(error, err, "protocol-bugs: %s", pd_error_text(err));
    }
    say(c, found, first);
    return 0;
}
