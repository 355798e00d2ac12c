/* SPDX-License-Identifier: Apache-2.0 */
/* Senders' figures of the past in two rings, as alarms and as answers to getPoorTCPFlows. */
#include "sim/senders.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "apps/rows.h"
#include "base/grow.h"
#include "sim/flows.h"

enum { ROOM_FIRST = 1024, ALARM_DETAIL = 160 };

/* ---- rings */

static int ring_grow(struct pd_sender_ring *ring)
{
    /* a ring that grows has not turned yet: first is 0 */
    return PD_GROW(ring->entries, ring->room, ring->room ? (size_t)ring->room + 1 : ROOM_FIRST);
}

static const struct pd_sender_entry *ring_at(const struct pd_sender_ring *ring, uint32_t i)
{
    return &ring->entries[(ring->first + i) % ring->room];
}

static int ring_add(struct pd_sender_ring *ring, const struct pd_sender_entry *entry)
{
    if (ring->len == ring->room && ring->room < PD_SENDERS_MAX && ring_grow(ring)) {
        return -ENOMEM;
    }
    if (ring->len == ring->room) {
        ring->first = (ring->first + 1) % ring->room;
        ring->len--;
        ring->forgotten++;
    }
    ring->entries[(ring->first + ring->len++) % ring->room] = *entry;
    return 0;
}

void pd_sim_senders_done(struct pd_sim_senders *senders)
{
    free(senders->lossy.entries);
    free(senders->closed.entries);
    *senders = (struct pd_sim_senders){0};
}

int pd_sim_senders_take(struct pd_sim_senders *senders, const struct pd_sim_period *period)
{
    int err = 0;

    senders->now = *period;
    for (size_t i = 0; !err && i < period->flows_len; i++) {
        struct pd_sender_entry entry = {.time_us = period->to_us, .sender = period->senders[i]};

        if (entry.sender.alarm) {
            entry.alarm_id = ++senders->alarms;
        }
        if (entry.sender.retransmissions) {
            err = ring_add(&senders->lossy, &entry);
        } else if (!entry.sender.live) {
            err = ring_add(&senders->closed, &entry);
        }
    }
    return err;
}

static json_int_t host_id(const struct pd_sim_senders *senders, const struct pd_sim_sender *sender)
{
    return senders->scenario->topology->hosts[sender->host].id;
}

/* ---- alarms */

static json_t *alarm_json(const struct pd_sim_senders *senders, const struct pd_sender_entry *entry)
{
    const struct pd_sim_sender *sender = &entry->sender;
    char detail[ALARM_DETAIL];

    snprintf(detail, sizeof detail,
             "%" PRIu64 " retransmissions in %" PRIu32 " ms (consecutive %" PRIu32
             ", timeouts %" PRIu32 ", srtt %" PRIu32 " us)",
             sender->retransmissions, senders->scenario->period_ms, sender->consecutive,
             sender->timeouts, sender->srtt_us);
    return json_pack("{s:I, s:I, s:I, s:s, s:o, s:[], s:s}", "id", (json_int_t)entry->alarm_id,
                     "time_us", (json_int_t)entry->time_us, "host", host_id(senders, sender),
                     "reason", "POOR_PERF", "flow_id", pd_app_flow_json(&sender->flow), "paths",
                     "detail", detail);
}

json_t *pd_sim_senders_alarms(const struct pd_sim_senders *senders, uint64_t from_us,
                              uint64_t to_us, uint64_t least_id, size_t most)
{
    const struct pd_sender_ring *ring = &senders->lossy;
    json_t *alarms = json_array();
    uint32_t first = ring->len;
    size_t found = 0;

    while (first && found < most) { /* entries stand in the order of time */
        const struct pd_sender_entry *entry = ring_at(ring, first - 1);

        if (entry->time_us < from_us) {
            break;
        }
        found += entry->alarm_id > least_id && entry->time_us <= to_us;
        first--;
    }
    for (; alarms && first < ring->len; first++) {
        const struct pd_sender_entry *entry = ring_at(ring, first);

        if (entry->alarm_id <= least_id || entry->time_us < from_us || entry->time_us > to_us) {
            continue;
        }
        if (json_array_append_new(alarms, alarm_json(senders, entry))) {
            json_decref(alarms);
            return NULL;
        }
    }
    return alarms;
}

/* ---- flows that TCP serves badly */

/* One flow: its newest figures, and what `from` asks for. */
struct poor {
    struct pd_sim_sender sender;
    uint64_t time_us, last_us; /* of the figures; of its last retransmission, 0: none known */
    uint64_t recent;           /* retransmissions since `from` */
};

struct poor_table {
    const struct pd_poor_question *question;
    const bool *asked;
    struct poor *rows;
    uint32_t *slots; /* of rows, + 1 */
    uint32_t len, slots_len;
};

static int table_init(struct poor_table *table, uint64_t most)
{
    table->slots_len = 16;
    while (table->slots_len < 2 * most) {
        table->slots_len *= 2;
    }
    table->rows = calloc(most + 1, sizeof *table->rows);
    table->slots = calloc(table->slots_len, sizeof *table->slots);
    return table->rows && table->slots ? 0 : -ENOMEM;
}

