/* SPDX-License-Identifier: Apache-2.0 */
/* The list of the newest alarms, and what each reason may add to it. */
#include "agent/alarms/alarms.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "query/way.h"

/* What a reason has used of its budget. */
struct budget {
    uint64_t second; /* monotonic */
    unsigned this_second;
    uint64_t untold; /* suppressed since the last alarm that could say so */
};

struct listener {
    void (*hear)(void *context, const struct pd_alarm *alarm);
    void *context;
};

struct pd_alarms {
    pthread_mutex_t lock; /* of everything below */
    uint64_t next_id;
    struct pd_alarm_counts counts;
    struct budget budgets[PD_ALARM_REASONS_MAX];
    struct pd_alarm *list[PD_ALARMS_MAX]; /* counts.kept of them, oldest first */
    struct listener listeners[PD_ALARM_LISTENERS];
    unsigned listeners_len;
};

#define X(name, id, text) const char PD_ALARM_##name[] = id;
PD_ALARM_REASONS(X)
#undef X

int pd_alarms_new(struct pd_alarms **ret_alarms)
{
    struct pd_alarms *alarms = calloc(1, sizeof *alarms);

    if (!alarms) {
        return -ENOMEM;
    }
    pthread_mutex_init(&alarms->lock, NULL);
    alarms->next_id = 1;
#define X(name, id, text) strcpy(alarms->counts.reasons[alarms->counts.reasons_len++].reason, id);
    PD_ALARM_REASONS(X)
#undef X
    *ret_alarms = alarms;
    return 0;
}

void pd_alarms_free(struct pd_alarms *alarms)
{
    if (!alarms) {
        return;
    }
    for (uint64_t i = 0; i < alarms->counts.kept; i++) {
        free(alarms->list[i]);
    }
    pthread_mutex_destroy(&alarms->lock);
    free(alarms);
}

void pd_alarms_listen(struct pd_alarms *alarms,
                      void (*hear)(void *context, const struct pd_alarm *alarm), void *context)
{
    pthread_mutex_lock(&alarms->lock);
    if (alarms->listeners_len < PD_ALARM_LISTENERS) {
        alarms->listeners[alarms->listeners_len++] = (struct listener){hear, context};
    }
    pthread_mutex_unlock(&alarms->lock);
}

static void tell(struct pd_alarms *alarms, struct pd_alarm *alarm)
{
    for (unsigned i = 0; i < alarms->listeners_len; i++) {
        alarms->listeners[i].hear(alarms->listeners[i].context, alarm);
    }
    alarm->told = alarm->count;
    alarm->times_told++;
    alarm->told_ns = pd_clock_monotonic_ns();
}

/* A connection that suffers is a question of seconds: what looked at it too early looks again when
 * it is told of again. */
static uint64_t again_ns(const struct pd_alarm *alarm)
{
    uint64_t ns = PD_ALARM_SOON_NS << (alarm->times_told < 7 ? alarm->times_told - 1 : 6);

    return alarm->slot != PD_ALARM_KNOWN_POOR_PERF || ns > PD_ALARM_AGAIN_NS ? PD_ALARM_AGAIN_NS
                                                                             : ns;
}

/* ---- reasons ---- */

/* The place of a reason in the counts. The last place is that of all for which there is none. */
static unsigned slot_of(struct pd_alarms *alarms, const char *reason)
{
    struct pd_alarm_counts *counts = &alarms->counts;
    unsigned i = 0;

    while (i < counts->reasons_len && strcmp(counts->reasons[i].reason, reason) != 0) {
        i++;
    }
    if (i < counts->reasons_len) {
        return i;
    }
    if (i == PD_ALARM_REASONS_MAX) {
        return i - 1;
    }
    strcpy(counts->reasons[i].reason, i == PD_ALARM_REASONS_MAX - 1 ? PD_ALARM_OTHER : reason);
    counts->reasons_len++;
    return i;
}

static bool within_budget(struct budget *budget)
{
    uint64_t second = pd_clock_monotonic_ns() / PD_NS_PER_S;

    if (second != budget->second) {
        budget->second = second;
        budget->this_second = 0;
    }
    if (budget->this_second >= PD_ALARMS_PER_S) {
        return false;
    }
    budget->this_second++;
    return true;
}

static void suppress(struct pd_alarms *alarms, unsigned slot)
{
    alarms->counts.reasons[slot].suppressed++;
    alarms->counts.suppressed++;
    alarms->budgets[slot].untold++;
}

/* ---- the list ---- */

