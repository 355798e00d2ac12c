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
                                       .sent = sent->first,
                                       .due = sent->first,
                                       .due_ns = now_ns,
                                       .epoch = join->epoch};
    }
    if (is_after(sent->next, join->sent)) { /* else it is an old word */
        join->sent = sent->next;
        join->sent_ns = now_ns;
    }
}

/* Up to where probes have had the time to come. */
static uint32_t take_due(struct pd_probe_join *join, uint64_t now_ns, uint64_t slack_ns)
{
    const uint32_t due = now_ns - join->due_ns >= slack_ns ? join->due : join->next;

    if (join->due == due || join->due == join->next) {
        join->due = join->sent;
        join->due_ns = join->sent_ns;
    }
    return due;
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
    uint32_t upto = take_due(join, now_ns, slack_ns);

    if (epoch != join->epoch) { /* what was sent before it was there is nobody's loss */
        join->epoch = epoch;
        join->next = is_after(join->sent, join->next) ? join->sent : join->next;
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
