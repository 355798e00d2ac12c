/* SPDX-License-Identifier: Apache-2.0 */
/* From the list of alarms through the spool to the controller. */
#include "agent/alarms/sender.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/wait.h"
#include "codec/marks.h"

#define MODULE       "alarms"
#define SETTLE_NS    PD_NS_PER_S
#define ANSWER_BYTES 1024u

struct incoming {
    struct incoming *next;
    struct pd_alarm_message message; /* its paths cut off behind the last one that is used */
};

struct pd_alarm_sender {
    struct pd_alarm_sender_config config;
    struct pd_alarm_spool *spool;
    bool spooler_runs, sender_runs;
    pthread_t spooler_thread, sender_thread;
    atomic_bool cancelled; /* relaxed: read now and then by the request that is under way */
    pthread_mutex_t lock;  /* of what follows */
    pthread_cond_t came;   /* incoming, or stopping */
    pthread_cond_t waits;  /* something in the spool, or stopping */
    uint64_t minute_ns;    /* when that of the budget began; 0: none */
    uint64_t this_minute;  /* alarms in it */
    uint64_t reasons;      /* bit n: that of slot n was brought in it */
    uint64_t beyond;       /* that were not */
    struct incoming *first, *last;
    unsigned incoming_len;
    uint64_t incoming_lost;
    bool spooled;  /* since the sender last looked */
    bool stopping; /* the spooler ends when nothing is incoming, and then the sender may */
    bool all_spooled;
    bool reached;
    uint64_t retries;
    uint64_t stop_ns;
    bool over; /* the sender's thread is about to end */
};

/* ---- whoever raises ---- */

/* What the controller has no member for goes into the words. */
static void add_words(const struct pd_alarm *alarm, struct pd_alarm_message *message)
{
    size_t at = strlen(message->detail), size = sizeof message->detail;
    struct pd_mark_field fields[PD_MARK_FIELDS_MAX];
    size_t len = alarm->has_mark ? pd_codec_mark_fields(&alarm->mark, fields) : 0;

    for (size_t i = 0; i < len && at < size; i++) {
        at += (size_t)snprintf(message->detail + at, size - at, "%s%s",
                               i    ? ", "
                               : at ? "; "
                                    : "",
                               fields[i].label);
        for (unsigned j = 0; j < fields[i].len && at < size; j++) {
            at += (size_t)snprintf(message->detail + at, size - at, " %u", fields[i].values[j]);
        }
    }
    at = at < size ? at : size - 1;
    if (alarm->paths_left) {
        at +=
            (size_t)snprintf(message->detail + at, size - at, "; %u more paths", alarm->paths_left);
    }
    if (alarm->suppressed) {
        snprintf(message->detail + at, size - at,
                 "; %" PRIu64 " alarms of this reason were suppressed before it",
                 alarm->suppressed);
    }
}

/* Only this long is what is kept of a message: most have one path or none. */
static size_t used_bytes(const struct pd_alarm_message *message)
{
    return offsetof(struct pd_alarm_message, paths) + message->paths_len * sizeof message->paths[0];
}

/* With the lock. The first of a reason is always brought: no reason hides another one. */
static bool within_budget(struct pd_alarm_sender *sender, const struct pd_alarm *alarm)
{
    uint64_t bit = UINT64_C(1) << alarm->slot;

    if (!sender->config.budget) {
        return true;
    }
    if (!sender->minute_ns) {
        sender->minute_ns = pd_clock_monotonic_ns();
        sender->this_minute = sender->reasons = 0;
    }
    if (sender->this_minute >= sender->config.budget && sender->reasons & bit) {
        sender->beyond += alarm->count - alarm->told;
        return false;
    }
    sender->this_minute++;
    sender->reasons |= bit;
    return true;
}

