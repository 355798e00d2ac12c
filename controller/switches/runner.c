/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of a provider, and the queue of what it is to do. */
#include "controller/switches/runner.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/wait.h"

#define MODULE     "switches"
#define CLOSE_NS   (2 * PD_NS_PER_S)
#define HANGING_NS PD_NS_PER_S

struct packet {
    STAILQ_ENTRY(packet) next;
    uint32_t switch_id, in_port;
    size_t bytes;
    uint8_t data[];
};

struct pd_switch_runner {
    const struct pd_switch_provider_ops *ops;
    struct pd_switch_provider_config config;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    bool opened, failed; /* open has ended */
    bool stopping, ended, abandoned;
    int err; /* of open */
    struct pd_error error;
    void *provider;
    uint64_t called_ns; /* monotonic: when the call that is under way began; 0: none */
    STAILQ_HEAD(runner_packets, packet) packets;
    unsigned packets_len;
};

static void free_runner(struct pd_switch_runner *runner)
{
    while (!STAILQ_EMPTY(&runner->packets)) {
        struct packet *packet = STAILQ_FIRST(&runner->packets);

        STAILQ_REMOVE_HEAD(&runner->packets, next);
        free(packet);
    }
    pthread_cond_destroy(&runner->changed);
    pthread_mutex_destroy(&runner->lock);
    free(runner);
}

/* ---- the thread ---- */

/* With the lock held, which is let go during a call. */
static void begin_call(struct pd_switch_runner *runner)
{
    runner->called_ns = pd_clock_monotonic_ns();
    pthread_mutex_unlock(&runner->lock);
}

static void end_call(struct pd_switch_runner *runner)
{
    pthread_mutex_lock(&runner->lock);
    runner->called_ns = 0;
    pthread_cond_broadcast(&runner->changed);
}

static void call_open(struct pd_switch_runner *runner)
{
    struct pd_error error = {0};
    void *provider = NULL;
    int err;

    begin_call(runner);
    err = runner->ops->open(&runner->config, &provider, &error);
    end_call(runner);
    runner->err = err;
    runner->error = error;
    runner->opened = !err;
    runner->failed = err;
    runner->provider = err ? NULL : provider;
}

static void send_packets(struct pd_switch_runner *runner)
{
    while (!STAILQ_EMPTY(&runner->packets) && !runner->stopping) {
        struct packet *packet = STAILQ_FIRST(&runner->packets);

        STAILQ_REMOVE_HEAD(&runner->packets, next);
        runner->packets_len--;
        begin_call(runner);
        (void)runner->ops->packet_out(runner->provider, packet->switch_id, packet->in_port,
                                      packet->data, packet->bytes);
        free(packet);
        end_call(runner);
    }
}

static void call_close(struct pd_switch_runner *runner)
{
    void *provider = runner->provider;

    runner->provider = NULL;
    begin_call(runner);
    runner->ops->close(provider);
    end_call(runner);
}

static void *work(void *context)
{
    struct pd_switch_runner *runner = context;
    bool abandoned;

    pthread_mutex_lock(&runner->lock);
    call_open(runner);
    while (!runner->stopping && !runner->failed) {
        send_packets(runner);
        if (!runner->stopping && STAILQ_EMPTY(&runner->packets)) {
            pthread_cond_wait(&runner->changed, &runner->lock);
        }
    }
    if (runner->opened) {
        call_close(runner);
    }
    runner->ended = true;
    abandoned = runner->abandoned;
    pthread_cond_broadcast(&runner->changed);
    pthread_mutex_unlock(&runner->lock);
    if (abandoned) {
        free_runner(runner);
    }
    return NULL;
}

/* ---- life ---- */

/* With the lock held. */
static void wait_for(struct pd_switch_runner *runner, const bool *one, const bool *other,
                     uint64_t ns)
{
    uint64_t until_ns = pd_clock_monotonic_ns() + ns;

    while (!*one && !*other && pd_clock_monotonic_ns() < until_ns) {
        pd_wait_until(&runner->changed, &runner->lock, until_ns);
    }
}

static struct pd_switch_runner *make(const struct pd_switch_provider_ops *ops,
                                     const struct pd_switch_provider_config *config)
{
    struct pd_switch_runner *runner = calloc(1, sizeof *runner);

    if (!runner) {
        return NULL;
    }
    runner->ops = ops;
    runner->config = *config;
    STAILQ_INIT(&runner->packets);
    pthread_mutex_init(&runner->lock, NULL);
    pd_wait_init(&runner->changed);
    return runner;
}

int pd_switch_runner_open(const struct pd_switch_provider_ops *ops,
                          const struct pd_switch_provider_config *config,
                          struct pd_switch_runner **ret_runner, struct pd_error *error)
{
    struct pd_switch_runner *runner = make(ops, config);
    pthread_t thread;
    int err = runner ? -pthread_create(&thread, NULL, work, runner) : -ENOMEM;

