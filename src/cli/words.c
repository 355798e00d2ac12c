/* SPDX-License-Identifier: Apache-2.0 */
/* What people type, before the options read it. */
#include "cli/words.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/apps.h"
#include "base/clock.h"
#include "base/grow.h"
#include "cli/names.h"

enum kind { OTHER, TIME, LINK, LIST };

struct pd_cli_spelled {
    struct pd_cli_names *names; /* NULL: not needed yet */
    char **texts;
    size_t len, max;
};

static const struct {
    const char *flag;
    enum kind kind;
} flags[] = {
    {.flag = "from", .kind = TIME},   {.flag = "to", .kind = TIME},
    {.flag = "link", .kind = LINK},   {.flag = "path", .kind = LIST},
    {.flag = "avoid", .kind = LIST},  {.flag = "must-pass", .kind = LIST},
    {.flag = "switch", .kind = LIST}, {.flag = "rack", .kind = LIST},
};

/* ---- which flags ---- */

/* Is `name` (up to '=' or its end) the flag's? Those of applications have underscores in tables. */
static bool is_called(const char *flag, const char *name)
{
    size_t len = strcspn(name, "=");

    for (size_t i = 0; i < len; i++) {
        if (name[i] != flag[i] && !(name[i] == '-' && flag[i] == '_')) {
            return false;
        }
    }
    return !flag[len];
}

static enum kind kind_of_argument(const struct pd_app_ops *app, const char *name)
{
    for (const struct pd_app_param *param = app->params; param && param->name; param++) {
        if (is_called(param->name, name)) {
            return param->kind == PD_APP_TIME   ? TIME
                   : param->kind == PD_APP_LINK ? LINK
                   : param->kind == PD_APP_LIST ? LIST
                                                : OTHER;
        }
    }
    return OTHER;
}

/* `app`: whose arguments are taken, too; NULL: none. */
static enum kind kind_of(const struct pd_cli_command *command, const struct pd_app_ops *app,
                         const char *name)
{
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        for (const struct pd_option *option = command->options; option->name; option++) {
            if (is_called(flags[i].flag, name) && !strcmp(option->name, flags[i].flag)) {
                return flags[i].kind;
            }
        }
    }
    return app ? kind_of_argument(app, name) : OTHER;
}

/* A name has a letter somewhere, an ID has none. */
static bool has_name(const char *value)
{
    while (*value && !isalpha((unsigned char)*value) && !(*value & 0x80)) {
        value++;
    }
    return *value;
}

/* ---- whom to ask ---- */

char *pd_cli_words_value(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        char *equals = strchr(argv[i], '=');
        if (!strncmp(argv[i], "--", 2) && is_called(name, argv[i] + 2)) {
            return equals ? equals + 1 : i + 1 < argc ? argv[i + 1] : NULL;
        }
    }
    return NULL;
}

struct holder {
    struct pd_cli_server server;
};

bool pd_cli_words_server(int argc, char **argv, struct pd_cli_server *ret_server)
{
    static const struct pd_option options[] = {PD_CLI_SERVER_OPTIONS(struct holder, server), {0}};
    struct holder holder = {0};
    bool good = !pd_options_defaults(options, &holder, NULL);

    for (const struct pd_option *option = options; option->name; option++) {
        const char *value = pd_cli_words_value(argc, argv, option->name);
        if (value && option->type == PD_OPTION_STRING) {
            memcpy((char *)&holder + option->offset, &value, sizeof value);
        }
    }
    good = good && !pd_cli_server_check(&holder.server, NULL);
    *ret_server = holder.server;
    return good;
}

/* ---- one value ---- */

static int keep(struct pd_cli_spelled *spelled, char *text, char **ret_value,
                struct pd_error *error)
{
    if (!text || PD_GROW(spelled->texts, spelled->max, spelled->len + 1)) {
        free(text);
        return pd_fail(error, -ENOMEM, "no memory");
    }
    spelled->texts[spelled->len++] = text;
    *ret_value = text;
    return 0;
}

static int spell_time(struct pd_cli_spelled *spelled, const char *flag, char **value,
                      struct pd_error *error)
{
    uint64_t us;
    char *text = NULL;

