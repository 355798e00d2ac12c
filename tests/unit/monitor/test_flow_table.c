/* SPDX-License-Identifier: Apache-2.0 */
/* The table of connections: against a naive oracle, what is forgotten first, what is in a row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../shared/random.h"
#include "base/clock.h"
#include "monitor/flow_table.h"

static struct pd_monitor_reading make(unsigned port, enum pd_monitor_reading_kind kind,
                                      uint64_t time_ns, uint32_t total, uint64_t acked)
{
    return (struct pd_monitor_reading){
        .kind = kind,
        .state = PD_MONITOR_ESTABLISHED,
        .has_info = true,
        .flow = {.src_port = (uint16_t)port, .dst_port = 80, .protocol = 6, .ip_version = 4},
        .cookie = port,
        .time_ns = time_ns,
        .retransmissions = total,
        .outstanding = UINT32_MAX,
        .timeouts = UINT32_MAX,
        .bytes_acked = acked,
    };
}

static struct pd_flow_entry *take(struct pd_flow_table *table, struct pd_monitor_reading reading,
                                  uint32_t fresh)
{
    uint32_t found;
    struct pd_flow_entry *entry = pd_monitor_flow_table_take(table, &reading, &found);

    assert_int_equal(found, fresh);
    return entry;
}

static struct pd_flow_table *ready_table(uint32_t max)
{
    struct pd_flow_table *table;

    assert_int_equal(pd_monitor_flow_table_new(max, &table), 0);
    pd_monitor_flow_table_ready(table);
    return table;
}

/* ---- what is new, and in a row ---- */

static void totals_are_made_differences(void **state)
{
    struct pd_flow_table *table = ready_table(0);
    struct pd_flow_entry *entry;

    (void)state;
    entry = take(table, make(1, PD_MONITOR_RETRANSMISSION, 100, 1, 50), 1);
    assert_int_equal(entry->consecutive, 1);
    entry = take(table, make(1, PD_MONITOR_RETRANSMISSION, 200, 2, 50), 1);
    assert_int_equal(entry->consecutive, 2);
    take(table, make(1, PD_MONITOR_RETRANSMISSION, 200, 2, 50), 0); /* twice */
    take(table, make(1, PD_MONITOR_RETRANSMISSION, 150, 1, 50), 0); /* late */
    entry = take(table, make(1, PD_MONITOR_RETRANSMISSION, 300, 5, 50), 3);
    assert_int_equal(entry->consecutive, 5);
    entry = take(table, make(1, PD_MONITOR_RETRANSMISSION, 400, 6, 51), 1);
    assert_int_equal(entry->consecutive, 1); /* something was acknowledged in between */
    entry = take(table, make(1, PD_MONITOR_SAMPLE, 500, 6, 60), 0);
    assert_int_equal(entry->consecutive, 0);
    assert_int_equal(entry->seen, 6);
    assert_int_equal(pd_monitor_flow_entry_recent(entry, 0), 6);
    assert_int_equal(pd_monitor_flow_entry_recent(entry, 300), 4);
    assert_int_equal(pd_monitor_flow_entry_recent(entry, 401), 0);
    assert_int_equal(entry->retransmission_ns, 400);
    pd_monitor_flow_table_free(table);
}

/* Between two samples nobody knows what came first. */
static struct pd_monitor_reading make_empty(unsigned port, uint64_t time_ns, uint32_t total)
{
    struct pd_monitor_reading reading = make(port, PD_MONITOR_RETRANSMISSION, time_ns, total, 1);

    reading.is_empty = true;
    return reading;
}

/* SYN and FIN; what the kernel counts for an answered SYN when the connection opens is one, too. */
static void what_carries_no_data_is_counted_apart(void **state)
{
    struct pd_flow_table *table = ready_table(0);

    (void)state;
    assert_int_equal(take(table, make_empty(1, 100, 1), 1)->empty, 1);
    take(table, make(1, PD_MONITOR_CHANGE, 110, 1, 1), 0);
    assert_int_equal(take(table, make(1, PD_MONITOR_RETRANSMISSION, 120, 3, 9), 2)->empty, 1);
    assert_int_equal(take(table, make_empty(1, 130, 4), 1)->empty, 2);
    assert_int_equal(take(table, make_empty(1, 130, 4), 0)->empty, 2); /* twice */
    assert_int_equal(take(table, make(2, PD_MONITOR_CHANGE, 100, 2, 1), 2)->empty, 2);
    assert_int_equal(take(table, make(2, PD_MONITOR_SAMPLE, 110, 3, 9), 1)->empty, 2);
    pd_monitor_flow_table_free(table);
}

