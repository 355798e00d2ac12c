/* SPDX-License-Identifier: Apache-2.0 */
/* The audit: lines are there again after a restart, in order, rotated; without room nothing is
 * promised, and what is there is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/audit/audit.h"
#include "tests/shared/folder.h"

static char folder[64], directory[80];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/pathdump-audit-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(directory, sizeof directory, "%s/audit", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return folder_remove(folder);
}

static struct pd_audit *open_audit(void)
{
    struct pd_audit *audit;

    assert_int_equal(pd_audit_open(directory, &audit, NULL), 0);
    return audit;
}

static int note(struct pd_audit *audit, const char *what, json_t *detail)
{
    const struct pd_audit_entry entry = {.who = "ada",
                                         .role = "install",
                                         .address = "10.0.0.9",
                                         .what = what,
                                         .detail = detail,
                                         .outcome = "done",
                                         .changes = strcmp(what, "asked") != 0};

    return pd_audit_write(audit, &entry);
}

static size_t count(struct pd_audit *audit, uint64_t from_us, size_t most)
{
    json_t *answer = pd_audit_read(audit, from_us, UINT64_MAX, most);
    size_t len = json_array_size(json_object_get(answer, "entries"));

    json_decref(answer);
    return len;
}

static void test_there_again(void **state)
{
    struct pd_audit *audit = open_audit();
    json_t *detail = json_pack("{s:i}", "id", 7), *answer, *entry, *entries;
    json_int_t before = 0;
    size_t i;

    (void)state;
    assert_int_equal(note(audit, "install", detail), 0);
    assert_int_equal(note(audit, "uninstall", NULL), 0);
    pd_audit_close(audit);
    audit = open_audit();
    assert_int_equal(note(audit, "watch", NULL), 0);
    answer = pd_audit_read(audit, 0, UINT64_MAX, 100);
    entries = json_object_get(answer, "entries");
    assert_int_equal(json_array_size(entries), 3);
    json_array_foreach(entries, i, entry)
    {
        static const char *const whats[] = {"install", "uninstall", "watch"};
        json_int_t time_us = json_integer_value(json_object_get(entry, "time_us"));

        assert_int_equal(json_object_size(entry), 8);
        assert_string_equal(json_string_value(json_object_get(entry, "what")), whats[i]);
        assert_string_equal(json_string_value(json_object_get(entry, "who")), "ada");
        assert_true(time_us > before);
        before = time_us;
    }
    assert_true(json_equal(json_object_get(json_array_get(entries, 0), "detail"), detail));
    assert_int_equal(count(audit, (uint64_t)before, 100), 1);
    assert_int_equal(count(audit, (uint64_t)before + 1, 100), 0);
    assert_int_equal(count(audit, 0, 2), 2);
    json_decref(answer);
    json_decref(detail);
    pd_audit_close(audit);
}

/* More than a file holds, many times over: the oldest go, the folder does not grow for ever. */
static void test_rotation(void **state)
{
    struct pd_audit *audit = open_audit();
    char *text = malloc(15001), last[100];
    unsigned lines = (unsigned)(PD_AUDIT_FILE_BYTES / 15000 + 2);
    json_t *detail;
    struct stat now;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', 15000);
    text[15000] = '\0';
    detail = json_pack("{s:s}", "text", text);
    pd_audit_close(audit);
    audit = open_audit();
    for (unsigned i = 0; i < lines; i++) {
        assert_int_equal(note(audit, "long", detail), 0);
    }
    snprintf(last, sizeof last, "%s/audit.1.jsonl", directory);
    assert_int_equal(stat(last, &now), 0);
    assert_in_range(now.st_size, PD_AUDIT_FILE_BYTES, PD_AUDIT_FILE_BYTES + 16384);
    assert_int_equal(count(audit, 0, PD_AUDIT_LIMIT), lines);
    json_decref(detail);
    free(text);
    pd_audit_close(audit);
}

static size_t lines_in(const char *name, const char *what)
{
    char path[120], line[1000], wanted[40];
    size_t lines = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    snprintf(wanted, sizeof wanted, "\"what\":\"%s\"", what);
    file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        assert_non_null(strstr(line, wanted));
        lines++;
    }
    fclose(file);
    return lines;
}

/* What changes nothing has files of its own, and so displaces no change; both are told by time. */
static void test_apart(void **state)
{
    static const char *const whats[] = {"asked",   "asked", "asked", "install", "asked",
                                        "install", "asked", "asked", "install"};
    enum { LINES = sizeof whats / sizeof *whats };
    struct pd_audit *audit = open_audit();

    (void)state;
    for (size_t i = 0; i < LINES; i++) {
        assert_int_equal(note(audit, whats[i], NULL), 0);
    }
    assert_int_equal(lines_in("audit.jsonl", "install"), 3);
    assert_int_equal(lines_in("asked.jsonl", "asked"), 6);
    for (size_t most = 1; most <= LINES + 1; most++) {
        json_t *answer = pd_audit_read(audit, 0, UINT64_MAX, most);
        const json_t *entries = json_object_get(answer, "entries");
        size_t len = most < LINES ? most : LINES;

        assert_int_equal(json_array_size(entries), len);
        for (size_t i = 0; i < len; i++) {
            assert_string_equal(
                json_string_value(json_object_get(json_array_get(entries, i), "what")),
                whats[LINES - len + i]);
        }
        json_decref(answer);
    }
    pd_audit_close(audit);
}

/* A disk that is full, as a limit on the size of files makes it. */
static void test_full(void **state)
{
    struct pd_audit *audit = open_audit();
    struct rlimit was, small = {0, 0};
    struct pd_error error = {0};

    (void)state;
    assert_int_equal(note(audit, "install", NULL), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    small.rlim_max = was.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(note(audit, "lost", NULL), -PD_E_FULL);
    assert_int_equal(pd_audit_reserve(audit, &error), -PD_E_FULL);
    assert_non_null(strstr(error.text, "nothing is changed"));
    assert_int_equal(count(audit, 0, 100), 1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(pd_audit_reserve(audit, &error), 0);
    assert_int_equal(note(audit, "again", NULL), 0);
    assert_int_equal(count(audit, 0, 100), 3); /* and that some are lost */
    pd_audit_close(audit);
}

/* A link would lead the lines elsewhere, and a pipe keeps whoever opens it waiting. */
static void test_no_files(void **state)
{
    char name[120], elsewhere[120];
    struct pd_audit *audit = open_audit();
    struct stat now;

    (void)state;
    assert_int_equal(note(audit, "install", NULL), 0);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", folder);
    snprintf(name, sizeof name, "%s/audit.1.jsonl", directory);
    assert_int_equal(mkfifo(name, 0600), 0);
    assert_int_equal(count(audit, 0, 10), 1);
    pd_audit_close(audit);
    snprintf(name, sizeof name, "%s/audit.jsonl", directory);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(symlink(elsewhere, name), 0);
    assert_int_equal(pd_audit_open(directory, &audit, NULL), -ELOOP);
    assert_int_equal(stat(elsewhere, &now), -1);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(mkfifo(name, 0600), 0);
    assert_true(pd_audit_open(directory, &audit, NULL) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_there_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rotation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_files, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
