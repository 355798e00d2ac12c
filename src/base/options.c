/* SPDX-License-Identifier: Apache-2.0 */
/* Options as tables: reads flags and configuration files into the caller's struct and prints help
 * and man page. */
#include "base/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

#define FILE_MAX_BYTES (1024 * 1024) /* a configuration file beyond this is a mistake */

struct pd_options_memory {
    struct pd_options_memory *next;
    char text[];
};

void pd_options_memory_free(struct pd_options_memory *memory)
{
    while (memory) {
        struct pd_options_memory *next = memory->next;

        free(memory);
        memory = next;
    }
}

static const char *remember(struct pd_options_memory **memory, const char *text)
{
    size_t bytes = strlen(text) + 1;
    struct pd_options_memory *item = malloc(sizeof *item + bytes);

    if (!item) {
        return NULL;
    }
    memcpy(item->text, text, bytes);
    item->next = *memory;
    *memory = item;
    return item->text;
}

/* ---- values ---- */

static int parse_bool(const char *text, bool *ret_value)
{
    static const char *const words[][2] = {
        {"false", "true"}, {"no", "yes"}, {"off", "on"}, {"0", "1"}};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        for (int value = 0; value < 2; value++) {
            if (!strcmp(text, words[i][value])) {
                *ret_value = value;
                return 0;
            }
        }
    }
    return -PD_E_VALUE;
}

/* What a suffix multiplies with; 0 when this type has no such suffix. */
static uint64_t unit(enum pd_option_type type, char suffix)
{
    static const char bytes[] = "KMGT";
    static const struct {
        char suffix;
        uint32_t seconds;
    } spans[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};

    if (type == PD_OPTION_BYTES) {
        const char *at = strchr(bytes, toupper((unsigned char)suffix));

        return at ? UINT64_C(1) << (10 * (at - bytes + 1)) : 0;
    }
    for (size_t i = 0; type == PD_OPTION_SECONDS && i < sizeof spans / sizeof spans[0]; i++) {
        if (spans[i].suffix == suffix) {
            return spans[i].seconds;
        }
    }
    return 0;
}

/* Decimal digits and, for sizes and spans, one suffix. Nothing wraps. */
static int parse_number(enum pd_option_type type, const char *text, uint64_t *ret_value)
{
    uint64_t value = 0, factor = 1;
    const char *at = text;

    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *at - '0', &value)) {
            return -PD_E_VALUE;
        }
    }
    if (at == text) {
        return -PD_E_VALUE;
    }
    if (*at) {
        factor = unit(type, *at);
        if (!factor || at[1] || __builtin_mul_overflow(value, factor, &value)) {
            return -PD_E_VALUE;
        }
    }
    *ret_value = value;
    return 0;
}

static int fail_number(const struct pd_option *option, const char *value, struct pd_error *error)
{
    static const char *const kinds[] = {
        [PD_OPTION_U64] = "a decimal number",
        [PD_OPTION_BYTES] = "a number of bytes, with K, M, G or T",
        [PD_OPTION_SECONDS] = "a number of seconds, or one with s, m, h or d",
    };

    if (option->max) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects %s from %llu to %llu, not \"%.100s\"",
                       option->name, kinds[option->type], (unsigned long long)option->min,
                       (unsigned long long)option->max, value);
    }
    if (option->min) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects %s from %llu on, not \"%.100s\"",
                       option->name, kinds[option->type], (unsigned long long)option->min, value);
    }
    return pd_fail(error, -PD_E_VALUE, "%s: expects %s, not \"%.100s\"", option->name,
                   kinds[option->type], value);
}

static int set_number(const struct pd_option *option, void *place, const char *value,
                      struct pd_error *error)
{
    uint64_t number;

    if (parse_number(option->type, value, &number) || number < option->min ||
        (option->max && number > option->max)) {
        return fail_number(option, value, error);
    }
    memcpy(place, &number, sizeof number);
    return 0;
}

static int set_bool(const struct pd_option *option, void *place, const char *value,
                    struct pd_error *error)
{
    bool truth;

    if (parse_bool(value, &truth)) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects true or false, not \"%.100s\"",
                       option->name, value);
    }
    memcpy(place, &truth, sizeof truth);
    return 0;
}

static int add_item(const struct pd_option *option, void *place, const char *value,
                    struct pd_error *error)
{
    struct pd_option_list *list = place;

