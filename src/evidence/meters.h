/* SPDX-License-Identifier: Apache-2.0 */
/* What meters say, from JSON to the readings that are compared. */
#ifndef PD_EVIDENCE_METERS_H
#define PD_EVIDENCE_METERS_H

#include <jansson.h>

#include "codec/codec.h"
#include "meter/compare.h"

/* docs/formats/meters.md. Files and monitors are hostile: every member is checked. Plain memory of
 * the caller's. */

struct pd_evidence_meters {
    const struct pd_topology *topology;
    const struct pd_codec *codec;
    struct pd_meter_readings all;
    size_t readings_room, entries_room, strays_room;
};

/* One meter more. 0, -ENOMEM, -PD_E_SYNTAX or -PD_E_NOT_FOUND with the member that is wrong; what
 * was read of it by then stays. */
int pd_evidence_meters_take(struct pd_evidence_meters *meters, const json_t *document,
                            const char **ret_where);
void pd_evidence_meters_done(struct pd_evidence_meters *meters); /* topology and codec stay */

/* A mark as the number that rules and readings have: of a path filter without the bit that says
 * that there is one. */
uint64_t pd_evidence_meters_filter(const struct pd_codec *codec, uint64_t mark);
uint64_t pd_evidence_meters_mark(const struct pd_codec *codec, uint64_t filter);

#endif
