/* SPDX-License-Identifier: Apache-2.0 */
/* A host's part of a plan: which probes are believed, and what is told of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "agent/probes/collect.h"
#include "telemetry/sr_int/sr_int.h"

enum { HOST = 25, HOPS = 5, PLAN = 7 };

static const uint32_t path[HOPS] = {1, 9, 17, 11, 3};

struct scene {
    struct pd_topology *topology;
    struct pd_agent_probe_part part;
};

static void give(struct scene *scene, uint32_t number, uint32_t hold_from)
{
    struct pd_probe_order order;
    struct pd_error error = {0};
    json_t *document = json_pack(
        "{s:i, s:I, s:s, s:i, s:i, s:s, s:[{s:i, s:[i, i, i, i, i], s:i, s:i}], s:I}", "plan", PLAN,
        "order", (json_int_t)number, "carrier", "sr-int", "rate_hz", 100, "lease_ms", 1000, "key",
        "00112233445566778899aabbccddeeff", "ways", "number", 3, "path", 1, 9, 17, 11, 3,
        "from_host", 21, "to_host", HOST, "hold_from", (json_int_t)hold_from);

    assert_int_equal(pd_probe_order_read(document, scene->topology, &order, &error), 0);
    assert_int_equal(pd_agent_probe_part_take(&scene->part, &order, HOST, 50, 1), 0);
    json_decref(document);
}

static void begin(struct scene *scene)
{
    *scene = (struct scene){.topology = NULL};
    assert_int_equal(pd_topology_fat_tree(4, &scene->topology, NULL), 0);
    scene->part.topology = scene->topology;
    give(scene, 1, 0);
}

static void end(struct scene *scene)
{
    pd_agent_probe_part_done(&scene->part);
    pd_topology_free(scene->topology);
}

/* As it arrives: a microsecond at each switch, two between two of them. */
static struct pd_telemetry probe(const struct scene *scene, uint32_t seq)
{
    struct pd_telemetry telemetry = {.kind = PD_TELEMETRY_SR_INT, .probe = true, .hops_len = HOPS};
    uint8_t bytes[PD_SR_INT_HEAD_BYTES];

    telemetry.head = (struct pd_telemetry_probe){.plan = PLAN, .number = 3, .seq = seq};
    pd_sr_int_write_head(&telemetry.head, scene->part.order.key, bytes);
    assert_true(pd_sr_int_read_head(bytes, sizeof bytes, &telemetry.head));
    for (uint32_t i = 0; i < HOPS; i++) {
        telemetry.hops[i] = (struct pd_telemetry_hop){
            .node = path[i], .ingress_ns = 3000 * i, .residence_ns = 1000, .queue_bytes = 10 * seq};
    }
    return telemetry;
}

static void check(struct scene *scene, const struct pd_telemetry *telemetry,
                  enum pd_agent_probe_verdict verdict)
{
    assert_int_equal(pd_agent_probe_collect(&scene->part, telemetry, 2), verdict);
}

static void only_its_own_are_believed(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene);
    struct pd_telemetry good = probe(&scene, 4), bad = good;
    check(&scene, &good, PD_AGENT_PROBE_received);
    check(&scene, &good, PD_AGENT_PROBE_past);
    bad.head.seq = 5;
    check(&scene, &bad, PD_AGENT_PROBE_forged);
    bad.head.plan = PLAN - 1;
    check(&scene, &bad, PD_AGENT_PROBE_other_plan);
    bad = probe(&scene, 5);
    bad.hops[2].node = 18;
    check(&scene, &bad, PD_AGENT_PROBE_astray);
    bad = probe(&scene, 5);
    bad.hops_len--;
    check(&scene, &bad, PD_AGENT_PROBE_astray);
    end(&scene);
}

static void late_ones_and_gaps(void **state)
{
    static const uint32_t seqs[] = {100, 103, 101, 230, 232};
    struct scene scene;

    (void)state;
    begin(&scene);
    const struct pd_probe_join_came *came = &scene.part.ways[0].came;
    for (size_t i = 0; i < sizeof seqs / sizeof *seqs; i++) {
        struct pd_telemetry telemetry = probe(&scene, seqs[i]);
        check(&scene, &telemetry, PD_AGENT_PROBE_received);
        if (i == 2) {
            assert_true(came->missing == 2 && came->newest == 103 && came->first == 100);
        }
    }
    assert_true(came->missing == 2 && came->newest == 232 && came->first == 230);
    struct pd_telemetry old = probe(&scene, 103);
    check(&scene, &old, PD_AGENT_PROBE_past);
    end(&scene);
}

static void sums_are_told_once(void **state)
{
    struct pd_probe_report_out out = {0};
    struct pd_probe_report report;
    struct pd_probe_report_came came;
    struct pd_probe_hop hop;
    struct scene scene;

    (void)state;
    begin(&scene);
    for (uint32_t seq = 1; seq <= 100; seq++) {
        struct pd_telemetry telemetry = probe(&scene, seq);
        check(&scene, &telemetry, PD_AGENT_PROBE_received);
    }
    for (int again = 0; again < 2; again++) {
        pd_agent_probe_report(&scene.part, HOST, &out);
        struct pd_bytes bytes = {out.bytes, out.len};
        assert_true(pd_probe_report_read(&bytes, &report));
        assert_true(pd_probe_report_next_came(&bytes, &came));
        assert_int_equal(came.count, again ? 0 : 100);
        assert_int_equal(came.hops, again ? 0 : HOPS);
        for (uint32_t i = 0; i < came.hops; i++) {
            assert_true(pd_probe_report_next_hop(&bytes, &hop));
            assert_int_equal(hop.queue_bytes.least, 10);
            assert_int_equal(hop.queue_bytes.mean, 505);
            assert_int_equal(hop.queue_bytes.p99, 990);
            assert_int_equal(hop.queue_bytes.most, 1000);
            assert_int_equal(hop.hop_latency_ns.mean, i + 1 < HOPS ? 3000 : 0);
        }
        assert_int_equal(bytes.left, 0);
    }
    free(out.bytes);
    end(&scene);
}

static void another_order_keeps_what_is_known(void **state)
{
    struct scene scene;

    (void)state;
    begin(&scene);
    uint32_t epoch = scene.part.epoch;
    struct pd_telemetry telemetry = probe(&scene, 9);
    check(&scene, &telemetry, PD_AGENT_PROBE_received);
    give(&scene, 2, 4);
    assert_int_equal(scene.part.ways[0].received, 1);
    assert_int_equal(scene.part.epoch, epoch);
    check(&scene, &telemetry, PD_AGENT_PROBE_past);
    pd_agent_probe_part_done(&scene.part); /* and from nothing again */
    check(&scene, &telemetry, PD_AGENT_PROBE_late);
    give(&scene, 3, 4);
    assert_int_not_equal(scene.part.epoch, epoch);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_its_own_are_believed),
        cmocka_unit_test(late_ones_and_gaps),
        cmocka_unit_test(sums_are_told_once),
        cmocka_unit_test(another_order_keeps_what_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