    if (list->len == PD_OPTION_LIST_MAX) {
        return pd_fail(error, -PD_E_VALUE, "%s: given more than %u times", option->name,
                       PD_OPTION_LIST_MAX);
    }
    list->items[list->len++] = value;
    return 0;
}

/* Sets one option from its text. A string is kept as it is: `value` must outlive the target. */
static int set_value(const struct pd_option *option, void *target, const char *value,
                     struct pd_error *error)
{
    char *place = (char *)target + option->offset;

    switch (option->type) {
    case PD_OPTION_FLAG: return set_bool(option, place, value, error);
    case PD_OPTION_STRING:
    case PD_OPTION_LIST: {
        int err = option->set ? option->set(target, option->name, value, error) : 0;

        if (!err && option->type == PD_OPTION_LIST) {
            return add_item(option, place, value, error);
        }
        if (!err) {
            memcpy(place, &value, sizeof value);
        }
        return err;
    }
    case PD_OPTION_U64:
    case PD_OPTION_BYTES:
    case PD_OPTION_SECONDS: return set_number(option, place, value, error);
    case PD_OPTION_CALLBACK: return option->set(target, option->name, value, error);
    }
    return -EINVAL;
}

static void set_nothing(const struct pd_option *option, void *target)
{
    char *place = (char *)target + option->offset;

    if (option->type == PD_OPTION_FLAG) {
        memset(place, 0, sizeof(bool));
    } else if (option->type == PD_OPTION_STRING) {
        memset(place, 0, sizeof(const char *));
    } else if (option->type == PD_OPTION_LIST) {
        memset(place, 0, sizeof(struct pd_option_list));
    } else if (option->type != PD_OPTION_CALLBACK) {
        memset(place, 0, sizeof(uint64_t));
    }
}

int pd_options_defaults(const struct pd_option *table, void *target, struct pd_error *error)
{
    for (const struct pd_option *option = table; option->name; option++) {
        if (!option->fallback) {
            set_nothing(option, target);
            continue;
        }
        int err = set_value(option, target, option->fallback, error);

        if (err) {
            return err;
        }
    }
    return 0;
}

/* ---- flags ---- */

static const struct pd_option *find_flag(const struct pd_option *table, const char *name,
                                         size_t len)
{
    for (; table->name; table++) {
        if (strlen(table->name) == len && !memcmp(table->name, name, len)) {
            return table;
        }
    }
    return NULL;
}

static const char *placeholder(const struct pd_option *option)
{
    return option->value ? option->value : "VALUE";
}

/* The value of the flag at argv[i], from behind its `=` or from the next word; moves *i on when it
 * took that. NULL: there is none. */
static const char *flag_value(const struct pd_option *option, int argc, char **argv, int *i)
{
    const char *equals = strchr(argv[*i], '=');

    if (equals) {
        return equals + 1;
    }
    if (option->type == PD_OPTION_FLAG) {
        return "true";
    }
    /* A value that begins with -- is more likely a value forgotten; --name=--value says that it is
     * meant. */
    if (*i + 1 >= argc || !strncmp(argv[*i + 1], "--", 2)) {
        return NULL;
    }
    return argv[++*i];
}

/* The words of a key's error begin with its name; on the command line that name is a flag. */
static int as_flag(int err, struct pd_error *error)
{
    struct pd_error inner;

    if (!error) {
        return err;
    }
    inner = *error;
    return pd_fail(error, err, "--%s", inner.text);
}

static int no_flag(const struct pd_option *table, const char *flag, struct pd_error *error)
{
    char name[PD_NEAREST_MAX + 1], hint[PD_NEAREST_HINT_BYTES];
    const char *bare = flag + strspn(flag, "-");
    struct pd_nearest nearest = {.text = name};

    snprintf(name, sizeof name, "%.*s", (int)strcspn(bare, "="), bare);
    for (; table->name; table++) {
        pd_nearest_offer(&nearest, table->name);
    }
    return pd_fail(error, -PD_E_UNKNOWN_KEY, "%.100s: unknown flag%s", flag,
                   pd_nearest_hint(&nearest, "--", hint));
}

static int take_flag(const struct pd_option *table, void *target, int argc, char **argv, int *i,
                     bool *given, struct pd_error *error)
{
    const char *name = argv[*i] + 2;
    const struct pd_option *option = find_flag(table, name, strcspn(name, "="));
    const char *value;
    int err;

    if (!option || argv[*i][1] != '-') {
        return no_flag(table, argv[*i], error);
    }
    value = flag_value(option, argc, argv, i);
    if (!value) {
        return pd_fail(error, -PD_E_VALUE, "--%s: expects a value (%s)", option->name,
                       placeholder(option));
    }
    err = set_value(option, target, value, error);
    if (err) {
        return as_flag(err, error);
    }
    if (given) {
        given[option - table] = true;
    }
    return 0;
}

