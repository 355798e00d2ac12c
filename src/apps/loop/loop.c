/* SPDX-License-Identifier: Apache-2.0 */
/* loop: packets that go round and round, trapped by the switch that has no room for another tag. */
#include <errno.h>
#include <stdlib.h>

#include "apps/args.h"
#include "apps/loop/loop.h"
#include "apps/voices.h"
#include "base/clock.h"

static void close_state(void *opaque)
{
    struct loop_state *state = opaque;

    if (!state) {
        return;
    }
    pd_codec_free(state->codec);
    pd_loop_reports_free(state->reports);
    free(state);
}

/* Without a codec nothing can be traced: said when it runs. */
static int open_state(const struct pd_app_call *call, void **ret_state, struct pd_error *error)
{
    struct loop_state *state = calloc(1, sizeof *state);
    int failed;

    if (!state) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    state->topology = call->world->topology;
    failed = pd_loop_reports_new(&state->reports);
    if (failed) {
        close_state(state);
        return pd_fail(error, failed, "%s", pd_error_text(failed));
    }
    failed = pd_codec_new(state->topology, &state->codec, error);
    if (failed && failed != -PD_E_UNSUPPORTED) {
        close_state(state);
        return failed;
    }
    if (state->codec && !pd_tagging_is(state->codec)) {
        pd_codec_free(state->codec);
        state->codec = NULL;
    }
    *ret_state = state;
    return 0;
}

static uint64_t now_us(const struct pd_app_world *world)
{
    return world->ops->now_us ? world->ops->now_us(world->context) : pd_clock_wall_us();
}

static bool packet_in(void *state, const struct pd_app_world *world,
                      const struct pd_app_packet *packet)
{
    struct loop_state *own = state;

    return pd_loop_reports_take(own->reports, world, packet, now_us(world)) ||
           (own->codec && pd_loop_take(own, world, packet));
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    struct loop_state *own = state;
    struct pd_app_edges edges;
    uint64_t to_us = now_us(call->world);
    uint64_t back_us = (uint64_t)(pd_app_arg_number(call->args, "seconds", 600) * 1e6);

    (void)error;
    pd_loop_expire(own, pd_clock_monotonic_ns());
    edges = pd_app_edges_say(call, report);
    pd_loop_report(own, back_us < to_us ? to_us - back_us : 0, !edges.open && !edges.unknown,
                   report);
    if (!own->codec && !pd_loop_reports_able(own->reports, call->world)) {
        pd_app_report_lacks(
            report, "the topology names no codec that tags links, and no telemetry plan has "
                    "a query \"loop\": switches report none");
    }
    if (!call->world->ops->packet_out) {
        pd_app_report_lacks(report, "there are no switches here that would send packets");
    }
    return 0;
}

static const struct pd_app_param params[] = {
    {.name = "seconds",
     .kind = PD_APP_SECONDS,
     .value = "S",
     .fallback = "600",
     .help = "how far to look back"},
    {.name = 0},
};

const struct pd_app_ops pd_app_loop = {
    .name = "loop",
    .section = "4.5",
    .help = "does the network send packets round in circles, and where?",
    .params = params,
    .open = open_state,
    .run = run,
    .close = close_state,
    .packet_in = packet_in,
};
