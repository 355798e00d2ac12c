/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline: everything that came in is stored, and every live snapshot has each packet exactly
 * once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"

enum { PKTS = 150000, FLOWS = 500, ASKERS = 3 };

/* False: intake and store were too busy to answer in time, which is said and counted. */
static bool try_count(struct pd_agent *agent, const char *target, uint64_t *ret_pkts)
{
    struct pd_answer answer;
    json_t *document;
    bool answered;

    fixture_ask(agent, "GET", target, &answer);
    answered = answer.http_status == 200;
    if (!answered) {
        assert_int_equal(answer.http_status, 503);
    } else {
        document = json_loadb(answer.bytes, answer.len, 0, NULL);
        assert_true(json_is_true(json_object_get(document, "complete")));
        *ret_pkts = (uint64_t)json_integer_value(json_object_get(document, "pkts"));
        assert_int_equal(json_integer_value(json_object_get(document, "bytes")), 100 * *ret_pkts);
        json_decref(document);
    }
    pd_http_answer_done(&answer);
    return answered;
}

static uint64_t count(struct pd_agent *agent, const char *target)
{
    uint64_t pkts = 0;

    assert_true(try_count(agent, target, &pkts));
    return pkts;
}

/*
 * A snapshot that missed records on their way, or saw some twice, would sooner or later count more
 * than a later one. Returns how often it had to ask again.
 */
static void *ask(void *context)
{
    uint64_t before = 0, now = 0;
    uintptr_t refused = 0;

    while (now < PKTS) {
        if (!try_count(context, "/v1/getCount?live=true", &now)) {
            refused++;
            continue;
        }
        if (now < before || now > PKTS) {
            fail_msg("a live query counted %llu packets after one of %llu", (unsigned long long)now,
                     (unsigned long long)before);
        }
        before = now;
    }
    return (void *)refused;
}

static void test_snapshots(void **state)
{
    struct fixture fixture;
    pthread_t askers[ASKERS];
    uint64_t refused = 0;
    void *result;

    (void)state;
    fixture_init(&fixture, PKTS, FLOWS, 0);
    fixture_start(&fixture);
    for (int i = 0; i < ASKERS; i++) {
        assert_int_equal(pthread_create(&askers[i], NULL, ask, &fixture.agent), 0);
    }
    for (int i = 0; i < ASKERS; i++) {
        pthread_join(askers[i], &result);
        refused += (uintptr_t)result;
    }
    fixture_wait_end(&fixture);
    assert_int_equal(count(&fixture.agent, "/v1/getCount"), PKTS);
    assert_int_equal(count(&fixture.agent, "/v1/getCount?src_port=1030"), PKTS / FLOWS);
    assert_int_equal(pd_counted(&fixture.agent.counters.snapshots_late), refused);
    fixture_done(&fixture);
}

/* Stopped in the middle: what was read so far is stored, nothing else. */
static void test_stop(void **state)
{
    struct pd_pipeline_status status;
    struct fixture fixture;
    uint64_t frames = 0;

    (void)state;
    fixture_init(&fixture, PKTS, FLOWS, 7);
    fixture_start(&fixture);
    while (!frames) {
        pd_agent_pipeline_status(fixture.agent.pipeline, &status);
        frames = status.intake.frames;
    }
    pd_agent_pipeline_stop(fixture.agent.pipeline);
    pd_agent_pipeline_status(fixture.agent.pipeline, &status);
    assert_int_equal(count(&fixture.agent, "/v1/getCount"), status.intake.frames);
    assert_int_equal(status.intake.live_records, 0);
    fixture_done(&fixture);
}

/* After the end of the intake snapshots are still taken; after the stop they are refused. */
static void test_late_snapshots(void **state)
{
    struct pd_query query;
    struct pd_agent_snapshot *snapshot;
    struct fixture fixture;

    (void)state;
    fixture_init(&fixture, 10, 1, 0);
    fixture_start(&fixture);
    fixture_wait_end(&fixture);
    assert_int_equal(count(&fixture.agent, "/v1/getCount?live=true"), 10);
    pd_agent_pipeline_stop(fixture.agent.pipeline);
    pd_query_init(&query, PD_QUERY_GET_COUNT);
    assert_int_equal(pd_agent_pipeline_snapshot(fixture.agent.pipeline, &query, &snapshot),
                     -PD_E_BUSY);
    fixture_done(&fixture);
}

static void test_model(void **state)
{
    struct pd_pipeline_status status;
    struct pd_topology *topology;
    struct pd_model *model;
    struct fixture fixture;
    FILE *out;

    (void)state;
    fixture_init(&fixture, 1000, 10, 2);
    fixture_start(&fixture);
    fixture_wait_end(&fixture);
    assert_int_equal(pd_agent_model_load(fixture.topology, &model, NULL), 0);
    assert_int_equal(pd_agent_pipeline_model(fixture.agent.pipeline, model, NULL), 0);
    assert_int_equal(count(&fixture.agent, "/v1/getCount?live=true"), 1000);
    pd_agent_pipeline_status(fixture.agent.pipeline, &status);
    assert_true(status.decoder.infeasible > 0); /* of the old decoder: nothing is forgotten */

    /* VL2 uses the DSCP, the fat-tree does not: that needs a restart */
    assert_int_equal(pd_topology_vl2(4, &topology, NULL), 0);
    out = fopen(fixture.topology, "we");
    assert_int_equal(pd_topology_write(topology, out), 0);
    fclose(out);
    pd_topology_free(topology);
    assert_int_equal(pd_agent_model_load(fixture.topology, &model, NULL), 0);
    assert_int_equal(pd_agent_pipeline_model(fixture.agent.pipeline, model, NULL),
                     -PD_E_UNSUPPORTED);
    fixture_done(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_snapshots),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_late_snapshots),
        cmocka_unit_test(test_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
