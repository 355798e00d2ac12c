/* SPDX-License-Identifier: Apache-2.0 */
/* The minus meter: lossless, lossy and dead flows, and all that counts for nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "meter/compare.h"

enum { UP, DOWN, WIDTH = 1024, FILTER = 42 };

struct fixture {
    struct pd_meter_reading readings[2];
    struct pd_meter_entry entries[64];
    struct pd_meter_stray strays[4];
    struct pd_meter_readings all;
    struct pd_meter_result results[16];
    size_t results_len;
};

static struct pd_flow_id flow_of(uint16_t n)
{
    return (struct pd_flow_id){.src_port = n, .dst_port = 80, .protocol = 17, .ip_version = 4};
}

static void init(struct fixture *f)
{
    *f = (struct fixture){
        .readings = {{.monitor = 1, .rows = 2, .width = WIDTH},
                     {.monitor = 3, .downstream = true, .rows = 2, .width = WIDTH}}};
    f->all = (struct pd_meter_readings){
        .readings = f->readings, .len = 2, .entries = f->entries, .strays = f->strays};
}

/* A flow's clean buckets in both rows of a meter. */
static void add(struct fixture *f, uint32_t reading, uint16_t flow, uint64_t epoch, uint64_t pkts)
{
    const struct pd_flow_id id = flow_of(flow);

    for (uint8_t row = 0; row < 2; row++) {
        f->entries[f->all.entries_len++] =
            (struct pd_meter_entry){.epoch = epoch,
                                    .reading = reading,
                                    .bucket = pd_meter_place(&id, row, WIDTH),
                                    .row = row,
                                    .flow = id,
                                    .filter = reading == DOWN ? FILTER : 0,
                                    .pkts = pkts};
    }
}

static struct pd_meter_entry *last(struct fixture *f)
{
    return &f->entries[f->all.entries_len - 1];
}

static void make_dirty(struct pd_meter_entry *entry)
{
    *entry = (struct pd_meter_entry){.epoch = entry->epoch,
                                     .reading = entry->reading,
                                     .bucket = entry->bucket,
                                     .row = entry->row,
                                     .dirty = true};
}

static bool ends_at(void *context, const struct pd_flow_id *flow, uint32_t from, uint32_t monitor)
{
    (void)context;
    (void)from;
    (void)flow;
    return monitor == 3;
}

static int take(void *context, const struct pd_meter_result *result)
{
    struct fixture *f = context;

    assert_true(f->results_len < 16);
    f->results[f->results_len++] = *result;
    return 0;
}

static void run(struct fixture *f)
{
    const struct pd_meter_compare compare = {.ends_at = ends_at, .result = take, .context = f};

    assert_int_equal(pd_meter_compare(&f->all, &compare), 0);
}

static void expect(const struct fixture *f, size_t i, enum pd_meter_why why, uint64_t sent,
                   uint64_t lost)
{
    assert_true(i < f->results_len);
    assert_int_equal(f->results[i].why, why);
    if (!why) {
        assert_int_equal(f->results[i].sent, sent);
        assert_int_equal(f->results[i].lost, lost);
        assert_int_equal(f->results[i].filter, FILTER);
    }
}

static void losses_are_sent_less_received(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    add(&f, UP, 1, 10, 100);
    add(&f, DOWN, 1, 10, 97);
    add(&f, UP, 1, 11, 50);
    add(&f, DOWN, 1, 11, 50);
    add(&f, UP, 2, 10, 7);
    add(&f, DOWN, 2, 10, 9); /* duplicates */
    run(&f);
    assert_int_equal(f.results_len, 3);
    for (size_t i = 0; i < 3; i++) {
        const bool second = f.results[i].flow.src_port == 2;
        expect(&f, i, PD_METER_MEASURED,
               second                     ? 7
               : f.results[i].epoch == 10 ? 100
                                          : 50,
               second || f.results[i].epoch == 11 ? 0 : 3);
        assert_int_equal(f.results[i].more_received, second);
    }
}

static void a_dead_flow_is_lost_whole_where_its_path_is_known(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    add(&f, UP, 1, 10, 100);
    add(&f, DOWN, 1, 10, 100);
    add(&f, UP, 1, 11, 60);
    add(&f, DOWN, 9, 11, 5); /* the far end has a meter of this epoch */
    add(&f, UP, 2, 11, 60);  /* never seen before */
    add(&f, UP, 1, 12, 60);  /* nobody has read the far end */
    run(&f);
    assert_int_equal(f.results_len, 4);
    expect(&f, 0, PD_METER_MEASURED, 100, 0);
    expect(&f, 1, PD_METER_MEASURED, 60, 60);
    expect(&f, 2, PD_METER_UNREAD, 0, 0);
    expect(&f, 3, PD_METER_PATHLESS, 0, 0);
}

