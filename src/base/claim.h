/* SPDX-License-Identifier: Apache-2.0 */
/* Claims: what is known of a packet's way through the network, and who says so. */
#ifndef PD_BASE_CLAIM_H
#define PD_BASE_CLAIM_H

#include <stdint.h>

#include "base/mark.h"
#include "base/path.h"

/* A path is a list of switches and nothing else. A claim is a path with its worth: whether it is
 * the whole way (state), where it was learned (origin), and, where the marks on the packet did not
 * lead to one path, these marks. Zeroed but for its path, a claim says "exact, from tags".
 *
 * Numbers of states and origins stand in files: new ones are added at the end. */

#define PD_CLAIM_STATES(X)                                          \
    X(EXACT, "exact", "the path that was taken")                    \
    X(PARTIAL, "partial", "the path with gaps, which are switch 0") \
    X(UNDECIDED, "undecided", "one of several candidates")          \
    X(AMBIGUOUS, "ambiguous", "several paths leave the same marks") \
    X(INFEASIBLE, "infeasible", "no path of the topology leaves these marks")

enum pd_claim_state {
#define X(name, id, text) PD_CLAIM_##name,
    PD_CLAIM_STATES(X)
#undef X
        PD_CLAIM_STATE_COUNT
};

/* Where a claim comes from. */
#define PD_ORIGINS(X)                                     \
    X(TAGS, "tags", "marks that packets carried")         \
    X(TRACE, "trace", "traces from the flow's sender")    \
    X(PROBE, "probe", "probes that recorded their route") \
    X(SIM, "sim", "a simulation, which knows the way")    \
    X(METER, "meter", "meters of switches along the path")

enum pd_origin {
#define X(name, id, text) PD_ORIGIN_##name,
    PD_ORIGINS(X)
#undef X
        PD_ORIGIN_COUNT
};

struct pd_claim {
    const struct pd_path *path; /* empty where no path is known; outlives the claim */
    uint32_t candidates; /* paths that are left, where undecided or ambiguous; 0: not known */
    uint8_t state;       /* enum pd_claim_state */
    uint8_t origin;      /* enum pd_origin */
    struct pd_mark mark; /* as it came, where the state is infeasible; else none */
};

/* Names as in JSON. */
const char *pd_claim_state_id(unsigned state);
const char *pd_origin_id(unsigned origin);

/* The number with this name. 0 or -PD_E_VALUE. */
int pd_claim_state_parse(const char *id, uint8_t *ret_state);
int pd_origin_parse(const char *id, uint8_t *ret_origin);

/* <0, 0, >0, but for the paths: by origin, state, candidates and mark. */
int pd_claim_compare_rest(const struct pd_claim *a, const struct pd_claim *b);
/* Equal paths and equal all the rest. */
bool pd_claim_equal(const struct pd_claim *a, const struct pd_claim *b);
uint64_t pd_claim_hash(const struct pd_claim *claim);

#endif
