/* SPDX-License-Identifier: Apache-2.0 */
/* blackhole: joins what flows miss into as few blackholes as explain it, and says which switches
 * and links are left for each. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "apps/blackhole/blackhole.h"
#include "apps/flow_args.h"
#include "apps/rows.h"
#include "apps/sums.h"

static bool has_link(const struct bh_miss *miss, struct pd_link_match link)
{
    for (size_t i = 0; i < miss->links_len; i++) {
        if (miss->links[i].from == link.from && miss->links[i].to == link.to) {
            return true;
        }
    }
    return false;
}

/* ---- joining ---- */

enum { FAULTS_MAX = 32 };

static int compare_links(const void *a, const void *b)
{
    const struct pd_link_match *x = a, *y = b;

    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return (x->to > y->to) - (x->to < y->to);
}

/* All links of all misses, ascending, each as often as misses without an explanation have it. */
static size_t list_links(const struct bh_case *c, struct pd_link_match *links)
{
    size_t len = 0;

    for (size_t m = 0; m < c->misses_len; m++) {
        for (size_t l = 0; !c->misses[m].fault && l < c->misses[m].links_len; l++) {
            links[len++] = c->misses[m].links[l];
        }
    }
    qsort(links, len, sizeof *links, compare_links);
    return len;
}

/* The link that most misses have, the first of those that tie. */
static bool find_best(const struct bh_case *c, struct pd_link_match *links,
                      struct pd_link_match *ret_link)
{
    size_t len = list_links(c, links), run = 0, best = 0;

    for (size_t i = 0; i < len; i++) {
        run = i && !compare_links(&links[i - 1], &links[i]) ? run + 1 : 1;
        if (run > best) {
            best = run;
            *ret_link = links[i];
        }
    }
    return best;
}

/* The fewest blackholes that explain all, greedily: a link that most misses have in common, and
 * with it all that these have in common. */
static int join(struct bh_case *c, unsigned *ret_faults)
{
    struct pd_link_match link, *links;
    unsigned faults = 0;
    size_t room = 1;

    for (size_t m = 0; m < c->misses_len; m++) {
        room += c->misses[m].links_len;
    }
    links = calloc(room, sizeof *links);
    if (!links) {
        return -ENOMEM;
    }
    while (faults < FAULTS_MAX && find_best(c, links, &link)) {
        faults++;
        for (size_t m = 0; m < c->misses_len; m++) {
            if (!c->misses[m].fault && has_link(&c->misses[m], link)) {
                c->misses[m].fault = faults;
            }
        }
    }
    free(links);
    *ret_faults = faults;
    return 0;
}

/* ---- one of them ---- */

struct fault {
    unsigned number;
    const struct bh_miss *first;
    size_t misses;
    double chance;   /* the greatest of its misses */
    bool path_known; /* of all its misses */
    bool traced;     /* all of them */
    size_t links;
    struct pd_link_match link; /* the last of them */
    uint64_t since_us;         /* first alarm */
};

static bool is_common(const struct bh_case *c, const struct fault *fault, struct pd_link_match link)
{
    for (size_t m = 0; m < c->misses_len; m++) {
        if (c->misses[m].fault == fault->number && !has_link(&c->misses[m], link)) {
            return false;
        }
    }
    return true;
}

static struct fault look_at(const struct bh_case *c, unsigned number)
{
    struct fault fault = {
        .number = number, .path_known = true, .traced = true, .since_us = UINT64_MAX};

    for (size_t m = 0; m < c->misses_len; m++) {
        const struct bh_miss *miss = &c->misses[m];

        if (miss->fault != number) {
            continue;
        }
        fault.first = fault.first ? fault.first : miss;
        fault.misses++;
        fault.path_known &= miss->chance >= 0;
        fault.traced &= miss->traced;
        fault.chance = fmax(fault.chance, miss->chance);
        if (miss->flow->alarmed_us < fault.since_us) {
            fault.since_us = miss->flow->alarmed_us;
        }
    }
    return fault;
}

static void show(struct bh_case *c, struct fault *fault)
{
    for (size_t l = 0; fault->first && l < fault->first->links_len; l++) {
        struct pd_link_match link = fault->first->links[l];

        if (!is_common(c, fault, link)) {
            continue;
        }
        fault->links++;
        fault->link = link;
        pd_app_report_switch(c->report, link.from);
        pd_app_report_switch(c->report, link.to);
        pd_app_report_row(c->report, "suspects",
                          json_pack("{s:o, s:i, s:I}", "link", pd_app_link_json(link), "blackhole",
                                    (int)fault->number, "explains", (json_int_t)fault->misses));
    }
    if (fault->links == 1) {
        pd_app_report_link(c->report, fault->link.from, fault->link.to);
    }
}

/* ---- certainty: the link that is left carries nothing, and those that it was told from do ---- */

static int take_pkts(void *context, const struct pd_app_row *row, const json_t *object)
{
    (void)object;
    *(uint64_t *)context = row->pkts;
    return 0;
}

