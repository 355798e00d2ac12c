/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: a line card that loses packets is named as such, and a switch that has
 * line cards still is, when all of it does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/localise/flows.h"
#include "topology/links.h"

enum { CORE = 17, PERIODS = 40, FLOWS = 150, PKTS = 300 };

struct rig {
    struct pd_topology *topology;
    struct pd_localiser *localiser;
    struct flows flows;
    struct random random;
    struct pd_verdict verdict;
};

/* The ports of the core towards the first two pods are on card 1, those to the others on card 2. */
static void add_cards(struct pd_topology *topology)
{
    struct pd_link *links = (struct pd_link *)(uintptr_t)topology->links;

    for (uint32_t i = 0; i < topology->fabric_links_len; i++) {
        for (int end = 0; end < 2; end++) {
            uint32_t other = topology->switches[links[i].ends[!end]].id;

            if (topology->switches[links[i].ends[end]].id == CORE) {
                links[i].cards[end] = other < 13 ? 1 : 2;
            }
        }
    }
}

static int set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);

    if (!rig || pd_topology_fat_tree(4, &rig->topology, NULL)) {
        return -1;
    }
    add_cards(rig->topology);
    struct pd_localiser_config config = {
        .topology = rig->topology, .link_mbps = 1000, .period_us = 200000};
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

/* Packets that cross the core from or to a pod's switch below `first_safe` are at risk. */
static bool is_at_risk(const struct pd_path *path, uint32_t first_safe)
{
    return path->len == 5 && path->switches[2] == CORE &&
           (path->switches[1] < first_safe || path->switches[3] < first_safe);
}

static void run_period(struct rig *rig, uint32_t first_safe)
{
    struct flows *flows = &rig->flows;

    for (flows->len = 0; flows->len < FLOWS;) {
        size_t i = flows->len;
        struct pd_evidence_row *row = add_flow(flows, &rig->random, 1, 1, 0, PKTS);
        bool at_risk = is_at_risk(&flows->paths[i], first_safe);

        for (int p = 0; p < PKTS && at_risk; p++) {
            row->lost += random_below(&rig->random, 100) < 2;
        }
        flows->ways[i].pkts = row->pkts = PKTS;
    }
    assert_int_equal(observe_flows(rig->localiser, flows), 0);
    assert_int_equal(pd_localiser_locate(rig->localiser, &rig->verdict), 0);
}

/* Whether that is what is named. */
static bool names_fault(struct rig *rig, const char *kind, const char *what)
{
    json_t *answer = pd_localiser_answer(rig->localiser, 0);
    const json_t *faults = json_object_get(answer, "faults"), *fault = json_array_get(faults, 0);

    const char *first = json_string_value(json_array_get(json_object_get(fault, "what"), 0));
    bool is_it = json_array_size(faults) == 1 && !strcmp(first, what) &&
                 !strcmp(json_string_value(json_object_get(answer, "kind")), kind) &&
                 json_integer_value(json_array_get(json_object_get(answer, "switches"), 0)) == CORE;

    assert_true(!rig->verdict.certain || is_it);
    json_decref(answer);
    return is_it;
}

/* Between two pods a packet is at risk twice on its card, which changes the rate, not the name. */
static void a_line_card_is_one_fault(void **state)
{
    for (int period = 0; period < PERIODS; period++) {
        run_period(*state, 13);
        names_fault(*state, "card", "17 card 1");
    }
}

static void a_switch_with_cards_is_one_fault(void **state)
{
    for (int period = 0; period < PERIODS; period++) {
        run_period(*state, 17);
    }
    assert_true(names_fault(*state, "switch", "17"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_line_card_is_one_fault),
        TEST(a_switch_with_cards_is_one_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