static void hear(void *context, const struct pd_alarm *alarm)
{
    struct pd_alarm_sender *sender = context;
    struct pd_alarm_message message;
    struct incoming *incoming;

    pd_alarm_message_make(alarm, &message);
    message.time_us = alarm->last_us;
    message.count = alarm->count - alarm->told;
    add_words(alarm, &message);
    incoming = malloc(offsetof(struct incoming, message) + used_bytes(&message));
    if (incoming) {
        incoming->next = NULL;
        memcpy(&incoming->message, &message, used_bytes(&message));
    }
    pthread_mutex_lock(&sender->lock);
    if (!within_budget(sender, alarm)) {
        pthread_mutex_unlock(&sender->lock);
        free(incoming);
        return;
    }
    if (!incoming || sender->incoming_len == PD_ALARM_INCOMING_MAX) {
        sender->incoming_lost++;
        free(incoming);
    } else {
        *(sender->last ? &sender->last->next : &sender->first) = incoming;
        sender->last = incoming;
        sender->incoming_len++;
    }
    pthread_cond_signal(&sender->came);
    pthread_mutex_unlock(&sender->lock);
}

/* ---- the spooler ---- */

/* Waits for something to spool, or a second while something waits to be flushed or settled. False
 * at the end. */
static bool take_incoming(struct pd_alarm_sender *sender, struct incoming **ret_first,
                          uint64_t *ret_lost)
{
    bool more;

    pthread_mutex_lock(&sender->lock);
    if (!sender->first && !sender->stopping && !sender->incoming_lost) {
        pd_wait_until(&sender->came, &sender->lock, pd_clock_monotonic_ns() + SETTLE_NS);
    }
    *ret_first = sender->first;
    *ret_lost = sender->incoming_lost;
    more = sender->first || !sender->stopping;
    sender->first = sender->last = NULL;
    sender->incoming_len = 0;
    sender->incoming_lost = 0;
    pthread_mutex_unlock(&sender->lock);
    return more;
}

static void tell_spooled(struct pd_alarm_sender *sender)
{
    pthread_mutex_lock(&sender->lock);
    sender->spooled = true;
    pthread_cond_broadcast(&sender->waits);
    pthread_mutex_unlock(&sender->lock);
}

/* Each one is told to the sender at once: what comes behind it may take a while. */
static void spool_all(struct pd_alarm_sender *sender, struct incoming *incoming)
{
    while (incoming) {
        struct incoming *next = incoming->next;

        if (!pd_alarm_spool_add(sender->spool, &incoming->message)) {
            tell_spooled(sender);
        }
        free(incoming);
        incoming = next;
    }
}

/* When the minute is over: how many were beyond it. */
static void settle_budget(struct pd_alarm_sender *sender)
{
    struct pd_alarm_message message = {.time_us = pd_clock_wall_us(), .reason = "ALARM_BUDGET"};
    bool over;

    pthread_mutex_lock(&sender->lock);
    over = sender->minute_ns &&
           (pd_clock_monotonic_ns() - sender->minute_ns >= PD_ALARM_MINUTE_NS || sender->stopping);
    if (over) {
        sender->minute_ns = 0;
        message.count = sender->beyond;
        sender->beyond = 0;
    }
    pthread_mutex_unlock(&sender->lock);
    if (!message.count) {
        return;
    }
    snprintf(message.detail, sizeof message.detail,
             "%" PRIu64 " alarms of a minute were more than the %" PRIu64
             " that this host may bring (--alarm-budget)",
             message.count, sender->config.budget);
    if (!pd_alarm_spool_add(sender->spool, &message)) {
        tell_spooled(sender);
    }
}

