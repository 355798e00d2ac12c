/* SPDX-License-Identifier: Apache-2.0 */
/* Who was asked, who answered, who is missing and why, and what it cost. */
#ifndef PD_FLEET_CENSUS_H
#define PD_FLEET_CENSUS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/tree.h"
#include "query/merge.h"

/* Thread safety: works on the caller's memory only. */

struct pd_census {
    uint64_t asked, answered; /* hosts */
    uint64_t bytes;           /* received over all links below */
    uint64_t below_us;        /* the longest chain of processor time below */
    uint64_t adopted;
    struct pd_partial_missing *missing; /* reasons are the census's */
    size_t missing_len, missing_room;
};

int pd_census_missing(struct pd_census *census, uint32_t host,
                      const char *reason); /* 0 or -ENOMEM */

/* What a host says of itself and those below it; -ENOMEM leaves both as they were. */
int pd_census_add(struct pd_census *census, const struct pd_census *host);
void pd_census_done(struct pd_census *census);

/* Adds "hosts" and "cost" to an object; 0 or -ENOMEM. Puts the missing ones in order of their IDs.
 */
int pd_census_json(struct pd_census *census, uint64_t critical_us, json_t *object);

/* The hosts of a tree, each of which may be spoken of once: what a host says of others has to fit
 * what it was asked. */
struct pd_roster {
    uint32_t *ids; /* ascending */
    bool *spoken;
    size_t len;
};

int pd_roster_init(struct pd_roster *roster, const struct pd_tree *tree); /* 0 or -ENOMEM */
void pd_roster_done(struct pd_roster *roster);
int pd_roster_speak(struct pd_roster *roster, uint32_t host); /* 0 or -PD_E_VALUE */

#endif