static bool same(const struct pd_alarm *a, const struct pd_alarm *b)
{
    return a->hash == b->hash && !strcmp(a->reason, b->reason) &&
           !memcmp(&a->flow, &b->flow, sizeof a->flow) && a->paths_len == b->paths_len &&
           a->paths_left == b->paths_left && a->origin == b->origin && !strcmp(a->by, b->by) &&
           !memcmp(a->paths, b->paths, a->paths_len * sizeof *a->paths) &&
           a->has_mark == b->has_mark && pd_mark_equal(&a->mark, &b->mark);
}

static struct pd_alarm *find(const struct pd_alarms *alarms, const struct pd_alarm *alarm)
{
    for (uint64_t i = alarms->counts.kept; i > 0; i--) {
        if (same(alarms->list[i - 1], alarm)) {
            return alarms->list[i - 1];
        }
    }
    return NULL;
}

/* The oldest alarm of the reason that has the most. */
static void push_out(struct pd_alarms *alarms)
{
    struct pd_alarm_counts *counts = &alarms->counts;
    unsigned most = 0;
    uint64_t at = 0;

    for (unsigned i = 1; i < counts->reasons_len; i++) {
        if (counts->reasons[i].kept > counts->reasons[most].kept) {
            most = i;
        }
    }
    while (alarms->list[at]->slot != most) {
        at++;
    }
    free(alarms->list[at]);
    counts->kept--;
    memmove(alarms->list + at, alarms->list + at + 1,
            (counts->kept - at) * sizeof(struct pd_alarm *));
    counts->reasons[most].kept--;
    counts->overwritten++;
}

/* The alarm becomes the list's. */
static void keep(struct pd_alarms *alarms, struct pd_alarm *alarm)
{
    struct budget *budget = &alarms->budgets[alarm->slot];

    if (alarms->counts.kept == PD_ALARMS_MAX) {
        push_out(alarms);
    }
    alarm->id = alarms->next_id++;
    alarm->suppressed = budget->untold;
    budget->untold = 0;
    alarms->list[alarms->counts.kept++] = alarm;
    alarms->counts.reasons[alarm->slot].kept++;
    tell(alarms, alarm);
}

static void repeat(struct pd_alarms *alarms, struct pd_alarm *kept, uint64_t now_us)
{
    struct budget *budget = &alarms->budgets[kept->slot];

    kept->count++;
    kept->last_us = now_us;
    alarms->counts.reasons[kept->slot].repeated++;
    if (pd_clock_monotonic_ns() - kept->told_ns < again_ns(kept)) {
        return;
    }
    kept->suppressed += budget->untold;
    budget->untold = 0;
    tell(alarms, kept);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++) {
        hash = pd_hash_mix(hash + (unsigned char)*text);
    }
    return hash;
}

static uint64_t hash_of(const struct pd_alarm *alarm)
{
    uint64_t hash = pd_flow_id_hash(&alarm->flow);

    for (unsigned i = 0; i < alarm->paths_len; i++) {
        hash = pd_hash_mix(hash ^ pd_path_hash(&alarm->paths[i]));
    }
    if (alarm->has_mark) {
        hash = pd_hash_mix(hash ^ pd_mark_hash(&alarm->mark));
    }
    hash = hash_text(hash, alarm->reason);
    return hash_text(pd_hash_mix(hash + alarm->origin), alarm->by);
}

static struct pd_alarm *make(const struct pd_alarm_raise *raise)
{
    size_t len = raise->paths_len < PD_ALARM_PATHS_MAX ? raise->paths_len : PD_ALARM_PATHS_MAX;
    struct pd_alarm *alarm = calloc(1, sizeof *alarm + len * sizeof *alarm->paths);

    if (!alarm) {
        return NULL;
    }
    alarm->count = 1;
    alarm->first_us = alarm->last_us = pd_clock_wall_us();
    strcpy(alarm->reason, raise->reason);
    alarm->origin = raise->origin;
    snprintf(alarm->by, sizeof alarm->by, "%s", raise->by ? raise->by : "");
    if (raise->flow) {
        alarm->flow = *raise->flow;
    }
    alarm->paths_len = (unsigned)len;
    alarm->paths_left = (unsigned)(raise->paths_len - len);
    for (size_t i = 0; i < len; i++) {
        pd_path_copy(&alarm->paths[i], &raise->paths[i]);
    }
    alarm->has_mark = raise->mark != NULL;
    if (raise->mark) {
        alarm->mark = *raise->mark;
    }
    snprintf(alarm->detail, sizeof alarm->detail, "%s", raise->detail ? raise->detail : "");
    alarm->hash = hash_of(alarm);
    return alarm;
}

