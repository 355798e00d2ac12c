/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas: what a switch does against a plain second writing of them, and what a receiver
 * works out against what the switches did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "codec/pint/draws.h"
#include "tests/shared/random.h"

static const char text[] =
    "{\"version\":1,\"seed\":11,\"carrier\":\"tag\",\"bits\":16,\"queries\":["
    "{\"name\":\"path\",\"aggregation\":\"static\",\"value\":\"switch-id\",\"bits\":3,"
    "\"instances\":2,\"tau\":30000,\"xor\":[13107,28443]},"
    "{\"name\":\"id\",\"aggregation\":\"static\",\"value\":\"switch-id\",\"coding\":\"fragment\","
    "\"bits\":4,\"value_bits\":10,\"tau\":20000,\"xor\":[9000]},"
    "{\"name\":\"latency\",\"aggregation\":\"dynamic\",\"value\":\"hop-latency-ns\",\"bits\":4,"
    "\"values\":[0,10,20,40,80],\"bounds\":[0,5,15,30,60]},"
    "{\"name\":\"sum\",\"aggregation\":\"packet\",\"function\":\"sum\",\"value\":\"queue-bytes\","
    "\"bits\":4,\"rounding\":\"random\",\"values\":[0,10,20,40,80,160,320,640,1280,2560]}],"
    "\"sets\":[{\"weight\":40000,\"queries\":[\"path\",\"id\",\"latency\"]},"
    "{\"weight\":20000,\"queries\":[\"sum\",\"path\"]}]}";

static struct pd_pint_plan *plan;

static int set_up(void **state)
{
    struct pd_error error;
    (void)state;
    return pd_pint_plan_parse(text, strlen(text), "plan", &plan, &error);
}

static int tear_down(void **state)
{
    (void)state;
    pd_pint_plan_free(plan);
    return 0;
}

static bool draws(uint32_t packet_id, uint32_t tag, uint32_t hop, uint32_t below)
{
    const uint32_t words[] = {packet_id, tag, hop};
    return pd_lookup3(plan->seed + 3, words, 3) >> 16 < below;
}

/* Which places a field's bits come from, hop by hop. */
static struct pd_pint_hops naive_hops(uint32_t packet_id, const struct pd_pint_field *field,
                                      unsigned first_hop, unsigned len)
{
    const struct pd_pint_query *query = &plan->queries[field->query];
    const uint32_t tag = pd_pint_tag(field), words[] = {packet_id, tag};
    const uint32_t l = pd_lookup3(plan->seed + 2, words, 2) >> 16;
    const bool reservoir = query->aggregation != PD_PINT_STATIC || l < query->tau;
    struct pd_pint_hops hops = {{0}};
    for (unsigned p = 0; p < len; p++) {
        const uint32_t hop = first_hop + p;
        uint32_t below = 65536 / hop;
        if (!reservoir) {
            below = query->xor_layers[(l - query->tau) * query->xor_len / (65536 - query->tau)];
        }
        if (draws(packet_id, tag, hop, below)) {
            if (reservoir) {
                memset(&hops, 0, sizeof hops);
            }
            hops.words[p / 64] |= UINT64_C(1) << p % 64;
        }
    }
    return hops;
}

static void clues_name_the_writers(void **state)
{
    struct random random = {test_seed()};
    unsigned unwritten = 0;
    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        const uint32_t packet_id = (uint32_t)random_next(&random);
        const unsigned first_hop = 1 + (unsigned)random_below(&random, 4);
        const unsigned len = 1 + (unsigned)random_below(&random, PD_PINT_HOPS_MAX);
        const struct pd_pint_field *field = &plan->sets[0].fields[random_below(&random, 4)];
        struct pd_pint_clue clue;
        pd_pint_clue(plan, field, packet_id, 0xffff, first_hop, len, &clue);
        const struct pd_pint_hops wanted = naive_hops(packet_id, field, first_hop, len);
        assert_memory_equal(&clue.hops, &wanted, sizeof wanted);
        unwritten += clue.last_writer && pd_pint_writer(&clue) < 0;
    }
    assert_true(unwritten > 0); /* only behind hosts that route */
}

/* What the clue names, put together, is what the switches wrote. */
static void clues_explain_digests(void **state)
{
    struct random random = {test_seed()};
    (void)state;
    for (unsigned i = 0; i < 5000; i++) {
        uint32_t path[40];
        uint64_t values[PD_PINT_QUERIES_MAX] = {0};
        const unsigned len = 1 + (unsigned)random_below(&random, 40);
        struct pd_pint_visit visit = {.packet_id = (uint32_t)random_next(&random),
                                      .values = values};
        uint16_t digest = 0;
        for (unsigned p = 0; p < len; p++) {
            path[p] = visit.sw = 1 + (uint32_t)random_below(&random, 1000);
            visit.hop = 1 + p;
            visit.first = p == 0;
            assert_false(pd_pint_switch(plan, &visit, &digest));
        }
        const int set = pd_pint_set_of(plan, visit.packet_id);
        for (unsigned f = 0; set >= 0 && f < plan->sets[set].fields_len; f++) {
            struct pd_pint_clue clue;
            uint32_t bits = 0;
            const struct pd_pint_field *field = &plan->sets[set].fields[f];
            if (plan->queries[field->query].aggregation != PD_PINT_STATIC) {
                continue;
            }
            pd_pint_clue(plan, field, visit.packet_id, digest, 1, len, &clue);
            for (unsigned p = 0; p < len; p++) {
                if (pd_pint_hops_has(&clue.hops, p)) {
                    bits ^= pd_pint_static_bits(plan, clue.query, clue.packet_id, clue.tag, path[p],
                                                1 + p, path[p]);
                }
            }
            assert_int_equal(bits, clue.bits);
        }
    }
}