/* To be called with the newest figures of each flow first. */
static void table_add(struct poor_table *table, const struct pd_sim_sender *sender,
                      uint64_t time_us)
{
    uint32_t mask = table->slots_len - 1;
    uint32_t at = (uint32_t)pd_flow_id_hash(&sender->flow) & mask;

    if (table->asked && !table->asked[sender->host]) {
        return;
    }
    while (table->slots[at] &&
           !pd_flow_id_equal(&table->rows[table->slots[at] - 1].sender.flow, &sender->flow)) {
        at = (at + 1) & mask;
    }
    if (!table->slots[at]) {
        table->rows[table->len++] = (struct poor){.sender = *sender, .time_us = time_us};
        table->slots[at] = table->len;
    }
    struct poor *row = &table->rows[table->slots[at] - 1];
    if (!sender->retransmissions) {
        return;
    }
    row->last_us = row->last_us ? row->last_us : time_us;
    if (time_us >= table->question->from_us) {
        row->recent += sender->retransmissions;
    }
}

/* The last period stands in the rings, too, as far as it is kept there: it is given once. */
static void table_fill(struct poor_table *table, const struct pd_sim_senders *senders)
{
    const struct pd_sender_ring *lossy = &senders->lossy, *closed = &senders->closed;
    uint32_t l = lossy->len, c = closed->len;

    for (size_t i = 0; i < senders->now.flows_len; i++) {
        table_add(table, &senders->now.senders[i], senders->now.to_us);
    }
    while (l || c) {
        uint64_t lossy_us = l ? ring_at(lossy, l - 1)->time_us : 0;
        uint64_t closed_us = c ? ring_at(closed, c - 1)->time_us : 0;
        const struct pd_sender_entry *entry =
            l && lossy_us >= closed_us ? ring_at(lossy, --l) : ring_at(closed, --c);

        if (entry->time_us < senders->now.to_us) {
            table_add(table, &entry->sender, entry->time_us);
        }
    }
}

static bool is_wanted(const struct poor *row, const struct pd_poor_question *question,
                      uint64_t now_us)
{
    const struct pd_sim_sender *sender = &row->sender;
    bool in_vain = !sender->acked_pkts && sender->total_retransmissions >= question->threshold;

    if (!sender->live && now_us - row->time_us > PD_SENDERS_CLOSED_US) {
        return false;
    }
    if (!question->threshold) {
        return row->time_us >= question->from_us;
    }
    if (question->has_from && row->recent >= question->threshold) {
        return true;
    }
    return (in_vain || sender->consecutive >= question->threshold) &&
           row->last_us >= question->from_us;
}

static json_t *time_json(uint64_t time_us, bool known)
{
    return known ? json_integer((json_int_t)time_us) : json_null();
}

static json_t *poor_json(const struct pd_sim_senders *senders, const struct poor *row,
                         bool has_from)
{
    const struct pd_sim_sender *s = &row->sender;
    uint64_t lived_us = row->time_us > s->opened_us ? row->time_us - s->opened_us : 1;
    uint64_t bytes = s->acked_pkts * PD_SIM_MSS_BYTES;
    bool opened = s->acked_pkts > 0;
    json_t *flow = json_pack(
        "{s:o, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, "
        "s:o}",
        "flow_id", pd_app_flow_json(&s->flow), "host", host_id(senders, s), "state",
        !s->live ? "closed"
        : opened ? "established"
                 : "syn_sent",
        "retransmissions", (json_int_t)s->total_retransmissions, "consecutive",
        (json_int_t)s->consecutive, "timeouts", (json_int_t)s->timeouts, "backoff",
        (json_int_t)s->backoff, "srtt_us", (json_int_t)s->srtt_us, "rto_us", (json_int_t)s->rto_us,
        "throughput_bps", (json_int_t)((double)bytes * 8e6 / (double)lived_us), "bytes_acked",
        (json_int_t)bytes, "cwnd_pkts", (json_int_t)s->cwnd_pkts, "mss_bytes",
        (json_int_t)PD_SIM_MSS_BYTES, "pkts_out", (json_int_t)(s->live ? s->cwnd_pkts : 0),
        "first_us", (json_int_t)s->opened_us, "last_retransmission_us",
        time_json(row->last_us, row->last_us), "opened_us", time_json(s->opened_us, opened),
        "closed_us", time_json(row->time_us, !s->live));

    if (flow && has_from) {
        json_object_set_new(flow, "recent", json_integer((json_int_t)row->recent));
    }
    return flow;
}

json_t *pd_sim_senders_poor(const struct pd_sim_senders *senders,
                            const struct pd_poor_question *question, const bool *asked)
{
    struct poor_table table = {.question = question, .asked = asked};
    uint64_t forgotten = senders->lossy.forgotten + senders->closed.forgotten;
    json_t *flows = NULL, *answer = NULL;
    int failed = table_init(&table, (uint64_t)senders->lossy.len + senders->closed.len +
                                        senders->now.flows_len);

    if (!failed) {
        flows = json_array();
        table_fill(&table, senders);
        for (uint32_t i = 0; i < table.len; i++) {
            if (is_wanted(&table.rows[i], question, senders->now.to_us)) {
                failed |= json_array_append_new(
                    flows, poor_json(senders, &table.rows[i], question->has_from));
            }
        }
    }
    if (!failed) {
        answer =
            json_pack("{s:O, s:b, s:s, s:I, s:I}", "flows", flows, "complete", !forgotten, "source",
                      "simulator", "since_us", (json_int_t)0, "forgotten", (json_int_t)forgotten);
    }
    json_decref(flows);
    free(table.rows);
    free(table.slots);
    return answer;
}
