/* SPDX-License-Identifier: Apache-2.0 */
/* Documents on disk: written whole, read with suspicion; what is damaged is set aside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/state_file.h"

#define MAX_BYTES 1000

static char folder[] = "/tmp/pd-state-XXXXXX";
static char file[64], damaged[80], fresh[80];

static int set_up(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/list.json", folder);
    snprintf(damaged, sizeof damaged, "%s.damaged", file);
    snprintf(fresh, sizeof fresh, "%s.new", file);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(file);
    unlink(damaged);
    return rmdir(folder);
}

static void put(const char *text)
{
    FILE *stream = fopen(file, "w");

    assert_non_null(stream);
    fputs(text, stream);
    fclose(stream);
}

static void what_was_written_is_read(void **state)
{
    struct pd_error error = {0};
    json_t *document = json_pack("{s:i, s:s}", "version", 3, "what", "ein Wörtchen"),
           *read = document;
    struct stat about;

    (void)state;
    assert_int_equal(pd_daemon_state_read(file, 3, MAX_BYTES, &read, &error), 0);
    assert_null(read);
    for (int i = 0; i < 2; i++) {
        json_object_set_new(document, "i", json_integer(i));
        assert_int_equal(pd_daemon_state_write(file, document, &error), 0);
        assert_int_equal(pd_daemon_state_read(file, 3, MAX_BYTES, &read, &error), 0);
        assert_true(json_equal(document, read));
        json_decref(read);
    }
    assert_int_equal(stat(file, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_int_equal(access(fresh, F_OK), -1);
    json_decref(document);
}

static void what_is_damaged_is_set_aside(void **state)
{
    static char large[MAX_BYTES + 2];
    const char *texts[] = {"",
                           "{",
                           "[]",
                           "{\"version\":4}",
                           "{\"version\":\"3\"}",
                           "{\"version\":3,\"version\":3}",
                           "{\"version\":3} x",
                           "{\"version\":3,\"x\":\"\xff\"}",
                           "\x01\x02",
                           large};

    (void)state;
    memset(large, ' ', sizeof large - 1);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct pd_error error = {0};
        json_t *read = NULL;

        put(texts[i]);
        assert_int_equal(pd_daemon_state_read(file, 3, MAX_BYTES, &read, &error), -PD_E_CORRUPT);
        assert_null(read);
        assert_non_null(strstr(error.text, "list.json.damaged"));
        assert_int_equal(access(file, F_OK), -1);
        assert_int_equal(access(damaged, F_OK), 0);
    }
}

/* What cannot be written leaves what is there. */
static void a_failure_leaves_the_old_one(void **state)
{
    struct pd_error error = {0};
    json_t *document = json_pack("{s:i}", "version", 3), *read = NULL;

    (void)state;
    assert_int_equal(pd_daemon_state_write(file, document, &error), 0);
    assert_int_equal(mkdir(fresh, 0700), 0); /* in the way */
    json_object_set_new(document, "more", json_true());
    assert_true(pd_daemon_state_write(file, document, &error) < 0);
    assert_non_null(strstr(error.text, "cannot be written"));
    assert_int_equal(rmdir(fresh), 0);
    assert_int_equal(pd_daemon_state_read(file, 3, MAX_BYTES, &read, &error), 0);
    assert_null(json_object_get(read, "more"));
    json_decref(read);
    json_decref(document);
    assert_int_equal(pd_daemon_state_read("/proc/self", 3, MAX_BYTES, &read, &error),
                     -PD_E_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(what_is_damaged_is_set_aside),
        cmocka_unit_test(a_failure_leaves_the_old_one),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
