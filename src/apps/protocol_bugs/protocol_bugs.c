/* SPDX-License-Identifier: Apache-2.0 */
/* protocol-bugs: do flows suffer that no link explains? Then hosts or their protocol are to blame.
 */
#include "apps/protocol_bugs/protocol_bugs.h"

#include <errno.h>
#include <stdlib.h>

#include "apps/args.h"

/* Paper 000, Table 2: flows whose retransmissions have no lossy link in common. */

static const struct pd_app_param params[] = {
    {.name = "seconds",
     .kind = PD_APP_SECONDS,
     .value = "S",
     .fallback = "60",
     .help = "how far back to look"},
    {.name = "link_mbps",
     .kind = PD_APP_INTEGER,
     .value = "MBPS",
     .help = "what each link carries, so that losses of full links are left aside; else what the "
             "controller knows"},
    {.name = NULL, .kind = PD_APP_TEXT},
};

static int prepare(struct pb_case *c, uint64_t window_us)
{
    const struct pd_app_world *world = c->call->world;

    c->link_mbps = pd_app_arg_u64(c->call->args, "link_mbps", world->link_mbps);
    c->period_us = world->period_us ? world->period_us : window_us;
    struct pd_localiser_config config = {
        .topology = world->topology, .link_mbps = c->link_mbps, .period_us = c->period_us};
    int err = pd_localiser_new(pd_localiser_find("evidence"), &config, &c->localiser);

    return err ? err : pd_protocol_bug_links_init(c);
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    const struct pd_app_world *world = call->world;
    struct pb_case c = {.call = call, .report = report};
    uint64_t now_us = world->ops->now_us(world->context);
    uint64_t back_us = (uint64_t)(pd_app_arg_number(call->args, "seconds", 60) * 1e6);

    (void)state;
    if (!world->ops->observe) {
        return pd_fail(error, -PD_E_UNSUPPORTED, "protocol-bugs: nobody observes flows here");
    }
    int err = prepare(&c, back_us);
    if (err) {
        err = pd_fail(error, err, "protocol-bugs: %s", pd_error_text(err));
    } else {
        const struct pd_evidence_sink sink = {&c, pd_protocol_bug_take};

        err = world->ops->observe(world->context, now_us > back_us ? now_us - back_us : 0, now_us,
                                  PD_APP_EACH_FLOW, &sink, report, error);
    }
    if (!err) {
        err = pd_protocol_bug_conclude(&c, error);
    }
    if (!err && !c.link_mbps) {
        pd_app_report_lacks(report,
                            "what links carry is not known (link_mbps): losses of full links "
                            "look like any others");
    }
    pd_protocol_bug_done(&c);
    return err;
}

const struct pd_app_ops pd_app_protocol_bugs = {
    .name = "protocol-bugs",
    .section = "Table 2",
    .help = "which flows suffer although no link explains it?",
    .params = params,
    .period_s = 10,
    .run = run,
};
