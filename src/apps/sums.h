/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of answers that are no flows (links, pairs of racks, bins), and amounts as people read them.
 */
#ifndef PD_APPS_SUMS_H
#define PD_APPS_SUMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "apps/report.h"
#include "base/error.h"
#include "base/path.h"
#include "topology/topology.h"

/* Visits each object of answer[list]. `visit` returns false for one that is not in order: those are
 * counted in "lacks". A list that is not there is an error: -PD_E_VALUE. */
int pd_app_objects(const json_t *answer, const char *list, struct pd_report *report,
                   bool (*visit)(void *context, const json_t *object), void *context,
                   struct pd_error *error);

/* "bytes" and "pkts". */
bool pd_app_amounts_read(const json_t *object, uint64_t *ret_bytes, uint64_t *ret_pkts);

/* "link":"9-17", two adjacent switches of the topology. */
bool pd_app_link_read(const json_t *object, const struct pd_topology *topology,
                      struct pd_link_match *ret_link);
json_t *pd_app_link_json(struct pd_link_match link); /* "9-17" */
bool pd_app_link_exists(const struct pd_topology *topology, struct pd_link_match link);

/* "1.2 GB"; three digits are enough for people. */
#define PD_APP_AMOUNT_BYTES 24
const char *pd_app_amount(double bytes, char text[PD_APP_AMOUNT_BYTES]);
/* "93.1 Mb/s" */
const char *pd_app_rate(double bits_per_s, char text[PD_APP_AMOUNT_BYTES]);

#endif
