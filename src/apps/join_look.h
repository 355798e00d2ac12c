/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence for localisers: one look at a span of time, and the first one, which looks back. */
#ifndef PD_APPS_JOIN_LOOK_H
#define PD_APPS_JOIN_LOOK_H

#include "apps/join.h"
#include "apps/traces.h"

/* Internal to the join. One thread. */

struct pd_app_join_look {
    const struct pd_app_call *call;
    const struct pd_app_suffering *suffering; /* of the span */
    struct pd_app_traces *traces;             /* of all looks of one run */
    uint64_t from_us, to_us;
    bool each;
    FILE *copy;
    const struct pd_evidence_sink *sink;
    struct pd_report *report;
};

/* Asks receivers, and gives the rows of one period. */
int pd_app_join_look(const struct pd_app_join_look *look, struct pd_error *error);

/* Gives the span as several periods, of which senders are asked first (`suffering` is not looked
 * at). *ret_suffering is then what a later look can be compared with. */
int pd_app_join_back(const struct pd_app_join_look *look, struct pd_app_suffering *ret_suffering,
                     struct pd_error *error);

#endif
