/* SPDX-License-Identifier: Apache-2.0 */
/* blackhole: what swallows the flows that are stuck, into the report. */
#include "apps/blackhole/silence.h"

#include <math.h>
#include <string.h>

#include "apps/rows.h"
#include "apps/sums.h"
#include "topology/links.h"

#define NAMED        0.5   /* probability from which a cause is named */
#define SUSPECTED    0.05  /* from which it is suspected, while none is named */
#define TOLD         0.01  /* from which it is told as an alternative */
#define SURE         0.999 /* from which it is certain */
#define SOME_MOST    0.99  /* said at most of a link that swallows some flows */
#define WORDS_MAX    64    /* senders whose word is left out in turn */
#define SUSPECTS_MAX 16

/* What is named: a link whatever it swallows, a cable, or a switch. */
struct named {
    enum bh_kind kind; /* BH_LINK, BH_CABLE or BH_SWITCH */
    uint32_t of;
};

static struct named name_of(const struct bh_cause *cause)
{
    bool is_link = cause->kind == BH_PAIR || cause->kind == BH_SOME;

    return (struct named){is_link ? BH_LINK : cause->kind, cause->of};
}

static bool is_of(const struct bh_cause *cause, struct named named)
{
    struct named other = name_of(cause);

    return other.kind == named.kind && other.of == named.of;
}

/* Whether nothing comes over the link any more. */
static bool is_quiet(const struct bh_causes *causes, uint32_t link)
{
    for (size_t i = 0; i < causes->len; i++) {
        if (causes->list[i].kind == BH_LINK && causes->list[i].of == link) {
            return true;
        }
    }
    return false;
}

/* Of all causes that name it; `whole`: of those that leave nothing of what they take, and of a
 * link that leaves nothing. */
static double probability(const struct bh_causes *causes, struct named named, bool whole)
{
    double sum = 0;

    for (size_t i = 0; i < causes->len; i++) {
        const struct bh_cause *cause = &causes->list[i];

        sum += is_of(cause, named) &&
                       !(whole && cause->kind == BH_SOME && !is_quiet(causes, cause->of))
                   ? cause->weight
                   : 0;
    }
    return sum;
}

/* ---- certain ---- */

/* What it is without what each of those says who send flows that are stuck: the least. */
static int least_without(struct bh_silence *silence, struct named named, bool whole,
                         double *ret_least)
{
    int err = 0;

    *ret_least = 1;
    for (size_t i = 0, words = 0; i < silence->stuck_len && !err; i++) {
        struct bh_causes causes;
        bool again = false;

        for (size_t before = 0; before < i; before++) {
            again |= silence->stuck[before].src_host == silence->stuck[i].src_host;
        }
        if (again) {
            continue;
        }
        err = pd_blackhole_silence_weigh(silence, silence->stuck[i].src_host, &causes);
        *ret_least =
            err || ++words > WORDS_MAX ? 0 : fmin(*ret_least, probability(&causes, named, whole));
        pd_blackhole_causes_done(&causes);
    }
    return err;
}

/* ---- in words ---- */

static struct pd_link_match ends_of(const struct bh_silence *silence, uint32_t link)
{
    return (struct pd_link_match){pd_topology_links_from_id(silence->topology, link),
                                  pd_topology_links_to_id(silence->topology, link)};
}

static json_t *prefixes_of(const struct pd_switch *rack)
{
    char text[PD_ADDR_TEXT_BYTES];
    json_t *what = json_array();

    for (uint32_t i = 0; i < rack->prefixes_len; i++) {
        const struct pd_prefix *prefix = &rack->prefixes[i];

        json_array_append_new(
            what, json_sprintf("%s/%u", pd_addr_format(&prefix->addr, prefix->ip_version, text),
                               prefix->bits));
    }
    return what;
}

static const char *kind_text(enum bh_kind kind)
{
    static const char *const texts[] = {
        [BH_LINK] = "link",     [BH_PAIR] = "prefix", [BH_CABLE] = "link",
        [BH_SWITCH] = "switch", [BH_SOME] = "link",   [BH_HOST] = "host"};

    return texts[kind];
}

