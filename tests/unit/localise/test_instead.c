/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: losses that are no link's fault are told as what they are: of a queue
 * that is full when much is sent, of a host that makes them up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/localise/flows.h"

enum { PERIODS = 60, BUSY = 200, IDLE = 40, PKTS = 300, EVERY = 3, LIAR = 0 };

struct rig {
    struct pd_topology *topology;
    struct pd_localiser *localiser;
    struct flows flows;
    struct random random;
    struct pd_verdict verdict;
};

static int set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);

    if (!rig || pd_topology_fat_tree(4, &rig->topology, NULL)) {
        return -1;
    }
    struct pd_localiser_config config = {.topology = rig->topology, .period_us = 200000};
    rig->random.state = test_seed();
    *state = rig;
    return pd_localiser_new(pd_localiser_find("evidence"), &config, &rig->localiser);
}

static int tear_down(void **state)
{
    struct rig *rig = *state;

    pd_localiser_free(rig->localiser);
    pd_topology_free(rig->topology);
    free(rig);
    return 0;
}

static void conclude(struct rig *rig)
{
    assert_int_equal(observe_flows(rig->localiser, &rig->flows), 0);
    assert_int_equal(pd_localiser_locate(rig->localiser, &rig->verdict), 0);
}

static void fill(struct rig *rig, int period, double loss)
{
    size_t len = period % EVERY == 0 ? BUSY : IDLE;

    for (rig->flows.len = 0; rig->flows.len < len;) {
        add_flow(&rig->flows, &rig->random, 9, 17, loss, PKTS);
    }
}

/* Much is sent in each third period; 9-17 loses `busy` of its packets then, `idle` else. */
static void run_period(struct rig *rig, int period, double busy, double idle)
{
    fill(rig, period, period % EVERY == 0 ? busy : idle);
    conclude(rig);
}

/* The first of the faults told. */
static void check_first(const struct rig *rig, const char *kind, const char *what)
{
    json_t *answer = pd_localiser_answer(rig->localiser, 0);
    const json_t *fault = json_array_get(json_object_get(answer, "faults"), 0);

    assert_string_equal(json_string_value(json_object_get(answer, "kind")), kind);
    assert_string_equal(json_string_value(json_object_get(fault, "kind")), kind);
    assert_string_equal(json_string_value(json_array_get(json_object_get(fault, "what"), 0)), what);
    json_decref(answer);
}

static void losses_that_go_with_the_load_are_congestion(void **state)
{
    struct rig *rig = *state;

    for (int period = 0; period < PERIODS; period++) {
        run_period(rig, period, 0.02, 0);
        assert_false(rig->verdict.certain);
    }
    assert_int_equal(rig->verdict.links_len, 0);
    check_first(rig, "congestion", "9-17");
}

static void a_fault_loses_at_any_load(void **state)
{
    struct rig *rig = *state;

    for (int period = 0; period < PERIODS; period++) {
        run_period(rig, period, 0.02, 0.02);
    }
    assert_true(rig->verdict.certain && names(&rig->verdict, 9, 17));
    assert_int_equal(rig->verdict.links_len, 1);
    check_first(rig, "link", "9-17");
}

/* Counted paths: rows of lossy periods are larger, as meters give them and as probes are sent. */
static void run_paths(struct rig *rig, int period, double loss)
{
    fill(rig, period, loss);
    for (size_t i = 0; i < rig->flows.len; i++) {
        rig->flows.rows[i].kind = PD_EVIDENCE_PATH;
        rig->flows.rows[i].pkts = PKTS;
    }
    conclude(rig);
}

static void counted_paths_tell_no_load(void **state)
{
    struct rig *rig = *state;
    static const double losses[] = {0.05, 1};

    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        tear_down(state);
        set_up(state);
        rig = *state;
        for (int period = 0; period < PERIODS; period++) {
            run_paths(rig, 1, 0);
        }
        for (int period = 0; period < PERIODS; period++) {
            run_paths(rig, period, period % EVERY ? 0 : losses[i]);
        }
        assert_true(names(&rig->verdict, 9, 17));
        assert_int_equal(rig->verdict.links_len, 1);
        check_first(rig, "link", "9-17");
    }
}

/* What was full once and is faulty now is named. */
static void a_fault_after_congestion_is_found(void **state)
{
    struct rig *rig = *state;

    for (int period = 0; period < PERIODS; period++) {
        run_period(rig, period, 0.02, 0);
    }
    for (int period = 0; period < 5 * PERIODS; period++) {
        run_period(rig, period, 0.02, 0.02);
    }
    assert_true(names(&rig->verdict, 9, 17));
    assert_int_equal(rig->verdict.links_len, 1);
}

/* Faint losses that have stopped are missed after seconds, though a second tells nothing. */
static void a_faint_fault_that_ended_is_given_up(void **state)
{
    struct rig *rig = *state;

    for (int period = 0; period < 5 * PERIODS; period++) {
        run_period(rig, 0, 0.004, 0);
    }
    assert_true(names(&rig->verdict, 9, 17));
    for (int period = 0; period < PERIODS; period++) {
        run_period(rig, 0, 0, 0);
    }
    assert_false(names(&rig->verdict, 9, 17));
}

static bool tells_of(const json_t *list, const char *word)
{
    const json_t *text;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)list, i, text)
    {
        if (strstr(json_string_value(text), word)) {
            return true;
        }
    }
    return false;
}

/* One host of 16 says that it lost a tenth of what it sent over 9-17; all others lost nothing. */
static void a_host_that_makes_losses_up_is_named(void **state)
{
    struct rig *rig = *state;

    for (int period = 0; period < PERIODS; period++) {
        for (rig->flows.len = 0; rig->flows.len < BUSY;) {
            size_t at = rig->flows.len;
            struct pd_evidence_row *row = add_flow(&rig->flows, &rig->random, 1, 1, 0, PKTS);
            const struct pd_addr liar = host_addr(LIAR);
            bool is_his = !memcmp(&row->flow.src, &liar, sizeof liar);
            bool crosses = pd_path_crosses(&rig->flows.paths[at], (struct pd_link_match){9, 17});

            row->lost = is_his && crosses ? PKTS / 10 : 0;
        }
        conclude(rig);
        assert_false(rig->verdict.certain);
    }
    json_t *answer = pd_localiser_answer(rig->localiser, 0);
    assert_int_equal(rig->verdict.links_len, 0);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(answer, "hosts"), 0)),
                     21 + LIAR);
    assert_true(tells_of(json_object_get(answer, "lacks"), "host 21"));
    json_decref(answer);
    check_first(rig, "host", "21");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(losses_that_go_with_the_load_are_congestion, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_fault_loses_at_any_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(counted_paths_tell_no_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_fault_after_congestion_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_faint_fault_that_ended_is_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_host_that_makes_losses_up_is_named, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
