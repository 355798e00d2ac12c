/* SPDX-License-Identifier: Apache-2.0 */
/* Options as tables: flags, configuration file, help, man page and shell completion all come from
 * one table. */
#ifndef PD_BASE_OPTIONS_H
#define PD_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* Each option is a flag (--idle-ms 5000 or --idle-ms=5000) and, where a program reads a
 * configuration file, a key of it
 * ("idle-ms = 5000" in its [section]). Values land in the caller's struct at `offset`; strings
 * point into argv or into memory of the struct pd_options_memory and stay valid until it is freed.
 *
 * The file is INI: sections, "key = value", comments with # or ; on lines of their own. Keys before
 * the first section are looked up in all sections. An unknown key or section, a value that does not
 * fit, or a key given twice is an error that names file and line: "x.conf:2: no-such-key: unknown
 * key". Flags win over the file.
 *
 * Thread safety: works on the caller's memory only. */

enum pd_option_type {
    /* bool; as a flag without value (or =true/false), as a key true/false/yes/no/on/off/1/0 */
    PD_OPTION_FLAG,
    PD_OPTION_STRING,   /* const char *; `set`, if there is one, only says whether it will do */
    PD_OPTION_U64,      /* uint64_t, decimal, between min and max */
    PD_OPTION_BYTES,    /* uint64_t; suffixes K M G T (powers of 1024) */
    PD_OPTION_SECONDS,  /* uint64_t; suffixes s m h d, plain number: seconds */
    PD_OPTION_CALLBACK, /* handled by `set` */
    /* struct pd_option_list: a string each time it is given; the file may name it again and again,
     * too. `set` as with STRING */
    PD_OPTION_LIST,
};

#define PD_OPTION_LIST_MAX 16u

struct pd_option_list {
    unsigned len;
    const char *items[PD_OPTION_LIST_MAX];
};

struct pd_option {
    const char *section; /* of the file; NULL: a flag only */
    const char *name;    /* "idle-ms" */
    enum pd_option_type type;
    size_t offset;     /* into the caller's struct */
    uint64_t min, max; /* for numbers; max 0: no bound */
    const char *value; /* placeholder in help: "FILE"; completion knows FILE and DIR */
    /* text of the default, set first and shown in help; NULL: none (0, false, NULL) */
    const char *fallback;
    const char *help; /* one line, no full stop */
    int (*set)(void *target, const char *name, const char *value,
               struct pd_error *error); /* CALLBACK, STRING and LIST */
};

struct pd_options_memory; /* strings read from files */
void pd_options_memory_free(struct pd_options_memory *memory);

/* Sets every default of the table (ends with a NULL name). */
int pd_options_defaults(const struct pd_option *table, void *target, struct pd_error *error);

/* Reads flags from argv[1..]; stops at "--". Words that are not flags are moved to the front of
 * argv[1..] and counted. -PD_E_UNKNOWN_KEY or -PD_E_VALUE with the flag's name. `ret_given` (may be
 * NULL) gets a true for each option given, by its index in the table. */
int pd_options_flags(const struct pd_option *table, void *target, int argc, char **argv,
                     int *ret_words, bool *ret_given, struct pd_error *error);

/* Reads a configuration file. `given` (may be NULL) marks options that flags have set already and
 * the file must not. */
int pd_options_file(const struct pd_option *table, void *target, const char *file,
                    const bool *given, struct pd_options_memory **memory, struct pd_error *error);

/* Prints the table as lines of --help, or as the OPTIONS part of a man page (mdoc or man macros).
 */
void pd_options_help(const struct pd_option *table, FILE *out);
void pd_options_man(const struct pd_option *table, FILE *out);

#endif