static json_t *what_of(const struct bh_silence *silence, const struct bh_cause *cause)
{
    const struct pd_topology *topology = silence->topology;

    switch (cause->kind) {
    case BH_PAIR: return prefixes_of(&topology->switches[cause->rack]);
    case BH_CABLE:
        return json_pack("[o, o]", pd_app_link_json(ends_of(silence, cause->of)),
                         pd_app_link_json(ends_of(silence, cause->of + 1)));
    case BH_SWITCH: return json_pack("[o]", json_sprintf("%u", topology->switches[cause->of].id));
    case BH_HOST: return json_pack("[o]", json_sprintf("%u", topology->hosts[cause->of].id));
    default: return json_pack("[o]", pd_app_link_json(ends_of(silence, cause->of)));
    }
}

static json_t *cause_json(const struct bh_silence *silence, const struct bh_cause *cause,
                          double weight)
{
    return json_pack("{s:s, s:o, s:o, s:f}", "kind", kind_text(cause->kind), "what",
                     what_of(silence, cause), "loss",
                     cause->kind == BH_SOME ? json_null() : json_real(1), "weight", weight);
}

static void point_at(const struct bh_silence *silence, const struct bh_cause *cause, bool alone,
                     struct pd_report *report)
{
    if (cause->kind == BH_SWITCH) {
        pd_app_report_switch(report, silence->topology->switches[cause->of].id);
        return;
    }
    for (uint32_t l = cause->of; l <= cause->of + (cause->kind == BH_CABLE); l++) {
        struct pd_link_match link = ends_of(silence, l);

        pd_app_report_switch(report, link.from);
        pd_app_report_switch(report, link.to);
        if (alone) {
            pd_app_report_link(report, link.from, link.to);
        }
    }
}

/* Why: what of it is silent, and what is stuck. */
static void show(const struct bh_silence *silence, const struct bh_causes *causes,
                 const struct bh_cause *cause, struct pd_report *report)
{
    char text[PD_LINK_TEXT_BYTES] = "";
    bool is_switch = cause->kind == BH_SWITCH;
    const char *what = is_switch ? "a switch" : pd_link_format(ends_of(silence, cause->of), text);

    if (cause->kind == BH_PAIR) {
        pd_app_report_evidence(report, "what %s carries goes to other racks than that of switch %u",
                               what, silence->topology->switches[cause->rack].id);
    }
    if (cause->kind != BH_SOME) {
        pd_app_report_evidence(
            report,
            "%s%s carries nothing%s since %.1f s ago: none of the flows that ECMP offered "
            "to it, by chance in %.2g of the cases",
            what, cause->kind == BH_CABLE ? " and back" : "",
            cause->kind == BH_PAIR ? " for that rack" : "",
            (double)(silence->to_us - cause->since_us) / 1e6, exp(-cause->silence));
    }
    pd_app_report_evidence(report, "%.0f of %zu flows of which nothing arrives may cross %s",
                           cause->stuck, causes->stuck, what);
    json_t *row = json_pack("{s:o, s:i, s:I}", "link",
                            is_switch ? json_null() : pd_app_link_json(ends_of(silence, cause->of)),
                            "blackhole", 1, "explains", (json_int_t)llround(cause->stuck));
    pd_app_report_row(report, "suspects", row);
}

/* Others that explain it nearly as well, each once. */
static json_t *alternatives(const struct bh_silence *silence, const struct bh_causes *causes,
                            struct named named)
{
    json_t *list = json_array();

    for (size_t i = 0; i < causes->len && causes->list[i].weight >= TOLD; i++) {
        if (!is_of(&causes->list[i], named)) {
            json_array_append_new(list,
                                  cause_json(silence, &causes->list[i], causes->list[i].weight));
        }
    }
    return list;
}

static void say_named(const struct bh_silence *silence, const struct bh_cause *cause,
                      struct pd_report *report)
{
    json_t *what = what_of(silence, cause);

    if (cause->kind == BH_PAIR && json_array_size(what)) {
        pd_app_report_say(report, "1 link: packets for %s vanish there",
                          json_string_value(json_array_get(what, 0)));
    } else {
        pd_app_report_say(report, cause->kind == BH_SWITCH  ? "1 switch: packets vanish there"
                                  : cause->kind == BH_CABLE ? "1 link, both directions: packets "
                                                              "vanish there"
                                  : cause->kind == BH_SOME  ? "1 link: some flows vanish there"
                                                            : "1 link: packets vanish there");
    }
    json_decref(what);
}

