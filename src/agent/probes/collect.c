/* SPDX-License-Identifier: Apache-2.0 */
/* Probes that came: believed or not, counted by sequence, summed up by switch. */
#include "agent/probes/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/sr_int/sr_int.h"

/* ---- the part ---- */

static void ways_done(struct pd_agent_probe_way *ways, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        free(ways[i].hops);
    }
    free(ways);
}

void pd_agent_probe_part_done(struct pd_agent_probe_part *part)
{
    if (part->order.plan) {
        part->plan_before = part->order.plan;
        memcpy(part->key_before, part->order.key, sizeof part->key_before);
    }
    ways_done(part->ways, part->ways_len);
    pd_probe_order_done(&part->order);
    part->ways = NULL;
    part->ways_len = 0;
}

struct pd_agent_probe_way *pd_agent_probe_part_find(const struct pd_agent_probe_part *part,
                                                    uint32_t number)
{
    size_t low = 0, high = part->ways_len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (part->ways[middle].way->number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < part->ways_len && part->ways[low].way->number == number ? &part->ways[low] : NULL;
}

static bool is_same(const struct pd_probe_order_way *a, const struct pd_probe_order_way *b)
{
    return a->switches_len == b->switches_len && a->from_host == b->from_host &&
           a->to_host == b->to_host &&
           !memcmp(a->switches, b->switches, a->switches_len * sizeof *a->switches);
}

static int begin_way(struct pd_agent_probe_way *way, const struct pd_agent_probe_way *before,
                     uint32_t begin, uint64_t now_ns)
{
    const struct pd_probe_order_way *ordered = way->way;
    bool sends = way->sends, collects = way->collects;

    if (before) {
        *way = *before;
        way->way = ordered;
        way->sends = sends;
        way->collects = collects;
        way->hops = NULL;
        way->count = 0;
    } else {
        way->first = way->next = begin;
        way->came_ns = now_ns;
    }
    way->hops = calloc(ordered->switches_len, sizeof *way->hops);
    return way->hops ? 0 : -ENOMEM;
}

int pd_agent_probe_part_take(struct pd_agent_probe_part *part, struct pd_probe_order *order,
                             uint32_t host, uint32_t begin, uint64_t now_ns)
{
    bool goes_on = part->order.plan == order->plan;
    struct pd_agent_probe_way *ways = calloc(order->ways_len + 1, sizeof *ways);
    size_t len = 0;
    int err = ways ? 0 : -ENOMEM;

    for (size_t i = 0; i < order->ways_len && !err; i++) {
        const struct pd_probe_order_way *way = &order->ways[i];
        const struct pd_agent_probe_way *before =
            goes_on ? pd_agent_probe_part_find(part, way->number) : NULL;

        ways[len] = (struct pd_agent_probe_way){.way = way,
                                                .sends = way->from_host == host &&
                                                         way->number < order->hold_from,
                                                .collects = way->to_host == host};
        before = before && is_same(before->way, way) ? before : NULL;
        err = begin_way(&ways[len++], before, begin, now_ns);
    }
    if (err) {
        ways_done(ways, len);
        return err;
    }
    pd_agent_probe_part_done(part);
    part->ways = ways;
    part->ways_len = len;
    part->order = *order;
    part->epoch += !goes_on;
    part->until_ns = now_ns + order->lease_ms * UINT64_C(1000000);
    *order = (struct pd_probe_order){.plan = 0};
    return 0;
}

/* ---- one that came ---- */

static bool is_genuine(const struct pd_telemetry_probe *head, const uint8_t *key)
{
    uint8_t bytes[PD_SR_INT_HEAD_BYTES];

    pd_sr_int_write_head(head, key, bytes);
    return pd_bytes_number(bytes + PD_SR_INT_HEAD_BYTES - 8, 8) == head->hash;
}

/* Nothing written is fine where nothing can be: no switch of the way then says otherwise. */
static bool is_on_its_way(const struct pd_agent_probe_part *part,
                          const struct pd_agent_probe_way *way,
                          const struct pd_telemetry *telemetry)
{
    bool good = telemetry->hops_len == way->way->switches_len && !telemetry->cut;

    for (uint32_t i = 0; i < telemetry->hops_len && good; i++) {
        const struct pd_switch *sw = &part->topology->switches[way->way->switches[i]];

        good = telemetry->hops[i].node ==
               (telemetry->kind == PD_TELEMETRY_IOAM ? sw->ioam_id : sw->id);
    }
    return good;
}

/* False: it was there before. */
static bool note(struct pd_probe_join_came *came, uint32_t seq)
{
    int32_t ahead = (int32_t)(seq - came->newest);

    if (!came->any || ahead >= 64) {
        *came = (struct pd_probe_join_came){.any = true, .first = seq, .newest = seq};
        return true;
    }
    if (ahead > 0) {
        came->missing = (ahead > 63 ? 0 : came->missing << ahead) | ((UINT64_C(1) << ahead) - 2);
        came->newest = seq;
        return true;
    }
    if (ahead <= -64 || !(came->missing >> -ahead & 1)) {
        return false;
    }
    came->missing &= ~(UINT64_C(1) << -ahead);
    return true;
}

static void measure(struct pd_agent_probe_measure *of, int64_t value)
{
    of->least = !of->count || value < of->least ? value : of->least;
    if (!of->count || value > of->most) {
        of->second = of->count ? of->most : value;
        of->most = value;
    } else if (of->count == 1 || value > of->second) {
        of->second = value;
    }
    of->sum += value;
    of->count++;
}

/* Clocks of probes have 48 bits. */
static int64_t between(uint64_t from_ns, uint64_t to_ns)
{
    return (int64_t)((to_ns - from_ns) << 16) >> 16;
}

static void sum_up(struct pd_agent_probe_way *way, const struct pd_telemetry *telemetry)
{
    for (uint32_t i = 0; i < telemetry->hops_len; i++) {
        const struct pd_telemetry_hop *hop = &telemetry->hops[i];

        measure(&way->hops[i].residence, hop->residence_ns);
        measure(&way->hops[i].queue, hop->queue_bytes);
        if (i + 1 < telemetry->hops_len) {
            measure(&way->hops[i].hop_latency, between(hop->ingress_ns, hop[1].ingress_ns));
        }
    }
    way->count++;
}

bool pd_agent_probe_is_ours(enum pd_agent_probe_verdict verdict)
{
    return verdict != PD_AGENT_PROBE_no_probe && verdict != PD_AGENT_PROBE_other_plan &&
           verdict != PD_AGENT_PROBE_forged;
}

enum pd_agent_probe_verdict pd_agent_probe_collect(struct pd_agent_probe_part *part,
                                                   const struct pd_telemetry *telemetry,
                                                   uint64_t now_ns)
{
    if (!part->order.plan || telemetry->head.plan != part->order.plan) {
        return part->plan_before && telemetry->head.plan == part->plan_before &&
                       is_genuine(&telemetry->head, part->key_before)
                   ? PD_AGENT_PROBE_late
                   : PD_AGENT_PROBE_other_plan;
    }
    if (!is_genuine(&telemetry->head, part->order.key)) {
        return PD_AGENT_PROBE_forged;
    }
    struct pd_agent_probe_way *way = pd_agent_probe_part_find(part, telemetry->head.number);
    if (!way || !way->collects) {
        return PD_AGENT_PROBE_other_way;
    }
    if (!is_on_its_way(part, way, telemetry)) {
        return PD_AGENT_PROBE_astray;
    }
    if (!note(&way->came, telemetry->head.seq)) {
        return PD_AGENT_PROBE_past;
    }
    way->came_ns = now_ns;
    way->silent = false;
    way->received++;
    sum_up(way, telemetry);
    return PD_AGENT_PROBE_received;
}

/* ---- the report ---- */

static struct pd_probe_sum sum_of(const struct pd_agent_probe_measure *of)
{
    const int64_t count = of->count ? (int64_t)of->count : 1;

    return (struct pd_probe_sum){.least = of->least,
                                 .mean = of->sum / count,
                                 .most = of->most,
                                 .p99 = of->count < 100 ? of->most : of->second};
}

static void put_hops(struct pd_agent_probe_way *way, struct pd_probe_report_out *out)
{
    for (uint32_t i = 0; i < way->way->switches_len && way->count; i++) {
        struct pd_agent_probe_hop *hop = &way->hops[i];
        const struct pd_probe_hop sums = {.hop_latency_ns = sum_of(&hop->hop_latency),
                                          .residence_ns = sum_of(&hop->residence),
                                          .queue_bytes = sum_of(&hop->queue)};

        pd_probe_report_put_hop(out, &sums);
        *hop = (struct pd_agent_probe_hop){.queue.count = 0};
    }
    way->count = 0;
}

static void put_came(struct pd_agent_probe_way *way, struct pd_probe_report_out *out)
{
    const struct pd_probe_report_came came = {.number = way->way->number,
                                              .came = way->came,
                                              .silent = way->silent,
                                              .count = way->count,
                                              .hops = way->count ? way->way->switches_len : 0};

    pd_probe_report_put_came(out, &came);
    put_hops(way, out);
}

void pd_agent_probe_report(struct pd_agent_probe_part *part, uint32_t host,
                           struct pd_probe_report_out *out)
{
    struct pd_probe_report head = {
        .host = host, .plan = part->order.plan, .order = part->order.order, .epoch = part->epoch};

    for (size_t i = 0; i < part->ways_len; i++) {
        head.sent_len += part->ways[i].sends;
        head.came_len += part->ways[i].collects;
    }
    pd_probe_report_begin(out, &head);
    for (size_t i = 0; i < part->ways_len; i++) {
        const struct pd_agent_probe_way *way = &part->ways[i];
        const struct pd_probe_report_sent sent = {.number = way->way->number,
                                                  .sent = {way->first, way->next}};

        if (way->sends) {
            pd_probe_report_put_sent(out, &sent);
        }
    }
    for (size_t i = 0; i < part->ways_len; i++) {
        if (part->ways[i].collects) {
            put_came(&part->ways[i], out);
        }
    }
}