/* The budget also bounds the searches: whoever floods us pays for at most so many a second. */
static void raise_locked(struct pd_alarms *alarms, const struct pd_alarm_raise *raise)
{
    unsigned slot = slot_of(alarms, raise->reason);
    struct pd_alarm *alarm, *kept;

    alarms->counts.reasons[slot].raised++;
    alarm = within_budget(&alarms->budgets[slot]) ? make(raise) : NULL;
    if (!alarm) {
        suppress(alarms, slot);
        return;
    }
    alarm->slot = slot;
    kept = find(alarms, alarm);
    if (!kept) {
        keep(alarms, alarm);
        return;
    }
    repeat(alarms, kept, alarm->last_us);
    free(alarm);
}

int pd_alarms_raise(struct pd_alarms *alarms, const struct pd_alarm_raise *raise)
{
    if (!raise->reason || !pd_fleet_alarm_reason_holds(raise->reason) ||
        !pd_fleet_alarm_origin_fits(raise->origin, raise->reason)) {
        return -PD_E_VALUE;
    }
    pthread_mutex_lock(&alarms->lock);
    raise_locked(alarms, raise);
    pthread_mutex_unlock(&alarms->lock);
    return 0;
}

/* An alarm without a flow that only carries the count. It is none that was raised, so it is in no
 * sum but that of the list. */
static bool settle(struct pd_alarms *alarms, unsigned slot)
{
    struct pd_alarm_raise raise = {.reason = alarms->counts.reasons[slot].reason,
                                   .detail = "a storm of alarms of this reason is over"};
    struct pd_alarm *alarm = make(&raise);

    if (!alarm) {
        return false;
    }
    alarm->slot = slot;
    keep(alarms, alarm);
    return true;
}

unsigned pd_alarms_settle(struct pd_alarms *alarms)
{
    uint64_t second = pd_clock_monotonic_ns() / PD_NS_PER_S;
    unsigned told = 0;

    pthread_mutex_lock(&alarms->lock);
    for (unsigned i = 0; i < alarms->counts.reasons_len; i++) {
        if (alarms->budgets[i].untold && alarms->budgets[i].second != second) {
            told += settle(alarms, i);
        }
    }
    pthread_mutex_unlock(&alarms->lock);
    return told;
}

void pd_alarms_note(struct pd_alarms *alarms, const char *reason, const char *detail)
{
    pd_alarms_raise(alarms, &(struct pd_alarm_raise){.reason = reason, .detail = detail});
}

void pd_alarms_counts(struct pd_alarms *alarms, struct pd_alarm_counts *ret_counts)
{
    pthread_mutex_lock(&alarms->lock);
    *ret_counts = alarms->counts;
    pthread_mutex_unlock(&alarms->lock);
}

/* ---- the document ---- */

/* A path of no switches is no path. */
void pd_alarm_message_make(const struct pd_alarm *alarm, struct pd_alarm_message *ret_message)
{
    ret_message->time_us = alarm->first_us;
    memcpy(ret_message->reason, alarm->reason, sizeof alarm->reason);
    ret_message->origin = alarm->origin;
    memcpy(ret_message->by, alarm->by, sizeof alarm->by);
    ret_message->count = alarm->count;
    ret_message->unverified = false;
    ret_message->flow = alarm->flow;
    snprintf(ret_message->detail, sizeof ret_message->detail, "%s", alarm->detail);
    ret_message->paths_len = 0;
    for (unsigned i = 0; i < alarm->paths_len; i++) {
        if (alarm->paths[i].len) {
            pd_path_copy(&ret_message->paths[ret_message->paths_len++], &alarm->paths[i]);
        }
    }
}

static json_t *alarm_json(const struct pd_alarm *alarm)
{
    struct pd_alarm_message message;
    json_t *object;

    pd_alarm_message_make(alarm, &message);
    object = pd_fleet_alarm_message_json(&message);
    json_object_update_new(
        object,
        json_pack("{s:I, s:I, s:I, s:I, s:i}", "id", (json_int_t)alarm->id, "last_us",
                  (json_int_t)alarm->last_us, "count", (json_int_t)alarm->count, "suppressed",
                  (json_int_t)alarm->suppressed, "paths_left", (int)alarm->paths_left));
    pd_query_way_put_mark(object, &alarm->mark);
    return object;
}

json_t *pd_alarms_json(struct pd_alarms *alarms)
{
    json_t *list = json_array();
    bool complete;

    pthread_mutex_lock(&alarms->lock);
    for (uint64_t i = 0; i < alarms->counts.kept; i++) {
        json_array_append_new(list, alarm_json(alarms->list[i]));
    }
    complete = !alarms->counts.suppressed && !alarms->counts.overwritten;
    pthread_mutex_unlock(&alarms->lock);
    return json_pack("{s:o, s:b}", "alarms", list, "complete", (int)complete);
}
