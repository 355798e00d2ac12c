/* SPDX-License-Identifier: Apache-2.0 */
/* silent-drops: which links drop packets at random and count nothing? A localiser, fed with what
 * hosts saw of their flows. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "apps/silent_drops/search.h"
#include "base/path.h"
#include "localise/localise.h"

/* Paper 000, section 4.3. The localiser is the state: each run gives it what was seen since the one
 * before, so that its confidence grows as signatures arrive. What a later observation contradicts
 * is the localiser's business (localise.h). */

struct search {
    const char *name; /* the application's */
    unsigned wanted;  /* bits of enum pd_app_evidence */
    struct pd_localiser *localiser;
    uint32_t switches_len; /* of the topology that it was made for */
    uint64_t seen_us;      /* all up to here has been observed; 0: nothing was */
    bool has_period;       /* the world has a fixed one */
    bool taken;            /* a period of the run at hand */
};

static const struct pd_app_param params[] = {
    {.name = "method",
     .kind = PD_APP_LOCALISER,
     .value = "NAME",
     .fallback = "evidence",
     .help = "localiser: evidence; votes, of 007, or max-coverage, the paper's baseline, which are "
             "never certain"},
    {.name = "kinds",
     .kind = PD_APP_TEXT,
     .value = "KINDS",
     .fallback = "both",
     .help = "evidence: flows (hosts' connections), paths (counted by meters), or both"},
    {.name = "seconds",
     .kind = PD_APP_SECONDS,
     .value = "S",
     .fallback = "60",
     .help = "how far back the first look goes"},
    {.name = "link_mbps",
     .kind = PD_APP_INTEGER,
     .value = "MBPS",
     .help = "what each link carries, so that losses of full links are left aside; else what the "
             "controller knows"},
    {.name = NULL, .kind = PD_APP_TEXT},
};

/* ---- the localiser ---- */

static int new_localiser(const struct pd_app_call *call, struct search *search,
                         struct pd_error *error)
{
    const char *method = pd_app_arg_text(call->args, "method");
    const struct pd_localiser_ops *ops = pd_localiser_find(method ? method : "evidence");
    struct pd_localiser_config config = {
        .topology = call->world->topology,
        .link_mbps = pd_app_arg_u64(call->args, "link_mbps", call->world->link_mbps),
        .period_us = call->world->period_us};
    struct pd_localiser *localiser;

    int err = pd_localiser_new(ops, &config, &localiser);
    if (err) {
        return pd_fail(error, err, "%s: %s", search->name, pd_error_text(err));
    }
    pd_localiser_free(search->localiser);
    *search = (struct search){.name = search->name,
                              .wanted = search->wanted,
                              .localiser = localiser,
                              .switches_len = config.topology ? config.topology->switches_len : 0};
    return 0;
}

void pd_silent_drop_search_close(void *state)
{
    struct search *search = state;

    if (search) {
        pd_localiser_free(search->localiser);
    }
    free(search);
}

int pd_silent_drop_search_open(const struct pd_app_call *call, const char *name, unsigned wanted,
                               void **ret_state, struct pd_error *error)
{
    struct search *search = calloc(1, sizeof *search);

    if (!search) {
        return pd_fail(error, -ENOMEM, "%s: %s", name, pd_error_text(-ENOMEM));
    }
    *search = (struct search){.name = name, .wanted = wanted};
    int err = new_localiser(call, search, error);
    if (err) {
        pd_silent_drop_search_close(search);
    } else {
        *ret_state = search;
    }
    return err;
}

/* A topology that was read anew is another one: what was learnt of the old one's links does not
 * hold for it. */
static int keep_up(const struct pd_app_call *call, struct search *search, struct pd_error *error)
{
    const struct pd_topology *topology = call->world->topology;

    if (topology == search->localiser->config.topology &&
        (!topology || topology->switches_len == search->switches_len)) {
        return 0;
    }
    return new_localiser(call, search, error);
}

/* ---- observations ---- */

/* Of several periods each is concluded from before the next, as if it had been looked at in time:
 * so what has changed since is seen. */
static int take(void *context, const struct pd_evidence_period *period)
{
    struct search *search = context;
    struct pd_verdict verdict;
    int err =
        search->taken && !search->has_period ? pd_localiser_locate(search->localiser, &verdict) : 0;

    search->taken = true;
    if (!search->has_period && period->to_us > period->from_us) {
        search->localiser->config.period_us = period->to_us - period->from_us;
    }
    return err ? err : pd_localiser_observe(search->localiser, period);
}

static int observe(const struct pd_app_call *call, struct search *search, struct pd_report *report,
                   struct pd_error *error)
{
    const struct pd_app_world *world = call->world;
    uint64_t now_us = world->ops->now_us(world->context), from_us = search->seen_us;
    uint64_t back_us = (uint64_t)(pd_app_arg_number(call->args, "seconds", 60) * 1e6);

