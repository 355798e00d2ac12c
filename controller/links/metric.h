/* SPDX-License-Identifier: Apache-2.0 */
/* Link metrics: a number for each directed link between switches, and the table of them. */
#ifndef PD_CONTROLLER_LINKS_METRIC_H
#define PD_CONTROLLER_LINKS_METRIC_H

#include "apps/apps.h"
#include "controller/controller.h"
#include "topology/links.h"

/* A metric has a folder here and a line of the table in metrics.c: routes, events, history, images
 * and the map show it without a line of their own. It is read for a window of time, by the numbers
 * of directed links (topology/links.h); NAN: not known.
 *
 * Several metrics may come from the same question to hosts (pd_link_window_bytes): a window asks it
 * once. Thread safety: a window belongs to one thread; metrics are read from any. */

/* How values of several windows become that of the whole one. */
enum pd_link_fold { PD_LINK_MEAN, PD_LINK_MAX };

struct pd_link_window {
    struct pd_controller *controller;
    const struct pd_app_world *world;
    uint64_t from_us, to_us; /* [from, to), wall time */
    bool newest;             /* what is known of now alone may be told of it */
    uint32_t only;           /* the number of the one link that is wanted; PD_NONE: all */
    uint32_t len;            /* directed links between switches */
    uint64_t *bytes;         /* NULL: not asked yet */
    json_t *hosts;           /* {"asked","answered","missing"}; NULL: nobody was asked */
    bool complete;           /* all of them have answered, and have lost nothing */
};

struct pd_link_metric {
    const char *name; /* "load_bps" */
    const char *unit; /* "bit/s" */
    double max;       /* end of its scale; 0: it has none */
    enum pd_link_fold fold;
    const char *help; /* one line */
    /* Fills values[window->len], which are 0. A negative error in words: none is known. */
    int (*read)(struct pd_link_window *window, float *values, struct pd_error *error);
    /* Instead of `read`: made of the value that another metric has for the link. */
    const struct pd_link_metric *of;
    float (*derive)(const struct pd_app_world *world, uint32_t link, float value);
    /* End of the scale at this link; NULL: `max` */
    double (*scale)(const struct pd_app_world *world, uint32_t link);
    bool of_now; /* told at once, without asking anybody: who wants nothing else waits for no period
                  */
    bool from_records; /* of any time that the TIBs still hold; else of the newest window alone */
};

#define PD_LINK_METRICS_MAX 16u

extern const struct pd_link_metric *const pd_link_metrics[]; /* ends with NULL */
unsigned pd_link_metrics_len(void);

/* Its place in the table, or PD_NONE. */
uint32_t pd_link_metric_find(const char *name);

/* Bytes of each directed link in the window, prorated (query linkLoad): window->len numbers. All
 * parallel links of two switches are told under the first of them. Asks hosts once for a window.
 * Errors in words. */
int pd_link_window_bytes(struct pd_link_window *window, const uint64_t **ret_bytes,
                         struct pd_error *error);

/* Speed of a directed link: the topology's, else the world's; 0: not known. */
double pd_link_bps(const struct pd_app_world *world, uint32_t link);

#endif
