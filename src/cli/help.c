/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump help`: what the tables say, for a terminal. */
#include <stdlib.h>
#include <string.h>

#include "cli/doc.h"

#define TEXT_COLUMNS 78
#define ITEM_COLUMNS 16 /* of the word of a list's item */

/* Breaks a paragraph's lines between words. */
static void print_wrapped(const char *text, size_t len, FILE *out)
{
    size_t column = 0;
    while (len) {
        size_t word = strcspn(text, " \n");
        word = word < len ? word : len;
        if (column && column + 1 + word > TEXT_COLUMNS) {
            fputc('\n', out);
            column = 0;
        }
        fprintf(out, "%s%.*s", column ? " " : "", (int)word, text);
        column += word + (column ? 1 : 0);
        text += word;
        len -= word;
        if (len) {
            text++;
            len--;
        }
    }
    fputc('\n', out);
}

/* "\tWORD\tTEXT" */
static void print_item(const char *text, size_t len, FILE *out)
{
    int word = (int)strcspn(text + 1, "\t");
    fprintf(out, "  %-*.*s%.*s\n", ITEM_COLUMNS, word, text + 1, (int)len - word - 2,
            text + word + 2);
}

static void print_paragraphs(const char *text, FILE *out)
{
    bool in_list = false;
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (!in_list || *text != '\t') {
            fputc('\n', out);
        }
        in_list = *text == '\t';
        if (in_list) {
            print_item(text, len, out);
        } else {
            print_wrapped(text, len, out);
        }
        text += len + (text[len] == '\n');
    }
}

char *pd_cli_details(const struct pd_cli_command *command)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) {
        return NULL;
    }
    fputs(command->details, out);
    if (command->more_details) {
        command->more_details(out);
    }
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

void pd_cli_help_command(const struct pd_cli_command *command, FILE *out)
{
    fprintf(out, "Usage: pathdump %s %s\n", command->name, command->synopsis);
    char *details = pd_cli_details(command);
    print_paragraphs(details ? details : command->details, out);
    free(details);
    if (command->options[0].name) {
        fputs("\nOptions:\n", out);
    }
    pd_options_help(command->options, out);
}

void pd_cli_help_group(const char *group, FILE *out)
{
    size_t len = group ? strlen(group) : 0;
    fprintf(out, "Usage: pathdump %s%sCOMMAND [options]\n\nCommands:\n", group ? group : "",
            group ? " " : "");
    for (size_t i = 0; pd_cli_commands[i]; i++) {
        const struct pd_cli_command *command = pd_cli_commands[i];
        if (!group || (!strncmp(command->name, group, len) && command->name[len] == ' ')) {
            fprintf(out, "  %-20s %s\n", command->name, command->help);
        }
    }
    fputs("\nSee `pathdump help COMMAND` for its options, pathdump(1) for all of it.\n"
          "Exit codes: 0 ok, 1 failed, 2 usage, 3 partial answer.\n",
          out);
}

/* ---- the command ---- */

struct settings {
    bool man;
    bool bash_completion;
    const char *completion; /* a shell */
};

static const struct pd_option options[] = {
    {.name = "man",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, man),
     .help = "print the man page, for man -l -"},
    {.name = "bash-completion",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, bash_completion),
     .help = "the same as --completion bash"},
    {.name = "completion",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, completion),
     .value = "bash|zsh|fish",
     .help = "print the completion script of a shell"},
    {0},
};

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    int used;
    if (set->man) {
        pd_cli_man(stdout);
    } else if (set->bash_completion || set->completion) {
        const char *shell = set->completion ? set->completion : "bash";
        return pd_cli_completion(shell, stdout)
                   ? PD_CLI_OK
                   : pd_fail(error, -PD_E_VALUE, "--completion: bash, zsh or fish, not \"%.40s\"",
                             shell);
    } else if (!words->len) {
        pd_cli_help_group(NULL, stdout);
    } else {
        const struct pd_cli_command *command = pd_cli_find(words->len + 1, words->words - 1, &used);
        if (command && used == words->len) {
            pd_cli_help_command(command, stdout);
        } else if (words->len == 1 && pd_cli_is_group(words->words[0])) {
            pd_cli_help_group(words->words[0], stdout);
        } else {
            return pd_fail(error, -PD_E_NOT_FOUND, "there is no command \"%.60s%s%.60s\"",
                           words->words[0], words->len > 1 ? " " : "",
                           words->len > 1 ? words->words[1] : "");
        }
    }
    return PD_CLI_OK;
}

const struct pd_cli_command pd_cli_help = {
    .name = "help",
    .synopsis = "[COMMAND] [--man | --completion bash|zsh|fish]",
    .help = "how to use a command",
    .details = "Prints the usage of a command, or the list of all commands.",
    .options = options,
    .words = "COMMAND",
    .words_max = 2,
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
