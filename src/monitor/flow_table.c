/* SPDX-License-Identifier: Apache-2.0 */
/* Hash chains and four lists over one block of entries; indices in place of pointers, since the
 * block moves as it grows. */
#include "monitor/flow_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define NONE               UINT32_MAX
#define FIRST_ROOM         64u
#define UNKNOWN            UINT32_MAX
#define HALF_OPENED(state) ((state) == PD_MONITOR_SYN_SENT || (state) == PD_MONITOR_SYN_RECV)

/* In the order in which they are forgotten. */
enum { WELL_CLOSED, WELL_OPEN, POOR_CLOSED, POOR_OPEN, LISTS, FREE = LISTS };

struct pd_flow_table {
    struct pd_flow_entry *entries;
    uint32_t *heads; /* of the chains, as many as there is room */
    uint32_t room;   /* a power of two */
    uint32_t used;   /* entries that were ever given out */
    uint32_t len;
    uint32_t max;
    uint32_t spare; /* chain of those that were given back */
    uint32_t generation;
    bool ready;
    uint64_t forgotten;
    struct {
        uint32_t oldest, newest;
    } lists[LISTS];
};

/* ---- lists: the newest was heard of last ---- */

static void unlist(struct pd_flow_table *table, uint32_t at)
{
    struct pd_flow_entry *entry = &table->entries[at];

    if (entry->before == NONE) {
        table->lists[entry->list].oldest = entry->after;
    } else {
        table->entries[entry->before].after = entry->after;
    }
    if (entry->after == NONE) {
        table->lists[entry->list].newest = entry->before;
    } else {
        table->entries[entry->after].before = entry->before;
    }
}

static void enlist(struct pd_flow_table *table, uint32_t at, uint8_t list)
{
    struct pd_flow_entry *entry = &table->entries[at];

    entry->list = list;
    entry->after = NONE;
    entry->before = table->lists[list].newest;
    if (entry->before == NONE) {
        table->lists[list].oldest = at;
    } else {
        table->entries[entry->before].after = at;
    }
    table->lists[list].newest = at;
}

static uint8_t list_of(const struct pd_flow_entry *entry)
{
    bool poor = entry->last.retransmissions > 0;

    return entry->last.closed ? (poor ? POOR_CLOSED : WELL_CLOSED) : (poor ? POOR_OPEN : WELL_OPEN);
}

/* A closed one stays where it is: its list is in the order of closing. */
static void touch(struct pd_flow_table *table, uint32_t at)
{
    struct pd_flow_entry *entry = &table->entries[at];
    uint8_t list = list_of(entry);

    if (list == entry->list && entry->last.closed) {
        return;
    }
    unlist(table, at);
    enlist(table, at, list);
}

/* ---- chains ---- */

static uint32_t *head_of(struct pd_flow_table *table, const struct pd_flow_id *flow,
                         uint64_t cookie)
{
    uint64_t hash = pd_flow_id_hash(flow) ^ cookie * UINT64_C(0x9e3779b97f4a7c15);

    return &table->heads[(hash ^ hash >> 32) & (table->room - 1)];
}

static void chain_in(struct pd_flow_table *table, uint32_t at)
{
    struct pd_flow_entry *entry = &table->entries[at];
    uint32_t *head = head_of(table, &entry->last.flow, entry->last.cookie);

    entry->chain = *head;
    *head = at;
}

static uint32_t find(struct pd_flow_table *table, const struct pd_flow_id *flow, uint64_t cookie)
{
    uint32_t at = *head_of(table, flow, cookie);

    while (at != NONE && (table->entries[at].last.cookie != cookie ||
                          !pd_flow_id_equal(&table->entries[at].last.flow, flow))) {
        at = table->entries[at].chain;
    }
    return at;
}

static void drop(struct pd_flow_table *table, uint32_t at)
{
    struct pd_flow_entry *entry = &table->entries[at];
    uint32_t *link = head_of(table, &entry->last.flow, entry->last.cookie);

    while (*link != at) {
        link = &table->entries[*link].chain;
    }
    *link = entry->chain;
    unlist(table, at);
    entry->list = FREE;
    entry->chain = table->spare;
    table->spare = at;
    table->len--;
}

