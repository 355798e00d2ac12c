/* SPDX-License-Identifier: Apache-2.0 */
/* The dry run: an endpoint that compares, a wait that ends, a list. */
#include "controller/switches/dry_run.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define LOOK_NS (20 * PD_NS_PER_MS) /* from one look at the switches to the next */

struct run {
    const struct pd_topology *topology;
    struct pd_switches *switches;
    FILE *out;
    pthread_mutex_t lock; /* of `out`: the endpoint's thread tells of unknown switches */
    uint64_t changes;
    uint32_t would_change, away, unfinished;
};

static void tell_unknown(void *context, uint64_t datapath_id, const char *peer)
{
    struct run *run = context;
    pthread_mutex_lock(&run->lock);
    fprintf(run->out, "switch %" PRIu64 " at %s: not in the topology, nothing would be installed\n",
            datapath_id, peer);
    pthread_mutex_unlock(&run->lock);
}

static bool is_compared(enum pd_switch_state state)
{
    return state == PD_SWITCH_INSTALLED || state == PD_SWITCH_DIFFERING;
}

static bool all_compared(const struct run *run)
{
    struct pd_switch_status status;
    for (uint32_t i = 0; i < run->topology->switches_len; i++) {
        pd_switches_status(run->switches, i, &status);
        if (!is_compared(status.state)) {
            return false;
        }
    }
    return true;
}

static void wait_compared(const struct run *run, uint64_t wait_ms)
{
    uint64_t end_ns = pd_clock_monotonic_ns() + wait_ms * PD_NS_PER_MS;
    struct timespec look = {.tv_nsec = (long)LOOK_NS};
    while (!all_compared(run) && pd_clock_monotonic_ns() < end_ns) {
        nanosleep(&look, NULL);
    }
}

static void name_switch(const struct run *run, uint32_t i)
{
    const struct pd_switch *sw = &run->topology->switches[i];
    fprintf(run->out, "switch %u", sw->id);
    if (sw->name && sw->name[0]) {
        fprintf(run->out, " (%s)", sw->name);
    }
    fputs(": ", run->out);
}

static void tell_missing(struct run *run, uint32_t i, const struct pd_switch_status *status)
{
    name_switch(run, i);
    if (status->state != PD_SWITCH_AWAY) {
        run->unfinished++;
        fputs("not compared in time\n", run->out);
        return;
    }
    run->away++;
    fprintf(run->out, "did not connect%s%s\n", status->last_error[0] ? ": " : "",
            status->last_error);
}

static int tell_changes(struct run *run, uint32_t i, const struct pd_switch_status *status)
{
    char *text = NULL, *rest = NULL;
    int failed = pd_switches_changes(run->switches, status->id, &text);
    if (failed == -PD_E_NOT_FOUND) { /* it has gone, or there was no memory for its list */
        run->unfinished++;
        name_switch(run, i);
        fprintf(run->out, "%s\n",
                status->last_error[0] ? status->last_error : "went away before it could be told");
        return 0;
    }
    if (failed) {
        return failed;
    }
    run->would_change += text[0] != '\0';
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        name_switch(run, i);
        fprintf(run->out, "%s\n", line);
        run->changes += strncmp(line, "blocked", strlen("blocked")) != 0;
    }
    free(text);
    return 0;
}

static int tell(struct run *run)
{
    int failed = 0;
    pthread_mutex_lock(&run->lock);
    for (uint32_t i = 0; i < run->topology->switches_len && !failed; i++) {
        struct pd_switch_status status;
        pd_switches_status(run->switches, i, &status);
        if (is_compared(status.state)) {
            failed = tell_changes(run, i, &status);
        } else {
            tell_missing(run, i, &status);
        }
    }
    fprintf(run->out,
            "%" PRIu64 " flows would change on %u of %u switches; %u did not connect, %u were not "
            "compared in time; nothing was changed\n",
            run->changes, run->would_change, run->topology->switches_len, run->away,
            run->unfinished);
    if (!failed && (fflush(run->out) || ferror(run->out))) {
        failed = -EIO;
    }
    pthread_mutex_unlock(&run->lock);
    return failed;
}

int pd_switches_dry_run(const struct pd_codec *codec, const struct pd_switches_settings *settings,
                        uint64_t wait_ms, FILE *out, struct pd_error *error)
{
    struct run run = {.topology = codec->topology, .out = out, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct pd_switches_settings dry = *settings;
    dry.dry_run = true;
    dry.context = &run;
    dry.on_unknown = tell_unknown;
    dry.on_packet_in = NULL;
    dry.on_state = NULL;
    int failed = pd_switches_open(codec, &dry, &run.switches, error);
    if (failed) {
        return failed;
    }
    wait_compared(&run, wait_ms);
    failed = tell(&run);
    pd_switches_close(run.switches);
    return failed ? pd_fail(error, failed, "dry run: %s", pd_error_text(failed)) : 0;
}