/* ---- the verdict ---- */

static int tell(struct bh_silence *silence, const struct bh_causes *causes,
                const struct bh_cause *cause, struct pd_report *report)
{
    struct named named = name_of(cause);
    double all = probability(causes, named, false), whole = probability(causes, named, true);
    /* Where something still comes over the link, all that names it counts. */
    bool some = whole < SURE && all >= SURE;
    double least = 0;
    int err = 0;

    if (all >= SURE) {
        err = silence->least < 0 ? least_without(silence, named, !some, &silence->least) : 0;
        least = silence->least;
    }

    point_at(silence, cause, true, report);
    show(silence, causes, cause, report);
    say_named(silence, cause, report);
    report->certain = !err && all >= SURE && least >= SURE;
    report->confidence = report->certain ? all : fmin(all, SOME_MOST);
    if (all >= SURE && !report->certain && !err) {
        pd_app_report_lacks(report, "that flows are stuck is the word of too few hosts");
    }
    pd_app_report_member(report, "kind", json_string(kind_text(cause->kind)));
    pd_app_report_member(report, "faults",
                         json_pack("[o]", cause_json(silence, cause, report->confidence)));
    pd_app_report_member(report, "alternatives", alternatives(silence, causes, named));
    return err;
}

/* Several that nothing tells apart yet. */
static void suspect(const struct bh_silence *silence, const struct bh_causes *causes,
                    struct pd_report *report)
{
    for (size_t i = 0; i < causes->len && i < SUSPECTS_MAX; i++) {
        const struct bh_cause *cause = &causes->list[i];

        if (cause->weight >= SUSPECTED && cause->kind != BH_SOME && cause->kind != BH_HOST) {
            point_at(silence, cause, false, report);
            show(silence, causes, cause, report);
        }
    }
    pd_app_report_say(report, "packets vanish: %zu switches are suspected",
                      json_array_size(report->switches));
    report->confidence = causes->list[0].weight;
}

/* The most probable link, cable or switch; of a link, by what it most probably swallows. */
static const struct bh_cause *most_probable(const struct bh_causes *causes)
{
    const struct bh_cause *best = NULL;
    double most = 0;

    for (size_t i = 0; i < causes->len; i++) {
        const struct bh_cause *cause = &causes->list[i];
        bool passed_over =
            cause->kind == BH_HOST || (cause->kind == BH_SOME && is_quiet(causes, cause->of));
        double here = passed_over ? 0 : probability(causes, name_of(cause), false);

        if (here > most) {
            most = here;
            best = cause;
        }
    }
    return most >= NAMED ? best : NULL;
}

/* Whether it is more probable than not that something swallows all that crosses it. */
static bool is_silent(const struct bh_causes *causes)
{
    double sum = 0;

    for (size_t i = 0; i < causes->len; i++) {
        const struct bh_cause *cause = &causes->list[i];

        sum += cause->kind == BH_SOME || cause->kind == BH_HOST ? 0 : cause->weight;
    }
    return sum >= NAMED;
}

/* Once for each moment. */
static int weigh(struct bh_silence *silence)
{
    if (silence->weighed_us == silence->to_us) {
        return 0;
    }
    pd_blackhole_silence_settle(silence);
    pd_blackhole_causes_done(&silence->causes);
    int err = pd_blackhole_silence_weigh(silence, PD_NONE, &silence->causes);
    silence->weighed_us = err ? 0 : silence->to_us;
    silence->least = -1;
    return err;
}

int pd_blackhole_silence_conclude(struct bh_silence *silence, struct pd_report *report,
                                  bool *ret_found)
{
    *ret_found = false;
    if (!silence->topology || !silence->stuck_len) {
        return 0;
    }
    int err = weigh(silence);
    const struct bh_causes *causes = &silence->causes;
    const struct bh_cause *cause = err ? NULL : most_probable(causes);
    if (cause) {
        err = tell(silence, causes, cause, report);
        *ret_found = true;
    } else if (!err && is_silent(causes)) {
        suspect(silence, causes, report);
        *ret_found = true;
    }
    return err;
}
