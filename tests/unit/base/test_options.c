/* SPDX-License-Identifier: Apache-2.0 */
/* Options: flags, configuration files, their errors with places, help and man page. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/options.h"

struct settings {
    bool verbose;
    const char *name;
    uint64_t count;
    uint64_t room_bytes;
    uint64_t age_s;
    char level[16];
};

static int set_level(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *settings = target;

    if (strcmp(value, "low") && strcmp(value, "high")) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects low or high, not \"%s\"", name, value);
    }
    snprintf(settings->level, sizeof settings->level, "%s", value);
    return 0;
}

#define AT(member) offsetof(struct settings, member)
static const struct pd_option table[] = {
    {"a", "verbose", PD_OPTION_FLAG, AT(verbose), 0, 0, NULL, NULL, "says more", NULL},
    {"a", "name", PD_OPTION_STRING, AT(name), 0, 0, "FILE", "nobody", "who", NULL},
    {"a", "count", PD_OPTION_U64, AT(count), 2, 1000, "N", "7", "how many", NULL},
    {"b", "room", PD_OPTION_BYTES, AT(room_bytes), 0, 0, "BYTES", NULL, "how much room", NULL},
    {"b", "age", PD_OPTION_SECONDS, AT(age_s), 1, 0, "TIME", "1h", "how old", NULL},
    {"b", "level", PD_OPTION_CALLBACK, 0, 0, 0, "LEVEL", "low", ".how-high \\ it is", set_level},
    {NULL, "flag-only", PD_OPTION_FLAG, AT(verbose), 0, 0, NULL, NULL, "no key of the file", NULL},
    {0},
};

static int flags(struct settings *settings, int argc, const char *const *words, int *ret_words,
                 bool *given, struct pd_error *error, const char **ret_rest)
{
    char *argv[16];
    int err;

    for (int i = 0; i < argc; i++) {
        argv[i] = (char *)(uintptr_t)words[i];
    }
    err = pd_options_flags(table, settings, argc, argv, ret_words, given, error);
    for (int i = 0; ret_rest && i < argc; i++) {
        ret_rest[i] = argv[i];
    }
    return err;
}

static void test_defaults(void **state)
{
    struct settings settings;

    (void)state;
    memset(&settings, 0xff, sizeof settings);
    assert_int_equal(pd_options_defaults(table, &settings, NULL), 0);
    assert_false(settings.verbose);
    assert_string_equal(settings.name, "nobody");
    assert_int_equal(settings.count, 7);
    assert_int_equal(settings.room_bytes, 0);
    assert_int_equal(settings.age_s, 3600);
    assert_string_equal(settings.level, "low");
}

static void test_flags(void **state)
{
    static const char *const words[] = {"program", "word",   "--name=x=y", "--count", "1000",
                                        "-",       "--room", "3k",         "--age",   "2d",
                                        "--level", "high",   "--verbose",  "--",      "--name"};
    const char *rest[16];
    bool given[8] = {false};
    struct settings settings = {0};
    int len = -1;

    (void)state;
    assert_int_equal(flags(&settings, 15, words, &len, given, NULL, rest), 0);
    assert_string_equal(settings.name, "x=y");
    assert_int_equal(settings.count, 1000);
    assert_int_equal(settings.room_bytes, 3072);
    assert_int_equal(settings.age_s, 2 * 86400);
    assert_string_equal(settings.level, "high");
    assert_true(settings.verbose);
    assert_int_equal(len, 3);
    assert_string_equal(rest[1], "word");
    assert_string_equal(rest[2], "-");
    assert_string_equal(rest[3], "--name");
    assert_true(given[0] && given[1] && given[2] && given[3] && given[4] && given[5] && !given[6]);
}

static void test_bad_flags(void **state)
{
    static const struct {
        const char *words[2];
        int err;
        const char *text; /* part of the error */
    } cases[] = {
        {{"--nothing", NULL}, -PD_E_UNKNOWN_KEY, "--nothing"},
        {{"-v", NULL}, -PD_E_UNKNOWN_KEY, "-v"},
        {{"--nam", "x"}, -PD_E_UNKNOWN_KEY, "--nam"},
        {{"--name", NULL}, -PD_E_VALUE, "--name: expects a value (FILE)"},
        {{"--name", "--verbose"}, -PD_E_VALUE, "--name: expects a value"},
        {{"--count", "1"}, -PD_E_VALUE, "--count: expects a decimal number from 2 to 1000"},
        {{"--count", "1001"}, -PD_E_VALUE, "--count"},
        {{"--count", "5k"}, -PD_E_VALUE, "--count"},
        {{"--count", ""}, -PD_E_VALUE, "--count"},
        {{"--count", "-5"}, -PD_E_VALUE, "--count"},
        {{"--room", "18446744073709551616"}, -PD_E_VALUE, "--room"},
        {{"--room", "99999999T"}, -PD_E_VALUE, "--room"},
        {{"--room", "1KB"}, -PD_E_VALUE, "--room"},
        {{"--age", "0"},
         -PD_E_VALUE,
         "--age: expects a number of seconds, or one with s, m, h or d from 1 on"},
        {{"--age", "1w"}, -PD_E_VALUE, "--age"},
        {{"--level", "middle"}, -PD_E_VALUE, "--level: expects low or high"},
        {{"--verbose=perhaps", NULL}, -PD_E_VALUE, "--verbose"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *words[] = {"program", cases[i].words[0], cases[i].words[1]};
        struct settings settings = {0};
        struct pd_error error = {0};
        int len = -1;

        assert_int_equal(
            flags(&settings, cases[i].words[1] ? 3 : 2, words, &len, NULL, &error, NULL),
            cases[i].err);
        if (!strstr(error.text, cases[i].text)) {
            fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].words[0], error.text,
                     cases[i].text);
        }
        assert_int_equal(error.code, cases[i].err);
        assert_int_equal(len, -1);
        assert_int_equal(flags(&settings, cases[i].words[1] ? 3 : 2, words, &len, NULL, NULL, NULL),
                         cases[i].err);
    }
}

