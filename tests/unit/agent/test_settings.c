/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: table, checks, what a reload can change, listen addresses; and the man page's options
 * are the table's. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../shared/documented.h"
#include "agent/settings.h"
#include "http/listen.h"
#include "intake/live/live.h"
#include "intake/pcap/pcap.h"

static char *words[16];

static int load(struct pd_settings *settings, bool *usage, struct pd_error *error, int n, ...)
{
    va_list args;

    va_start(args, n);
    words[0] = (char *)(uintptr_t) "pathdumpd";
    for (int i = 1; i <= n; i++) {
        words[i] = va_arg(args, char *);
    }
    va_end(args);
    return pd_agent_settings_load(n + 1, words, settings, usage, error);
}

static void test_load(void **state)
{
    struct pd_settings settings = {0};
    struct pd_error error = {0};
    bool usage = false;

    (void)state;
    assert_int_equal(
        load(&settings, &usage, &error, 4, "--topology", "t.json", "--idle-ms=100", "--strip"), 0);
    assert_string_equal(settings.topology, "t.json");
    assert_string_equal(settings.listen, "127.0.0.1:7411");
    assert_int_equal(settings.idle_ms, 100);
    assert_int_equal(settings.active_ms, 60000);
    const struct pd_intake_live_options *live =
        pd_agent_settings_intake_options(&settings, &pd_intake_live);
    assert_true(live->strip && !live->promiscuous);
    assert_null(pd_agent_settings_intake_options(&settings, &pd_intake_pcap));
    assert_int_equal(settings.common.log_level, PD_LOG_INFO);

    struct pd_intake_config intake = pd_agent_settings_intake(&settings, true);

    assert_int_equal(intake.trajectory.idle_ns, 100000000);
    assert_int_equal(intake.trajectory.max_records, 1048576);
    assert_true(intake.use_dscp);
    pd_agent_settings_done(&settings);
    assert_int_equal(load(&settings, &usage, &error, 1, "--exit-after-intake"), 0);
    assert_null(settings.listen);

    assert_int_equal(load(&settings, &usage, &error, 1, "word"), -PD_E_UNKNOWN_KEY);
    assert_true(usage);
    assert_int_equal(load(&settings, &usage, &error, 2, "--config", "/nonexistent.conf"), -2);
    assert_false(usage);
    assert_int_equal(load(&settings, &usage, &error, 2, "--log-level", "loud"), -PD_E_VALUE);
    assert_non_null(strstr(error.text, "--log-level: expects error, warn, info or debug"));
}

static void test_check(void **state)
{
    static const struct pd_settings good = {
        .topology = "t", .intakes = {1, {"pcap:f"}}, .tib = "d", .listen = "127.0.0.1:0"};
    static const struct {
        const char *intake, *listen, *text; /* text: of the error; NULL: none */
        bool strip;
    } cases[] = {
        {"pcap:file", "127.0.0.1:80", NULL, false},
        {"live:eth0", "[::1]:80", NULL, true},
        {"live:eth0", "localhost:0", NULL, false},
        {"live:eth0", "unix:/run/x.sock", NULL, false},
        {"what:ever", "127.0.0.1:80", "pcap:FILE", false},
        {"pcap", "127.0.0.1:80", "intake: expects", false},
        {"pcap:", "127.0.0.1:80", "intake: expects", false},
        {"pcap:f", "127.0.0.1:80", "strip: only a live intake", true},
        {"none", "127.0.0.1:80", NULL, false},
        {"none", "127.0.0.1:80", "strip: only a live intake", true},
        {"pcap:f", "0.0.0.0:80", "not on loopback", false},
        {"pcap:f", "10.0.0.1:80", "not on loopback", false},
        {"pcap:f", "[::]:80", "not on loopback", false},
        {"pcap:f", "::1:80", "listen: expects", false},
        {"pcap:f", "127.0.0.1", "listen: expects", false},
        {"pcap:f", "127.0.0.1:65536", "listen: expects", false},
        {"pcap:f", "127.0.0.1:", "listen: expects", false},
        {"pcap:f", "127.0.0.1:80x", "listen: expects", false},
        {"pcap:f", "127.0.0.1:-1", "listen: expects", false},
        {"pcap:f", "host.example:80", "listen: expects", false},
        {"pcap:f", ":80", "listen: expects", false},
        {"pcap:f", "", "listen: expects", false},
        {"pcap:f", "unix:relative", "absolute path", false},
    };
    struct pd_settings settings;
    struct pd_error error;
    bool usage;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        error = (struct pd_error){0};
        int err = load(&settings, &usage, &error, 9, "--topology", "t", "--tib", "d", "--intake",
                       cases[i].intake, "--listen", cases[i].listen,
                       cases[i].strip ? "--strip" : "--strip=false");
        if (!err) {
            err = pd_agent_settings_check(&settings, &error);
        }
        if ((err == 0) != !cases[i].text || (cases[i].text && !strstr(error.text, cases[i].text))) {
            fail_msg("%s %s: \"%s\"", cases[i].intake, cases[i].listen, error.text);
        }
    }
    settings = good;
    settings.tib = NULL;
    assert_int_equal(pd_agent_settings_check(&settings, &error), -PD_E_VALUE);
    assert_non_null(strstr(error.text, "--tib"));
    settings = good;
    settings.controller = "http://127.0.0.1:7412";
    assert_int_equal(pd_agent_settings_check(&settings, &error), -PD_E_VALUE);
    assert_non_null(strstr(error.text, "--host-id"));
    settings.host_id = 21;
    assert_int_equal(pd_agent_settings_check(&settings, &error), 0);
    assert_int_equal(load(&settings, &usage, &error, 2, "--controller", "ftp://h"), -PD_E_VALUE);
    assert_non_null(strstr(error.text, "controller"));
}

