/* SPDX-License-Identifier: Apache-2.0 */
/* silent-drops: names what loses, nothing where nothing does, and is never certain of what it could
 * not see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps/apps.h"
#include "apps/args.h"
#include "tests/unit/localise/flows.h"

/* A world that only observes: a period of flows each time, over which one link loses. */
struct scene {
    struct pd_topology *topology;
    struct pd_app_world world;
    struct flows flows;
    struct random random;
    uint64_t now_us, from_us;
    uint32_t from, to;
    double loss;
    bool host_missing;
    int failure;
    void *state;
};

static uint64_t now_us(void *context)
{
    return ((struct scene *)context)->now_us;
}

static int observe(void *context, uint64_t from_us, uint64_t to_us, unsigned wanted,
                   const struct pd_evidence_sink *sink, struct pd_report *report,
                   struct pd_error *error)
{
    struct scene *scene = context;

    if (scene->failure) {
        return pd_fail(error, scene->failure, "made to fail");
    }
    (void)wanted;
    assert_true(from_us <= to_us);
    assert_int_equal(to_us, scene->now_us);
    scene->from_us = from_us;
    for (scene->flows.len = 0; scene->flows.len < 150;) {
        add_flow(&scene->flows, &scene->random, scene->from, scene->to, scene->loss, 300);
    }
    if (scene->host_missing) {
        pd_app_report_lacks(report, "host 21 did not answer: timeout");
    }
    const struct pd_evidence_period period = period_of(&scene->flows);
    return sink->take(sink->context, &period);
}

static const struct pd_app_world_ops world_ops = {.now_us = now_us, .observe = observe};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);

    if (!scene || pd_topology_fat_tree(4, &scene->topology, NULL)) {
        return -1;
    }
    scene->random.state = test_seed();
    scene->now_us = UINT64_C(1000000000);
    scene->world = (struct pd_app_world){
        .ops = &world_ops, .context = scene, .topology = scene->topology, .link_mbps = 1000};
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;

    pd_app_find("silent-drops")->close(scene->state);
    pd_topology_free(scene->topology);
    free(scene);
    return 0;
}

/* A run of a watch; the report is the caller's. */
static json_t *watch(struct scene *scene)
{
    const struct pd_app_ops *app = pd_app_find("silent-drops");
    struct pd_app_call call = {.world = &scene->world};
    struct pd_report report;
    struct pd_error error;
    json_t *args, *json = NULL;

    assert_int_equal(pd_app_args_read(app, scene->topology, NULL, &args, &error), 0);
    call.args = args;
    if (!scene->state) {
        assert_int_equal(app->open(&call, &scene->state, &error), 0);
    }
    scene->now_us += 200000;
    pd_app_report_init(&report);
    if (!app->run(scene->state, &call, &report, &error)) {
        json = pd_app_report_json(&report, app->name);
    }
    pd_app_report_done(&report);
    json_decref(args);
    return json;
}

static bool is_certain(const json_t *report)
{
    return json_is_true(json_object_get(report, "certain"));
}

static void a_faulty_link_is_found(void **state)
{
    struct scene *scene = *state;
    bool certain = false;

    scene->from = 9, scene->to = 17, scene->loss = 0.02;
    for (int period = 0; period < 60 && !certain; period++) {
        json_t *report = watch(scene), *links = json_object_get(report, "links");

        certain = is_certain(report);
        if (certain) {
            assert_int_equal(json_array_size(links), 1);
            assert_string_equal(json_string_value(json_array_get(links, 0)), "9-17");
            assert_true(json_number_value(json_object_get(report, "confidence")) > 0.9);
        }
        json_decref(report);
    }
    assert_true(certain);
}

static void without_a_fault_nothing_is_named(void **state)
{
    struct scene *scene = *state;

    for (int period = 0; period < 30; period++) {
        json_t *report = watch(scene);

        assert_non_null(report);
        assert_int_equal(json_array_size(json_object_get(report, "links")), 0);
        assert_false(is_certain(report));
        json_decref(report);
    }
}

/* The same evidence, but a host is missing, or nobody knows what links carry: named, never certain.
 */
static void what_is_missing_forbids_certainty(void **state)
{
    struct scene *scene = *state;
    size_t named = 0;

    scene->from = 9, scene->to = 17, scene->loss = 0.02;
    scene->host_missing = true;
    for (int period = 0; period < 40; period++) {
        if (period == 20) { /* another hunt, of a network of unknown speed */
            pd_app_find("silent-drops")->close(scene->state);
            scene->state = NULL;
            scene->host_missing = false;
            scene->world.link_mbps = 0;
        }
        json_t *report = watch(scene);

        assert_false(is_certain(report));
        assert_true(json_array_size(json_object_get(report, "lacks")) > 0);
        named = json_array_size(json_object_get(report, "links"));
        json_decref(report);
    }
    assert_int_equal(named, 1);
}

static void a_watch_takes_what_is_new(void **state)
{
    struct scene *scene = *state;

    json_decref(watch(scene));
    assert_int_equal(scene->from_us, scene->now_us - 60000000);
    json_decref(watch(scene));
    assert_int_equal(scene->from_us, scene->now_us - 200000);
    scene->failure = -PD_E_BUSY; /* nothing was seen: the next run looks again from there on */
    assert_null(watch(scene));
    scene->failure = 0;
    json_decref(watch(scene));
    assert_int_equal(scene->from_us, scene->now_us - 400000);
    scene->now_us -= 5000000; /* the clock was set back */
    json_decref(watch(scene));
    assert_true(scene->from_us <= scene->now_us);
}

static void a_method_that_is_none_is_refused(void **state)
{
    const struct scene *scene = *state;
    json_t *given = json_pack("{s:s}", "method", "guess"), *args = NULL;
    struct pd_error error;

    assert_int_equal(
        pd_app_args_read(pd_app_find("silent-drops"), scene->world.topology, given, &args, &error),
        -PD_E_VALUE);
    assert_non_null(strstr(error.text, "method"));
    assert_null(args);
    json_decref(given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_faulty_link_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_fault_nothing_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_missing_forbids_certainty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_watch_takes_what_is_new, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_method_that_is_none_is_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