int pd_options_flags(const struct pd_option *table, void *target, int argc, char **argv,
                     int *ret_words, bool *ret_given, struct pd_error *error)
{
    int words = 0;
    bool flags_end = false;

    for (int i = 1; i < argc; i++) {
        if (!flags_end && !strcmp(argv[i], "--")) {
            flags_end = true;
        } else if (flags_end || argv[i][0] != '-' || !argv[i][1]) {
            char *word = argv[i];

            /* Swapped, not copied: no element of argv is lost. */
            argv[i] = argv[words + 1];
            argv[++words] = word;
        } else {
            int err = take_flag(table, target, argc, argv, &i, ret_given, error);

            if (err) {
                return err;
            }
        }
    }
    *ret_words = words;
    return 0;
}

/* ---- file ---- */

struct file_reader {
    const struct pd_option *table;
    void *target;
    const bool *given;
    struct pd_options_memory **memory;
    struct pd_error *error;
    unsigned *lines;  /* where each option was set, by index; 0: not yet */
    char section[64]; /* "" before the first one */
    unsigned line;
};

static char *trim(char *text)
{
    char *end;

    while (isspace((unsigned char)*text)) {
        text++;
    }
    end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1])) {
        end--;
    }
    *end = '\0';
    return text;
}

static int read_section(struct file_reader *reader, char *text)
{
    char *end = strchr(text, ']');

    if (!end || end[1]) {
        return pd_fail(reader->error, -PD_E_SYNTAX, "expects [section], not \"%.100s\"", text);
    }
    *end = '\0';
    text = trim(text + 1);
    for (const struct pd_option *option = reader->table; option->name; option++) {
        if (option->section && !strcmp(option->section, text)) {
            snprintf(reader->section, sizeof reader->section, "%s", text);
            return 0;
        }
    }
    return pd_fail(reader->error, -PD_E_UNKNOWN_KEY, "[%.100s]: unknown section", text);
}

/* NULL with the error filled when the section in force has no such key. */
static const struct pd_option *find_key(const struct file_reader *reader, const char *key)
{
    const char *elsewhere = NULL;
    struct pd_nearest nearest = {.text = key};
    char hint[PD_NEAREST_HINT_BYTES];

    for (const struct pd_option *option = reader->table; option->name; option++) {
        if (option->section) {
            pd_nearest_offer(&nearest, option->name);
        }
        if (!option->section || strcmp(option->name, key)) {
            continue;
        }
        if (!reader->section[0] || !strcmp(option->section, reader->section)) {
            return option;
        }
        elsewhere = option->section;
    }
    if (elsewhere) {
        pd_fail(reader->error, -PD_E_UNKNOWN_KEY, "%.100s: unknown key of [%s]: it belongs to [%s]",
                key, reader->section, elsewhere);
    } else {
        pd_fail(reader->error, -PD_E_UNKNOWN_KEY, "%.100s: unknown key%s", key,
                pd_nearest_hint(&nearest, "", hint));
    }
    return NULL;
}

/* A key whose flag was given is checked all the same, into nowhere. */
static int check_value(const struct pd_option *option, const char *value, struct pd_error *error)
{
    struct pd_option here = *option;
    uint64_t nowhere;

    here.offset = 0;
    return option->type == PD_OPTION_CALLBACK || option->type == PD_OPTION_STRING ||
                   option->type == PD_OPTION_LIST
               ? 0
               : set_value(&here, &nowhere, value, error);
}

static int read_key(struct file_reader *reader, char *text)
{
    char *equals = strchr(text, '=');
    const struct pd_option *option;
    const char *value;

    if (!equals) {
        return pd_fail(reader->error, -PD_E_SYNTAX, "expects key = value, not \"%.100s\"", text);
    }
    *equals = '\0';
    text = trim(text);
    value = trim(equals + 1);
    option = find_key(reader, text);
    if (!option) {
        return -PD_E_UNKNOWN_KEY;
    }

    size_t index = (size_t)(option - reader->table);

    if (reader->lines[index] && option->type != PD_OPTION_LIST) {
        return pd_fail(reader->error, -PD_E_VALUE, "%s: given in line %u already", option->name,
                       reader->lines[index]);
    }
    reader->lines[index] = reader->line;
    if (reader->given && reader->given[index]) {
        return check_value(option, value, reader->error);
    }
    value = remember(reader->memory, value);
    return value ? set_value(option, reader->target, value, reader->error)
                 : pd_fail(reader->error, -ENOMEM, "no memory");
}

