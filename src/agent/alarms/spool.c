/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of the spool: what waits, what each reason takes of the room, and what is said when
 * some had none. */
#include "agent/alarms/spool.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/alarms/alarms.h"
#include "agent/alarms/file.h"
#include "base/clock.h"

#define SHARES    64u /* reasons that are told apart; the last one is for all others */
#define PART      4u  /* of the room is what one reason may take at most */
#define BODY_HEAD 80u

struct share {
    char reason[PD_ALARM_REASON_BYTES];
    uint64_t bytes;
};

struct pd_alarm_spool {
    pthread_mutex_t lock; /* of everything below */
    struct pd_alarm_file *file;
    uint32_t host;
    uint64_t max_bytes;
    uint64_t identity; /* of this process */
    uint64_t next_seq;
    struct pd_alarm_entry *first, *last;
    struct share shares[SHARES];
    unsigned shares_len;
    uint64_t untold; /* dropped, and no alarm has said so yet */
    struct pd_alarm_spool_stat stat;
};

/* ---- the queue ---- */

static unsigned share_of(struct pd_alarm_spool *spool, const char *reason)
{
    unsigned i = 0;

    while (i < spool->shares_len && strcmp(spool->shares[i].reason, reason) != 0) {
        i++;
    }
    if (i < spool->shares_len) {
        return i;
    }
    /* A reason that has nothing here any more gives up its place. */
    for (i = 0; i < spool->shares_len && spool->shares[i].bytes; i++)
        ;
    if (i == SHARES) {
        return SHARES - 1;
    }
    spool->shares_len += i == spool->shares_len;
    snprintf(spool->shares[i].reason, sizeof spool->shares[i].reason, "%s", reason);
    return i;
}

static void push(struct pd_alarm_spool *spool, struct pd_alarm_entry *entry)
{
    entry->next = NULL;
    if (spool->last) {
        spool->last->next = entry;
    } else {
        spool->first = entry;
    }
    spool->last = entry;
    spool->shares[entry->share].bytes += entry->len;
    spool->stat.waiting++;
    spool->stat.waiting_bytes += entry->len;
}

static void pop(struct pd_alarm_spool *spool)
{
    struct pd_alarm_entry *entry = spool->first;

    spool->first = entry->next;
    if (!spool->first) {
        spool->last = NULL;
    }
    spool->shares[entry->share].bytes -= entry->len;
    spool->stat.waiting--;
    spool->stat.waiting_bytes -= entry->len;
    free(entry);
}

static bool has_room(const struct pd_alarm_spool *spool, unsigned share, size_t len)
{
    return spool->stat.waiting_bytes + len <= spool->max_bytes &&
           spool->shares[share].bytes + len <= spool->max_bytes / PART;
}

/* ---- opening ---- */

/* What the file gives out: in the order of the file, alarms and how far they were acknowledged. */
static int recover(void *context, struct pd_alarm_entry *entry, const char *reason)
{
    struct pd_alarm_spool *spool = context;

    entry->share = share_of(spool, reason);
    push(spool, entry);
    return 0;
}

static void recover_end(void *context, uint64_t identity, uint64_t seq)
{
    struct pd_alarm_spool *spool = context;

    while (spool->first && spool->first->spool == identity && spool->first->seq <= seq) {
        pop(spool);
    }
}

int pd_alarm_spool_open(const struct pd_alarm_spool_config *config,
                        struct pd_alarm_spool **ret_spool, bool *ret_aside, struct pd_error *error)
{
    struct pd_alarm_spool *spool = calloc(1, sizeof *spool);
    struct pd_alarm_file_reader reader = {spool, recover, recover_end};
    int err;

    if (!spool) {
        return pd_fail(error, -ENOMEM, "%s: no memory", config->file);
    }
    pthread_mutex_init(&spool->lock, NULL);
    spool->host = config->host;
    spool->max_bytes = config->max_bytes;
    spool->next_seq = 1;
    err =
        getrandom(&spool->identity, sizeof spool->identity, 0) == sizeof spool->identity ? 0 : -EIO;
    if (!err) {
        err = pd_alarm_file_open(config->file, config->host, &reader, &spool->file, ret_aside,
                                 &spool->stat.damaged);
    }
    if (!err) {
        err = pd_alarm_file_rewrite(spool->file, spool->first);
    }
    if (err) {
        pd_alarm_spool_close(spool);
        return pd_fail(error, err, "%s: %s", config->file, pd_error_text(err));
    }
    spool->stat.recovered = spool->stat.waiting;
    *ret_spool = spool;
    return 0;
}

void pd_alarm_spool_close(struct pd_alarm_spool *spool)
{
    if (!spool) {
        return;
    }
    if (spool->file) {
        pd_alarm_spool_sync(spool);
    }
    pd_alarm_file_close(spool->file);
    while (spool->first) {
        pop(spool);
    }
    pthread_mutex_destroy(&spool->lock);
    free(spool);
}

/* ---- adding ---- */

static struct pd_alarm_entry *make_entry(const struct pd_alarm_message *message, uint64_t seq)
{
    json_t *object = pd_fleet_alarm_message_json(message);
    struct pd_alarm_entry *entry = NULL;
    size_t len;

    json_object_set_new(object, "seq", json_integer((json_int_t)seq));
    len = json_dumpb(object, NULL, 0, JSON_COMPACT);
    if (len) {
        entry = calloc(1, sizeof *entry + len);
    }
    if (entry) {
        json_dumpb(object, entry->text, len, JSON_COMPACT);
        entry->len = (uint32_t)len;
        entry->seq = seq;
    }
    json_decref(object);
    return entry;
}

