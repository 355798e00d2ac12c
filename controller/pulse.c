/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that asks silent hosts for a sign of life. */
#include "controller/pulse.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/grow.h"
#include "controller/controller.h"
#include "fleet/fanout.h"

/* A request lies in a stopped host's queue and is answered when it goes on; one in the queue of a
 * host that was cut off is lost, so it is sent again after this. */
#define ATTEMPT_NS   PD_NS_PER_S
#define PAUSE_MS     100
#define AT_ONCE      256u
#define ANSWER_BYTES (UINT64_C(16) << 20)
#define STATUS_ROUTE "/v1/status"

struct pd_pulse {
    struct pd_controller *controller;
    struct pd_fanout *fanout; /* of its own: a hung host's connections are in nobody's way */
    pthread_t thread;
};

/* The hosts of one round, in the order in which they were asked. */
struct round {
    struct pd_hosts *hosts;
    uint32_t last;
    struct silent {
        uint32_t id;
        char *url;
    } *silent;
    size_t len, size;
};

static bool next(void *context, struct pd_fanout_peer *ret_peer)
{
    struct round *round = context;
    char *url = NULL;
    uint32_t id = !PD_GROW(round->silent, round->size, round->len + 1)
                      ? pd_controller_hosts_next_silent(round->hosts, round->last, &url)
                      : 0;

    if (!id) {
        return false;
    }
    round->last = id;
    round->silent[round->len++] = (struct silent){id, url};
    *ret_peer = (struct pd_fanout_peer){.url = url};
    return true;
}

static int take(void *context, size_t i, const char *bytes, size_t len)
{
    (void)context, (void)i, (void)bytes, (void)len;
    return 0;
}

/* What says why it does not answer is there all the same. */
static void end(void *context, size_t i, const struct pd_error *error)
{
    const struct round *round = context;

    if (error->code == -PD_E_SILENT || error->code == -PD_E_DEADLINE || error->code == -ENOMEM) {
        return;
    }
    pd_controller_hosts_asked(round->hosts, round->silent[i].id,
                              error->code == -PD_E_UNREACHABLE ? error->text : NULL);
}

static void go_round(struct pd_pulse *pulse)
{
    struct round round = {.hosts = pulse->controller->hosts};
    const struct pd_fanout_request request = {.method = "GET",
                                              .route = STATUS_ROUTE,
                                              .accept = "application/json",
                                              .deadline_ns = pd_clock_monotonic_ns() + ATTEMPT_NS,
                                              .max_bytes = ANSWER_BYTES,
                                              .at_once = AT_ONCE,
                                              .cancelled = &pulse->controller->stopping};
    const struct pd_fanout_source source = {&round, next};
    const struct pd_fanout_sink sink = {&round, take, end, NULL};

    pd_fleet_fanout_run(pulse->fanout, &request, &source, &sink);
    for (size_t i = 0; i < round.len; i++) {
        free(round.silent[i].url);
    }
    free(round.silent);
}

static void *run(void *context)
{
    struct pd_pulse *pulse = context;
    const atomic_bool *stopping = &pulse->controller->stopping;

    while (!atomic_load_explicit(stopping, memory_order_relaxed)) {
        pd_controller_hosts_wait_silent(pulse->controller->hosts, stopping);
        if (!atomic_load_explicit(stopping, memory_order_relaxed)) {
            go_round(pulse);
            poll(NULL, 0, PAUSE_MS);
        }
    }
    return NULL;
}

static int start_part(void *daemon, struct pd_error *error)
{
    struct pd_controller *controller = daemon;
    struct pd_pulse *pulse = calloc(1, sizeof *pulse);
    int err = pulse ? 0 : -ENOMEM;

    if (!err) {
        pulse->controller = controller;
        pulse->fanout = pd_fleet_fanout_new();
        err = pulse->fanout ? 0 : -ENOMEM;
    }
    if (!err) {
        pd_fleet_fanout_use(pulse->fanout, controller->credentials);
        err = -pthread_create(&pulse->thread, NULL, run, pulse);
    }
    if (err) {
        pd_fleet_fanout_free(pulse ? pulse->fanout : NULL);
        free(pulse);
        return pd_fail(error, err, "silent hosts: %s", pd_error_text(err));
    }
    pthread_setname_np(pulse->thread, "pd-pulse");
    controller->pulse = pulse;
    return 0;
}

static void stop_part(void *daemon)
{
    const struct pd_controller *controller = daemon;

    pd_controller_hosts_wake(controller->hosts);
}

static void end_part(void *daemon)
{
    struct pd_controller *controller = daemon;
    struct pd_pulse *pulse = controller->pulse;

    if (!pulse) {
        return;
    }
    pd_controller_hosts_wake(controller->hosts);
    pthread_join(pulse->thread, NULL);
    pd_fleet_fanout_free(pulse->fanout);
    free(pulse);
    controller->pulse = NULL;
}

const struct pd_part pd_controller_pulse_part = {
    .name = "pulse", .start = start_part, .stop = stop_part, .end = end_part};
