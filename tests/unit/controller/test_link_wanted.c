/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of requests for link metrics, and the table of metrics itself. */
#include "controller/links/wanted.h"
#include "fleet.h"
#include "http/target.h"

#define ALL "metrics metric from to step_ms format"

static int read_target(const char *target, const char *allowed, struct pd_links_wanted *ret_wanted,
                       struct pd_problem *problem)
{
    char path[64];
    struct pd_call call = {.http = NULL};

    *problem = (struct pd_problem){0};
    assert_int_equal(
        pd_http_target_path(&call.parameters, target, strlen(target), path, sizeof path), 0);
    return pd_links_read_wanted(&call, allowed, ret_wanted, problem);
}

static void test_good(void **state)
{
    struct pd_links_wanted wanted;
    struct pd_problem problem;

    (void)state;
    assert_int_equal(read_target("/v1/links", ALL, &wanted, &problem), 0);
    for (unsigned m = 0; m < pd_link_metrics_len(); m++) {
        assert_true(wanted.metrics[m]);
    }
    assert_false(wanted.has_from || wanted.has_to);
    assert_int_equal(read_target("/x?metrics=use,alarms&from=5&to=7.25&step_ms=500&format=npy", ALL,
                                 &wanted, &problem),
                     0);
    assert_int_equal(wanted.metrics_len, 2);
    assert_true(wanted.metrics[pd_link_metric_find("use")]);
    assert_false(wanted.metrics[pd_link_metric_find("load_bps")]);
    assert_int_equal(wanted.from_us, 5000000);
    assert_int_equal(wanted.to_us, 7250000);
    assert_int_equal(wanted.step_us, 500000);
    assert_int_equal(wanted.form, PD_LINKS_NPY);
}

static void test_bad(void **state)
{
    static const char *const targets[] = {
        "/x?metrics=",
        "/x?metrics=nonsense",
        "/x?metrics=use,",
        "/x?metrics=use,,alarms",
        "/x?metrics=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "/x?from=yesterday",
        "/x?from=7&to=5",
        "/x?from=7&to=7",
        "/x?step_ms=0",
        "/x?step_ms=-1",
        "/x?step_ms=1e3",
        "/x?step_ms=99999999999999999999",
        "/x?format=gif",
        "/x?colour=red",
        "/x?me=1",
        "/x?=1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct pd_links_wanted wanted;
        struct pd_problem problem;

        if (read_target(targets[i], ALL, &wanted, &problem) >= 0) {
            fail_msg("%s was taken", targets[i]);
        }
        assert_true(problem.error.text[0] || problem.error.code);
    }
}

static void test_allowed(void **state)
{
    struct pd_links_wanted wanted;
    struct pd_problem problem;

    (void)state;
    assert_int_equal(read_target("/x?format=png", "metrics from to", &wanted, &problem),
                     -PD_E_UNKNOWN_KEY);
    assert_string_equal(problem.parameter, "format");
    assert_int_equal(read_target("/x?metric=use", "metrics from to", &wanted, &problem),
                     -PD_E_UNKNOWN_KEY);
    assert_int_equal(read_target("/x?to=1", "metrics from to", &wanted, &problem), 0);
}

/* Names are there once, each is read or made of one that stands before it. */
static void test_table(void **state)
{
    (void)state;
    for (unsigned m = 0; m < pd_link_metrics_len(); m++) {
        const struct pd_link_metric *metric = pd_link_metrics[m];

        assert_int_equal(pd_link_metric_find(metric->name), m);
        assert_true(*metric->unit && *metric->help);
        assert_int_equal(!metric->read, metric->of != NULL);
        assert_int_equal(!metric->derive, metric->of == NULL);
        assert_true(!metric->of || pd_link_metric_find(metric->of->name) < m);
    }
    assert_int_equal(pd_link_metric_find("nonsense"), PD_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
