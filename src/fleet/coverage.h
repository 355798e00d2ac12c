/* SPDX-License-Identifier: Apache-2.0 */
/* Who was asked, who answered, who is missing and why, and what it cost. */
#ifndef PD_FLEET_COVERAGE_H
#define PD_FLEET_COVERAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/tree.h"
#include "query/merge.h"

/* Thread safety: works on the caller's memory only. */

struct pd_fleet_coverage {
    uint64_t asked, answered; /* hosts */
    uint64_t bytes;           /* received over all links below */
    uint64_t below_us;        /* the longest chain of processor time below */
    uint64_t adopted;
    uint64_t refused;                   /* answers that spoke of other hosts than were asked */
    struct pd_partial_missing *missing; /* reasons are the coverage's */
    size_t missing_len, missing_room;
};

int pd_fleet_coverage_missing(struct pd_fleet_coverage *coverage, uint32_t host,
                              const char *reason); /* 0 or -ENOMEM */

/* What a host says of itself and those below it; -ENOMEM leaves both as they were. */
int pd_fleet_coverage_add(struct pd_fleet_coverage *coverage, const struct pd_fleet_coverage *host);
void pd_fleet_coverage_done(struct pd_fleet_coverage *coverage);

/* Adds "hosts" and "cost" to an object; 0 or -ENOMEM. Puts the missing ones in order of their IDs.
 */
int pd_fleet_coverage_json(struct pd_fleet_coverage *coverage, uint64_t critical_us,
                           json_t *object);

/* The hosts of a tree, each of which may be spoken of once: what a host says of others has to fit
 * what it was asked. */
struct pd_roster {
    uint32_t *ids; /* ascending */
    bool *spoken;
    size_t len;
    bool broken; /* somebody else was spoken of, or somebody twice, or not all */
};

int pd_fleet_roster_init(struct pd_roster *roster, const struct pd_tree *tree); /* 0 or -ENOMEM */
void pd_fleet_roster_done(struct pd_roster *roster);
int pd_fleet_roster_speak(struct pd_roster *roster, uint32_t host); /* 0 or -PD_E_VALUE */

/* Was each of them asked, and did each answer or was said to be missing? 0 or -PD_E_VALUE. */
int pd_fleet_roster_close(struct pd_roster *roster, uint64_t asked, uint64_t answered,
                          uint64_t missing);

#endif