static void samples_claim_only_what_is_outstanding(void **state)
{
    struct pd_flow_table *table = ready_table(0);
    struct pd_monitor_reading reading = make(1, PD_MONITOR_SAMPLE, 200, 9, 70);
    struct pd_flow_entry *entry;

    (void)state;
    take(table, make(1, PD_MONITOR_SAMPLE, 100, 1, 50), 1);
    reading.outstanding = 2;
    entry = take(table, reading, 8);
    assert_int_equal(entry->consecutive, 2);
    reading = make(1, PD_MONITOR_SAMPLE, 300, 10, 80);
    entry = take(table, reading, 1);
    assert_int_equal(entry->consecutive, 0); /* not known: nothing is claimed */
    reading = make(1, PD_MONITOR_SAMPLE, 400, 10, 80);
    reading.unanswered = 3;
    entry = take(table, reading, 0);
    assert_int_equal(entry->consecutive, 3); /* timeouts without an answer */
    assert_int_equal(entry->last.timeouts, 3);
    pd_monitor_flow_table_free(table);
}

static void what_was_before_is_not_new(void **state)
{
    struct pd_flow_table *table;
    struct pd_flow_entry *entry;

    (void)state;
    assert_int_equal(pd_monitor_flow_table_new(0, &table), 0);
    entry = take(table, make(1, PD_MONITOR_SAMPLE, 100, 7, 50), 0);
    assert_int_equal(entry->retransmission_ns, 0);
    pd_monitor_flow_table_ready(table);
    take(table, make(1, PD_MONITOR_RETRANSMISSION, 200, 8, 50), 1);
    take(table, make(2, PD_MONITOR_SAMPLE, 200, 4, 50), 4);
    assert_null(take(table, make(3, PD_MONITOR_SAMPLE, 200, 0, 50), 0)); /* all is well */
    pd_monitor_flow_table_free(table);
}

static void half_open_ones_open_or_give_up(void **state)
{
    struct pd_flow_table *table = ready_table(0);
    struct pd_monitor_reading syn = make(1, PD_MONITOR_RETRANSMISSION, 100, 1, 0);
    struct pd_flow_entry *entry;

    (void)state;
    syn.state = PD_MONITOR_SYN_RECV;
    syn.has_info = false;
    entry = take(table, syn, 1);
    assert_true(pd_monitor_flow_entry_is_half_open(entry));
    syn.retransmissions = 2;
    syn.time_ns = 200;
    entry = take(table, syn, 1);
    assert_int_equal(entry->consecutive, 2);
    entry = take(table, make(1, PD_MONITOR_CHANGE, 300, 2, 0), 0);
    assert_false(pd_monitor_flow_entry_is_half_open(entry));
    assert_int_equal(entry->consecutive, 0);
    assert_int_equal(entry->opened_ns, 300);
    pd_monitor_flow_table_close(table, entry, 400);
    assert_int_equal(entry->closed_ns, 400);
    pd_monitor_flow_table_expire(table, 400 + PD_MONITOR_CLOSED_NS);
    assert_int_equal(pd_monitor_flow_table_len(table), 1);
    pd_monitor_flow_table_expire(table, 401 + PD_MONITOR_CLOSED_NS);
    assert_int_equal(pd_monitor_flow_table_len(table), 0);
    assert_int_equal(pd_monitor_flow_table_forgotten(table), 0);
    pd_monitor_flow_table_free(table);
}

/* ---- room ---- */

static bool is_there(struct pd_flow_table *table, unsigned port)
{
    struct pd_monitor_reading reading = make(port, PD_MONITOR_SAMPLE, 0, 0, 0);

    return pd_monitor_flow_table_find(table, &reading.flow, port) != NULL;
}

