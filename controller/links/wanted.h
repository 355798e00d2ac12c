/* SPDX-License-Identifier: Apache-2.0 */
/* What a request for link metrics wants: its parameters. */
#ifndef PD_CONTROLLER_LINKS_WANTED_H
#define PD_CONTROLLER_LINKS_WANTED_H

#include "controller/links/private.h"
#include "daemon/rest.h"

enum pd_links_form { PD_LINKS_PNG, PD_LINKS_NPY, PD_LINKS_JSON };

struct pd_links_wanted {
    bool metrics[PD_LINK_METRICS_MAX];
    unsigned metrics_len, metric; /* the last that was named */
    bool has_from, has_to;
    uint64_t from_us, to_us;
    uint64_t step_us; /* 0: not given */
    enum pd_links_form form;
};

/* Names separated by commas; NULL: all. -PD_E_VALUE in words. */
int pd_links_read_metrics(const char *names, bool ret_metrics[PD_LINK_METRICS_MAX],
                          struct pd_error *error);

/* Reads all parameters; `allowed`: their names, separated by spaces. A negative error, with the
 * problem filled. */
int pd_links_read_wanted(struct pd_call *call, const char *allowed,
                         struct pd_links_wanted *ret_wanted, struct pd_problem *problem);

#endif