static void what_collides_counts_for_nothing(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    add(&f, UP, 1, 10, 100);
    add(&f, DOWN, 1, 10, 100);
    make_dirty(last(&f));
    make_dirty(last(&f) - 1);
    run(&f);
    assert_int_equal(f.results_len, 1);
    expect(&f, 0, PD_METER_COLLIDED, 0, 0);

    init(&f); /* one clean bucket at each end is enough */
    add(&f, UP, 1, 10, 100);
    make_dirty(last(&f));
    add(&f, DOWN, 1, 10, 90);
    make_dirty(last(&f) - 1);
    run(&f);
    expect(&f, 0, PD_METER_MEASURED, 100, 10);

    init(&f); /* upstream nothing is known */
    add(&f, DOWN, 1, 10, 90);
    run(&f);
    assert_int_equal(f.results_len, 0);
}

static void what_disagrees_or_strays_counts_for_nothing(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    add(&f, UP, 1, 10, 100);
    last(&f)->pkts = 99;
    add(&f, DOWN, 1, 10, 90);
    add(&f, UP, 2, 10, 10);
    add(&f, DOWN, 2, 10, 10);
    last(&f)->filter = 7;
    add(&f, UP, 3, 10, 10);
    add(&f, DOWN, 3, 10, 10);
    f.strays[f.all.strays_len++] = (struct pd_meter_stray){.epoch = 10, .flow = flow_of(3)};
    f.strays[f.all.strays_len++] = (struct pd_meter_stray){.epoch = 11, .flow = flow_of(1)};
    run(&f);
    assert_int_equal(f.results_len, 3);
    expect(&f, 0, PD_METER_DISAGREE, 0, 0);
    expect(&f, 1, PD_METER_DISAGREE, 0, 0);
    expect(&f, 2, PD_METER_STRAY, 0, 0);
}

/* The second stretch of the same flow begins where the first one ends. */
static void stretches_of_a_flow_are_compared_apart(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    add(&f, UP, 1, 10, 100);
    add(&f, DOWN, 1, 10, 90);
    for (size_t i = 0; i < f.all.entries_len; i++) {
        f.entries[i].from = 1;
    }
    add(&f, UP, 1, 10, 90);
    add(&f, DOWN, 1, 10, 88);
    for (size_t i = 4; i < f.all.entries_len; i++) {
        f.entries[i].from = 2;
    }
    run(&f);
    assert_int_equal(f.results_len, 2);
    expect(&f, 0, PD_METER_MEASURED, 100, 10);
    expect(&f, 1, PD_METER_MEASURED, 90, 2);
    assert_int_equal(f.results[1].from, 2);
}

static bool was_seen(void *context, const struct pd_flow_id *flow, uint32_t from,
                     uint64_t *ret_filter)
{
    (void)context;
    (void)from;
    *ret_filter = FILTER;
    return flow->src_port == 1;
}

static void what_was_seen_before_the_readings_counts(void **state)
{
    struct fixture f;
    const struct pd_meter_compare compare = {
        .ends_at = ends_at, .seen_before = was_seen, .result = take, .context = &f};

    (void)state;
    init(&f);
    add(&f, UP, 1, 11, 60);
    add(&f, UP, 2, 11, 60);
    add(&f, DOWN, 9, 11, 5);
    assert_int_equal(pd_meter_compare(&f.all, &compare), 0);
    assert_int_equal(f.results_len, 2);
    expect(&f, 0, PD_METER_MEASURED, 60, 60);
    expect(&f, 1, PD_METER_PATHLESS, 0, 0);
}

static void nothing_is_compared_to_nothing(void **state)
{
    struct fixture f;

    (void)state;
    init(&f);
    run(&f);
    assert_int_equal(f.results_len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_sent_less_received),
        cmocka_unit_test(a_dead_flow_is_lost_whole_where_its_path_is_known),
        cmocka_unit_test(what_collides_counts_for_nothing),
        cmocka_unit_test(what_disagrees_or_strays_counts_for_nothing),
        cmocka_unit_test(stretches_of_a_flow_are_compared_apart),
        cmocka_unit_test(what_was_seen_before_the_readings_counts),
        cmocka_unit_test(nothing_is_compared_to_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