/* ---- room ---- */

static int grow(struct pd_flow_table *table)
{
    uint32_t room = table->room, heads_room = table->room;

    if (PD_GROW(table->entries, room, room ? (size_t)room + 1 : FIRST_ROOM) ||
        PD_GROW(table->heads, heads_room, room)) {
        return -ENOMEM;
    }
    table->room = room;
    memset(table->heads, 0xff, room * sizeof *table->heads);
    for (uint32_t i = 0; i < table->used; i++) {
        if (table->entries[i].list != FREE) {
            chain_in(table, i);
        }
    }
    return 0;
}

static bool forget_one(struct pd_flow_table *table)
{
    for (unsigned list = 0; list < LISTS; list++) {
        if (table->lists[list].oldest != NONE) {
            drop(table, table->lists[list].oldest);
            table->forgotten++;
            return true;
        }
    }
    return false;
}

/* NONE: there is no memory for even one. */
static uint32_t room_for_one(struct pd_flow_table *table)
{
    uint32_t at = table->spare;

    if (at == NONE && (table->used == table->max || (table->used == table->room && grow(table)))) {
        if (!forget_one(table)) {
            return NONE;
        }
        at = table->spare;
    }
    if (at == NONE) {
        return table->used++;
    }
    table->spare = table->entries[at].chain;
    return at;
}

/* ---- readings ---- */

/* The history is as fine as it can be with its few places: the oldest goes, and `seen` still has
 * it. */
