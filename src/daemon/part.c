/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with each part of a list. */
#include "daemon/part.h"

#include <stdio.h>

void pd_daemon_parts_options(const struct pd_part *const *list, struct pd_options_joined *joined)
{
    for (; *list; list++) {
        pd_daemon_options_own(joined, (*list)->options, (*list)->options_bytes);
    }
}

/* ---- life ---- */

int pd_daemon_parts_open(struct pd_parts *parts, const struct pd_options_joined *joined,
                         const void *settings, struct pd_error *error)
{
    for (size_t i = 0; parts->list[i]; i++) {
        const struct pd_part *part = parts->list[i];
        const void *options =
            part->options ? pd_daemon_options_own_of(joined, settings, part->options) : NULL;
        int err = part->open ? part->open(parts->daemon, options, error) : 0;

        if (err) {
            return err;
        }
        parts->opened = i + 1;
    }
    return 0;
}

int pd_daemon_parts_start(struct pd_parts *parts, struct pd_error *error)
{
    int err = 0;

    for (size_t i = 0; i < parts->opened && !err; i++) {
        if (parts->list[i]->start) {
            err = parts->list[i]->start(parts->daemon, error);
        }
    }
    return err;
}

void pd_daemon_parts_reload(const struct pd_parts *parts)
{
    for (size_t i = 0; i < parts->opened; i++) {
        if (parts->list[i]->reload) {
            parts->list[i]->reload(parts->daemon);
        }
    }
}

void pd_daemon_parts_stop(const struct pd_parts *parts)
{
    for (size_t i = 0; i < parts->opened; i++) {
        if (parts->list[i]->stop) {
            parts->list[i]->stop(parts->daemon);
        }
    }
}

void pd_daemon_parts_close(struct pd_parts *parts)
{
    size_t i = 0;

    while (parts->opened) {
        const struct pd_part *part = parts->list[--parts->opened];

        if (part->end) {
            part->end(parts->daemon);
        }
    }
    while (parts->list[i]) {
        i++;
    }
    while (i--) {
        if (parts->list[i]->close) {
            parts->list[i]->close(parts->daemon);
        }
    }
}

/* ---- what they have to show ---- */

void pd_daemon_parts_routes(const struct pd_part *const *list, struct pd_rest *rest)
{
    for (; *list; list++) {
        for (const struct pd_part_route *row = (*list)->routes; row && row->route.path; row++) {
            pd_daemon_rest_add(rest, row);
        }
    }
}

static json_t *status_of(const struct pd_part *part, void *daemon)
{
    json_t *object = part->status ? part->status(daemon) : json_object();

    for (const struct pd_part_counter *counter = part->counters; counter && counter->name;
         counter++) {
        json_object_set_new(object, counter->name,
                            json_integer((json_int_t)pd_counted(counter->value)));
    }
    return object;
}

void pd_daemon_parts_status(const struct pd_part *const *list, void *daemon, json_t *document)
{
    for (; *list; list++) {
        if ((*list)->status || (*list)->counters) {
            json_object_set_new(document, (*list)->name, status_of(*list, daemon));
        }
    }
}

void pd_daemon_parts_metrics(const struct pd_part *const *list, const char *prefix,
                             struct pd_metrics *metrics)
{
    char name[128];

    for (; *list; list++) {
        for (const struct pd_part_counter *counter = (*list)->counters; counter && counter->name;
             counter++) {
            snprintf(name, sizeof name, "%s%s_%s_total", prefix, (*list)->name, counter->name);
            pd_daemon_metrics_counter(metrics, name, counter->help, pd_counted(counter->value));
        }
    }
}
