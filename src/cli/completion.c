/* SPDX-License-Identifier: Apache-2.0 */
/* The bash completion, made from the tables (`pathdump help --bash-completion`; a test compares
 * completion/). */
#include <string.h>

#include "cli/doc.h"
#include "cli/question.h"
#include "topology/generators.h"

/* The script is a case over the command that finds out what may stand at the cursor (`rest`): names
 * of files or folders, some words, anything (-), or a flag (nothing). Needs bash alone. */

static const char head[] =
    "# SPDX-License-Identifier: Apache-2.0\n"
    "# Completion of pathdump for bash; made by `pathdump help --bash-completion`, do not edit.\n"
    "\n"
    "_pathdump_files() # file names, of folders only with -d\n"
    "{\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\")\n"
    "}\n"
    "\n"
    "_pathdump_words()\n"
    "{\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n"
    "}\n"
    "\n"
    "_pathdump()\n"
    "{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command=${COMP_WORDS[1]} flags='' rest=''\n"
    "    COMPREPLY=()\n"
    "    # --flag=value reaches us as three words\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur=\n"
    "    elif [[ $prev == = ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n";

static const char tail[] = "    esac\n"
                           "    case $rest in\n"
                           "    FILE) _pathdump_files -f ;;\n"
                           "    DIR) _pathdump_files -d ;;\n"
                           "    -) ;;\n"
                           "    '') _pathdump_words \"$flags\" ;;\n"
                           "    *) _pathdump_words \"$rest\" ;;\n"
                           "    esac\n"
                           "}\n"
                           "\n"
                           "complete -F _pathdump pathdump\n";

static bool is_choice(const char *value)
{
    return value && strchr(value, '|');
}

static void print_choices(const char *choices, FILE *out)
{
    for (; *choices; choices++) {
        fputc(*choices == '|' ? ' ' : *choices, out);
    }
}

/* What may stand in the place of a placeholder. */
static void print_rest(const char *value, FILE *out)
{
    if (is_choice(value)) {
        fputs("rest='", out);
        print_choices(value, out);
        fputc('\'', out);
    } else {
        bool named = value && (!strcmp(value, "FILE") || !strcmp(value, "DIR"));
        fprintf(out, "rest=%s", named ? value : "-");
    }
}

static void print_flags(const struct pd_option *options, FILE *out)
{
    fputs("        flags='", out);
    for (; options->name; options++) {
        fprintf(out, "--%s ", options->name);
    }
    fputs("--help'\n", out);
}

static void print_values(const struct pd_option *options, FILE *out)
{
    fputs("        case $prev in\n", out);
    for (; options->name; options++) {
        if (options->type == PD_OPTION_FLAG) {
            continue;
        }
        fprintf(out, "        --%s) ", options->name);
        print_rest(options->value, out);
        fputs(" ;;\n", out);
    }
    fputs("        esac\n", out);
}

static bool takes_values(const struct pd_option *options)
{
    for (; options->name; options++) {
        if (options->type != PD_OPTION_FLAG) {
            return true;
        }
    }
    return false;
}

/* The words after a group's name, or all first words. Each once. */
static void print_names(const char *group, FILE *out)
{
    const char *before = "";
    size_t len = group ? strlen(group) + 1 : 0;
    for (size_t i = 0; pd_cli_commands[i]; i++) {
        const char *name = pd_cli_commands[i]->name;
        if (group && (strncmp(name, group, len - 1) || name[len - 1] != ' ')) {
            continue;
        }
        size_t word = strcspn(name + len, " ");
        if (strncmp(before, name + len, word) || before[word] != ' ') {
            fprintf(out, "%s%.*s", *before ? " " : "", (int)word, name + len);
        }
        before = name + len;
    }
}

static void print_words(const struct pd_cli_command *command, FILE *out)
{
    fputs("        [[ $cur == -* ]] || ", out);
    if (!strcmp(command->words, "COMMAND")) {
        fputs("rest='", out);
        print_names(NULL, out);
        fputc('\'', out);
    } else if (!strcmp(command->words, "GENERATOR")) {
        fputs("rest='", out);
        for (size_t i = 0; pd_generators[i]; i++) {
            fprintf(out, "%s%s", i ? " " : "", pd_generators[i]->name);
        }
        fputc('\'', out);
    } else if (!strcmp(command->words, PD_CLI_QUESTION_WORD)) {
        fputs("rest='", out);
        pd_cli_question_names(" ", out);
        fputc('\'', out);
    } else {
        print_rest(command->words, out);
    }
    fputc('\n', out);
}

static void print_command(const struct pd_cli_command *command, FILE *out)
{
    fprintf(out, "    '%s')\n", command->name);
    print_flags(command->options, out);
    if (*command->words) {
        print_words(command, out);
    }
    if (takes_values(command->options)) {
        print_values(command->options, out);
    }
    fputs("        ;;\n", out);
}

/* Completes the second word of a group, or turns both words into the command's name. */
static void print_groups(FILE *out)
{
    const char *before = "";
    for (size_t i = 0; pd_cli_commands[i]; i++) {
        const char *name = pd_cli_commands[i]->name;
        size_t len = strcspn(name, " ");
        if (!name[len] || (!strncmp(before, name, len) && before[len] == ' ')) {
            continue;
        }
        char group[32];
        snprintf(group, sizeof group, "%.*s", (int)len, name);
        fprintf(out,
                "    if [[ $command == %s ]]; then\n"
                "        if ((COMP_CWORD == 2)); then\n"
                "            _pathdump_words '",
                group);
        print_names(group, out);
        fputs(" --help'\n            return\n        fi\n        command+=\" ${COMP_WORDS[2]}\"\n"
              "    fi\n",
              out);
        before = name;
    }
}

void pd_cli_bash_completion(FILE *out)
{
    fputs(head, out);
    fputs("    if ((COMP_CWORD == 1)); then\n        _pathdump_words '", out);
    print_names(NULL, out);
    fputs(" --help --version'\n        return\n    fi\n", out);
    print_groups(out);
    fputs("    case $command in\n", out);
    for (size_t i = 0; pd_cli_commands[i]; i++) {
        print_command(pd_cli_commands[i], out);
    }
    fputs(tail, out);
}