static void *spool_thread(void *context)
{
    struct pd_alarm_sender *sender = context;
    uint64_t next_ns = pd_clock_monotonic_ns() + SETTLE_NS, lost;
    struct incoming *incoming;

    while (take_incoming(sender, &incoming, &lost)) {
        spool_all(sender, incoming);
        if (lost) {
            pd_alarm_spool_dropped(sender->spool, lost);
        }
        if (pd_clock_monotonic_ns() < next_ns) {
            continue;
        }
        pd_alarms_settle(sender->config.alarms);
        settle_budget(sender);
        pd_alarm_spool_sync(sender->spool);
        next_ns = pd_clock_monotonic_ns() + SETTLE_NS;
    }
    settle_budget(sender);
    pthread_mutex_lock(&sender->lock);
    sender->all_spooled = true;
    pthread_cond_broadcast(&sender->waits);
    pthread_mutex_unlock(&sender->lock);
    return NULL;
}

/* ---- the sender ---- */

/* One request, and what came back. */
struct post {
    char answer[ANSWER_BYTES];
    size_t len;
    struct pd_error error;
};

static int take_answer(void *context, size_t i, const char *bytes, size_t len)
{
    struct post *post = context;

    (void)i;
    if (len > sizeof post->answer - post->len) {
        return -PD_E_TOO_LARGE;
    }
    memcpy(post->answer + post->len, bytes, len);
    post->len += len;
    return 0;
}

static void end_answer(void *context, size_t i, const struct pd_error *error)
{
    struct post *post = context;

    (void)i;
    if (error) {
        post->error = *error;
    }
}

/* {"last":N}: never beyond what was sent, whatever it says. */
static int read_answer(struct post *post, const struct pd_alarm_batch *batch, uint64_t *ret_last)
{
    json_t *object = json_loadb(post->answer, post->len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *last = json_object_get(object, "last");
    json_int_t number = json_integer_value(last);
    bool holds = json_is_integer(last) && number >= 0;

    json_decref(object);
    if (!holds) {
        return pd_fail(&post->error, -PD_E_SYNTAX, "the answer is none of a controller");
    }
    *ret_last = (uint64_t)number < batch->last ? (uint64_t)number : batch->last;
    if (*ret_last < batch->last) {
        return pd_fail(&post->error, -PD_E_VALUE, "the controller has not taken all of it");
    }
    return 0;
}

static int post_batch(struct pd_alarm_sender *sender, const struct pd_alarm_batch *batch,
                      struct post *post, uint64_t *ret_last)
{
    struct pd_fanout_peer peer = {
        .url = sender->config.controller, .body = batch->body, .body_bytes = batch->body_bytes};
    struct pd_fanout_request request = {
        .route = "/v1/alarms",
        .type = "application/json",
        .accept = "application/json",
        .deadline_ns = pd_clock_monotonic_ns() + PD_ALARM_POST_NS,
        .max_bytes = ANSWER_BYTES,
        .cancelled = &sender->cancelled,
    };
    struct pd_fanout_sink sink = {post, take_answer, end_answer, NULL};
    int err = pd_fleet_fanout_ask(sender->config.fanout, &request, &peer, 1, &sink);

    if (err) {
        return pd_fail(&post->error, err, "%s", pd_error_text(err));
    }
    return post->error.code ? post->error.code : read_answer(post, batch, ret_last);
}

/* How it goes with the controller; the sender's thread only. */
struct tries {
    uint64_t failed; /* in a row */
    uint64_t random;
    size_t most; /* alarms of a request */
};

/* Somewhere in the upper half of what doubles with each failure. */
static uint64_t backoff_ns(struct tries *tries)
{
    unsigned doublings = tries->failed < 10 ? (unsigned)tries->failed - 1 : 10;
    uint64_t ms = (uint64_t)PD_ALARM_RETRY_MIN_MS << doublings;

    if (ms > PD_ALARM_RETRY_MAX_MS) {
        ms = PD_ALARM_RETRY_MAX_MS;
    }
    tries->random = pd_hash_mix(tries->random + pd_clock_monotonic_ns());
    return (ms / 2 + tries->random % (ms / 2 + 1)) * PD_NS_PER_MS;
}

static void tell_state(struct pd_alarm_sender *sender, const struct tries *tries,
                       const struct pd_error *error)
{
    bool reached = !error;

    pthread_mutex_lock(&sender->lock);
    sender->reached = reached;
    sender->retries += !reached;
    pthread_mutex_unlock(&sender->lock);
    if (tries->failed == 1 && error) {
        pd_log(PD_LOG_WARN, MODULE, NULL,
               "the controller %s does not take alarms, they wait in the spool: %s",
               sender->config.controller, error->text);
    } else if (tries->failed && reached) {
        pd_log(PD_LOG_INFO, MODULE, NULL, "the controller takes alarms again");
    }
}

/* A request that it cannot accept: in parts, then without the alarm that it is about. Else the
 * alarms wait. */
static uint64_t fail(struct pd_alarm_sender *sender, struct tries *tries,
                     const struct pd_alarm_batch *batch, const struct pd_error *error)
{
    if (error->code == -PD_E_VALUE && batch->len > 1) {
        tries->most = batch->len / 2;
        return 0;
    }
    if (error->code == -PD_E_VALUE) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "an alarm that the controller refuses is given up: %s",
               error->text);
        pd_alarm_spool_end(sender->spool, batch->spool, batch->last, true);
        return 0;
    }
    tries->failed++;
    tell_state(sender, tries, error);
    return backoff_ns(tries);
}

