/* SPDX-License-Identifier: Apache-2.0 */
/* Flows: known paths, changes, walks that are not in the file, bounds. On a fat-tree of 4. */
#include "codec/pint/flow.h"
#include "tests/unit/codec/pint/world.h"

static const uint32_t first[] = {1, 9, 17, 11, 3}, other[] = {1, 10, 19, 12, 3},
                      detour[] = {1, 10, 20, 12, 4, 11, 3}, crossed[] = {1, 9, 20, 11, 3};

static void send(struct world *world, const uint32_t *ids, uint32_t len, uint32_t offset,
                 unsigned pkts)
{
    uint32_t walk[PD_PINT_HOPS_MAX];

    for (uint32_t p = 0; p < len; p++) {
        walk[p] = pd_topology_switch(world->topology, ids[p]);
    }
    for (unsigned i = 0; i < pkts; i++) {
        const uint32_t packet_id = (uint32_t)random_next(&world->random);
        size_t record;
        assert_int_equal(
            pd_pint_flow_add(world->flow, packet_id,
                             walked(world->plan, world->topology, walk, len, 1 + offset, packet_id),
                             len + offset, NULL, &record),
            0);
    }
}
#define SEND(world, ids, offset, pkts) send(world, ids, sizeof(ids) / sizeof *(ids), offset, pkts)

static void expect(const struct world *world, size_t number, enum pd_pint_state state,
                   const uint32_t *ids, uint32_t len)
{
    const struct pd_pint_record *record = pd_pint_flow_record(world->flow, number);

    assert_int_equal(record->state, state);
    assert_int_equal(record->path.len, len);
    for (uint32_t p = 0; p < len; p++) {
        assert_int_equal(record->path.switches[p], ids[p]);
    }
}
#define EXPECT(world, number, state, ids) \
    expect(world, number, state, ids, sizeof(ids) / sizeof *(ids))

static void paths_become_known(void **state)
{
    struct world world;
    (void)state;
    open_world(&world, path_plan(8, 1, 0, 65536), 0);
    SEND(&world, first, 0, 10);
    EXPECT(&world, 0, PD_PINT_KNOWN, first);
    assert_int_equal(pd_pint_flow_record(world.flow, 0)->known_at, 3); /* 3 * 8 bits >= 20 */
    assert_int_equal(pd_pint_flow_records(world.flow), 1);
    close_world(&world);
}

static void hosts_may_route_before_the_first_switch(void **state)
{
    struct world world;
    (void)state;
    open_world(&world, path_plan(8, 1, 32768, 65536), 0);
    SEND(&world, first, 2, 60);
    EXPECT(&world, 0, PD_PINT_KNOWN, first);
    assert_int_equal(pd_pint_flow_record(world.flow, 0)->path.first_hop, 3);
    close_world(&world);
}

static void changes_begin_records(void **state)
{
    struct world world;
    (void)state;
    open_world(&world, path_plan(8, 2, 0, 65536), 0);
    SEND(&world, first, 0, 20);
    SEND(&world, other, 0, 20);
    SEND(&world, detour, 0, 20);
    SEND(&world, first, 0, 20);
    assert_int_equal(pd_pint_flow_records(world.flow), 3);
    EXPECT(&world, 0, PD_PINT_KNOWN, first);
    EXPECT(&world, 1, PD_PINT_KNOWN, other);
    EXPECT(&world, 2, PD_PINT_KNOWN, detour);
    assert_int_equal(pd_pint_flow_record(world.flow, 0)->pkts, 40);
    assert_int_equal(pd_pint_flow_record(world.flow, 1)->first_packet, 21);
    assert_int_equal(pd_pint_flow_record(world.flow, 1)->pkts, 20);
    assert_int_equal(pd_pint_receiver_counters(world.receiver)->changes, 2);
    close_world(&world);
}

/* Before the first path is known: its packets stay without one, the second path gets known. */
static void a_change_before_anything_is_known(void **state)
{
    struct world world;
    (void)state;
    open_world(&world, path_plan(8, 1, 0, 65536), 0);
    SEND(&world, first, 0, 2);
    SEND(&world, other, 0, 20);
    assert_int_equal(pd_pint_flow_end(world.flow), 0);
    const size_t records = pd_pint_flow_records(world.flow);
    EXPECT(&world, records - 1, PD_PINT_KNOWN, other);
    uint64_t pkts = 0;
    for (size_t r = 0; r < records; r++) {
        pkts += pd_pint_flow_record(world.flow, r)->pkts;
    }
    assert_int_equal(pkts, 22);
    close_world(&world);
}

static void walks_beside_the_file_are_miscabled(void **state)
{
    struct world world;
    (void)state;
    open_world(&world, path_plan(8, 2, 49152, 22938), 0);
    SEND(&world, crossed, 0, 80);
    assert_int_equal(pd_pint_flow_end(world.flow), 0);
    EXPECT(&world, 0, PD_PINT_MISCABLED, crossed);
    close_world(&world);
}

/* Digests of another plan: no path is made of them. */
static void noise_is_infeasible(void **state)
{
    struct world world;
    (void)state;
    open_world(&world, path_plan(8, 1, 32768, 65536), 0);
    for (unsigned i = 0; i < 300; i++) {
        size_t record;
        assert_int_equal(pd_pint_flow_add(world.flow, (uint32_t)random_next(&world.random),
                                          (uint16_t)random_next(&world.random), 5, NULL, &record),
                         0);
    }
    assert_int_equal(pd_pint_flow_end(world.flow), 0);
    for (size_t r = 0; r < pd_pint_flow_records(world.flow); r++) {
        assert_int_equal(pd_pint_flow_record(world.flow, r)->path.len, 0);
    }
    assert_int_equal(pd_pint_flow_record(world.flow, 0)->state, PD_PINT_INFEASIBLE);
    close_world(&world);
}

static void without_room_flows_stay_undecided_and_are_counted(void **state)
{
    struct world world;
    (void)state;
    open_world(&world, path_plan(8, 1, 0, 65536), 1);
    SEND(&world, first, 0, 1);
    struct pd_pint_flow *second = NULL;
    size_t record;
    assert_int_equal(pd_pint_flow_new(world.receiver, 0, 3, &second), 0);
    assert_int_equal(pd_pint_flow_add(second, 1, 1, 5, NULL, &record), 0);
    assert_int_equal(pd_pint_flow_record(second, 0)->state, PD_PINT_UNDECIDED);
    assert_true(pd_pint_receiver_counters(world.receiver)->flows_full > 0);
    pd_pint_flow_free(second);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_become_known),
        cmocka_unit_test(hosts_may_route_before_the_first_switch),
        cmocka_unit_test(changes_begin_records),
        cmocka_unit_test(a_change_before_anything_is_known),
        cmocka_unit_test(walks_beside_the_file_are_miscabled),
        cmocka_unit_test(noise_is_infeasible),
        cmocka_unit_test(without_room_flows_stay_undecided_and_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