    if (!world->ops->observe) {
        return pd_fail(error, -PD_E_UNSUPPORTED, "%s: there is no evidence here", search->name);
    }
    if (!from_us || from_us > now_us) {
        from_us = now_us > back_us ? now_us - back_us : 0;
    }
    search->has_period = world->period_us > 0;
    if (!search->has_period) {
        search->localiser->config.period_us = now_us > from_us ? now_us - from_us : 1;
    }
    search->taken = false;
    const struct pd_evidence_sink sink = {search, take};
    int err =
        world->ops->observe(world->context, from_us, now_us, search->wanted, &sink, report, error);
    if (!err) {
        search->seen_us = now_us;
    }
    return err;
}

/* ---- the report ---- */

static void show_link(struct pd_report *report, const struct pd_verdict_link *link)
{
    char text[PD_LINK_TEXT_BYTES];

    pd_link_format((struct pd_link_match){link->from, link->to}, text);
    pd_app_report_link(report, link->from, link->to);
    pd_app_report_row(
        report, "links",
        json_pack("{s:s, s:f}", "link", text, "loss", link->loss > 0 ? link->loss : 0.0));
    if (link->loss > 0) {
        pd_app_report_evidence(report, "%s loses about %.2f %% of its packets", text,
                               link->loss * 100);
    }
}

/* Hosts whose links are named. */
static json_t *hosts_of(const struct pd_topology *topology, const struct pd_verdict *verdict)
{
    json_t *hosts = json_array();

    for (size_t i = 0; i < verdict->links_len; i++) {
        const uint32_t ends[] = {verdict->links[i].from, verdict->links[i].to};

        for (size_t e = 0; e < 2; e++) {
            if (pd_topology_host(topology, ends[e]) != PD_NONE) {
                json_array_append_new(hosts, json_integer(ends[e]));
            }
        }
    }
    return hosts;
}

static void show_switches(struct pd_report *report, const json_t *switches)
{
    const json_t *id;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)switches, i, id)
    {
        pd_app_report_switch(report, (uint32_t)json_integer_value(id));
    }
}

static void show_lacks(struct pd_report *report, const json_t *lacks)
{
    const json_t *text;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)lacks, i, text)
        pd_app_report_lacks(report, "%s", json_string_value(text));
}

/* What the localiser has to say of its verdict. */
static void show_members(struct pd_report *report, const struct pd_localiser *localiser,
                         const struct pd_verdict *verdict)
{
    json_t *members = json_object(), *value;
    const char *name;

    if (localiser->ops->describe) {
        localiser->ops->describe(localiser, members);
    }
    if (!json_object_get(members, "hosts")) {
        json_object_set_new(members, "hosts", hosts_of(localiser->config.topology, verdict));
    }
    show_switches(report, json_object_get(members, "switches"));
    show_lacks(report, json_object_get(members, "lacks"));
    json_object_del(members, "lacks");
    json_object_foreach(members, name, value)
        pd_app_report_member(report, name, json_incref(value));
    json_decref(members);
}

static void show_counters(struct pd_report *report, const struct pd_localiser *localiser)
{
    const struct pd_localiser_counters *c = &localiser->counters;
    json_t *row = json_object();

#define X(name, text) json_object_set_new(row, #name, json_integer((json_int_t)c->name));
    PD_LOCALISE_COUNTERS(X)
#undef X
    pd_app_report_row(report, "observations", row);
    pd_app_report_evidence(report, "%" PRIu64 " of %" PRIu64 " flows seen suffered on a known path",
                           c->signatures, c->flows);
    if (c->spread) {
        pd_app_report_evidence(report,
                               "%" PRIu64
                               " of these took several paths: which of them lost packets is "
                               "not told",
                               c->spread);
    }
    if (c->contradicted) {
        pd_app_report_evidence(report,
                               "%" PRIu64 " signatures are contradicted by flows that passed",
                               c->contradicted);
    }
    if (c->congested) {
        pd_app_report_evidence(report, "%" PRIu64 " flows left aside: over a link that was full",
                               c->congested);
    }
    if (c->unknown) {
        pd_app_report_evidence(report, "%" PRIu64 " flows left aside: their paths are not known",
                               c->unknown);
    }
    if (c->dropped) {
        pd_app_report_lacks(report, "%" PRIu64 " signatures for which there was no room",
                            c->dropped);
    }
}

/* What could not have been seen is said beside "no other". */
static void show_detects(struct pd_report *report)
{
    const char *tier;
    json_t *least;

    json_object_foreach(json_object_get(report->more, "detects"), tier, least)
    {
        if (json_is_null(least)) {
            pd_app_report_evidence(report, "%s: too little crosses some of these links to tell",
                                   tier);
        } else {
            pd_app_report_evidence(report, "%s: a loss of %.2g %% or more would have been named",
                                   tier, 100 * json_real_value(least));
        }
    }
}

