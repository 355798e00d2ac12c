/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands agrees with itself, with the queries' parameters and with the files made
 * from it. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/doc.h"
#include "query/question.h"

static char *read_file(const char *name)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *in = fopen(name, "re");
    if (!in) {
        fail_msg("%s: cannot be opened", name);
    }
    assert_true(getdelim(&text, &bytes, '\0', in) > 0);
    fclose(in);
    return text;
}

static char *printed(void (*print)(FILE *out))
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    print(out);
    fclose(out);
    return text;
}

static void expect_file(const char *name, void (*print)(FILE *out), const char *how)
{
    char *made = printed(print), *there = read_file(name);
    if (strcmp(made, there) != 0) {
        fail_msg("%s is not what the tables say; make it again: %s", name, how);
    }
    free(made);
    free(there);
}

static void man_page_is_that_of_the_tables(void **state)
{
    (void)state;
    expect_file(PD_SOURCE_DIR "/docs/man/pathdump.1", pd_cli_man, "pathdump help --man");
}

static void print_bash(FILE *out)
{
    assert_true(pd_cli_completion("bash", out));
}

static void print_zsh(FILE *out)
{
    assert_true(pd_cli_completion("zsh", out));
}

static void print_fish(FILE *out)
{
    assert_true(pd_cli_completion("fish", out));
}

static void completions_are_those_that_are_printed(void **state)
{
    (void)state;
    expect_file(PD_SOURCE_DIR "/completion/pathdump.bash", print_bash,
                "pathdump help --completion bash");
    expect_file(PD_SOURCE_DIR "/completion/_pathdump", print_zsh, "pathdump help --completion zsh");
    expect_file(PD_SOURCE_DIR "/completion/pathdump.fish", print_fish,
                "pathdump help --completion fish");
    assert_false(pd_cli_completion("csh", stdout));
}

static const struct pd_option *find_option(const struct pd_cli_command *command, const char *name,
                                           size_t len)
{
    for (const struct pd_option *option = command->options; option->name; option++) {
        if (strlen(option->name) == len && !strncmp(option->name, name, len)) {
            return option;
        }
    }
    return NULL;
}

/* Each flag of the synopsis is an option, and shows the same placeholder. */
static void check_synopsis(const struct pd_cli_command *command)
{
    for (const char *at = command->synopsis; (at = strstr(at, "--")) != NULL;) {
        size_t len = strcspn(at += 2, " ]");
        const struct pd_option *option = find_option(command, at, len);
        if (!option) {
            fail_msg("%s: --%.*s is no option", command->name, (int)len, at);
        } else if (option->type != PD_OPTION_FLAG) {
            assert_memory_equal(at + len + 1, option->value, strlen(option->value));
        }
    }
}

static void check_required(const struct pd_cli_command *command)
{
    for (const char *at = command->required; at && *at;) {
        size_t len = strcspn(at, " ");
        char flag[40];
        const struct pd_option *option = find_option(command, at, len);
        assert_non_null(option);
        snprintf(flag, sizeof flag, "--%s %s", option->name, option->value);
        assert_non_null(strstr(command->synopsis, flag));
        at += len + strspn(at + len, " ");
    }
}

static void check_options(const struct pd_cli_command *command)
{
    size_t len = 0;
    for (const struct pd_option *option = command->options; option->name; option++, len++) {
        size_t help = strlen(option->help);
        assert_in_range(help, 3, 60);
        assert_true(option->help[help - 1] != '.');
        assert_ptr_equal(find_option(command, option->name, strlen(option->name)), option);
        if (option->type != PD_OPTION_CALLBACK) {
            assert_true(option->offset < command->settings_bytes);
        }
    }
    assert_in_range(len, 0, 48);
}

static void each_command_is_whole(void **state)
{
    (void)state;
    for (size_t i = 0; pd_cli_commands[i]; i++) {
        const struct pd_cli_command *command = pd_cli_commands[i];
        assert_true(*command->help && *command->details);
        assert_true(command->words_max == 0 || *command->words);
        assert_true(command->words_min <= command->words_max);
        check_synopsis(command);
        check_required(command);
        check_options(command);
    }
}

/* Every parameter that REST takes is a flag of `pathdump query`. */
static void each_parameter_is_a_flag(void **state)
{
    (void)state;
    for (const struct pd_question_param *param = pd_query_params; param->name; param++) {
        assert_non_null(find_option(&pd_cli_query, param->flag, strlen(param->flag)));
    }
}

/* Help tells of each question that is asked by its name. */
static void each_question_is_in_help(void **state)
{
    char *details = pd_cli_details(&pd_cli_query);
    (void)state;
    assert_non_null(details);
    for (size_t i = 0; pd_query_questions[i]; i++) {
        if (!pd_query_questions[i]->member) {
            assert_non_null(strstr(details, pd_query_questions[i]->name));
        }
    }
    free(details);
}

static void commands_are_found_by_whole_words(void **state)
{
    static char program[] = "pathdump", topology[] = "topology", check[] = "check",
                query[] = "query", part[] = "quer", longer[] = "checks";
    char *two[] = {program, topology, check}, *one[] = {program, query, check};
    char *short_name[] = {program, part}, *long_name[] = {program, topology, longer};
    int words = 0;
    (void)state;
    assert_ptr_equal(pd_cli_find(3, two, &words), &pd_cli_topology_check);
    assert_int_equal(words, 2);
    assert_ptr_equal(pd_cli_find(3, one, &words), &pd_cli_query);
    assert_int_equal(words, 1);
    assert_null(pd_cli_find(2, short_name, &words));
    assert_null(pd_cli_find(3, long_name, &words));
    assert_null(pd_cli_find(2, two, &words));
    assert_null(pd_cli_find(1, two, &words));
    assert_true(pd_cli_is_group("codec"));
    assert_false(pd_cli_is_group("code"));
    assert_false(pd_cli_is_group("query"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(man_page_is_that_of_the_tables),
        cmocka_unit_test(completions_are_those_that_are_printed),
        cmocka_unit_test(each_command_is_whole),
        cmocka_unit_test(each_parameter_is_a_flag),
        cmocka_unit_test(each_question_is_in_help),
        cmocka_unit_test(commands_are_found_by_whole_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
