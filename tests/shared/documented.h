/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon's manual page and example configuration are what its table of options says. */
#ifndef PD_TESTS_SHARED_DOCUMENTED_H
#define PD_TESTS_SHARED_DOCUMENTED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/options.h"

static inline char *documented_file(const char *name)
{
    FILE *in = fopen(name, "re");
    char *text = calloc(1, 1 << 20);

    assert_non_null(in);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, in) > 0);
    fclose(in);
    return text;
}

/* The OPTIONS part of the man page is what the table prints. */
static inline void documented_man_page(const struct pd_option *table, const char *file)
{
    static const char begin[] = ".\\\" options: begin\n", end[] = ".\\\" options: end\n";
    char *page = documented_file(file), *wanted = NULL, *at, *stop;
    size_t bytes = 0;
    FILE *out = open_memstream(&wanted, &bytes);

    pd_options_man(table, out);
    fclose(out);
    at = strstr(page, begin);
    stop = strstr(page, end);
    assert_non_null(at);
    assert_non_null(stop);
    *stop = '\0';
    assert_string_equal(at + strlen(begin), wanted);
    free(wanted);
    free(page);
}

/* The example configuration names every key, each with its default, commented out or not. */
static inline void documented_example(const struct pd_option *table, const char *file)
{
    char *text = documented_file(file), line[100];

    for (const struct pd_option *option = table; option->name; option++) {
        if (!option->section) {
            continue;
        }
        snprintf(line, sizeof line, "[%s]\n", option->section);
        if (!strstr(text, line)) {
            fail_msg("%s is missing", line);
        }
        snprintf(line, sizeof line, "%s = %s", option->name,
                 option->fallback ? option->fallback : "");
        if (!strstr(text, line)) {
            fail_msg("\"%s\" is missing", line);
        }
    }
    free(text);
}

#endif
