/* SPDX-License-Identifier: Apache-2.0 */
/* The connections that the monitor knows, and what it makes of readings: how many retransmissions
 * are new, and how many in a row. */
#ifndef PD_MONITOR_FLOW_TABLE_H
#define PD_MONITOR_FLOW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "monitor/monitor.h"
#include "monitor/reading.h"

/* A bounded hash table, which grows up to its limit. A connection is its flow ID and the kernel's
 * cookie: another one on the same ports is another connection. When it is full, those go first that
 * closed well, then those that are well, then closed ones, then the one that was quiet for longest;
 * each is counted. Closed ones go by themselves after PD_MONITOR_CLOSED_NS.
 *
 * Readings may come twice, late and in any order: they hold totals, and only what is above the
 * known total is new.
 *
 * Thread safety: none; the monitor's lock is held. */

struct pd_flow_entry {
    struct pd_monitor_reading last;
    uint32_t consecutive;
    uint32_t empty; /* retransmissions that carried no data */
    uint32_t seen;  /* that this table was told of as they happened */
    struct {
        uint64_t time_ns;
        uint32_t count;
    } history[PD_MONITOR_HISTORY]; /* newest last */
    unsigned history_len;
    uint64_t first_ns, last_ns;
    uint64_t retransmission_ns; /* 0: none since the monitor began */
    uint64_t opened_ns, closed_ns;
    uint64_t window_ns; /* when the period began that alarms count in */
    uint32_t window_count;
    uint64_t alarm_ns;
    uint32_t generation; /* of the dump that it was last seen in */
    uint32_t chain;      /* next with the same hash */
    uint32_t before, after;
    uint8_t list;
};

struct pd_flow_table;

int pd_monitor_flow_table_new(uint32_t flows_max,
                              struct pd_flow_table **ret_table); /* 0 or -ENOMEM */
void pd_monitor_flow_table_free(struct pd_flow_table *table);    /* NULL is fine */

/* From now on a connection that is not known and has retransmitted did so just now. */
void pd_monitor_flow_table_ready(struct pd_flow_table *table);

/* NULL: not there. Valid until the next call that takes or expires. */
struct pd_flow_entry *pd_monitor_flow_table_find(struct pd_flow_table *table,
                                                 const struct pd_flow_id *flow, uint64_t cookie);

/* Takes a reading. A sample of a connection that never retransmitted is only taken if it is known.
 * `ret_fresh`: how many retransmissions are new. NULL: not taken, or no memory (counted as
 * forgotten). */
struct pd_flow_entry *pd_monitor_flow_table_take(struct pd_flow_table *table,
                                                 const struct pd_monitor_reading *reading,
                                                 uint32_t *ret_fresh);

void pd_monitor_flow_table_close(struct pd_flow_table *table, struct pd_flow_entry *entry,
                                 uint64_t now_ns);

/* A dump begins; and it has ended, all of it was read: what is open here and was not in it has
 * closed. */
void pd_monitor_flow_table_dump_begin(struct pd_flow_table *table);
void pd_monitor_flow_table_dump_end(struct pd_flow_table *table, uint64_t now_ns);

void pd_monitor_flow_table_expire(struct pd_flow_table *table, uint64_t now_ns);

/* Retransmissions since then; of long ago at least so many. */
uint32_t pd_monitor_flow_entry_recent(const struct pd_flow_entry *entry, uint64_t from_ns);
bool pd_monitor_flow_entry_is_half_open(const struct pd_flow_entry *entry);

/* All entries: `at` from 0, up to the first NULL. */
struct pd_flow_entry *pd_monitor_flow_table_next(struct pd_flow_table *table, uint32_t *at);

uint32_t pd_monitor_flow_table_len(const struct pd_flow_table *table);
uint64_t pd_monitor_flow_table_forgotten(const struct pd_flow_table *table);

#endif
