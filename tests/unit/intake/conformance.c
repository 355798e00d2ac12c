/* SPDX-License-Identifier: Apache-2.0 */
/* The suite that every kind of intake passes: sums are exact, whatever the sink
 * and the table do. */
#include "conformance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"

#define FRAMES     3000
#define PATIENCE_S 10

/* ---- the sink
 * ----------------------------------------------------------------------------------
 */

static struct sum sum_of(const struct pd_trajectory_record *record)
{
    const struct pd_tags tags = pd_tags_unpack(record->mark);
    struct sum one;

    memset(&one, 0, sizeof(one));
    one.flow = record->flow;
    memcpy(one.tags, tags.vids, sizeof(one.tags));
    one.tags_len = tags.len;
    one.dscp = tags.dscp;
    one.pkts = record->pkts;
    one.bytes = record->bytes;
    return one;
}

static void collect(struct collected *collected, const struct pd_trajectory_record *record)
{
    const struct sum one = sum_of(record);

    assert_true(record->first_ns <= record->last_ns);
    sums_add(&collected->sums, &one);
    collected->records++;
    collected->pkts += record->pkts;
    collected->bytes += record->bytes;
    if (!collected->first_ns || record->first_ns < collected->first_ns) {
        collected->first_ns = record->first_ns;
    }
    if (record->last_ns > collected->last_ns) {
        collected->last_ns = record->last_ns;
    }
}

static bool on_evicted(void *context, const struct pd_trajectory_record *record)
{
    struct collected *collected = context;

    collected->offers++;
    if (collected->refuse_every && collected->offers % collected->refuse_every == 0) {
        return false;
    }
    assert_int_not_equal(record->eviction, PD_EVICTION_NONE);
    collect(collected, record);
    return true;
}

static void on_new_flow(void *context, const struct pd_trajectory_record *record)
{
    struct collected *collected = context;

    assert_int_equal(record->pkts, 1);
    collected->new_flows++;
}

static void on_live(void *context, const struct pd_trajectory_record *record)
{
    assert_int_equal(record->eviction, PD_EVICTION_NONE);
    collect(context, record);
}

struct pd_intake_config conformance_config(const struct traffic *traffic)
{
    return (struct pd_intake_config){
        .trajectory = PD_TRAJECTORY_DEFAULTS,
        .use_dscp = traffic->use_dscp,
        .wake_fd = -1,
    };
}

struct pd_trajectory_sink conformance_sink(struct collected *collected)
{
    return (struct pd_trajectory_sink){collected, on_evicted, on_new_flow};
}

int conformance_poll(struct pd_intake *intake, uint64_t frames)
{
    const uint64_t until_ns = pd_clock_monotonic_ns() + PATIENCE_S * PD_NS_PER_S;
    struct pd_intake_status status;
    int r;

    do {
        r = pd_intake_poll(intake, 20);
        pd_intake_status(intake, &status);
    } while (r == 0 && status.frames < frames && pd_clock_monotonic_ns() < until_ns);
    return r;
}

static void flush_all(struct pd_intake *intake)
{
    for (unsigned i = 0; pd_intake_flush(intake) > 0; i++) {
        assert_true(i < 10000);
    }
}

/* ---- checks
 * ------------------------------------------------------------------------------------
 */

/* Every frame has a verdict, every good one is in a record or counted as lost.
 */
static void check_books(const struct traffic *traffic, const struct collected *collected,
                        const struct pd_intake_status *status)
{
    uint64_t verdicts = 0, wire_bytes = 0;

    for (unsigned i = 0; i < PD_PACKET_VERDICT_COUNT; i++) {
        verdicts += status->verdicts[i];
    }
    for (size_t i = 0; i < traffic->len; i++) {
        wire_bytes += traffic->frames[i].bytes;
    }
    assert_int_equal(status->frames, traffic->len);
    assert_int_equal(status->frame_bytes, wire_bytes);
    assert_int_equal(verdicts, traffic->len);
    assert_int_equal(status->verdicts[PD_PACKET_OK], traffic->good);
    assert_int_equal(collected->pkts + status->trajectory.lost_full_pkts, traffic->good);
    assert_int_equal(status->live_records, 0);
    assert_int_equal(status->kernel_drops, 0);
}

