/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of a sender held against those that came. */
#include "probe/join.h"

/* Serial numbers: a is behind b. */
static bool is_after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

/* What a sender can have sent since its last word: a fifth more than its rate, since its clock is
 * not ours, and what its words may lie apart. */
static uint32_t most_since(uint64_t ns, uint32_t rate_hz)
{
    const uint64_t longest_ns = UINT64_C(60) * 1000000000;

    ns = ns < longest_ns ? ns : longest_ns;
    return (uint32_t)((ns + ns / 5) * rate_hz / 1000000000) + rate_hz / 2 + 16;
}

bool pd_probe_join_sent(struct pd_probe_join *join, const struct pd_probe_join_sent *sent,
                        uint32_t rate_hz, uint64_t now_ns)
{
    const bool goes_on = join->begun && sent->first == join->first;
    const uint64_t since_ns = goes_on ? now_ns - join->told_ns : UINT64_C(1000000000);
    uint32_t next = sent->next;

    if (!goes_on) {
        *join = (struct pd_probe_join){.begun = true,
                                       .first = sent->first,
                                       .next = sent->first,
                                       .sent = sent->first,
                                       .due = sent->first,
                                       .due_ns = now_ns,
                                       .epoch = join->epoch};
    }
    const uint32_t most = join->sent + most_since(since_ns, rate_hz);
    const bool good = !is_after(next, most);

    next = good ? next : most;
    join->told_ns = now_ns;
    join->rate_hz = rate_hz;
    if (is_after(next, join->sent)) { /* else it is an old word */
        join->sent = next;
        join->sent_ns = now_ns;
    }
    return good;
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

uint32_t pd_probe_join_came(struct pd_probe_join *join, const struct pd_probe_join_came *came,
                            uint32_t epoch, uint64_t now_ns, uint64_t slack_ns,
                            void (*result)(void *context, bool arrived), void *context)
{
    uint32_t unknown = 0;

    if (!join->begun) {
        join->epoch = epoch;
        return 0;
    }
    uint32_t upto = take_due(join, now_ns, slack_ns);

    if (epoch != join->epoch) { /* what was sent before it was there is nobody's loss */
        unknown = is_after(join->sent, join->next) ? join->sent - join->next : 0;
        join->epoch = epoch;
        join->next += unknown;
        return unknown;
    }
    if (came->any && is_after(came->newest + 1, upto) && !is_after(join->first, came->newest)) {
        const uint32_t most = join->sent + most_since(now_ns - join->told_ns, join->rate_hz);

        upto = is_after(came->newest + 1, most) ? most : came->newest + 1;
    }
    if (is_after(upto, join->next + PD_PROBE_JOIN_MOST)) {
        unknown = upto - PD_PROBE_JOIN_MOST - join->next;
        join->next += unknown;
    }
    for (; is_after(upto, join->next); join->next++) {
        if (is_known(came, join->next)) {
            result(context, did_come(came, join->next));
        } else {
            unknown++;
        }
    }
    return unknown;
}
