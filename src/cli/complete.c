/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump complete`: what may stand at the end of a command line, for the completions of shells.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/apps.h"
#include "cli/cli.h"
#include "cli/doc.h"
#include "cli/question.h"
#include "cli/words.h"
#include "localise/localise.h"
#include "topology/generators.h"
#include "topology/topology.h"

#define PATIENCE_S 2 /* with a controller: somebody waits with a finger on a key */

/* The words so far; the last one is being typed. */
struct line {
    int len;
    char **words;
    const char *typed;  /* of the last one; behind "--flag=" its value */
    const char *before; /* "--flag=" or "" */
    int before_len;
    const struct pd_cli_command *command; /* NULL: none yet */
    const struct pd_app_ops *app;         /* NULL: none */
};

/* ---- candidates ---- */

static void offer(const struct line *line, const char *word, const char *words_of_help)
{
    if (strncmp(word, line->typed, strlen(line->typed)) != 0 || strpbrk(word, "\t\n")) {
        return;
    }
    printf("%.*s%s%s%s\n", line->before_len, line->before, word, words_of_help ? "\t" : "",
           words_of_help ? words_of_help : "");
}

/* "a|b|c" */
static void offer_choices(const struct line *line, const char *choices)
{
    while (*choices) {
        char word[64];
        size_t len = strcspn(choices, "|");

        snprintf(word, sizeof word, "%.*s", (int)len, choices);
        offer(line, word, NULL);
        choices += len + (choices[len] == '|');
    }
}

/* "topology" once for all its commands. */
static void offer_commands(const struct line *line, const char *group)
{
    size_t skip = group ? strlen(group) + 1 : 0;
    const char *before = "";

    for (size_t i = 0; pd_cli_commands[i]; i++) {
        const char *name = pd_cli_commands[i]->name;
        bool inside = !group || (!strncmp(name, group, skip - 1) && name[skip - 1] == ' ');
        size_t len = inside ? strcspn(name + skip, " ") : 0;
        char word[64];

        if (!inside || (!strncmp(before, name + skip, len) && before[len] == ' ')) {
            continue;
        }
        snprintf(word, sizeof word, "%.*s", (int)len, name + skip);
        offer(line, word, name[skip + len] ? NULL : pd_cli_commands[i]->help);
        before = name + skip;
    }
    offer(line, "--help", NULL);
}

static void offer_flags(const struct line *line)
{
    char flag[80];

    for (const struct pd_option *option = line->command->options; option->name; option++) {
        snprintf(flag, sizeof flag, "--%s", option->name);
        offer(line, flag, option->help);
    }
    for (const struct pd_app_param *param = line->app ? line->app->params : NULL;
         param && param->name; param++) {
        snprintf(flag, sizeof flag, "--%s", param->name);
        for (char *at = flag; *at; at++) {
            *at = *at == '_' ? '-' : *at;
        }
        offer(line, flag, param->help);
    }
    offer(line, "--help", NULL);
}

/* ---- names that somebody else knows ---- */

static json_t *ask(const struct line *line, const char *route)
{
    struct pd_cli_server server;
    json_t *answer = NULL;

    if (!pd_cli_words_server(line->len + 1, line->words - 1, &server)) {
        return NULL;
    }
    server.timeout_s = PATIENCE_S;
    return pd_cli_server_ask(&server, (struct pd_cli_request){.route = route}, NULL, &answer, NULL)
               ? NULL
               : answer;
}

/* The topology of --topology, or the controller's. */
static struct pd_topology *topology_of(const struct line *line)
{
    const char *file = pd_cli_words_value(line->len + 1, line->words - 1, "topology");
    struct pd_topology *topology = NULL;
    json_t *answer = file ? NULL : ask(line, "/v1/topology");
    char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;

    if (file ? pd_topology_read(file, &topology, NULL)
             : !text || pd_topology_parse(text, strlen(text), "topology", &topology, NULL)) {
        topology = NULL;
    }
    free(text);
    json_decref(answer);
    return topology;
}

static const char *name_of(const struct pd_switch *sw, char id[16])
{
    snprintf(id, 16, "%u", sw->id);
    return sw->name && *sw->name ? sw->name : id;
}

/* Both directions of each. */
static void offer_links(const struct line *line)
{
    struct pd_topology *topology = topology_of(line);

    for (uint32_t i = 0; topology && i < topology->switches_len; i++) {
        const struct pd_switch *sw = &topology->switches[i];

        for (uint32_t k = 0; k < sw->switch_neighbours; k++) {
            const struct pd_switch *to = &topology->switches[sw->neighbours[k].node];
            char text[160], a[16], b[16];

            snprintf(text, sizeof text, "%s:%s", name_of(sw, a), name_of(to, b));
            offer(line, text, NULL);
        }
    }
    pd_topology_free(topology);
}

/* What is typed may be a list: its last item. */
static void offer_nodes(const struct line *line, bool hosts)
{
    struct pd_topology *topology = topology_of(line);
    const char *comma = strrchr(line->typed, ',');
    struct line item = *line;
    char before[512];
    uint32_t len = !topology ? 0 : hosts ? topology->hosts_len : topology->switches_len;

    if (comma) {
        item.before_len = snprintf(before, sizeof before, "%.*s%.*s,", line->before_len,
                                   line->before, (int)(comma - line->typed), line->typed);
        item.before = before;
        item.typed = comma + 1;
    }
    for (uint32_t i = 0; i < len && item.before_len < (int)sizeof before; i++) {
        const char *name = hosts ? topology->hosts[i].name : topology->switches[i].name;

        if (name && *name) {
            offer(&item, name, NULL);
        }
    }
    pd_topology_free(topology);
}

/* The ID of each, and what it is. */
static void offer_ids(const struct line *line, const char *route, const char *member,
                      const char *what)
{
    json_t *answer = ask(line, route), *row;
    size_t i;

    json_array_foreach(json_object_get(answer, member), i, row)
    {
        const json_t *id = json_object_get(row, "id");
        const char *name = json_string_value(json_object_get(row, what));
        char text[64];

        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(id));
        offer(line, json_is_string(id) ? json_string_value(id) : text, name);
    }
    json_decref(answer);
}

static void offer_apps(const struct line *line)
{
    for (size_t i = 0; pd_apps[i]; i++) {
        offer(line, pd_apps[i]->name, pd_apps[i]->help);
    }
}

/* ---- what stands there ---- */

static bool is(const char *a, const char *b)
{
    return !strcmp(a, b);
}

/* The value of an option with this placeholder. */
static void offer_value(const struct line *line, const char *name, const char *placeholder)
{
    if (!placeholder) {
        return;
    }
    if (strchr(placeholder, '|')) {
        offer_choices(line, placeholder);
    } else if (is(placeholder, "FILE") || is(placeholder, "DIR")) {
        puts(is(placeholder, "FILE") ? ":files" : ":folders");
    } else if (is(name, "link")) {
        offer_links(line);
    } else if (is(name, "hosts")) {
        offer(line, "all", NULL);
        offer_nodes(line, true);
    } else if (is(name, "switch") || is(name, "path") || is(name, "avoid") ||
               is(name, "must-pass")) {
        offer_nodes(line, false);
    }
}

static void offer_argument(const struct line *line, const struct pd_app_param *param)
{
    if (param->kind == PD_APP_LINK) {
        offer_links(line);
    } else if (param->kind == PD_APP_LIST) {
        offer_nodes(line, strstr(param->name, "host"));
    } else if (param->kind == PD_APP_BOOL) {
        offer_choices(line, "true|false");
    } else if (param->kind == PD_APP_LOCALISER) {
        for (size_t i = 0; pd_localisers[i]; i++) {
            offer(line, pd_localisers[i]->name, NULL);
        }
    }
}

/* `flag` up to `len` bytes: false where it takes no value. */
static bool offer_value_of(const struct line *line, const char *flag, size_t len)
{
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)len, flag);
    for (const struct pd_option *option = line->command->options; option->name; option++) {
        if (is(option->name, name) && option->type != PD_OPTION_FLAG) {
            offer_value(line, name, option->value);
            return true;
        }
    }
    for (char *at = name; *at; at++) {
        *at = *at == '-' ? '_' : *at;
    }
    for (const struct pd_app_param *param = line->app ? line->app->params : NULL;
         param && param->name; param++) {
        if (is(param->name, name)) {
            offer_argument(line, param);
            return true;
        }
    }
    return false;
}

static void offer_words(const struct line *line)
{
    const char *words = line->command->words, *name = line->command->name;

    if (!*words) {
        offer_flags(line);
    } else if (is(words, "COMMAND")) {
        offer_commands(line, NULL);
    } else if (is(words, "GENERATOR")) {
        for (size_t i = 0; pd_topology_generators[i]; i++) {
            offer(line, pd_topology_generators[i]->name, NULL);
        }
    } else if (is(words, PD_CLI_QUESTION_WORD)) {
        for (size_t i = 0; pd_query_questions[i]; i++) {
            if (!pd_query_questions[i]->member) {
                offer(line, pd_query_questions[i]->name, pd_query_questions[i]->help);
            }
        }
    } else if (is(name, "app") || is(name, "watch")) {
        offer_apps(line);
    } else if (is(name, "unwatch")) {
        offer_ids(line, "/v1/watches", "watches", "app");
    } else if (is(name, "uninstall")) {
        offer_ids(line, "/v1/installed", "installed", "query");
    } else {
        offer_value(line, "", words);
    }
}

static void offer_at_end(struct line *line)
{
    const char *last = line->words[line->len - 1];
    const char *before = line->len > 1 ? line->words[line->len - 2] : "";
    size_t flag = strcspn(last, "=");

    if (!strncmp(last, "--", 2) && last[flag]) {
        line->before = last;
        line->before_len = (int)flag + 1;
        line->typed = last + flag + 1;
        offer_value_of(line, last + 2, flag - 2);
    } else if (strncmp(before, "--", 2) != 0 || strchr(before, '=') ||
               !offer_value_of(line, before + 2, strlen(before + 2))) {
        if (*last == '-') {
            offer_flags(line);
        } else {
            offer_words(line);
        }
    }
}

static const struct pd_app_ops *app_in(const struct line *line)
{
    const struct pd_app_ops *app = NULL;

    for (int i = 1; i < line->len - 1 && !app; i++) {
        app = pd_app_find(line->words[i]);
    }
    return app;
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct line line = {.len = words->len,
                        .words = words->words,
                        .typed = words->words[words->len - 1],
                        .before = ""};
    int used = 0;

    (void)settings;
    (void)error;
    if (line.len > 1) { /* the last word is still being typed */
        line.command = pd_cli_find(line.len, line.words - 1, &used);
    }
    if (line.command) {
        line.app = line.command->arguments ? app_in(&line) : NULL;
        offer_at_end(&line);
    } else if (line.len == 1) {
        offer_commands(&line, NULL);
        offer(&line, "--version", NULL);
    } else if (line.len == 2 && pd_cli_is_group(line.words[0])) {
        offer_commands(&line, line.words[0]);
    }
    return PD_CLI_OK;
}

static const struct pd_option options[] = {
    {0},
};

const struct pd_cli_command pd_cli_complete = {
    .name = "complete",
    .synopsis = "WORD …",
    .help = "what may stand in the place of the last word, for shells",
    .details =
        "WORDs, behind two dashes, are those of a command line behind `pathdump`; the last one is "
        "being typed, and may "
        "be empty. Prints what it may become, one a line, with what that is behind a tab; :files "
        "or :folders where names of these belong. Names of links, switches, hosts, watches and "
        "installed queries come from --topology or the controller of that command line. The "
        "completions of bash, zsh and fish ask this.",
    .options = options,
    .words = "WORD",
    .words_min = 1,
    .words_max = 1024,
    .run = run,
};
