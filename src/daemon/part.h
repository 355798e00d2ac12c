/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a daemon: all that it brings, in one struct. */
#ifndef PD_DAEMON_PART_H
#define PD_DAEMON_PART_H

#include <jansson.h>

#include "daemon/count.h"
#include "daemon/metrics.h"
#include "daemon/own.h"
#include "daemon/rest.h"

/* Both daemons have a list of parts. A part's options are in --help, in the configuration file and
 * in the table that the manual page is held to; its counters in GET /v1/status and /metrics; its
 * routes beside the daemon's own and in /openapi.json. `daemon` is the struct pd_agent or the
 * struct pd_controller.
 *
 * Every function may be NULL. Parts are opened in the order of the list and closed in the opposite
 * one. Thread safety: open, start, reload, stop and close in the main thread; routes and status in
 * any. */

struct pd_part_counter {
    const char *name; /* NULL ends the list */
    const char *help;
    const _Atomic uint64_t *value;
};

struct pd_part {
    const char *name;
    const struct pd_option *options; /* rows in a struct of its own (daemon/own.h) */
    size_t options_bytes;
    const struct pd_part_counter *counters;
    const struct pd_part_route *routes; /* end with a NULL path */
    /* Before any request is answered. 0, or a negative error in words: then the daemon does not
     * start. `options`: its own, NULL when it has none; they stay. */
    int (*open)(void *daemon, const void *options, struct pd_error *error);
    /* All parts are open: threads may begin. Likewise. */
    int (*start)(void *daemon, struct pd_error *error);
    /* After what a reload replaces was replaced, while requests are answered. */
    void (*reload)(void *daemon);
    /* Requests that are being answered shall end soon. Only of a part that was opened. */
    void (*stop)(void *daemon);
    /* After the last request, in the opposite order, before any part is closed: its threads end. */
    void (*end)(void *daemon);
    /* After the last request; also of a part that was not opened or only half. */
    void (*close)(void *daemon);
    /* Its member of the status document, beside its counters; NULL without memory. */
    json_t *(*status)(void *daemon);
};

/* A list and how far it has come. */
struct pd_parts {
    const struct pd_part *const *list; /* ends with NULL */
    void *daemon;
    size_t opened;
};

/* Their options join the daemon's. */
void pd_daemon_parts_options(const struct pd_part *const *list, struct pd_options_joined *joined);

/* `settings`: the daemon's, of which parts get their own. What was opened is closed by
 * pd_daemon_parts_close, also after an error. */
int pd_daemon_parts_open(struct pd_parts *parts, const struct pd_options_joined *joined,
                         const void *settings, struct pd_error *error);
int pd_daemon_parts_start(struct pd_parts *parts, struct pd_error *error);
void pd_daemon_parts_reload(const struct pd_parts *parts);
void pd_daemon_parts_stop(const struct pd_parts *parts);
/* What was opened ends, and all are closed. */
void pd_daemon_parts_close(struct pd_parts *parts);

/* Their routes, behind those that are there. */
void pd_daemon_parts_routes(const struct pd_part *const *list, struct pd_rest *rest);

/* A member for each part that has counters or a status. */
void pd_daemon_parts_status(const struct pd_part *const *list, void *daemon, json_t *document);

/* pathdump_PREFIXPART_COUNTER_total; prefix: "controller_". */
void pd_daemon_parts_metrics(const struct pd_part *const *list, const char *prefix,
                             struct pd_metrics *metrics);

#endif
