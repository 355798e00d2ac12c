/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of the newest alarms. */
#include "agent/alarms.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "http/text.h"

struct pd_alarms {
    pthread_mutex_t lock; /* of everything below */
    uint64_t next_id;     /* alarm `id` lies in ring[id % PD_ALARMS_MAX] */
    uint64_t second;      /* monotonic, of the budget */
    unsigned this_second;
    struct pd_alarm_counts counts;
    struct pd_alarm ring[PD_ALARMS_MAX];
};

static const char *const reason_ids[] = {
#define X(name, id, text) id,
    PD_ALARM_REASONS(X)
#undef X
};

const char *pd_alarm_reason_id(enum pd_alarm_reason reason)
{
    return reason_ids[reason];
}

int pd_alarms_new(struct pd_alarms **ret_alarms)
{
    struct pd_alarms *alarms = calloc(1, sizeof *alarms);

    if (!alarms)
        return -ENOMEM;
    pthread_mutex_init(&alarms->lock, NULL);
    alarms->next_id = 1;
    *ret_alarms = alarms;
    return 0;
}

void pd_alarms_free(struct pd_alarms *alarms)
{
    if (!alarms)
        return;
    pthread_mutex_destroy(&alarms->lock);
    free(alarms);
}

static bool same(const struct pd_alarm *a, const struct pd_alarm *b)
{
    return a->reason == b->reason && !memcmp(&a->flow, &b->flow, sizeof a->flow) &&
           !memcmp(&a->path, &b->path, sizeof a->path);
}

static struct pd_alarm *find(struct pd_alarms *alarms, const struct pd_alarm *alarm)
{
    for (uint64_t i = 1; i <= alarms->counts.kept; i++) {
        struct pd_alarm *kept = &alarms->ring[(alarms->next_id - i) % PD_ALARMS_MAX];

        if (same(kept, alarm))
            return kept;
    }
    return NULL;
}

static bool within_budget(struct pd_alarms *alarms)
{
    uint64_t second = pd_clock_monotonic_ns() / PD_NS_PER_S;

    if (second != alarms->second) {
        alarms->second = second;
        alarms->this_second = 0;
    }
    if (alarms->this_second >= PD_ALARMS_PER_S)
        return false;
    alarms->this_second++;
    return true;
}

/* The budget also bounds the searches: whoever floods us pays for at most so many a second. */
static void raise_locked(struct pd_alarms *alarms, const struct pd_alarm *alarm)
{
    struct pd_alarm *kept;

    alarms->counts.by_reason[alarm->reason]++;
    if (!within_budget(alarms)) {
        alarms->counts.suppressed++;
        return;
    }
    kept = find(alarms, alarm);
    if (kept) {
        kept->count++;
        kept->last_us = alarm->last_us;
        return;
    }
    kept = &alarms->ring[alarms->next_id % PD_ALARMS_MAX];
    if (alarms->counts.kept == PD_ALARMS_MAX)
        alarms->counts.overwritten++;
    else
        alarms->counts.kept++;
    *kept = *alarm;
    kept->id = alarms->next_id++;
}

void pd_alarms_raise(struct pd_alarms *alarms, enum pd_alarm_reason reason,
                     const struct pd_flow_id *flow, const struct pd_path *path, const char *detail)
{
    struct pd_alarm alarm = {.reason = reason, .count = 1};

    alarm.first_us = alarm.last_us = pd_clock_wall_us();
    if (flow)
        alarm.flow = *flow;
    if (path)
        alarm.path = *path;
    snprintf(alarm.detail, sizeof alarm.detail, "%s", detail);
    pthread_mutex_lock(&alarms->lock);
    raise_locked(alarms, &alarm);
    pthread_mutex_unlock(&alarms->lock);
}

void pd_alarms_counts(struct pd_alarms *alarms, struct pd_alarm_counts *ret_counts)
{
    pthread_mutex_lock(&alarms->lock);
    *ret_counts = alarms->counts;
    pthread_mutex_unlock(&alarms->lock);
}

static json_t *flow_json(const struct pd_flow_id *flow)
{
    char src[PD_ADDR_TEXT_BYTES], dst[PD_ADDR_TEXT_BYTES];

    if (!flow->ip_version)
        return json_null();
    return json_pack("{s:s, s:s, s:i, s:i, s:i}", "src_ip",
                     pd_addr_format(&flow->src, flow->ip_version, src), "dst_ip",
                     pd_addr_format(&flow->dst, flow->ip_version, dst), "src_port", flow->src_port,
                     "dst_port", flow->dst_port, "protocol", flow->protocol);
}

/* A list of at most one path: a path of no switches is no path. */
static json_t *paths_json(const struct pd_path *path)
{
    json_t *paths = json_array(), *switches;

    if (!path->len)
        return paths;
    switches = json_array();
    for (unsigned i = 0; i < path->len; i++)
        json_array_append_new(switches, json_integer(path->switches[i]));
    json_array_append_new(paths, switches);
    return paths;
}

static json_t *tags_json(const struct pd_path *path)
{
    json_t *tags = json_array();

    for (unsigned i = 0; i < path->tags_len; i++)
        json_array_append_new(tags, json_integer(path->tags[i]));
    return tags;
}

static json_t *alarm_json(const struct pd_alarm *alarm)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:s, s:o, s:o, s:o, s:i, s:o}", "id",
                     (json_int_t)alarm->id, "time_us", (json_int_t)alarm->first_us, "last_us",
                     (json_int_t)alarm->last_us, "count", (json_int_t)alarm->count, "reason",
                     reason_ids[alarm->reason], "flow_id", flow_json(&alarm->flow), "paths",
                     paths_json(&alarm->path), "tags", tags_json(&alarm->path), "dscp",
                     alarm->path.dscp, "detail", pd_text_json(alarm->detail));
}

json_t *pd_alarms_json(struct pd_alarms *alarms)
{
    json_t *list = json_array();
    bool complete;

    pthread_mutex_lock(&alarms->lock);
    for (uint64_t i = alarms->counts.kept; i >= 1; i--)
        json_array_append_new(list,
                              alarm_json(&alarms->ring[(alarms->next_id - i) % PD_ALARMS_MAX]));
    complete = !alarms->counts.suppressed && !alarms->counts.overwritten;
    pthread_mutex_unlock(&alarms->lock);
    return json_pack("{s:o, s:b}", "alarms", list, "complete", (int)complete);
}