/* Those that closed well, the well, closed ones, the quiet. */
static void what_matters_least_is_forgotten_first(void **state)
{
    struct pd_flow_table *table = ready_table(4);
    struct pd_monitor_reading closed = make(4, PD_MONITOR_CHANGE, 1, 0, 0);
    const unsigned order[] = {4, 3, 2, 1};

    (void)state;
    take(table, make(1, PD_MONITOR_RETRANSMISSION, 1, 1, 0), 1);
    pd_monitor_flow_table_close(table, take(table, make(2, PD_MONITOR_RETRANSMISSION, 2, 1, 0), 1),
                                3);
    take(table, make(3, PD_MONITOR_CHANGE, 4, 0, 0), 0);
    closed.closed = true;
    take(table, closed, 0);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(is_there(table, order[i]));
        take(table, make(10 + i, PD_MONITOR_RETRANSMISSION, 10 + i, 1, 0), 1);
        assert_false(is_there(table, order[i]));
        assert_int_equal(pd_monitor_flow_table_len(table), 4);
        assert_int_equal(pd_monitor_flow_table_forgotten(table), i + 1);
    }
    /* Now nobody knows what of a total is new: only the event itself. */
    take(table, make(1, PD_MONITOR_RETRANSMISSION, 50, 30, 0), 1);
    take(table, make(2, PD_MONITOR_SAMPLE, 50, 30, 0), 0);
    pd_monitor_flow_table_free(table);
}

static void a_dump_closes_what_is_gone(void **state)
{
    struct pd_flow_table *table = ready_table(0);
    struct pd_flow_entry *entry;
    uint32_t at = 0, open = 0;

    (void)state;
    for (unsigned port = 1; port <= 200; port++) {
        take(table, make(port, PD_MONITOR_RETRANSMISSION, port, 1, 0), 1);
    }
    pd_monitor_flow_table_dump_begin(table);
    for (unsigned port = 1; port <= 200; port += 2) {
        take(table, make(port, PD_MONITOR_SAMPLE, 1000, 1, 0), 0);
    }
    pd_monitor_flow_table_dump_end(table, 1000);
    while ((entry = pd_monitor_flow_table_next(table, &at))) {
        open += !entry->last.closed;
    }
    assert_int_equal(open, 100);
    pd_monitor_flow_table_free(table);
}

/* ---- the oracle: an array that is searched from end to end ---- */

#define PORTS 300

struct known {
    bool there, closed;
    uint32_t total;
    uint64_t seen;
};

static void check(struct pd_flow_table *table, const struct known known[PORTS])
{
    uint32_t at = 0, len = 0;
    struct pd_flow_entry *entry;

    for (unsigned port = 0; port < PORTS; port++) {
        len += known[port].there;
    }
    assert_int_equal(pd_monitor_flow_table_len(table), len);
    while ((entry = pd_monitor_flow_table_next(table, &at))) {
        const struct known *same = &known[entry->last.flow.src_port];
        assert_true(same->there);
        assert_int_equal(entry->last.closed, same->closed);
        assert_int_equal(entry->last.retransmissions, same->total);
        assert_int_equal(entry->seen, same->seen);
        len--;
    }
    assert_int_equal(len, 0);
}

static void as_the_oracle(void **state)
{
    struct random random = {test_seed()};
    struct known known[PORTS] = {{.there = false}};
    struct pd_flow_table *table = ready_table(0);

    (void)state;
    for (uint64_t now = 1; now < 20000; now++) {
        unsigned port = (unsigned)random_below(&random, PORTS);
        struct known *one = &known[port];
        struct pd_monitor_reading reading =
            make(port, (enum pd_monitor_reading_kind)random_below(&random, 3), now,
                 (uint32_t)random_below(&random, 3) + one->total, random_below(&random, 4));
        bool kept = one->there || reading.kind != PD_MONITOR_SAMPLE || reading.retransmissions > 0;
        uint32_t fresh = kept ? reading.retransmissions - one->total : 0;

        reading.closed = reading.kind == PD_MONITOR_CHANGE && random_below(&random, 2);
        assert_int_equal(take(table, reading, fresh) != NULL, kept);
        if (kept) {
            *one = (struct known){true, reading.closed, reading.retransmissions, one->seen + fresh};
        }
        if (now % 500 == 0) {
            check(table, known);
        }
    }
    check(table, known);
    pd_monitor_flow_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_are_made_differences),
        cmocka_unit_test(what_carries_no_data_is_counted_apart),
        cmocka_unit_test(samples_claim_only_what_is_outstanding),
        cmocka_unit_test(what_was_before_is_not_new),
        cmocka_unit_test(half_open_ones_open_or_give_up),
        cmocka_unit_test(what_matters_least_is_forgotten_first),
        cmocka_unit_test(a_dump_closes_what_is_gone),
        cmocka_unit_test(as_the_oracle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
