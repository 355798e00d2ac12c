/* SPDX-License-Identifier: Apache-2.0 */
/* Digests that do not tell what they should: switches that take no part or write wrong bits, one ID
 * for all packets, one packet, every TTL. No path is called known that was not taken. */
#include "codec/pint/flow.h"
#include "tests/unit/codec/pint/world.h"

enum { PLANS = 4 };

static const uint32_t taken[] = {1, 9, 17, 11, 3};
enum { LEN = sizeof taken / sizeof *taken };

static struct pd_pint_plan *plan_number(unsigned n)
{
    static const unsigned plans[PLANS][4] = {
        {8, 1, 0, 65536}, {8, 2, 32768, 65536}, {4, 2, 49152, 22938}, {8, 1, 65535, 65536}};

    return path_plan(plans[n][0], plans[n][1], plans[n][2], plans[n][3]);
}

/* How a switch of the path behaves. */
struct ill {
    uint32_t place; /* LEN: all are well */
    bool silent;    /* passes the digest on as it came; else some of its bits are wrong */
    uint16_t wrong;
};

static void send(struct world *world, uint32_t packet_id, const struct ill *ill)
{
    const uint64_t values[PD_PINT_QUERIES_MAX] = {0};
    struct pd_pint_visit visit = {.packet_id = packet_id, .values = values, .first = true};
    uint16_t digest = 0;
    size_t record;

    for (uint32_t p = 0; p < LEN; p++, visit.first = false) {
        const uint16_t before = digest;
        visit.sw = taken[p];
        visit.hop = p + 1;
        pd_pint_switch(world->plan, &visit, &digest);
        if (p == ill->place) {
            digest = ill->silent ? before : digest ^ (ill->wrong & random_next(&world->random));
        }
    }
    assert_int_equal(pd_pint_flow_add(world->flow, packet_id, digest, LEN, NULL, &record), 0);
}

static bool is_taken(const struct pd_pint_record *record)
{
    return record->path.len == LEN && !memcmp(record->path.switches, taken, sizeof taken);
}

static void nothing_wrong_is_known(const struct world *world)
{
    for (size_t r = 0; r < pd_pint_flow_records(world->flow); r++) {
        const struct pd_pint_record *record = pd_pint_flow_record(world->flow, r);
        assert_true(record->state != PD_PINT_KNOWN || is_taken(record));
    }
}

static void an_ill_switch_invents_no_path(void **state)
{
    unsigned known = 0;

    (void)state;
    for (unsigned turn = 0; turn < PLANS * LEN * 2; turn++) {
        const struct ill ill = {turn / 2 % LEN, turn % 2, 0xffff};
        struct world world;
        open_world(&world, plan_number(turn / 2 / LEN), 0);
        for (unsigned i = 0; i < 120; i++) {
            send(&world, (uint32_t)random_next(&world.random), &ill);
        }
        assert_int_equal(pd_pint_flow_end(world.flow), 0);
        nothing_wrong_is_known(&world);
        for (size_t r = 0; r < pd_pint_flow_records(world.flow); r++) {
            const struct pd_pint_record *record = pd_pint_flow_record(world.flow, r);
            known += record->state == PD_PINT_KNOWN && record->pkts > 100;
        }
        close_world(&world);
    }
    assert_int_equal(known, 0); /* the path that most packets would fit is never there */
}

/* IP ID 0 and the same bytes each time: a hundred packets tell no more than one. */
static void one_id_is_one_packet(void **state)
{
    const struct ill well = {LEN, false, 0};

    (void)state;
    for (unsigned turn = 0; turn < 40 * PLANS; turn++) {
        struct world world;
        open_world(&world, plan_number(turn % PLANS), 0);
        const uint32_t packet_id = (uint32_t)random_next(&world.random);
        for (unsigned i = 0; i < 700; i++) {
            send(&world, packet_id, &well);
        }
        assert_int_equal(pd_pint_flow_end(world.flow), 0);
        const struct pd_pint_record *record = pd_pint_flow_record(world.flow, 0);
        assert_true(record->state == PD_PINT_UNDECIDED || record->state == PD_PINT_DECIDED);
        assert_true(!record->path.len || is_taken(record));
        assert_int_equal(pd_pint_flow_records(world.flow), 1);
        assert_int_equal(record->pkts, 700);
        close_world(&world);
    }
}

/* Those that follow tell the path all the same: repeated digests took no room. */
static void others_are_heard_behind_one_id(void **state)
{
    const struct ill well = {LEN, false, 0};
    struct world world;

    (void)state;
    open_world(&world, plan_number(0), 0);
    for (unsigned i = 0; i < 2000; i++) {
        send(&world, 77, &well);
    }
    for (unsigned i = 0; i < 40; i++) {
        send(&world, (uint32_t)random_next(&world.random), &well);
    }
    assert_int_equal(pd_pint_flow_record(world.flow, 0)->state, PD_PINT_KNOWN);
    nothing_wrong_is_known(&world);
    close_world(&world);
}

static void one_packet_is_no_certainty(void **state)
{
    const struct ill well = {LEN, false, 0};

    (void)state;
    for (unsigned turn = 0; turn < 40 * PLANS; turn++) {
        struct world world;
        open_world(&world, plan_number(turn % PLANS), 0);
        send(&world, (uint32_t)random_next(&world.random), &well);
        assert_int_equal(pd_pint_flow_end(world.flow), 0);
        const struct pd_pint_record *record = pd_pint_flow_record(world.flow, 0);
        assert_true(record->state == PD_PINT_UNDECIDED || record->state == PD_PINT_DECIDED);
        assert_true(!record->path.len || is_taken(record));
        close_world(&world);
    }
}

/* A receiver meets any number of hops, also none and more than there may be. */
static void every_number_of_hops_is_met(void **state)
{
    struct world world;
    size_t record;

    (void)state;
    open_world(&world, plan_number(1), 0);
    for (uint32_t hops = 0; hops <= 255; hops++) {
        const uint32_t packet_id = (uint32_t)random_next(&world.random);
        pd_pint_flow_add(world.flow, packet_id, (uint16_t)random_next(&world.random), hops, NULL,
                         &record);
    }
    assert_int_equal(pd_pint_flow_end(world.flow), 0);
    nothing_wrong_is_known(&world);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ill_switch_invents_no_path),
        cmocka_unit_test(one_id_is_one_packet),
        cmocka_unit_test(others_are_heard_behind_one_id),
        cmocka_unit_test(one_packet_is_no_certainty),
        cmocka_unit_test(every_number_of_hops_is_met),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
