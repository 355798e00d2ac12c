/* SPDX-License-Identifier: Apache-2.0 */
/* blackhole: which switch swallows all packets of a path? Expected paths minus seen paths, joined
 * over paths and flows. */
#include "apps/blackhole/blackhole.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "apps/args.h"
#include "apps/blackhole/silence.h"
#include "apps/rows.h"

/* Paper 000, section 4.4. A suffering flow's packets are sprayed over all shortest paths; its
 * receiver has a record for each path on which some arrived. Paths without one miss their packets;
 * what links they have in common, and no working path of the flow crosses, is suspected.
 * Deviations: a path counts as missing only when that is no chance (BH_CHANCE), from the packets
 * that came by the others since its last; and flows that take one path each are looked at too, with
 * the little that they tell. */

enum { WAIT_MS = 50, LOOKS_STRICT = 12, LOOKS_MAX = 40 };

static const struct pd_app_param params[] = {
    {.name = "src_ip",
     .kind = PD_APP_ADDRESS,
     .value = "IP",
     .help = "only this flow, whether it raised an alarm or not"},
    {.name = "dst_ip", .kind = PD_APP_ADDRESS, .value = "IP", .help = "its destination"},
    {.name = "src_port", .kind = PD_APP_INTEGER, .value = "PORT", .help = "its source port"},
    {.name = "dst_port", .kind = PD_APP_INTEGER, .value = "PORT", .help = "its destination port"},
    {.name = "protocol",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .fallback = "6",
     .help = "its protocol"},
    {.name = "spray",
     .kind = PD_APP_BOOL,
     .value = "BOOL",
     .help = "packets of one flow take all shortest paths; else it is told from what arrived"},
    {.name = "seconds",
     .kind = PD_APP_SECONDS,
     .value = "S",
     .fallback = "60",
     .help = "how far back alarms and records are looked at"},
    {.name = "slack",
     .kind = PD_APP_SECONDS,
     .value = "S",
     .fallback = "2",
     .help = "by how much clocks of hosts may differ"},
    {.name = NULL, .kind = PD_APP_TEXT},
};

/* An alarm comes with the first losses, when few packets of its flow have arrived, and TCP may
 * stall: a verdict within a second may wait for more, and is then content with a little less; after
 * two seconds it gives up. In the simulator nothing comes while one waits. */
static int wait_for_packets(struct bh_case *c, struct pd_error *error)
{
    const struct timespec pause = {.tv_nsec = WAIT_MS * 1000000L};
    int err = 0;

    if (!c->call->alarm || !c->flows_len || c->call->world->period_us) {
        return 0;
    }
    for (int look = 0; look < LOOKS_MAX && !err && pd_blackhole_is_open(c, &c->flows[0]); look++) {
        nanosleep(&pause, NULL);
        c->late = look >= LOOKS_STRICT;
        err = pd_blackhole_look_again(c, &c->flows[0], error);
    }
    return err;
}

static void free_case(struct bh_case *c)
{
    for (size_t i = 0; i < c->flows_len; i++) {
        free(c->flows[i].paths);
    }
    for (size_t i = 0; i < c->misses_len; i++) {
        free(c->misses[i].links);
    }
    free(c->misses);
    pd_app_traces_done(&c->traces);
    free(c->answers);
    free(c);
}

/* Where flows take one path each, ordinary traffic tells more than the flows that suffer. */
static int look_for_silence(struct bh_case *c, struct bh_silence *silence, bool *ret_found,
                            struct pd_error *error)
{
    if (pd_app_arg_text(c->call->args, "src_ip") || !c->flows_len ||
        json_is_true(json_object_get(c->call->args, "spray"))) {
        return 0;
    }
    silence->slack_us = c->slack_us;
    int err = pd_blackhole_silence_look(silence, c->call, c->back_us, c->report, error);
    if (!err) {
        err = pd_blackhole_silence_conclude(silence, c->report, ret_found);
        err = err ? pd_fail(error, err, "blackhole: %s", pd_error_text(err)) : 0;
    }
    return err;
}

/* Which paths the flows miss that suffer. */
static int look_at_flows(struct bh_case *c, struct pd_error *error)
{
    int err = pd_blackhole_look(c, error);

    err = err ? err : wait_for_packets(c, error);
    err = err ? err : pd_blackhole_judge(c, error);
    return err ? err : pd_blackhole_conclude(c, error);
}

static void close_silence(void *state)
{
    if (state) {
        pd_blackhole_silence_done(state);
    }
    free(state);
}

static int open_silence(const struct pd_app_call *call, void **ret_state, struct pd_error *error)
{
    struct bh_silence *silence = calloc(1, sizeof *silence);

    (void)call;
    if (!silence) {
        return pd_fail(error, -ENOMEM, "blackhole: %s", pd_error_text(-ENOMEM));
    }
    *ret_state = silence;
    return 0;
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    struct bh_case *c = calloc(1, sizeof *c);
    bool found = false;

    if (!c) {
        return pd_fail(error, -ENOMEM, "blackhole: %s", pd_error_text(-ENOMEM));
    }
    c->call = call;
    c->report = report;
    c->now_us = call->world->ops->now_us(call->world->context);
    c->back_us = (uint64_t)(pd_app_arg_number(call->args, "seconds", 60) * 1e6);
    c->slack_us = (uint64_t)(pd_app_arg_number(call->args, "slack", 2) * 1e6);
    uint64_t all_us = c->back_us + c->slack_us;
    c->since_us = c->now_us > all_us ? c->now_us - all_us : 0;
    int err = pd_blackhole_collect(c, error);
    if (!err && !c->flows_len) {
        err = pd_app_roll_call(call, report, error);
    }
    if (!err) {
        err = look_for_silence(c, state, &found, error);
    }
    if (!err && !found) {
        err = look_at_flows(c, error);
    }
    free_case(c);
    return err;
}

static const struct pd_app_trigger triggers[] = {{.reason = "POOR_PERF", .origin = "monitor"}, {0}};

const struct pd_app_ops pd_app_blackhole = {
    .name = "blackhole",
    .section = "4.4",
    .help = "which link swallows all packets?",
    .params = params,
    .triggers = triggers,
    .keep_s = 10,
    .open = open_silence,
    .run = run,
    .close = close_silence,
};
