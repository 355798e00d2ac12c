/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of a sender held against those that came. */
#include "probe/join.h"

/* Serial numbers: a is behind b. */
static bool is_after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

void pd_probe_join_sent(struct pd_probe_join *join, const struct pd_probe_join_sent *sent,
                        uint64_t now_ns)
{
    if (!join->begun || sent->first != join->first) {
        *join = (struct pd_probe_join){.begun = true,
                                       .first = sent->first,
                                       .next = sent->first,
                                       .due = {sent->first, sent->first},
                                       .due_ns = {now_ns, now_ns},
                                       .epoch = join->epoch};
    }
    if (!is_after(sent->next, join->due[0])) {
        return; /* nothing new, or an old word */
    }
    join->due[1] = join->due[0];
    join->due_ns[1] = join->due_ns[0];
    join->due[0] = sent->next;
    join->due_ns[0] = now_ns;
}

/* Up to where probes have had the time to come. */
static uint32_t due(const struct pd_probe_join *join, uint64_t now_ns, uint64_t slack_ns)
{
    for (unsigned i = 0; i < 2; i++) {
        if (now_ns - join->due_ns[i] >= slack_ns) {
            return join->due[i];
        }
    }
    return join->next;
}

static bool did_come(const struct pd_probe_join_came *came, uint32_t seq)
{
    uint32_t back = came->newest - seq;

    return came->any && !is_after(seq, came->newest) && !is_after(came->first, seq) && back < 64 &&
           !(came->missing >> back & 1);
}

/* Beyond what the collector remembers nothing is said. */
static bool is_known(const struct pd_probe_join_came *came, uint32_t seq)
{
    return !came->any || is_after(seq, came->newest) || came->newest - seq < 64;
}

void pd_probe_join_came(struct pd_probe_join *join, const struct pd_probe_join_came *came,
                        uint32_t epoch, uint64_t now_ns, uint64_t slack_ns,
                        void (*result)(void *context, bool arrived), void *context)
{
    if (!join->begun) {
        join->epoch = epoch;
        return;
    }
    uint32_t upto = due(join, now_ns, slack_ns);

    if (epoch != join->epoch) { /* what was sent before it was there is nobody's loss */
        join->epoch = epoch;
        join->next = is_after(join->due[0], join->next) ? join->due[0] : join->next;
        return;
    }
    if (came->any && is_after(came->newest + 1, upto) && !is_after(join->first, came->newest)) {
        upto = came->newest + 1;
    }
    if (is_after(upto, join->next + PD_PROBE_JOIN_MOST)) {
        join->next = upto - PD_PROBE_JOIN_MOST;
    }
    for (; is_after(upto, join->next); join->next++) {
        if (is_known(came, join->next)) {
            result(context, did_come(came, join->next));
        }
    }
}