static int read_line(struct file_reader *reader, char *text)
{
    text = trim(text);
    if (!*text || *text == '#' || *text == ';') {
        return 0;
    }
    return *text == '[' ? read_section(reader, text) : read_key(reader, text);
}

static int read_lines(struct file_reader *reader, FILE *in, const char *file)
{
    char *text = NULL;
    size_t text_bytes = 0, total_bytes = 0;
    ssize_t len;
    int err = 0;

    while (!err && (len = getline(&text, &text_bytes, in)) >= 0) {
        reader->line++;
        total_bytes += (size_t)len;
        if (total_bytes > FILE_MAX_BYTES) {
            err = pd_fail(reader->error, -PD_E_TOO_LARGE, "the file is larger than %d bytes",
                          FILE_MAX_BYTES);
        } else if (memchr(text, '\0', (size_t)len)) {
            err = pd_fail(reader->error, -PD_E_SYNTAX, "the line holds a NUL byte");
        } else {
            err = read_line(reader, text);
        }
    }
    if (err) {
        char place[300];

        snprintf(place, sizeof place, "%.280s:%u", file, reader->line);
        if (reader->error) {
            pd_fail_within(reader->error, place);
        }
    } else if (ferror(in)) {
        err = pd_fail(reader->error, -EIO, "%.280s: cannot be read", file);
    }
    free(text);
    return err;
}

int pd_options_file(const struct pd_option *table, void *target, const char *file,
                    const bool *given, struct pd_options_memory **memory, struct pd_error *error)
{
    struct file_reader reader = {
        .table = table, .target = target, .given = given, .memory = memory, .error = error};
    size_t len = 0;
    FILE *in;
    int err;

    while (table[len].name) {
        len++;
    }
    in = fopen(file, "re");
    if (!in) {
        return pd_fail(error, -errno, "%.280s: %s", file, strerror(errno));
    }
    reader.lines = calloc(len + 1, sizeof *reader.lines);
    err = reader.lines ? read_lines(&reader, in, file)
                       : pd_fail(error, -ENOMEM, "%.280s: no memory", file);
    free(reader.lines);
    fclose(in);
    return err;
}

/* ---- help ---- */

#define HELP_COLUMN 28

void pd_options_help(const struct pd_option *table, FILE *out)
{
    for (; table->name; table++) {
        char flag[100];
        bool takes_value = table->type != PD_OPTION_FLAG;

        snprintf(flag, sizeof flag, "--%s%s%s", table->name, takes_value ? " " : "",
                 takes_value ? placeholder(table) : "");
        fprintf(out, "  %-*s", HELP_COLUMN - 3, flag);
        if (strlen(flag) > HELP_COLUMN - 3) {
            fprintf(out, "\n  %-*s", HELP_COLUMN - 3, "");
        }
        fprintf(out, " %s", table->help);
        if (table->fallback) {
            fprintf(out, " (default: %s)", table->fallback);
        }
        fputc('\n', out);
    }
}

/* Text for roff: no hyphens that break copy and paste, no escapes or requests that were not meant.
 */
static void roff(const char *text, FILE *out)
{
    if (*text == '.' || *text == '\'') {
        fputs("\\&", out);
    }
    for (; *text; text++) {
        if (*text == '-') {
            fputs("\\-", out);
        } else if (*text == '\\') {
            fputs("\\e", out);
        } else {
            fputc(*text, out);
        }
    }
}

void pd_options_man(const struct pd_option *table, FILE *out)
{
    for (; table->name; table++) {
        fputs(".TP\n\\fB\\-\\-", out);
        roff(table->name, out);
        fputs("\\fR", out);
        if (table->type != PD_OPTION_FLAG) {
            fputs(" \\fI", out);
            roff(placeholder(table), out);
            fputs("\\fR", out);
        }
        fputc('\n', out);
        roff(table->help, out);
        fputs(".\n", out);
        if (table->fallback) {
            fputs("Default: ", out);
            roff(table->fallback, out);
            fputs(".\n", out);
        }
        if (table->section) {
            fprintf(out, "In the configuration file: section [%s].\n", table->section);
        }
    }
}