static int read_text(const char *text, size_t bytes, struct settings *settings, const bool *given,
                     struct pd_options_memory **memory, struct pd_error *error)
{
    char file[] = "/tmp/pd-options-XXXXXX";
    int fd = mkstemp(file), err;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, bytes), bytes);
    close(fd);
    err = pd_options_file(table, settings, file, given, memory, error);
    unlink(file);
    return err;
}

static void test_file(void **state)
{
    static const char text[] =
        "# a comment\r\nverbose = yes\n\n ; another\n[ a ]\n  name =  two words \ncount=9\n"
        "[b]\nroom=1M\nage = 30m\nlevel=high";
    bool given[8] = {false, false, true};
    struct pd_options_memory *memory = NULL;
    struct settings settings = {.count = 3};

    (void)state;
    assert_int_equal(read_text(text, sizeof text - 1, &settings, given, &memory, NULL), 0);
    assert_true(settings.verbose);
    assert_string_equal(settings.name, "two words");
    assert_int_equal(settings.count, 3); /* the flag wins */
    assert_int_equal(settings.room_bytes, 1 << 20);
    assert_int_equal(settings.age_s, 1800);
    assert_string_equal(settings.level, "high");
    pd_options_memory_free(memory);
}

static void test_bad_files(void **state)
{
    static const struct {
        const char *text;
        size_t bytes; /* 0: of the string */
        int err;
        const char *wanted;
    } cases[] = {
        {"# a comment\nno-such-key = 1\n", 0, -PD_E_UNKNOWN_KEY, ":2: no-such-key: unknown key"},
        {"flag-only = 1\n", 0, -PD_E_UNKNOWN_KEY, ":1: flag-only: unknown key"},
        {"[c]\n", 0, -PD_E_UNKNOWN_KEY, ":1: [c]: unknown section"},
        {"[a\n", 0, -PD_E_SYNTAX, ":1: expects [section]"},
        {"[a] b\n", 0, -PD_E_SYNTAX, ":1: expects [section]"},
        {"[a]\nroom = 1\n", 0, -PD_E_UNKNOWN_KEY,
         ":2: room: unknown key of [a]: it belongs to [b]"},
        {"\n\nname\n", 0, -PD_E_SYNTAX, ":3: expects key = value"},
        {"= 3\n", 0, -PD_E_UNKNOWN_KEY, ":1: : unknown key"},
        {"count = 3\ncount = 3\n", 0, -PD_E_VALUE, ":2: count: given in line 1 already"},
        {"count = many\n", 0, -PD_E_VALUE,
         ":1: count: expects a decimal number from 2 to 1000, not \"many\""},
        {"level = middle\n", 0, -PD_E_VALUE, ":1: level: expects low or high"},
        {"name = a\0b\n", 11, -PD_E_SYNTAX, ":1: the line holds a NUL byte"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pd_options_memory *memory = NULL;
        struct settings settings = {0};
        struct pd_error error = {0};
        size_t bytes = cases[i].bytes ? cases[i].bytes : strlen(cases[i].text);

        assert_int_equal(read_text(cases[i].text, bytes, &settings, NULL, &memory, &error),
                         cases[i].err);
        if (!strstr(error.text, cases[i].wanted)) {
            fail_msg("\"%s\" does not say \"%s\"", error.text, cases[i].wanted);
        }
        pd_options_memory_free(memory);
    }
}

static void test_file_limits(void **state)
{
    static const size_t bytes = 2 * 1024 * 1024;
    char *text = malloc(bytes);
    bool given[8] = {false, false, true};
    struct pd_options_memory *memory = NULL;
    struct settings settings = {0};
    struct pd_error error = {0};

    (void)state;
    memset(text, '#', bytes);
    assert_int_equal(read_text(text, bytes, &settings, NULL, &memory, &error), -PD_E_TOO_LARGE);
    free(text);
    /* what a flag overrides is checked nevertheless */
    assert_int_equal(read_text("count = 1\n", 10, &settings, given, &memory, &error), -PD_E_VALUE);
    assert_int_equal(
        pd_options_file(table, &settings, "/nonexistent/x.conf", NULL, &memory, &error), -2);
    assert_non_null(strstr(error.text, "/nonexistent/x.conf: "));
    pd_options_memory_free(memory);
}

static char *printed(void (*print)(const struct pd_option *table, FILE *out))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    print(table, out);
    fclose(out);
    return text;
}

static void test_help(void **state)
{
    char *help = printed(pd_options_help), *man = printed(pd_options_man);

    (void)state;
    assert_non_null(strstr(help, "  --name FILE               who (default: nobody)\n"));
    assert_non_null(strstr(help, "  --flag-only               no key of the file\n"));
    assert_non_null(strstr(man, ".TP\n\\fB\\-\\-name\\fR \\fIFILE\\fR\nwho.\nDefault: nobody.\n"
                                "In the configuration file: section [a].\n"));
    assert_non_null(strstr(man, "\n\\&.how\\-high \\e it is.\n"));
    assert_null(strstr(strstr(man, "flag\\-only"), "configuration file"));
    free(help);
    free(man);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),  cmocka_unit_test(test_flags),
        cmocka_unit_test(test_bad_flags), cmocka_unit_test(test_file),
        cmocka_unit_test(test_bad_files), cmocka_unit_test(test_file_limits),
        cmocka_unit_test(test_help),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