/* Of the faults that the localiser tells of. */
static size_t count_kind(const struct pd_report *report, const char *kind)
{
    const json_t *fault;
    size_t count = 0, i;

    json_array_foreach(json_object_get(report->more, "faults"), i, fault)
    {
        count += !strcmp(json_string_value(json_object_get(fault, "kind")), kind);
    }
    return count;
}

/* Losses that are no link's fault. */
static void show_instead(struct pd_report *report)
{
    const json_t *fault;
    size_t i;

    json_array_foreach(json_object_get(report->more, "faults"), i, fault)
    {
        const json_t *what = json_array_get(json_object_get(fault, "what"), 0);

        if (!strcmp(json_string_value(json_object_get(fault, "kind")), "congestion")) {
            pd_app_report_evidence(report,
                                   "%s loses packets when much is sent, and few else: it "
                                   "is full, not faulty",
                                   json_string_value(what));
        }
    }
}

/* Where a switch is named, its links are no faults of their own. */
static bool conclude_switches(struct pd_report *report, const struct pd_verdict *verdict)
{
    size_t switches = json_array_size(report->switches);
    size_t links = count_kind(report, "link") + count_kind(report, "host");

    if (!switches) {
        return false;
    }
    pd_app_report_say(report, "%zu switch%s%s %s", switches, switches == 1 ? "" : "es",
                      links ? " and links beside" : "",
                      verdict->certain ? "drop packets, and nothing else"
                                       : "suspected of dropping packets");
    return true;
}

static void conclude(struct pd_report *report, const struct pd_verdict *verdict)
{
    const char *plural = verdict->links_len == 1 ? "" : "s";

    report->certain = verdict->certain;
    report->confidence = verdict->confidence;
    if (conclude_switches(report, verdict)) {
        return;
    }
    if (!verdict->links_len && count_kind(report, "congestion")) {
        pd_app_report_say(report, "no link is seen to drop packets but where it is loaded");
    } else if (!verdict->links_len && count_kind(report, "host")) {
        pd_app_report_say(report, "no link is seen to drop packets: a host alone tells of some");
    } else if (!verdict->links_len) {
        pd_app_report_say(report, "no link is seen to drop packets");
    } else if (verdict->certain) {
        pd_app_report_say(report, "%zu link%s drop%s packets, and no other", verdict->links_len,
                          plural, verdict->links_len == 1 ? "s" : "");
    } else {
        pd_app_report_say(report, "%zu link%s suspected of dropping packets", verdict->links_len,
                          plural);
    }
}

int pd_silent_drop_search_run(void *state, const struct pd_app_call *call, struct pd_report *report,
                              struct pd_error *error)
{
    struct search *search = state;
    struct pd_verdict verdict;
    int err = keep_up(call, search, error);

    if (!err) {
        err = observe(call, search, report, error);
    }
    if (err) {
        return err;
    }
    err = pd_localiser_locate(search->localiser, &verdict);
    if (err) {
        return pd_fail(error, err, "%s: %s", search->name, pd_error_text(err));
    }
    for (size_t i = 0; i < verdict.links_len; i++) {
        show_link(report, &verdict.links[i]);
    }
    show_counters(report, search->localiser);
    show_members(report, search->localiser, &verdict);
    show_instead(report);
    show_detects(report);
    if (search->wanted & PD_APP_FLOWS && !search->localiser->config.link_mbps) {
        pd_app_report_lacks(report,
                            "what links carry is not known (link_mbps): losses of full links "
                            "look like those of faulty ones");
    }
    conclude(report, &verdict);
    return 0;
}

/* ---- the application ---- */

static int open_silent_drops(const struct pd_app_call *call, void **ret_state,
                             struct pd_error *error)
{
    const char *kinds = pd_app_arg_text(call->args, "kinds");
    unsigned wanted = PD_APP_FLOWS | PD_APP_METERS;

    if (kinds && !strcmp(kinds, "flows")) {
        wanted = PD_APP_FLOWS;
    } else if (kinds && !strcmp(kinds, "paths")) {
        wanted = PD_APP_METERS;
    } else if (kinds && strcmp(kinds, "both") != 0) {
        return pd_fail(error, -PD_E_VALUE, "kinds: expects flows, paths or both");
    }
    return pd_silent_drop_search_open(call, "silent-drops", wanted, ret_state, error);
}

const struct pd_app_ops pd_app_silent_drops = {
    .name = "silent-drops",
    .section = "4.3",
    .help = "which links drop packets at random and count nothing?",
    .params = params,
    .period_s = 0.2,
    .keep_s = 10,
    .open = open_silent_drops,
    .run = pd_silent_drop_search_run,
    .close = pd_silent_drop_search_close,
};