/* Sends what is oldest. Returns how long to wait before the next try; UINT64_MAX: nothing waits. */
static uint64_t send_some(struct pd_alarm_sender *sender, struct tries *tries)
{
    struct post post = {.len = 0};
    struct pd_alarm_batch batch;
    uint64_t last = 0, wait_ns = 0;
    int err = pd_alarm_spool_take(sender->spool, tries->most, &batch);

    if (err == -PD_E_NOT_FOUND) {
        return UINT64_MAX;
    }
    if (err) {
        return PD_NS_PER_S;
    }
    err = post_batch(sender, &batch, &post, &last);
    if (last) {
        pd_alarm_spool_end(sender->spool, batch.spool, last, false);
    }
    if (err && !last) {
        wait_ns = fail(sender, tries, &batch, &post.error);
    } else {
        tell_state(sender, tries, NULL);
        tries->failed = 0;
        tries->most = 2 * tries->most < PD_ALARM_BATCH_LEN ? 2 * tries->most : PD_ALARM_BATCH_LEN;
    }
    free(batch.body);
    return wait_ns;
}

/* At the end the sender goes on only with what it can get rid of. */
static bool is_over(const struct pd_alarm_sender *sender, uint64_t wait_ns)
{
    return sender->stopping &&
           ((sender->all_spooled && !sender->spooled && wait_ns) || !sender->reached ||
            pd_clock_monotonic_ns() > sender->stop_ns + PD_ALARM_GRACE_NS);
}

/* Until the next try is due. What is spooled meanwhile hurries only a sender that has nothing else
 * to do. */
static bool wait_for_work(struct pd_alarm_sender *sender, uint64_t wait_ns)
{
    uint64_t until_ns = wait_ns == UINT64_MAX ? UINT64_MAX : pd_clock_monotonic_ns() + wait_ns;
    bool over;

    pthread_mutex_lock(&sender->lock);
    while (!(over = is_over(sender, wait_ns)) && pd_clock_monotonic_ns() < until_ns &&
           !(wait_ns == UINT64_MAX && sender->spooled)) {
        pd_wait_until(&sender->waits, &sender->lock,
                      until_ns < UINT64_MAX ? until_ns
                                            : pd_clock_monotonic_ns() + 60 * PD_NS_PER_S);
    }
    sender->spooled = false;
    pthread_mutex_unlock(&sender->lock);
    return !over;
}

static void *send_thread(void *context)
{
    struct pd_alarm_sender *sender = context;
    struct tries tries = {.random = (uint64_t)(uintptr_t)sender, .most = PD_ALARM_BATCH_LEN};
    uint64_t wait_ns = 0;

    while (wait_for_work(sender, wait_ns)) {
        wait_ns = send_some(sender, &tries);
    }
    pthread_mutex_lock(&sender->lock);
    sender->over = true;
    pthread_cond_broadcast(&sender->waits);
    pthread_mutex_unlock(&sender->lock);
    return NULL;
}