static void check_times(const struct feeder *feeder, const struct traffic *traffic,
                        const struct collected *collected, uint64_t begun_us)
{
    if (feeder->keeps_times) { /* the first and last frame are good ones */
        assert_int_equal(collected->first_ns, traffic->frames[0].time_ns);
        assert_int_equal(collected->last_ns, traffic->frames[traffic->len - 1].time_ns);
    } else {
        assert_true(collected->first_ns / 1000 + 2000 >= begun_us);
        assert_true(collected->last_ns / 1000 <= pd_clock_wall_us() + 2000);
    }
}

static void run_once(const struct feeder *feeder, const struct traffic *traffic,
                     const struct pd_intake_config *config, struct collected *collected,
                     struct pd_intake_status *ret_status)
{
    const struct pd_trajectory_sink sink = conformance_sink(collected);
    struct pd_intake *intake = feeder->open(feeder->context, traffic, config, &sink);

    conformance_poll(intake, traffic->len);
    flush_all(intake);
    pd_intake_status(intake, ret_status);
    pd_intake_close(intake);
}

/* ---- the suite
 * ---------------------------------------------------------------------------------
 */

static void test_sums(const struct feeder *feeder, unsigned seed, bool use_dscp)
{
    const uint64_t begun_us = pd_clock_wall_us();
    struct collected collected = {0};
    struct pd_intake_status status;
    struct traffic traffic;

    traffic_make(&traffic, seed, FRAMES, use_dscp);

    const struct pd_intake_config config = conformance_config(&traffic);

    run_once(feeder, &traffic, &config, &collected, &status);
    sums_assert_equal(&collected.sums, &traffic.expected);
    check_books(&traffic, &collected, &status);
    check_times(feeder, &traffic, &collected, begun_us);
    assert_true(collected.new_flows >= traffic.expected.len);
    traffic_free(&traffic);
}

/* What the sink refuses stays and is offered again: nothing is lost or doubled.
 */
static void test_refusing_sink(const struct feeder *feeder)
{
    struct collected collected = {.refuse_every = 3};
    struct pd_intake_status status;
    struct traffic traffic;

    traffic_make(&traffic, 31, FRAMES, false);

    const struct pd_intake_config config = conformance_config(&traffic);

    run_once(feeder, &traffic, &config, &collected, &status);
    sums_assert_equal(&collected.sums, &traffic.expected);
    check_books(&traffic, &collected, &status);
    assert_true(status.trajectory.refused > 0);
    traffic_free(&traffic);
}

static void test_full_table(const struct feeder *feeder)
{
    struct collected collected = {0};
    struct pd_intake_status status;
    struct traffic traffic;

    traffic_make(&traffic, 47, FRAMES, false);

    struct pd_intake_config config = conformance_config(&traffic);

    config.trajectory.max_records = 16;
    run_once(feeder, &traffic, &config, &collected, &status);
    check_books(&traffic, &collected, &status);
    assert_true(status.trajectory.lost_full_pkts > 0);
    traffic_free(&traffic);
}

/* At any moment between two polls the live records and what the sink was given
 * are all that was counted. */
static void test_walk(const struct feeder *feeder)
{
    struct collected collected = {0};
    struct pd_intake_status status;
    struct traffic traffic;

    traffic_make(&traffic, 53, FRAMES, false);

    const struct pd_intake_config config = conformance_config(&traffic);
    const struct pd_trajectory_sink sink = conformance_sink(&collected);
    struct pd_intake *intake = feeder->open(feeder->context, &traffic, &config, &sink);

    for (unsigned i = 0; i < 300; i++) {
        const int r = pd_intake_poll(intake, 1);
        struct collected *both = malloc(sizeof(*both));

        assert_non_null(both);
        *both = collected;
        pd_intake_walk(intake, on_live, both);
        pd_intake_status(intake, &status);
        assert_int_equal(both->pkts, status.verdicts[PD_PACKET_OK]);
        assert_int_equal(both->records - collected.records, status.live_records);
        free(both);
        if (r < 0 || status.frames == traffic.len) {
            break;
        }
    }
    assert_int_equal(status.frames, traffic.len);
    pd_intake_close(intake); /* with live records in it: nothing leaks */
    traffic_free(&traffic);
}

void conformance_run(const struct feeder *feeder)
{
    print_message("conformance: %s\n", feeder->name);
    test_sums(feeder, 1, false);
    test_sums(feeder, 2, true);
    test_refusing_sink(feeder);
    test_full_table(feeder);
    test_walk(feeder);
}