static int count_pkts(struct bh_case *c, struct pd_link_match link, uint64_t from_us,
                      uint64_t *ret_pkts, struct pd_error *error)
{
    const struct pd_app_rows_query query = {.name = "getCount",
                                            .args = pd_app_flow_args(NULL, from_us, UINT64_MAX)};

    json_object_set_new(query.args, "link", pd_app_link_json(link));
    *ret_pkts = 0;
    return pd_app_ask_rows(c->call, c->report, &query, take_pkts, ret_pkts, NULL, error);
}

enum { CHECKED_MAX = 16 }; /* links asked for: more leave it open */

/* Each link that one miss of the fault has and another has not carried packets since; the one left
 * did not. */
static int is_proven(struct bh_case *c, const struct fault *fault, bool *ret_proven,
                     struct pd_error *error)
{
    uint64_t since_us = fault->since_us + c->slack_us, pkts = 0;
    size_t checked = 0;

    *ret_proven = false;
    if (fault->links != 1 || !fault->path_known || fault->chance > BH_CHANCE_LATE ||
        since_us > c->now_us) {
        return 0;
    }
    int err = count_pkts(c, fault->link, since_us, &pkts, error);
    bool proven = !err && !pkts;
    for (size_t m = 0; m < c->misses_len && proven; m++) {
        for (size_t l = 0; l < c->misses[m].links_len && proven; l++) {
            struct pd_link_match link = c->misses[m].links[l];

            if (c->misses[m].fault != fault->number || is_common(c, fault, link)) {
                continue;
            }
            if (checked++ == CHECKED_MAX) {
                return 0;
            }
            err = count_pkts(c, link, since_us, &pkts, error);
            proven = !err && pkts;
        }
    }
    *ret_proven = proven;
    return err;
}

/* ---- the verdict ---- */

/* How likely what is named is right. Unproven, each link left is as likely as another, and so is a
 * cause beside them all: a host that takes nothing, or paths that are not what they were. */
static double confidence_in(const struct fault *fault, bool proven)
{
    return proven ? 1 - fault->chance : 1. / (double)(fault->links + 1);
}

static void show_flows(struct bh_case *c)
{
    const struct bh_flow *last = NULL;

    for (size_t m = 0; m < c->misses_len; m++) {
        const struct bh_flow *flow = c->misses[m].flow;

        if (flow != last) {
            pd_app_report_flow(
                c->report, json_pack("{s:o, s:I, s:I, s:I}", "flow_id", pd_app_flow_json(&flow->id),
                                     "paths", (json_int_t)flow->paths_len, "paths_seen",
                                     (json_int_t)flow->seen_len, "pkts", (json_int_t)flow->pkts));
        }
        last = flow;
    }
}

/* What is known of the packets' ways. */
enum ways { WAYS_UNKNOWN, WAYS_TRACED, WAYS_KNOWN };

static void say(struct bh_case *c, unsigned faults, enum ways ways)
{
    size_t switches = json_array_size(c->report->switches);
    size_t links = json_array_size(c->report->links);

    if (!faults && !c->flows_len) {
        pd_app_report_say(c->report, "no flow suffers: nothing points to a blackhole");
    } else if (!faults) {
        pd_app_report_say(c->report, "no blackhole is seen behind the %zu flows that suffer",
                          c->flows_len);
    } else if (links == faults) {
        pd_app_report_say(c->report, "%zu link%s: packets vanish there", links,
                          links == 1 ? "" : "s");
    } else {
        pd_app_report_say(c->report, "packets vanish: %zu switches are suspected%s", switches,
                          ways == WAYS_KNOWN    ? ""
                          : ways == WAYS_TRACED ? ", where traces of their flows end"
                                                : ", and the paths of the packets are not known");
    }
}

int pd_blackhole_conclude(struct bh_case *c, struct pd_error *error)
{
    unsigned faults = 0;
    int err = join(c, &faults);
    bool proven = faults && faults < FAULTS_MAX, one;
    enum ways ways = WAYS_KNOWN;
    double confidence = faults ? 1 : 0;

    if (err) {
        return pd_fail(error, err, "blackhole: %s", pd_error_text(err));
    }
    for (unsigned number = 1; number <= faults && !err; number++) {
        struct fault fault = look_at(c, number);

        show(c, &fault);
        err = is_proven(c, &fault, &one, error);
        proven &= one;
        const enum ways its = fault.path_known ? WAYS_KNOWN
                              : fault.traced   ? WAYS_TRACED
                                               : WAYS_UNKNOWN;
        ways = its < ways ? its : ways;
        confidence = fmin(confidence, confidence_in(&fault, one));
    }
    if (err) {
        return err;
    }
    show_flows(c);
    say(c, faults, ways);
    c->report->certain = proven;
    c->report->confidence = confidence;
    if (faults > 1) {
        pd_app_report_evidence(c->report, "one blackhole does not explain it: %u do", faults);
    }
    return 0;
}