/* ---- the object's life ---- */

static void init_conds(struct pd_alarm_sender *sender)
{
    pd_wait_init(&sender->came);
    pd_wait_init(&sender->waits);
    pthread_mutex_init(&sender->lock, NULL);
}

int pd_alarm_sender_new(const struct pd_alarm_sender_config *config,
                        struct pd_alarm_sender **ret_sender, struct pd_error *error)
{
    struct pd_alarm_sender *sender = calloc(1, sizeof *sender);
    bool aside = false;
    int err;

    if (!sender) {
        return pd_fail(error, -ENOMEM, "alarms: no memory");
    }
    sender->config = *config;
    sender->reached = true;
    init_conds(sender);
    err = pd_alarm_spool_open(&config->spool, &sender->spool, &aside, error);
    if (err) {
        pd_alarm_sender_free(sender);
        return pd_fail_within(error, "spool of alarms");
    }
    if (aside) {
        pd_log(PD_LOG_ERROR, MODULE, NULL,
               "%s is damaged or of another host: set aside as .old, a new one is begun",
               config->spool.file);
    }
    pd_alarms_listen(config->alarms, hear, sender);
    *ret_sender = sender;
    return 0;
}

int pd_alarm_sender_start(struct pd_alarm_sender *sender)
{
    int err = pthread_create(&sender->spooler_thread, NULL, spool_thread, sender);

    sender->spooler_runs = !err;
    if (!err) {
        err = pthread_create(&sender->sender_thread, NULL, send_thread, sender);
    }
    sender->sender_runs = sender->spooler_runs && !err;
    return -err;
}

/* A request that is under way gets a while; then it is cut off. */
static void end_sender(struct pd_alarm_sender *sender)
{
    uint64_t until_ns = sender->stop_ns + PD_ALARM_GRACE_NS;

    pthread_mutex_lock(&sender->lock);
    while (!sender->over && pd_clock_monotonic_ns() < until_ns) {
        pd_wait_until(&sender->waits, &sender->lock, until_ns);
    }
    pthread_mutex_unlock(&sender->lock);
    atomic_store_explicit(&sender->cancelled, true, memory_order_relaxed);
    pthread_join(sender->sender_thread, NULL);
}

void pd_alarm_sender_stop(struct pd_alarm_sender *sender)
{
    if (!sender) {
        return;
    }
    pthread_mutex_lock(&sender->lock);
    sender->stopping = true;
    sender->stop_ns = pd_clock_monotonic_ns();
    pthread_cond_broadcast(&sender->came);
    pthread_cond_broadcast(&sender->waits);
    pthread_mutex_unlock(&sender->lock);
    if (sender->spooler_runs) {
        pthread_join(sender->spooler_thread, NULL);
    }
    if (sender->sender_runs) {
        end_sender(sender);
    }
    sender->spooler_runs = sender->sender_runs = false;
}

void pd_alarm_sender_free(struct pd_alarm_sender *sender)
{
    if (!sender) {
        return;
    }
    pd_alarm_spool_close(sender->spool);
    while (sender->first) {
        struct incoming *next = sender->first->next;

        free(sender->first);
        sender->first = next;
    }
    pthread_cond_destroy(&sender->came);
    pthread_cond_destroy(&sender->waits);
    pthread_mutex_destroy(&sender->lock);
    free(sender);
}

void pd_alarm_sender_stat(struct pd_alarm_sender *sender, struct pd_alarm_sender_stat *ret_stat)
{
    pd_alarm_spool_stat(sender->spool, &ret_stat->spool);
    pthread_mutex_lock(&sender->lock);
    ret_stat->retries = sender->retries;
    ret_stat->reached = sender->reached;
    pthread_mutex_unlock(&sender->lock);
}
