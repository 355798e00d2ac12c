/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump telemetry plan` and `telemetry status`: the plan of a controller's hosts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/listing.h"
#include "codec/pint/plan.h"

static const struct pd_cli_field fields[] = {
    {.title = "HOST", .member = "id", .kind = PD_CLI_WORD},
    {.title = "STATE", .member = "state", .kind = PD_CLI_WORD},
    {.title = "PLAN", .member = "hash", .kind = PD_CLI_WORD},
    {.title = "REASON", .member = "reason", .kind = PD_CLI_WORD},
};

static const struct pd_cli_listing hosts = {"hosts", "host", "hosts", fields,
                                            sizeof fields / sizeof *fields};

static int run_status(const void *settings, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    (void)words;
    return pd_cli_list_ask(settings, "/v1/telemetry/status", &hosts, error);
}

/* ---- the plan */

/* The plan alone, so that its file can be made of it. */
static int show_plan(const struct pd_cli_list_settings *set, struct pd_error *error)
{
    json_t *answer = NULL;
    int err = pd_cli_server_ask(
        &set->server, (struct pd_cli_request){.route = "/v1/telemetry/plan"}, NULL, &answer, error);
    const json_t *plan = json_object_get(answer, "plan");

    if (!err && !json_is_object(plan)) {
        err = pd_fail(error, -PD_E_NOT_FOUND, "the controller has no telemetry plan");
    }
    if (!err) {
        json_dumpf(plan, stdout, JSON_COMPACT);
        putchar('\n');
    }
    json_decref(answer);
    return err;
}

static int read_plan(const char *file, char **ret_text, struct pd_error *error)
{
    struct pd_pint_plan *plan = NULL;
    int err = pd_pint_plan_read(file, &plan, error);
    json_t *json = err ? NULL : pd_pint_plan_json(plan);

    if (!err && !(*ret_text = json ? json_dumps(json, JSON_COMPACT) : NULL)) {
        err = pd_fail(error, -ENOMEM, "no memory");
    }
    json_decref(json);
    pd_pint_plan_free(plan);
    return err;
}

static size_t count_state(const json_t *answer, const char *state)
{
    const json_t *host;
    size_t i, len = 0;

    json_array_foreach(json_object_get(answer, "hosts"), i, host)
    {
        const char *told = json_string_value(json_object_get(host, "state"));
        len += told && !strcmp(told, state);
    }
    return len;
}

static int give_plan(const struct pd_cli_list_settings *set, const char *file,
                     struct pd_error *error)
{
    struct pd_cli_memory text = {0};
    char *body = NULL;
    json_t *answer = NULL;
    int err = read_plan(file, &body, error);

    if (!err) {
        err = pd_cli_server_ask(
            &set->server,
            (struct pd_cli_request){.method = "PUT", .route = "/v1/telemetry/plan", .body = body},
            &text, &answer, error);
    }
    if (!err && set->json) {
        err = pd_cli_print_text(&text, error);
    } else if (!err) {
        printf("%zu of %zu hosts have taken it over\n", count_state(answer, "current"),
               json_array_size(json_object_get(answer, "hosts")));
    }
    if (!err &&
        count_state(answer, "current") < json_array_size(json_object_get(answer, "hosts"))) {
        fflush(stdout);
        fputs("the others get it when they answer; pathdump telemetry status says why not\n",
              stderr);
        err = PD_CLI_PARTIAL;
    }
    free(body);
    free(text.bytes);
    json_decref(answer);
    return err;
}

static int run_plan(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    return words->len ? give_plan(settings, words->words[0], error) : show_plan(settings, error);
}

const struct pd_cli_command pd_cli_telemetry_plan = {
    .name = "telemetry plan",
    .synopsis = "--controller URL [--json] [FILE]",
    .help = "the telemetry plan of all hosts, or another one for them",
    .details =
        "Without FILE, prints the plan that the controller has, as JSON. With one, gives it to the "
        "controller, which brings it to all hosts; those that are away get it when they answer. A "
        "host leaves digests aside for the plan's settle_ms after it has taken it over, so that "
        "switches can follow. pathdump pint plan makes plans.\n"
        "Exits with 3 when some host has not taken it over yet.",
    .options = pd_cli_deed_options,
    .words = "[FILE]",
    .words_min = 0,
    .words_max = 1,
    .settings_bytes = sizeof(struct pd_cli_list_settings),
    .check = pd_cli_list_check,
    .run = run_plan,
};

const struct pd_cli_command pd_cli_telemetry_status = {
    .name = "telemetry status",
    .synopsis = "--controller URL [--json | --csv]",
    .help = "which hosts have the telemetry plan",
    .details = "Lists the hosts of the controller and the plan, by its hash, that each has:\n"
               "\tcurrent\tthat of the controller\n"
               "\tpending\tanother one, or none yet; it is being brought\n"
               "\tfailed\tit could not be brought, and why",
    .options = pd_cli_list_options,
    .words = "",
    .settings_bytes = sizeof(struct pd_cli_list_settings),
    .check = pd_cli_list_check,
    .run = run_status,
};
