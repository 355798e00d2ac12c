/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of applications: out of the command line, into JSON. */
#include "cli/arguments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64 };

static const struct pd_option *find(const struct pd_option *options, const char *name)
{
    size_t len = strcspn(name, "=");

    for (; options->name; options++) {
        if (strlen(options->name) == len && !strncmp(options->name, name, len)) {
            return options;
        }
    }
    return NULL;
}

/* The flag at argv[at] that no option has, and its value; one that is followed by no value says
 * yes. Returns how many words it takes, or an error. */
static int take_one(char **argv, int at, int argc, struct pd_cli_words *words,
                    struct pd_error *error)
{
    static char yes[] = "true";
    char *name = argv[at] + 2, *value = strchr(name, '=');
    int taken = value ? 1 : 2;

    if (value) {
        *value++ = 0;
    } else if (at + 1 < argc && strncmp(argv[at + 1], "--", 2) != 0) {
        value = argv[at + 1];
    } else {
        value = yes;
        taken = 1;
    }
    if (!*name) {
        return pd_fail(error, -PD_E_VALUE, "--: a name is missing");
    }
    words->arguments[words->arguments_len++] = name;
    words->arguments[words->arguments_len++] = value;
    return taken;
}

int pd_cli_arguments_take(const struct pd_option *options, int *argc, char **argv,
                          struct pd_cli_words *ret_words, struct pd_error *error)
{
    int kept = 1, at = 1;

    ret_words->arguments = calloc(2 * (size_t)*argc + 1, sizeof *ret_words->arguments);
    if (!ret_words->arguments) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    while (at < *argc && strcmp(argv[at], "--") != 0) {
        bool is_flag = !strncmp(argv[at], "--", 2);
        const struct pd_option *option = is_flag ? find(options, argv[at] + 2) : NULL;
        int taken = is_flag && !option ? take_one(argv, at, *argc, ret_words, error) : 0;

        if (taken < 0) {
            return taken;
        }
        at += taken;
        if (taken) {
            continue;
        }
        bool has_value = option && option->type != PD_OPTION_FLAG && !strchr(argv[at], '=');
        argv[kept++] = argv[at++];
        if (has_value && at < *argc) {
            argv[kept++] = argv[at++];
        }
    }
    while (at < *argc) {
        argv[kept++] = argv[at++];
    }
    *argc = kept;
    argv[kept] = NULL;
    return 0;
}

int pd_cli_arguments_json(const struct pd_cli_words *words, json_t **ret_given,
                          struct pd_error *error)
{
    json_t *given = json_object();
    char name[NAME_BYTES];
    int err = given ? 0 : pd_fail(error, -ENOMEM, "no memory");

    for (int i = 0; !err && i < words->arguments_len; i += 2) {
        const char *text = words->arguments[i];

        if (strlen(text) >= sizeof name) {
            err = pd_fail(error, -PD_E_UNKNOWN_KEY, "--%.60s: unknown flag", text);
        } else {
            strcpy(name, text);
        }
        for (char *c = name; !err && *c; c++) {
            *c = *c == '-' ? '_' : *c;
        }
        if (!err && json_object_get(given, name)) {
            err = pd_fail(error, -PD_E_VALUE, "--%s: given twice", text);
        }
        if (!err && json_object_set_new(given, name, json_string(words->arguments[i + 1]))) {
            err = pd_fail(error, -PD_E_VALUE, "--%s: expects text in UTF-8", text);
        }
    }
    if (err) {
        json_decref(given);
    } else {
        *ret_given = given;
    }
    return err;
}