    if (err) {
        if (runner) {
            free_runner(runner);
        }
        return pd_fail(error, err, "switches: %s: %s", ops->name, pd_error_text(err));
    }
    pthread_detach(thread);
    pthread_mutex_lock(&runner->lock);
    wait_for(runner, &runner->opened, &runner->ended, PD_SWITCH_RUNNER_PATIENCE_MS * PD_NS_PER_MS);
    if (!runner->opened && !runner->ended) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "%s has not opened in %u s: the rest goes on", ops->name,
               PD_SWITCH_RUNNER_PATIENCE_MS / 1000);
    }
    err = runner->failed ? runner->err : 0;
    if (err) {
        pd_fail(error, err, "%s",
                *runner->error.text ? runner->error.text : pd_error_text(runner->err));
        wait_for(runner, &runner->ended, &runner->ended, CLOSE_NS);
    }
    pthread_mutex_unlock(&runner->lock);
    if (err) {
        free_runner(runner);
    } else {
        *ret_runner = runner;
    }
    return err;
}

bool pd_switch_runner_close(struct pd_switch_runner *runner)
{
    bool ended;

    if (!runner) {
        return true;
    }
    pthread_mutex_lock(&runner->lock);
    runner->stopping = true;
    pthread_cond_broadcast(&runner->changed);
    wait_for(runner, &runner->ended, &runner->ended, CLOSE_NS);
    ended = runner->ended;
    runner->abandoned = !ended;
    pthread_mutex_unlock(&runner->lock);
    if (ended) {
        free_runner(runner);
    } else {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "the provider hangs: it is left behind");
    }
    return ended;
}

/* ---- while it runs ---- */

const struct pd_switch_provider_ops *pd_switch_runner_ops(const struct pd_switch_runner *runner)
{
    return runner->ops;
}

void *pd_switch_runner_provider(struct pd_switch_runner *runner)
{
    void *provider;

    pthread_mutex_lock(&runner->lock);
    provider = runner->provider;
    pthread_mutex_unlock(&runner->lock);
    return provider;
}

const char *pd_switch_runner_state(struct pd_switch_runner *runner)
{
    const char *state;

    pthread_mutex_lock(&runner->lock);
    if (runner->called_ns && pd_clock_monotonic_ns() - runner->called_ns > HANGING_NS) {
        state = "hangs";
    } else {
        state = runner->opened ? "open" : "opening";
    }
    pthread_mutex_unlock(&runner->lock);
    return state;
}

void pd_switch_runner_status(struct pd_switch_runner *runner, uint32_t index,
                             struct pd_switch_status *ret_status)
{
    void *provider = pd_switch_runner_provider(runner);

    if (provider) {
        runner->ops->status(provider, index, ret_status);
    } else {
        *ret_status = (struct pd_switch_status){.id = runner->config.topology->switches[index].id};
    }
}

static int enqueue(struct pd_switch_runner *runner, struct packet *packet)
{
    int err = 0;

    pthread_mutex_lock(&runner->lock);
    if (!runner->opened || runner->stopping) {
        err = -PD_E_NOT_FOUND;
    } else if (runner->packets_len == PD_SWITCH_RUNNER_QUEUE) {
        err = -PD_E_FULL;
    } else {
        STAILQ_INSERT_TAIL(&runner->packets, packet, next);
        runner->packets_len++;
        pthread_cond_broadcast(&runner->changed);
    }
    pthread_mutex_unlock(&runner->lock);
    return err;
}

int pd_switch_runner_packet_out(struct pd_switch_runner *runner, uint32_t switch_id,
                                uint32_t in_port, const uint8_t *data, size_t bytes)
{
    void *provider = pd_switch_runner_provider(runner);
    struct packet *packet;
    int err;

    if (!provider) {
        return -PD_E_NOT_FOUND;
    }
    if (runner->ops->prompt) {
        return runner->ops->packet_out(provider, switch_id, in_port, data, bytes);
    }
    if (bytes > PD_SWITCHES_FRAME_MAX) {
        return -PD_E_TOO_LARGE;
    }
    packet = malloc(sizeof *packet + bytes);
    if (!packet) {
        return -ENOMEM;
    }
    packet->switch_id = switch_id;
    packet->in_port = in_port;
    packet->bytes = bytes;
    memcpy(packet->data, data, bytes);
    err = enqueue(runner, packet);
    if (err) {
        free(packet);
    }
    return err;
}

int pd_switch_runner_meters(struct pd_switch_runner *runner, uint32_t switch_id,
                            int (*visit)(void *context, const struct pd_switch_meter *meter),
                            void *context)
{
    void *provider = pd_switch_runner_provider(runner);

    if (!provider) {
        return -PD_E_NOT_FOUND;
    }
    return runner->ops->meters && runner->ops->prompt
               ? runner->ops->meters(provider, switch_id, visit, context)
               : -PD_E_UNSUPPORTED;
}