static void sets_have_their_shares(void **state)
{
    struct random random = {test_seed()};
    unsigned seen[3] = {0};
    const unsigned draws_made = 200000;
    (void)state;
    for (unsigned i = 0; i < draws_made; i++) {
        seen[pd_pint_set_of(plan, (uint32_t)random_next(&random)) + 1]++;
    }
    /* five standard deviations of a binomial */
    assert_in_range(seen[1], 122070 - 1090, 122070 + 1090);
    assert_in_range(seen[2], 61035 - 1030, 61035 + 1030);
}

static void codes_of_values(void **state)
{
    struct random random = {test_seed()};
    double sum = 0;
    const unsigned rounds = 100000;
    (void)state;
    assert_int_equal(pd_pint_code(plan, 2, 1, 1, 0), 0);
    assert_int_equal(pd_pint_code(plan, 2, 1, 1, 4), 0);
    assert_int_equal(pd_pint_code(plan, 2, 1, 1, 5), 1);
    assert_int_equal(pd_pint_code(plan, 2, 1, 1, 59), 3);
    assert_int_equal(pd_pint_code(plan, 2, 1, 1, UINT32_MAX), 4);
    for (unsigned i = 0; i < rounds; i++) {
        sum += (double)plan->queries[3]
                   .values[pd_pint_code(plan, 3, (uint32_t)random_next(&random), 1, 100)];
    }
    /* right for the value: 100 lies between 80 and 160, standard deviation 34.7 */
    assert_true(sum / rounds > 99.4 && sum / rounds < 100.6);
}

/* Probability 1 / i each: each hop's value arrives equally often. */
static void dynamic_values_are_drawn_evenly(void **state)
{
    struct random random = {test_seed()};
    unsigned seen[8] = {0};
    (void)state;
    for (unsigned i = 0; i < 80000; i++) {
        struct pd_pint_clue clue;
        pd_pint_clue(plan, &plan->sets[0].fields[3], (uint32_t)random_next(&random), 0, 1, 8,
                     &clue);
        seen[pd_pint_writer(&clue)]++;
    }
    for (unsigned p = 0; p < 8; p++) {
        assert_in_range(seen[p], 10000 - 480, 10000 + 480);
    }
}

static void same_clues(const struct pd_pint_draw *draw, uint32_t packet_id, uint32_t hops,
                       unsigned first_hop)
{
    assert_int_equal(draw->set, pd_pint_set_of(plan, packet_id));
    for (unsigned f = 0; draw->set >= 0 && f < plan->sets[draw->set].fields_len; f++) {
        const struct pd_pint_field *field = &plan->sets[draw->set].fields[f];
        const enum pd_pint_aggregation kind = plan->queries[field->query].aggregation;
        struct pd_pint_clue clue, drawn;
        if (kind != PD_PINT_STATIC && kind != PD_PINT_DYNAMIC) {
            continue;
        }
        pd_pint_clue(plan, field, packet_id, 0x5a5a, first_hop, hops + 1 - first_hop, &clue);
        pd_pint_drawn_clue(plan, draw, f, packet_id, 0x5a5a, first_hop, hops + 1 - first_hop,
                           &drawn);
        assert_memory_equal(&clue.hops, &drawn.hops, sizeof clue.hops);
        assert_int_equal(clue.last_writer, drawn.last_writer);
        assert_int_equal(clue.bits, drawn.bits);
        assert_int_equal(clue.tag, drawn.tag);
    }
}

/* Packets of several sets and lengths side by side, each as if it were alone. */
static void draws_side_by_side_are_the_same(void **state)
{
    struct random random = {test_seed()};
    (void)state;
    for (unsigned i = 0; i < 5000; i++) {
        const unsigned len = 1 + (unsigned)random_below(&random, PD_PINT_DRAWS_MAX);
        const unsigned most = random_below(&random, 2) ? 8 : PD_PINT_HOPS_MAX;
        uint32_t packet_ids[PD_PINT_DRAWS_MAX], hops[PD_PINT_DRAWS_MAX];
        struct pd_pint_draw drawn[PD_PINT_DRAWS_MAX];
        for (unsigned p = 0; p < len; p++) {
            packet_ids[p] = (uint32_t)random_next(&random);
            hops[p] = 1 + (uint32_t)random_below(&random, most);
        }
        pd_pint_draw(plan, packet_ids, hops, len, drawn);
        for (unsigned p = 0; p < len; p++) {
            const unsigned first_hop = 1 + (unsigned)random_below(&random, 4);
            same_clues(&drawn[p], packet_ids[p], hops[p], first_hop < hops[p] ? first_hop : 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clues_name_the_writers),
        cmocka_unit_test(clues_explain_digests),
        cmocka_unit_test(sets_have_their_shares),
        cmocka_unit_test(codes_of_values),
        cmocka_unit_test(dynamic_values_are_drawn_evenly),
        cmocka_unit_test(draws_side_by_side_are_the_same),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
