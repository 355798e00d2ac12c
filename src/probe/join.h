/* SPDX-License-Identifier: Apache-2.0 */
/* What a sender and a collector say of one way, joined: which probes arrived, and which were lost.
 */
#ifndef PD_PROBE_JOIN_H
#define PD_PROBE_JOIN_H

#include <stdbool.h>
#include <stdint.h>

/* A probe is lost when its sender sent it, its collector was there before, and it has not come. A
 * collector's word is made after the one before it was taken: what the sender had told of by then,
 * and `slack_ns` ago, would be in it, however late words are. So a sender that has a break loses
 * nothing, and neither does a collector that died. Sequences count on; those of a sender that
 * begins again are ahead of all before (it begins at the milliseconds of a clock that nobody sets),
 * and compared as serial numbers.
 *
 * A path keeps order: what a later probe overtook is lost. Plain memory, one thread at a time. */

/* What a sender says: [first, next) it has sent since it began, the newest at its last word. */
struct pd_probe_join_sent {
    uint32_t first, next;
};

/* What a collector says: the newest that came, and of those up to it which did not. */
struct pd_probe_join_came {
    bool any;       /* else the rest means nothing */
    uint32_t first; /* that it counts from: the first that came since it began */
    uint32_t newest;
    uint64_t missing; /* bit n: newest - n did not come, for those since `first` */
};

#define PD_PROBE_JOIN_MOST 4096u /* probes that one call tells of; of more nothing is known */

struct pd_probe_join {
    bool begun;       /* `next` is a sequence */
    uint32_t first;   /* of the sender, as it stands */
    uint32_t next;    /* the first that nothing was said of yet */
    uint32_t sent;    /* up to here, by the sender's last word … */
    uint64_t sent_ns; /* … which came then */
    uint64_t told_ns; /* the newest word of it */
    uint32_t rate_hz;
    uint32_t due; /* the same, as it was at the collector's last word */
    uint64_t due_ns;
    uint32_t epoch; /* of the collector */
};

/* The sender's word at `now_ns` (monotonic). False: it says to have sent more than that many a
 * second since its last word (a second's at first, and some more); what is beyond counts as if it
 * had not been sent. */
bool pd_probe_join_sent(struct pd_probe_join *join, const struct pd_probe_join_sent *sent,
                        uint32_t rate_hz, uint64_t now_ns);

/* The collector's: `epoch` is another one when it has begun again. Calls `result` for each probe
 * that something can be said of now, in order. `slack_ns`: a probe takes no longer. Returns of how
 * many nothing can be said any more: they were sent before it began, or so many came since that it
 * does not remember. */
uint32_t pd_probe_join_came(struct pd_probe_join *join, const struct pd_probe_join_came *came,
                            uint32_t epoch, uint64_t now_ns, uint64_t slack_ns,
                            void (*result)(void *context, bool arrived), void *context);

#endif
