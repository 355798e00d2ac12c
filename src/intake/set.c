/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is among several intakes. */
#include "intake/set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_MS 5 /* of sleep for each of several */

int pd_intake_set_check(const char *const *specs, unsigned len, struct pd_error *error)
{
    const struct pd_intake_ops *ops[PD_INTAKES_MAX];
    const char *arguments[PD_INTAKES_MAX];

    for (unsigned i = 0; i < len; i++) {
        int err;

        if (!strcmp(specs[i], "none")) {
            return len == 1 ? 0 : pd_fail(error, -PD_E_VALUE, "intake: none stands alone");
        }
        err = pd_intake_find(specs[i], &ops[i], &arguments[i], error);
        if (err) {
            return err;
        }
        for (unsigned k = 0; k < i; k++) {
            if (ops[k] == ops[i] && (ops[i]->same ? ops[i]->same(arguments[k], arguments[i])
                                                  : !strcmp(arguments[k], arguments[i]))) {
                return pd_fail(error, -PD_E_VALUE, "intake: two intakes on one %s: %.80s and %.80s",
                               ops[i]->source, specs[k], specs[i]);
            }
        }
    }
    return 0;
}

int pd_intake_set_open(const char *const *specs, unsigned len,
                       const struct pd_intake_config *config,
                       const void *(*options)(void *context, const struct pd_intake_ops *ops),
                       void *context, const struct pd_trajectory_sink *sink,
                       struct pd_intake_set *ret_set, struct pd_error *error)
{
    struct pd_intake_set set = {0};
    int err = pd_intake_set_check(specs, len, error);

    for (unsigned i = 0; i < len && !err && strcmp(specs[i], "none") != 0; i++) {
        struct pd_intake_config own = *config;
        const struct pd_intake_ops *ops;

        err = pd_intake_find(specs[i], &ops, NULL, error);
        if (!err && options) {
            own.options = options(context, ops);
        }
        if (!err) {
            err = pd_intake_open(specs[i], &own, sink, &set.members[set.len].intake, error);
        }
        if (!err) {
            set.members[set.len].spec = strdup(specs[i]);
            err = set.members[set.len++].spec ? 0 : pd_fail(error, -ENOMEM, "intake: no memory");
        }
    }
    if (err) {
        pd_intake_set_close(&set);
    } else {
        *ret_set = set;
    }
    return err;
}

void pd_intake_set_close(struct pd_intake_set *set)
{
    while (set->len) {
        pd_intake_close(set->members[--set->len].intake);
        free(set->members[set->len].spec);
    }
}

/* ---- polling ---- */

unsigned pd_intake_set_left(const struct pd_intake_set *set)
{
    unsigned left = 0;

    for (unsigned i = 0; i < set->len; i++) {
        left += !set->members[i].end;
    }
    return left;
}

/* Whether anything was counted since the last look. */
static bool was_busy(struct pd_intake_set *set)
{
    uint64_t before = set->busy;

    set->busy = 0;
    for (unsigned i = 0; i < set->len; i++) {
        struct pd_intake_status status;

        pd_intake_status(set->members[i].intake, &status);
        set->busy += status.frames + status.trajectory.inserts + status.trajectory.evicted_fin +
                     status.trajectory.evicted_idle + status.trajectory.evicted_active;
    }
    return set->busy != before;
}

bool pd_intake_set_poll(struct pd_intake_set *set, int timeout_ms,
                        void (*ended)(void *context, unsigned member, int err), void *context)
{
    unsigned left = pd_intake_set_left(set);

    if (left > 1) {
        timeout_ms = set->idle ? SLICE_MS : 0;
    }
    for (unsigned i = 0; i < set->len; i++) {
        struct pd_intake_member *member = &set->members[i];

        if (member->end) {
            continue;
        }
        set->at = i;
        member->end = pd_intake_poll(member->intake, timeout_ms);
        if (member->end) {
            ended(context, i, member->end);
        }
    }
    if (left > 1) {
        set->idle = !was_busy(set);
    }
    return left;
}

/* ---- each of them ---- */

void pd_intake_set_flush(struct pd_intake_set *set)
{
    for (set->at = 0; set->at < set->len; set->at++) {
        pd_intake_flush(set->members[set->at].intake);
    }
}

void pd_intake_set_walk(struct pd_intake_set *set,
                        void (*visit)(void *context, const struct pd_trajectory_record *record),
                        void *context)
{
    for (set->at = 0; set->at < set->len; set->at++) {
        pd_intake_walk(set->members[set->at].intake, visit, context);
    }
}

void pd_intake_set_positions(struct pd_intake_set *set,
                             void (*visit)(void *context, uint64_t key, uint64_t position),
                             void *context)
{
    for (unsigned i = 0; i < set->len; i++) {
        pd_intake_positions(set->members[i].intake, visit, context);
    }
}

/* Sources have keys of their own: an intake passes over those of others. */
void pd_intake_set_committed(struct pd_intake_set *set, uint64_t key, uint64_t position)
{
    for (unsigned i = 0; i < set->len; i++) {
        pd_intake_committed(set->members[i].intake, key, position);
    }
}

bool pd_intake_set_keeps(const struct pd_intake_set *set)
{
    bool keeps = false;

    for (unsigned i = 0; i < set->len; i++) {
        keeps |= pd_intake_keeps(set->members[i].intake);
    }
    return keeps;
}

bool pd_intake_set_kept(const struct pd_intake_set *set)
{
    return set->at < set->len && pd_intake_keeps(set->members[set->at].intake);
}

/* ---- the sum ---- */

static bool is_worse(const struct pd_intake_status *status, const struct pd_intake_status *than)
{
    static const int badness[] = {[PD_INTAKE_WAITING] = 2,
                                  [PD_INTAKE_RUNNING] = 1,
                                  [PD_INTAKE_FINISHED] = 0,
                                  [PD_INTAKE_FAILED] = 3};

    return !than->kind || badness[status->state] > badness[than->state];
}

void pd_intake_status_add(struct pd_intake_status *sum, const struct pd_intake_status *status)
{
    if (is_worse(status, sum)) {
        sum->kind = status->kind;
        sum->state = status->state;
        snprintf(sum->detail, sizeof sum->detail, "%s", status->detail);
    }
    sum->can |= status->can;
    for (int i = 0; i < PD_PACKET_VERDICT_COUNT; i++) {
        sum->verdicts[i] += status->verdicts[i];
    }
#define X(name, text) sum->trajectory.name += status->trajectory.name;
    PD_TRAJECTORY_COUNTERS(X)
#undef X
#define X(name, text) sum->name += status->name;
    PD_INTAKE_COUNTERS(X)
#undef X
    sum->live_records += status->live_records;
    sum->ring_events += status->ring_events;
}