    if (!pd_time_parse(*value, &us)) {
        return 0;
    }
    if (pd_time_parse_words(*value, pd_clock_wall_us(), &us)) {
        return pd_fail(error, -PD_E_VALUE, "--%s: expects " PD_TIME_WORDS ", not \"%.100s\"", flag,
                       *value);
    }
    if (asprintf(&text, "%" PRIu64 ".%06" PRIu64, us / PD_US_PER_S, us % PD_US_PER_S) < 0) {
        text = NULL;
    }
    return keep(spelled, text, value, error);
}

static int read_names(struct pd_cli_spelled *spelled, int argc, char **argv, const char *flag,
                      struct pd_error *error)
{
    const char *topology = pd_cli_words_value(argc, argv, "topology");
    struct pd_cli_server server;
    bool elsewhere =
        pd_cli_words_value(argc, argv, "tib") || pd_cli_words_value(argc, argv, "agent");

    if (!topology && (elsewhere || !pd_cli_words_server(argc, argv, &server))) {
        return pd_fail(error, -PD_E_VALUE,
                       "--%s: names need --topology FILE, or a controller that knows them", flag);
    }
    return pd_cli_names_read(topology, &server, &spelled->names, error);
}

static int spell(struct pd_cli_spelled *spelled, enum kind kind, const char *flag, char **value,
                 struct pd_error *error)
{
    char *text = NULL;
    int err = kind == LINK ? pd_cli_names_link(spelled->names, flag, *value, &text, error)
                           : pd_cli_names_list(spelled->names, flag, *value, &text, error);

    return err ? err : keep(spelled, text, value, error);
}

/* ---- the command line ---- */

static const struct pd_app_ops *app_of(const struct pd_cli_command *command, int argc, char **argv)
{
    const struct pd_app_ops *app = NULL;

    for (int i = 1; i < argc && command->arguments && !app; i++) {
        app = pd_app_find(argv[i]);
    }
    return app;
}

struct line {
    const struct pd_cli_command *command;
    const struct pd_app_ops *app; /* NULL: none */
    int argc;
    char **argv;
};

/* The value of the flag at argv[i] becomes what it stands for. */
static int spell_flag(struct pd_cli_spelled *spelled, const struct line *line, int i,
                      struct pd_error *error)
{
    char flag[64], **word = &line->argv[i], *equals = strchr(*word, '=');
    char *value = equals ? equals + 1 : i + 1 < line->argc ? word[1] : NULL;
    enum kind kind = kind_of(line->command, line->app, *word + 2);
    int err = 0;

    snprintf(flag, sizeof flag, "%.*s", (int)strcspn(*word + 2, "="), *word + 2);
    if (!value || kind == OTHER || (kind != TIME && !has_name(value))) {
        return 0;
    }
    if (kind != TIME && !spelled->names) {
        err = read_names(spelled, line->argc, line->argv, flag, error);
    }
    char *before = value, *whole = NULL;
    if (!err) {
        err = kind == TIME ? spell_time(spelled, flag, &value, error)
                           : spell(spelled, kind, flag, &value, error);
    }
    if (err || value == before) {
        return err;
    }
    if (!equals) {
        word[1] = value;
        return 0;
    }
    return asprintf(&whole, "--%s=%s", flag, value) < 0 ? pd_fail(error, -ENOMEM, "no memory")
                                                        : keep(spelled, whole, word, error);
}

int pd_cli_words_spell(const struct pd_cli_command *command, int argc, char **argv,
                       struct pd_cli_spelled **ret_spelled, struct pd_error *error)
{
    const struct line line = {command, app_of(command, argc, argv), argc, argv};
    struct pd_cli_spelled *spelled = calloc(1, sizeof *spelled);
    int err = spelled ? 0 : pd_fail(error, -ENOMEM, "no memory");

    for (int i = 1; i < argc && !err && strcmp(argv[i], "--") != 0; i++) {
        if (!strncmp(argv[i], "--", 2)) {
            err = spell_flag(spelled, &line, i, error);
        }
    }
    *ret_spelled = spelled;
    return err;
}

void pd_cli_spelled_free(struct pd_cli_spelled *spelled)
{
    for (size_t i = 0; spelled && i < spelled->len; i++) {
        free(spelled->texts[i]);
    }
    if (spelled) {
        pd_cli_names_free(spelled->names);
        free(spelled->texts);
    }
    free(spelled);
}
