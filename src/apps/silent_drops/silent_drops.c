/* SPDX-License-Identifier: Apache-2.0 */
/* silent-drops: which links drop packets at random and count nothing? A localiser, fed with what
 * hosts saw of their flows. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/apps.h"
#include "apps/args.h"
#include "base/path.h"
#include "localise/localise.h"

/* Paper 000, section 4.3. The localiser is the state: each run gives it what was seen since the one
 * before, so that its confidence grows as signatures arrive. What a later observation contradicts
 * is the localiser's business (localise.h). */

struct hunt {
    struct pd_localiser *localiser;
    uint32_t switches_len; /* of the topology that it was made for */
    uint64_t seen_us;      /* all up to here has been observed; 0: nothing was */
};

static const struct pd_app_param params[] = {
    {.name = "method",
     .kind = PD_APP_TEXT,
     .value = "NAME",
     .fallback = "evidence",
     .help = "localiser: evidence, or max-coverage, the paper's baseline, which is never certain"},
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

static int new_localiser(const struct pd_app_call *call, struct hunt *hunt, struct pd_error *error)
{
    const char *method = pd_app_arg_text(call->args, "method");
    const struct pd_localiser_ops *ops = pd_localiser_find(method ? method : "evidence");
    struct pd_localiser_config config = {
        .topology = call->world->topology,
        .link_mbps = pd_app_arg_u64(call->args, "link_mbps", call->world->link_mbps),
        .period_us = call->world->period_us};
    struct pd_localiser *localiser;

    if (!ops) {
        return pd_fail(error, -PD_E_VALUE,
                       "method: there is no localiser \"%s\": see pathdump localise --help",
                       method);
    }
    int code = pd_localiser_new(ops, &config, &localiser);
    if (code) {
        return pd_fail(error, code, "silent-drops: %s", pd_error_text(code));
    }
    pd_localiser_free(hunt->localiser);
    *hunt = (struct hunt){.localiser = localiser,
                          .switches_len = config.topology ? config.topology->switches_len : 0};
    return 0;
}

static void close_hunt(void *state)
{
    struct hunt *hunt = state;

    if (hunt) {
        pd_localiser_free(hunt->localiser);
    }
    free(hunt);
}

static int open_hunt(const struct pd_app_call *call, void **ret_state, struct pd_error *error)
{
    struct hunt *hunt = calloc(1, sizeof *hunt);

    if (!hunt) {
        return pd_fail(error, -ENOMEM, "silent-drops: %s", pd_error_text(-ENOMEM));
    }
    int code = new_localiser(call, hunt, error);
    if (code) {
        close_hunt(hunt);
    } else {
        *ret_state = hunt;
    }
    return code;
}

/* A topology that was read anew is another one: what was learnt of the old one's links does not
 * hold for it. */
static int keep_up(const struct pd_app_call *call, struct hunt *hunt, struct pd_error *error)
{
    const struct pd_topology *topology = call->world->topology;

    if (topology == hunt->localiser->config.topology &&
        (!topology || topology->switches_len == hunt->switches_len)) {
        return 0;
    }
    return new_localiser(call, hunt, error);
}

/* ---- observations ---- */

static int take(void *context, const struct pd_evidence_period *period)
{
    struct hunt *hunt = context;

    return pd_localiser_observe(hunt->localiser, period);
}

static int observe(const struct pd_app_call *call, struct hunt *hunt, struct pd_report *report,
                   struct pd_error *error)
{
    const struct pd_app_world *world = call->world;
    uint64_t now_us = world->ops->now_us(world->context), from_us = hunt->seen_us;
    uint64_t back_us = (uint64_t)(pd_app_arg_number(call->args, "seconds", 60) * 1e6);

    if (!world->ops->observe) {
        return pd_fail(error, -PD_E_UNSUPPORTED, "silent-drops: nobody observes flows here");
    }
    if (!from_us || from_us > now_us) {
        from_us = now_us > back_us ? now_us - back_us : 0;
    }
    if (!world->period_us) {
        hunt->localiser->config.period_us = now_us > from_us ? now_us - from_us : 1;
    }
    const struct pd_evidence_sink sink = {hunt, take};
    int code = world->ops->observe(world->context, from_us, now_us, &sink, report, error);
    if (!code) {
        hunt->seen_us = now_us;
    }
    return code;
}

/* ---- the report ---- */

static void show_link(struct pd_report *report, const struct pd_verdict_link *link)
{
    char text[PD_LINK_TEXT_BYTES];

    pd_link_format((struct pd_link_match){link->from, link->to}, text);
    pd_report_link(report, link->from, link->to);
    pd_report_row(report, "links",
                  json_pack("{s:s, s:f}", "link", text, "loss", link->loss > 0 ? link->loss : 0.0));
    if (link->loss > 0) {
        pd_report_evidence(report, "%s loses about %.2f %% of its packets", text, link->loss * 100);
    }
}

static void show_counters(struct pd_report *report, const struct pd_localiser *localiser)
{
    const struct pd_localiser_counters *c = &localiser->counters;
    json_t *row = json_object();

#define X(name, text) json_object_set_new(row, #name, json_integer((json_int_t)c->name));
    PD_LOCALISE_COUNTERS(X)
#undef X
    pd_report_row(report, "observations", row);
    pd_report_evidence(report, "%" PRIu64 " of %" PRIu64 " flows seen suffered on a known path",
                       c->signatures, c->flows);
    if (c->spread) {
        pd_report_evidence(report,
                           "%" PRIu64 " of these took several paths: which of them lost packets is "
                           "not told",
                           c->spread);
    }
    if (c->contradicted) {
        pd_report_evidence(report, "%" PRIu64 " signatures are contradicted by flows that passed",
                           c->contradicted);
    }
    if (c->congested) {
        pd_report_evidence(report, "%" PRIu64 " flows left aside: over a link that was full",
                           c->congested);
    }
    if (c->unknown) {
        pd_report_evidence(report, "%" PRIu64 " flows left aside: their paths are not known",
                           c->unknown);
    }
    if (c->dropped) {
        pd_report_lacks(report, "%" PRIu64 " signatures for which there was no room", c->dropped);
    }
}

/* Why a link that is proven is not yet a verdict that is certain. */
static void show_cleared(struct pd_report *report, const struct pd_verdict *verdict)
{
    size_t decided = verdict->cleared_len + verdict->links_len;

    if (verdict->links_len && verdict->all_len > decided) {
        pd_report_evidence(report,
                           "%zu of %zu links are cleared by flows that passed; %zu others carried "
                           "too few packets to tell",
                           verdict->cleared_len, verdict->all_len, verdict->all_len - decided);
    }
}

static void conclude(struct pd_report *report, const struct pd_verdict *verdict)
{
    const char *plural = verdict->links_len == 1 ? "" : "s";

    report->certain = verdict->certain;
    report->confidence = verdict->confidence;
    if (!verdict->links_len) {
        pd_report_say(report, "no link is seen to drop packets");
    } else if (verdict->certain) {
        pd_report_say(report, "%zu link%s drop%s packets, and no other", verdict->links_len, plural,
                      verdict->links_len == 1 ? "s" : "");
    } else {
        pd_report_say(report, "%zu link%s suspected of dropping packets", verdict->links_len,
                      plural);
    }
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    struct hunt *hunt = state;
    struct pd_verdict verdict;
    int code = keep_up(call, hunt, error);

    if (!code) {
        code = observe(call, hunt, report, error);
    }
    if (code) {
        return code;
    }
    code = pd_localiser_locate(hunt->localiser, &verdict);
    if (code) {
        return pd_fail(error, code, "silent-drops: %s", pd_error_text(code));
    }
    for (size_t i = 0; i < verdict.links_len; i++) {
        show_link(report, &verdict.links[i]);
    }
    show_counters(report, hunt->localiser);
    show_cleared(report, &verdict);
    if (!hunt->localiser->config.link_mbps) {
        pd_report_lacks(report, "what links carry is not known (link_mbps): losses of full links "
                                "look like those of faulty ones");
    }
    conclude(report, &verdict);
    return 0;
}

const struct pd_app_ops pd_app_silent_drops = {
    .name = "silent-drops",
    .section = "4.3",
    .help = "which links drop packets at random and count nothing?",
    .params = params,
    .period_s = 0.2,
    .open = open_hunt,
    .run = run,
    .close = close_hunt,
};
