/* SPDX-License-Identifier: Apache-2.0 */
/* A simulation that runs while threads ask it: times, sums, alarms, its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "sim/live.h"

#define THREADS 3

static const char scenario_text[] =
    "{\"topology\":{\"fat_tree\":4},\"link_mbps\":100,\"load\":0.3,\"flow_sizes\":\"hadoop\","
    "\"duration_s\":3,\"faults\":[{\"link\":\"9-17\",\"loss\":0.05}]}";

struct seen {
    pthread_mutex_t lock;
    size_t alarms;
};

static void count_alarms(void *context, const json_t *alarms)
{
    struct seen *seen = context;

    pthread_mutex_lock(&seen->lock);
    seen->alarms += json_array_size(alarms);
    pthread_mutex_unlock(&seen->lock);
}

/* Bytes over all links in a window. */
static uint64_t load(const struct pd_app_world *world, uint64_t from_us, uint64_t to_us)
{
    char from[32], to[32];
    json_t *document, *answer = NULL, *link;
    uint64_t bytes = 0;
    size_t i;

    snprintf(from, sizeof from, "%" PRIu64 ".%06" PRIu64, from_us / 1000000, from_us % 1000000);
    snprintf(to, sizeof to, "%" PRIu64 ".%06" PRIu64, to_us / 1000000, to_us % 1000000);
    document = json_pack("{s:s, s:{s:s, s:s}, s:s}", "query", "linkLoad", "args", "from", from,
                         "to", to, "hosts", "all");
    assert_int_equal(world->ops->ask(world->context, document, &answer, NULL), 0);
    json_array_foreach(json_object_get(answer, "links"), i, link)
    {
        bytes += (uint64_t)json_integer_value(json_object_get(link, "bytes"));
    }
    json_decref(document);
    json_decref(answer);
    return bytes;
}

static void *ask_on(void *context)
{
    const struct pd_app_world *world = context;

    for (int i = 0; i < 20; i++) {
        uint64_t now_us = world->ops->now_us(world->context);
        json_t *alarms = NULL;

        load(world, now_us - 1000000, now_us);
        assert_int_equal(world->ops->alarms(world->context, NULL, 0, now_us, 100, &alarms, NULL),
                         0);
        json_decref(alarms);
    }
    return NULL;
}

static void wait_until_over(struct pd_sim_live *live)
{
    struct pd_sim_live_stat stat;

    do {
        usleep(10000);
        pd_sim_live_stat(live, &stat);
    } while (!stat.ended);
    assert_string_equal(stat.error, "");
    assert_true(stat.now_s > 2.9);
}

/* What `speed` does is waited for: three simulated seconds take a hundredth of that at least. */
static void test_asked_meanwhile(void **state)
{
    struct pd_sim_scenario scenario = {0};
    struct seen seen = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct pd_sim_live_config config = {
        .scenario = &scenario, .seed = 3, .speed = 100, .alarms = count_alarms, .context = &seen};
    struct pd_sim_live *live = NULL;
    pthread_t threads[THREADS];
    uint64_t begun_us = pd_clock_wall_us();

    (void)state;
    assert_int_equal(
        pd_sim_scenario_parse(scenario_text, strlen(scenario_text), "test", false, &scenario, NULL),
        0);
    assert_int_equal(pd_sim_live_new(&config, &live), 0);
    const struct pd_app_world *world = pd_sim_live_world(live);

    assert_true(world->ops->now_us(world->context) >= begun_us);
    assert_int_equal(pd_sim_live_start(live, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask_on, (void *)(uintptr_t)world), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    wait_until_over(live);
    assert_true(pd_clock_wall_us() >= begun_us + 29000);
    pd_sim_live_stop(live);

    uint64_t end_us = world->ops->now_us(world->context), whole, parts = 0;

    assert_true(end_us > begun_us + 2900000);
    whole = load(world, begun_us, end_us + 1000000);
    for (uint64_t at_us = begun_us; at_us < end_us + 1000000; at_us += 100000) {
        uint64_t to_us = at_us + 100000 < end_us + 1000000 ? at_us + 100000 : end_us + 1000000;

        parts += load(world, at_us, to_us);
    }
    assert_true(whole > 0);
    assert_int_equal(whole, parts);
    assert_true(seen.alarms > 0);
    pd_sim_live_free(live);
    pd_sim_scenario_done(&scenario);
}

/* One that would take an hour ends when it shall. */
static void test_ends_early(void **state)
{
    struct pd_sim_scenario scenario = {0};
    struct pd_sim_live_config config = {.scenario = &scenario, .seed = 1, .speed = 0.001};
    struct pd_sim_live *live = NULL;
    uint64_t begun_ns = pd_clock_monotonic_ns();

    (void)state;
    assert_int_equal(
        pd_sim_scenario_parse(scenario_text, strlen(scenario_text), "test", false, &scenario, NULL),
        0);
    assert_int_equal(pd_sim_live_new(&config, &live), 0);
    pd_sim_live_free(live); /* not started */
    assert_int_equal(pd_sim_live_new(&config, &live), 0);
    assert_int_equal(pd_sim_live_start(live, NULL), 0);
    usleep(50000);
    pd_sim_live_free(live);
    assert_true(pd_clock_monotonic_ns() - begun_ns < 60 * PD_NS_PER_S);
    pd_sim_scenario_done(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asked_meanwhile),
        cmocka_unit_test(test_ends_early),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