static int add_locked(struct pd_alarm_spool *spool, const struct pd_alarm_message *message)
{
    struct pd_alarm_entry *entry = make_entry(message, spool->next_seq);

    if (!entry) {
        return -ENOMEM;
    }
    entry->share = share_of(spool, message->reason);
    if (!has_room(spool, entry->share, entry->len)) {
        free(entry);
        return -PD_E_FULL;
    }
    entry->spool = spool->identity;
    spool->next_seq++;
    spool->stat.spooled++;
    if (pd_alarm_file_is_long(spool->file, 2 * spool->max_bytes)) {
        pd_alarm_file_rewrite(spool->file, spool->first);
    }
    if (pd_alarm_file_add(spool->file, entry)) {
        spool->stat.unspooled++;
    }
    push(spool, entry);
    return 0;
}

/* Once there is room again, also for the reason that had none: else there would be one of these for
 * each that is dropped. */
static void tell_dropped(struct pd_alarm_spool *spool)
{
    struct pd_alarm_message message = {.time_us = pd_clock_wall_us(), .count = 1};
    uint64_t untold = spool->untold;

    if (!untold || spool->stat.waiting_bytes > spool->max_bytes / (2 * PART)) {
        return;
    }
    snprintf(message.reason, sizeof message.reason, "%s", PD_ALARM_ALARMS_LOST);
    snprintf(message.detail, sizeof message.detail,
             "%" PRIu64 " alarms were dropped: no room in the spool while the controller was away",
             untold);
    spool->untold = 0;
    if (add_locked(spool, &message)) {
        spool->untold = untold;
    }
}

int pd_alarm_spool_add(struct pd_alarm_spool *spool, const struct pd_alarm_message *message)
{
    int err;

    pthread_mutex_lock(&spool->lock);
    tell_dropped(spool);
    err = add_locked(spool, message);
    if (err) {
        spool->stat.dropped++;
        spool->untold++;
    }
    pthread_mutex_unlock(&spool->lock);
    return err;
}

void pd_alarm_spool_dropped(struct pd_alarm_spool *spool, uint64_t n)
{
    pthread_mutex_lock(&spool->lock);
    spool->stat.dropped += n;
    spool->untold += n;
    pthread_mutex_unlock(&spool->lock);
}

/* ---- taking ---- */

/* Those that go together: of one identity, and not too long. */
static size_t count_batch(const struct pd_alarm_spool *spool, size_t most, size_t *ret_bytes)
{
    const struct pd_alarm_entry *entry = spool->first;
    size_t len = 0, bytes = 0;

    while (entry && len < most && len < PD_ALARM_BATCH_LEN && entry->spool == spool->first->spool &&
           (!len || bytes + entry->len < PD_ALARM_BATCH_BYTES)) {
        len++;
        bytes += entry->len + 1;
        entry = entry->next;
    }
    *ret_bytes = bytes;
    return len;
}

static int make_body(const struct pd_alarm_spool *spool, size_t most, struct pd_alarm_batch *batch)
{
    const struct pd_alarm_entry *entry = spool->first;
    size_t bytes, at;

    batch->len = count_batch(spool, most, &bytes);
    batch->body = malloc(BODY_HEAD + bytes + 3);
    if (!batch->body) {
        return -ENOMEM;
    }
    batch->spool = entry->spool;
    at = (size_t)snprintf(batch->body, BODY_HEAD,
                          "{\"host\":%" PRIu32 ",\"spool\":\"%016" PRIx64 "\",\"alarms\":[",
                          spool->host, entry->spool);
    for (size_t i = 0; i < batch->len; i++, entry = entry->next) {
        if (i) {
            batch->body[at++] = ',';
        }
        memcpy(batch->body + at, entry->text, entry->len);
        at += entry->len;
        batch->last = entry->seq;
    }
    memcpy(batch->body + at, "]}", 3);
    batch->body_bytes = at + 2;
    return 0;
}

int pd_alarm_spool_take(struct pd_alarm_spool *spool, size_t most, struct pd_alarm_batch *ret_batch)
{
    struct pd_alarm_batch batch = {0};
    int err;

    pthread_mutex_lock(&spool->lock);
    tell_dropped(spool);
    err = spool->first ? make_body(spool, most, &batch) : -PD_E_NOT_FOUND;
    pthread_mutex_unlock(&spool->lock);
    if (!err) {
        *ret_batch = batch;
    }
    return err;
}

void pd_alarm_spool_end(struct pd_alarm_spool *spool, uint64_t identity, uint64_t seq, bool refused)
{
    uint64_t before;

    pthread_mutex_lock(&spool->lock);
    before = spool->stat.waiting;
    recover_end(spool, identity, seq);
    *(refused ? &spool->stat.refused : &spool->stat.sent) += before - spool->stat.waiting;
    pd_alarm_file_end(spool->file, identity, seq, !spool->first);
    pthread_mutex_unlock(&spool->lock);
}

void pd_alarm_spool_sync(struct pd_alarm_spool *spool)
{
    int fd = -1;

    pthread_mutex_lock(&spool->lock);
    if (pd_alarm_file_is_long(spool->file, spool->stat.waiting_bytes)) {
        pd_alarm_file_rewrite(spool->file, spool->first);
    } else if (spool->first) {
        fd = pd_alarm_file_unflushed(spool->file);
    }
    pthread_mutex_unlock(&spool->lock);
    if (fd >= 0) {
        pd_alarm_file_flush(fd); /* slow: nobody shall have to wait for it */
    }
}

void pd_alarm_spool_stat(struct pd_alarm_spool *spool, struct pd_alarm_spool_stat *ret_stat)
{
    pthread_mutex_lock(&spool->lock);
    *ret_stat = spool->stat;
    pthread_mutex_unlock(&spool->lock);
}
