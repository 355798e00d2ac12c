/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the last hour, in bounded memory. */
#ifndef PD_CONTROLLER_LINKS_HISTORY_H
#define PD_CONTROLLER_LINKS_HISTORY_H

#include <sys/queue.h>

#include "controller/links/sample.h"

/* The live samples of the last five minutes as they are, and of the last hour a minute at a time:
 * made of its samples where there is one for each moment of it. Links with nothing but 0 cost
 * nothing; a metric that is made of another one is not kept. Beyond PD_LINK_HISTORY_BYTES the
 * oldest goes, counted. Another topology forgets everything.
 *
 * Thread safety: none, the lock is its owner's. */

#define PD_LINK_HISTORY_BYTES     (UINT64_C(128) << 20)
#define PD_LINK_HISTORY_FINE_US   (300 * UINT64_C(1000000))
#define PD_LINK_HISTORY_COARSE_US (3600 * UINT64_C(1000000))
#define PD_LINK_HISTORY_MINUTE_US (60 * UINT64_C(1000000))

struct pd_link_kept;
TAILQ_HEAD(pd_link_kept_list, pd_link_kept);

struct pd_link_history {
    bool begun;
    uint64_t generation, bytes;
    struct pd_link_kept_list fine, minutes; /* by time */
    uint64_t dropped;                       /* for want of room */
};

void pd_link_history_done(struct pd_link_history *history); /* works on zeroed memory */

/* Takes what it keeps out of a live sample. Without memory it is dropped, counted. */
void pd_link_history_push(struct pd_link_history *history, const struct pd_link_sample *sample);

/* The value of metric `m` (its place in the table, one that is read) over [from, to). False: what
 * is kept does not cover it. */
bool pd_link_history_value(const struct pd_link_history *history, uint64_t generation, unsigned m,
                           uint32_t link, uint64_t from_us, uint64_t to_us, float *ret_value);

#endif