static void test_folder(void **state)
{
    struct pd_settings settings = {.tib = "/a/tib", .spool = "/b/spool"};

    (void)state;
    assert_string_equal(pd_agent_settings_folder(&settings), "/a/tib");
    settings.tib = "mongodb://h:1/d";
    assert_string_equal(pd_agent_settings_folder(&settings), "/b/spool");
    settings.spool = NULL;
    assert_string_equal(pd_agent_settings_folder(&settings), "/var/lib/pathdump/spool");
}

static char told[100];

static void tell(const char *name)
{
    strncat(told, name, sizeof told - strlen(told) - 1);
    strncat(told, " ", sizeof told - strlen(told) - 1);
}

static void test_compare(void **state)
{
    struct pd_settings a = {.topology = "a", .tib = "x", .idle_ms = 1}, b = a;
    char tib[] = "x";

    (void)state;
    b.tib = tib;
    b.topology = "b";
    b.common.log_level = PD_LOG_DEBUG;
    b.retention_age_s = b.retention_bytes = 5;
    pd_agent_settings_compare(&a, &b, tell);
    assert_string_equal(told, "");
    b.idle_ms = 2;
    b.tib = NULL;
    ((struct pd_intake_live_options *)(uintptr_t)pd_agent_settings_intake_options(&b,
                                                                                  &pd_intake_live))
        ->strip = true;
    pd_agent_settings_compare(&a, &b, tell);
    assert_string_equal(told, "strip idle-ms tib ");
}

/* Several intakes, or none; no source twice. */
static void test_intakes(void **state)
{
    static const struct {
        const char *a, *b, *text;
    } cases[] = {
        {"pcap:a", "live:lo", NULL},
        {"pcap:a", "pcap:b", NULL},
        {"live:lo", "live:lo", "two intakes on one interface: live:lo and live:lo"},
        {"pcap:a", "pcap:a", "two intakes on one file"},
        {"none", "live:lo", "none stands alone"},
        {"live:lo", "none", "none stands alone"},
    };
    struct pd_settings settings;
    bool usage;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pd_error error = {0};

        assert_int_equal(load(&settings, &usage, &error, 8, "--topology", "t", "--tib", "d",
                              "--intake", cases[i].a, "--intake", cases[i].b),
                         0);
        assert_int_equal(settings.intakes.len, 2);
        assert_string_equal(settings.intakes.items[1], cases[i].b);
        if (!pd_agent_settings_check(&settings, &error) != !cases[i].text ||
            (cases[i].text && !strstr(error.text, cases[i].text))) {
            fail_msg("%s %s: \"%s\"", cases[i].a, cases[i].b, error.text);
        }
    }
}

static void test_listen(void **state)
{
    struct pd_listener one = {.fd = -1}, two = {.fd = -1};
    struct pd_error error = {0};
    char path[] = "/tmp/pd-listen-XXXXXX", address[64];
    struct stat found;
    int fd;

    (void)state;
    assert_int_equal(pd_http_listen_open("localhost:0", &one, &error), 0);
    assert_memory_equal(one.name, "127.0.0.1:", 10);
    assert_string_not_equal(one.name, "127.0.0.1:0");
    assert_true(pd_http_listen_open(one.name, &two, &error) < 0);
    assert_non_null(strstr(error.text, one.name));
    assert_int_equal(two.fd, -1);
    pd_http_listen_close(&one);

    assert_non_null(mkdtemp(path));
    snprintf(address, sizeof address, "unix:%s/s", path);
    assert_int_equal(pd_http_listen_open(address, &one, &error), 0);
    assert_true(pd_http_listen_open(address, &two, &error) < 0); /* served: not replaced */
    close(one.fd); /* killed: the socket stays behind */
    assert_int_equal(stat(address + 5, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0660);
    assert_int_equal(pd_http_listen_open(address, &two, &error), 0);
    pd_http_listen_close(&two);
    assert_int_equal(stat(address + 5, &found), -1);

    fd = creat(address + 5, 0600); /* a file of somebody's is never removed */
    assert_true(fd >= 0);
    assert_true(pd_http_listen_open(address, &one, &error) < 0);
    assert_int_equal(stat(address + 5, &found), 0);
    close(fd);
    unlink(address + 5);
    rmdir(path);
}

static void test_man_page(void **state)
{
    (void)state;
    documented_man_page(pd_agent_settings_table(), PD_SOURCE_DIR "/docs/man/pathdumpd.8");
}

static void test_example(void **state)
{
    (void)state;
    documented_example(pd_agent_settings_table(), PD_SOURCE_DIR "/dist/pathdumpd.conf");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),     cmocka_unit_test(test_check),
        cmocka_unit_test(test_folder),   cmocka_unit_test(test_compare),
        cmocka_unit_test(test_intakes),  cmocka_unit_test(test_listen),
        cmocka_unit_test(test_man_page), cmocka_unit_test(test_example),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
