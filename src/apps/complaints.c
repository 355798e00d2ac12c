/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms POOR_PERF, sorted by the destination of their flows. */
#include "apps/complaints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_destination(const void *a, const void *b)
{
    const struct pd_flow_id *x = a, *y = b;
    int order = memcmp(&x->dst, &y->dst, sizeof x->dst);

    if (order || x->ip_version != y->ip_version) {
        return order ? order : x->ip_version - y->ip_version;
    }
    return memcmp(&x->src, &y->src, sizeof x->src);
}

static bool same_destination(const struct pd_flow_id *a, const struct pd_flow_id *b)
{
    return a->ip_version == b->ip_version && !memcmp(&a->dst, &b->dst, sizeof a->dst);
}

static int read_complaints(const json_t *alarms, struct pd_report *report,
                           struct pd_app_complaints *complaints, struct pd_error *error)
{
    size_t i, wrong = 0;
    const json_t *object;

    complaints->list = calloc(json_array_size(alarms) + 1, sizeof *complaints->list);
    if (!complaints->list) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    json_array_foreach((json_t *)(uintptr_t)alarms, i, object)
    {
        struct pd_app_alarm alarm;

        if (pd_app_alarm_read(object, &alarm) && alarm.flow.ip_version) {
            complaints->list[complaints->len++] = alarm.flow;
        } else {
            wrong++;
        }
    }
    if (wrong) {
        pd_app_report_lacks(report, "%zu alarms do not say which flow suffers: left out", wrong);
    }
    if (complaints->len) {
        qsort(complaints->list, complaints->len, sizeof *complaints->list, by_destination);
    }
    return 0;
}

static uint64_t sources_of(const struct pd_app_complaints *complaints, size_t begin, size_t end)
{
    uint64_t sources = 0;

    for (size_t i = begin; i < end; i++) {
        sources += i == begin || memcmp(&complaints->list[i].src, &complaints->list[i - 1].src,
                                        sizeof(struct pd_addr)) != 0;
    }
    return sources;
}

void pd_app_complaints_choose(const struct pd_app_complaints *complaints,
                              const struct pd_app_alarm *started, struct pd_app_receiver *receiver)
{
    for (size_t begin = 0, end; begin < complaints->len; begin = end) {
        const struct pd_flow_id *first = &complaints->list[begin];
        uint64_t sources;

        for (end = begin;
             end < complaints->len && same_destination(first, &complaints->list[end]);) {
            end++;
        }
        sources = sources_of(complaints, begin, end);
        if (started->flow.ip_version ? !same_destination(first, &started->flow)
                                     : sources <= receiver->sources) {
            continue;
        }
        receiver->addr = first->dst;
        receiver->ip_version = first->ip_version;
        receiver->sources = sources;
    }
}

int pd_app_complaints_ask(const struct pd_app_call *call, const struct pd_app_window *window,
                          uint64_t before_us, struct pd_report *report,
                          struct pd_app_complaints *complaints, struct pd_error *error)
{
    uint64_t from = window->from_us > before_us ? window->from_us - before_us : 0;
    json_t *alarms = NULL;
    int err = pd_app_alarms(call, "POOR_PERF", from, window->to_us + PD_APP_SKEW_US,
                            PD_APP_ALARMS_MOST, &alarms, error);

    if (!err && json_array_size(alarms) >= PD_APP_ALARMS_MOST) {
        pd_app_report_lacks(report, "there are more than %d alarms: only the newest are looked at",
                            PD_APP_ALARMS_MOST - 1);
    }
    if (!err) {
        err = read_complaints(alarms, report, complaints, error);
    }
    json_decref(alarms);
    return err;
}
