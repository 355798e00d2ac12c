/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: what is needed, what is refused, what a reload can change; manual page and example are
 * the table's. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../shared/documented.h"
#include "controller/settings.h"
#include "controller/state.h"

static int load(struct pd_controller_settings *settings, struct pd_error *error, int n, ...)
{
    static char *words[16];
    bool usage;
    va_list args;

    va_start(args, n);
    words[0] = (char *)(uintptr_t) "pathdump-controller";
    for (int i = 1; i <= n; i++) {
        words[i] = va_arg(args, char *);
    }
    va_end(args);
    return pd_controller_settings_load(n + 1, words, settings, &usage, error);
}

static void test_load(void **state)
{
    struct pd_controller_settings settings;
    struct pd_error error = {0};

    (void)state;
    assert_int_equal(load(&settings, &error, 5, "--topology", "t", "--hosts=h", "--state", "s"), 0);
    assert_string_equal(settings.listen, "127.0.0.1:7412");
    assert_int_equal(settings.queries_at_once, 4);
    assert_int_equal(pd_controller_settings_check(&settings, &error), 0);
    settings.hosts = NULL;
    assert_int_equal(pd_controller_settings_check(&settings, &error), -PD_E_VALUE);
    assert_non_null(strstr(error.text, "hosts is missing: give --hosts"));
    pd_controller_settings_done(&settings);

    assert_int_equal(load(&settings, &error, 1, "word"), -PD_E_UNKNOWN_KEY);
    assert_int_equal(load(&settings, &error, 1, "--intake=pcap:f"), -PD_E_UNKNOWN_KEY);
    assert_int_equal(load(&settings, &error, 2, "--listen", "nonsense"), -PD_E_VALUE);
    assert_int_equal(load(&settings, &error, 2, "--openflow", "tcp:0.0.0.0:6653"), -PD_E_VALUE);
    assert_int_equal(load(&settings, &error, 2, "--openflow", "tcp:127.0.0.1:6653"), 0);
    pd_controller_settings_done(&settings);
    assert_int_equal(load(&settings, &error, 2, "--queries-at-once", "0"), -PD_E_VALUE);
    assert_int_equal(load(&settings, &error, 2, "--config", "/nonexistent.conf"), -2);
}

static char told[100];

static void tell(const char *name)
{
    strncat(told, name, sizeof told - strlen(told) - 1);
    strncat(told, " ", sizeof told - strlen(told) - 1);
}

static void test_compare(void **state)
{
    struct pd_controller_settings a = {.topology = "a", .hosts = "b", .state = "c"}, b = a;

    (void)state;
    b.topology = "x";
    b.hosts = "y";
    pd_controller_settings_compare(&a, &b, tell);
    assert_string_equal(told, "");
    b.state = "z";
    b.queries_waiting = 7;
    pd_controller_settings_compare(&a, &b, tell);
    assert_string_equal(told, "state queries-waiting ");
}

static void test_state(void **state)
{
    struct pd_state one, two;
    struct pd_error error = {0};
    char path[] = "/tmp/pd-state-XXXXXX", inner[64], lock[80];

    (void)state;
    assert_non_null(mkdtemp(path));
    snprintf(inner, sizeof inner, "%s/controller", path);
    snprintf(lock, sizeof lock, "%s/lock", inner);
    assert_int_equal(pd_controller_state_open(inner, &one, &error), 0);
    assert_int_equal(pd_controller_state_open(inner, &two, &error), -PD_E_BUSY);
    assert_non_null(strstr(error.text, "another controller works with"));
    pd_controller_state_close(&one);
    pd_controller_state_close(&one); /* twice is fine */
    assert_int_equal(pd_controller_state_open(inner, &two, &error), 0);
    pd_controller_state_close(&two);

    assert_int_equal(unlink(lock), 0);
    assert_int_equal(mkdir(lock, 0700), 0); /* nothing can be written, not even by root */
    assert_true(pd_controller_state_open(inner, &one, &error) < 0);
    assert_non_null(strstr(error.text, "nothing can be written in"));
    rmdir(lock);
    rmdir(inner);
    snprintf(inner, sizeof inner, "%s/there/is/nothing", path);
    assert_int_equal(pd_controller_state_open(inner, &one, &error), -2);
    assert_non_null(strstr(error.text, "cannot be made"));
    rmdir(path);
}

static void test_man_page(void **state)
{
    (void)state;
    documented_man_page(pd_controller_options(), PD_SOURCE_DIR "/docs/man/pathdump-controller.8");
}

static void test_example(void **state)
{
    (void)state;
    documented_example(pd_controller_options(), PD_SOURCE_DIR "/dist/pathdump-controller.conf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),    cmocka_unit_test(test_compare),
        cmocka_unit_test(test_state),   cmocka_unit_test(test_man_page),
        cmocka_unit_test(test_example),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