static void remember(struct pd_flow_entry *entry, uint64_t time_ns, uint32_t fresh)
{
    if (entry->history_len == PD_MONITOR_HISTORY) {
        memmove(entry->history, entry->history + 1,
                (PD_MONITOR_HISTORY - 1) * sizeof entry->history[0]);
        entry->history_len--;
    }
    entry->history[entry->history_len].time_ns = time_ns;
    entry->history[entry->history_len++].count = fresh;
    entry->seen += fresh;
    if (time_ns > entry->retransmission_ns) {
        entry->retransmission_ns = time_ns;
    }
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Something new was acknowledged between what is known and this reading. */
static bool has_advanced(const struct pd_monitor_reading *before,
                         const struct pd_monitor_reading *now)
{
    return (HALF_OPENED(before->state) && !HALF_OPENED(now->state)) ||
           (now->has_info && now->bytes_acked > before->bytes_acked);
}

/* At the moment of a retransmission all that is new comes after the last advance. Between two
 * samples nobody knows what came first: only what is still outstanding is sure to be after it. */
static void count_consecutive(struct pd_flow_entry *entry, const struct pd_monitor_reading *reading,
                              uint32_t fresh)
{
    if (!has_advanced(&entry->last, reading)) {
        entry->consecutive += fresh;
    } else if (reading->kind == PD_MONITOR_RETRANSMISSION) {
        entry->consecutive = fresh;
    } else {
        entry->consecutive = reading->closed || reading->outstanding == UNKNOWN
                                 ? 0
                                 : least(fresh, reading->outstanding);
    }
    if (reading->has_info && entry->consecutive < reading->unanswered) {
        entry->consecutive = reading->unanswered;
    }
}

/* Where the kernel does not count timeouts, those that are seen are. What a half-open connection
 * does not know stays as it was. */
static void replace_last(struct pd_flow_entry *entry, const struct pd_monitor_reading *reading)
{
    struct pd_monitor_reading last = *reading;

    if (!reading->has_info) {
        last = entry->last;
        last.state = reading->state;
        last.closed = reading->closed;
        last.time_ns = reading->time_ns;
    }
    if (last.timeouts == UNKNOWN) {
        uint32_t known = entry->last.timeouts == UNKNOWN ? 0 : entry->last.timeouts;
        uint32_t before = entry->last.unanswered;
        last.timeouts = known + (last.unanswered > before ? last.unanswered - before : 0);
    }
    if (!last.rto_us) {
        last.rto_us = entry->last.rto_us;
    }
    if (!last.has_label) {
        last.has_label = entry->last.has_label;
        last.flow_label = entry->last.flow_label;
    }
    last.retransmissions = entry->last.retransmissions > reading->retransmissions
                               ? entry->last.retransmissions
                               : reading->retransmissions;
    entry->last = last;
}

static void take_times(struct pd_flow_entry *entry, const struct pd_monitor_reading *reading)
{
    if (reading->time_ns > entry->last_ns) {
        entry->last_ns = reading->time_ns;
    }
    if (reading->kind == PD_MONITOR_CHANGE && !reading->closed && !entry->opened_ns) {
        entry->opened_ns = reading->time_ns;
    }
    if (!reading->closed) {
        entry->closed_ns = 0;
    } else if (!entry->closed_ns) {
        entry->closed_ns = reading->time_ns;
    }
}

/* How many of those that are new carried no data: of a handshake none does. */
static uint32_t count_empty(const struct pd_flow_entry *entry,
                            const struct pd_monitor_reading *reading, uint32_t fresh)
{
    bool opens = reading->kind == PD_MONITOR_CHANGE && !reading->closed && !entry->opened_ns;

    return reading->is_empty || opens || HALF_OPENED(reading->state) ? fresh : 0;
}

static void update(struct pd_flow_entry *entry, const struct pd_monitor_reading *reading,
                   uint32_t fresh)
{
    bool late = reading->time_ns < entry->last.time_ns && !reading->closed;

    entry->empty += count_empty(entry, reading, fresh);
    if (fresh) {
        remember(entry, reading->time_ns, fresh);
    }
    if (late) {
        entry->consecutive += fresh;
        entry->last.retransmissions += fresh;
        return;
    }
    count_consecutive(entry, reading, fresh);
    replace_last(entry, reading);
    take_times(entry, reading);
}

/* How much of a total is new for whom we never heard of. Once some were forgotten, nobody knows:
 * then the event itself is what is sure. */
static uint32_t fresh_of_new(const struct pd_flow_table *table,
                             const struct pd_monitor_reading *reading)
{
    if (table->ready && !table->forgotten) {
        return reading->retransmissions;
    }
    return reading->kind == PD_MONITOR_RETRANSMISSION && reading->retransmissions ? 1 : 0;
}

static struct pd_flow_entry *insert(struct pd_flow_table *table,
                                    const struct pd_monitor_reading *reading, uint32_t *ret_fresh)
{
    uint32_t at = room_for_one(table), fresh = fresh_of_new(table, reading);
    struct pd_flow_entry *entry;

    if (at == NONE) {
        table->forgotten++;
        return NULL;
    }
    entry = &table->entries[at];
    memset(entry, 0, sizeof *entry);
    entry->last = *reading;
    if (entry->last.timeouts == UNKNOWN) {
        entry->last.timeouts = reading->has_info ? reading->unanswered : 0;
    }
    entry->first_ns = reading->time_ns;
    entry->empty = count_empty(entry, reading, fresh);
    entry->consecutive = least(reading->retransmissions,
                               reading->outstanding == UNKNOWN ? fresh : reading->outstanding);
    if (HALF_OPENED(reading->state)) {
        entry->consecutive = reading->retransmissions;
    } else if (fresh && reading->kind == PD_MONITOR_RETRANSMISSION && !entry->consecutive) {
        entry->consecutive = 1;
    }
    if (reading->has_info && entry->consecutive < reading->unanswered) {
        entry->consecutive = reading->unanswered;
    }
    if (fresh) {
        remember(entry, reading->time_ns, fresh);
    }
    take_times(entry, reading);
    chain_in(table, at);
    enlist(table, at, list_of(entry));
    table->len++;
    *ret_fresh = fresh;
    return entry;
}

struct pd_flow_entry *pd_monitor_flow_table_take(struct pd_flow_table *table,
                                                 const struct pd_monitor_reading *reading,
                                                 uint32_t *ret_fresh)
{
    uint32_t at = find(table, &reading->flow, reading->cookie), fresh = 0;
    struct pd_flow_entry *entry;

    *ret_fresh = 0;
    if (at == NONE) {
        if (reading->kind == PD_MONITOR_SAMPLE && !reading->retransmissions) {
            return NULL;
        }
        entry = insert(table, reading, ret_fresh);
    } else {
        entry = &table->entries[at];
        if (reading->retransmissions > entry->last.retransmissions) {
            fresh = reading->retransmissions - entry->last.retransmissions;
        }
        update(entry, reading, fresh);
        touch(table, at);
        *ret_fresh = fresh;
    }
    if (entry) {
        entry->generation = table->generation;
    }
    return entry;
}

/* ---- what is closed ---- */

void pd_monitor_flow_table_close(struct pd_flow_table *table, struct pd_flow_entry *entry,
                                 uint64_t now_ns)
{
    if (entry->last.closed) {
        return;
    }
    entry->last.closed = true;
    entry->closed_ns = entry->last_ns = now_ns;
    touch(table, (uint32_t)(entry - table->entries));
}

void pd_monitor_flow_table_dump_begin(struct pd_flow_table *table)
{
    table->generation++;
}

void pd_monitor_flow_table_dump_end(struct pd_flow_table *table, uint64_t now_ns)
{
    for (uint32_t i = 0; i < table->used; i++) {
        struct pd_flow_entry *entry = &table->entries[i];

        if (entry->list != FREE && entry->generation != table->generation) {
            pd_monitor_flow_table_close(table, entry, now_ns);
        }
    }
}

static void expire_list(struct pd_flow_table *table, unsigned list, uint64_t now_ns)
{
    uint32_t at;

    while ((at = table->lists[list].oldest) != NONE &&
           table->entries[at].closed_ns + PD_MONITOR_CLOSED_NS < now_ns) {
        drop(table, at);
    }
}

void pd_monitor_flow_table_expire(struct pd_flow_table *table, uint64_t now_ns)
{
    expire_list(table, WELL_CLOSED, now_ns);
    expire_list(table, POOR_CLOSED, now_ns);
}

/* ---- looking ---- */

uint32_t pd_monitor_flow_entry_recent(const struct pd_flow_entry *entry, uint64_t from_ns)
{
    uint32_t recent = 0;

    if (from_ns <= entry->first_ns) {
        return entry->seen;
    }
    for (unsigned i = 0; i < entry->history_len; i++) {
        recent += entry->history[i].time_ns >= from_ns ? entry->history[i].count : 0;
    }
    return recent;
}

bool pd_monitor_flow_entry_is_half_open(const struct pd_flow_entry *entry)
{
    return HALF_OPENED(entry->last.state);
}

struct pd_flow_entry *pd_monitor_flow_table_find(struct pd_flow_table *table,
                                                 const struct pd_flow_id *flow, uint64_t cookie)
{
    uint32_t at = find(table, flow, cookie);

    return at == NONE ? NULL : &table->entries[at];
}

struct pd_flow_entry *pd_monitor_flow_table_next(struct pd_flow_table *table, uint32_t *at)
{
    while (*at < table->used) {
        struct pd_flow_entry *entry = &table->entries[(*at)++];
        if (entry->list != FREE) {
            return entry;
        }
    }
    return NULL;
}

uint32_t pd_monitor_flow_table_len(const struct pd_flow_table *table)
{
    return table->len;
}

uint64_t pd_monitor_flow_table_forgotten(const struct pd_flow_table *table)
{
    return table->forgotten;
}

/* ---- life ---- */

int pd_monitor_flow_table_new(uint32_t flows_max, struct pd_flow_table **ret_table)
{
    struct pd_flow_table *table = calloc(1, sizeof *table);

    if (!table) {
        return -ENOMEM;
    }
    table->max = flows_max ? flows_max : PD_MONITOR_FLOWS_MAX;
    table->spare = NONE;
    for (unsigned i = 0; i < LISTS; i++) {
        table->lists[i].oldest = table->lists[i].newest = NONE;
    }
    if (grow(table)) {
        pd_monitor_flow_table_free(table);
        return -ENOMEM;
    }
    *ret_table = table;
    return 0;
}

void pd_monitor_flow_table_free(struct pd_flow_table *table)
{
    if (!table) {
        return;
    }
    free(table->entries);
    free(table->heads);
    free(table);
}

void pd_monitor_flow_table_ready(struct pd_flow_table *table)
{
    table->ready = true;
}
