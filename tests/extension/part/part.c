/* SPDX-License-Identifier: Apache-2.0 */
/* A toy part of both daemons: a route, an option, a counter. */
#include <errno.h>
#include <stddef.h>

#include "daemon/part.h"

struct options {
    const char *greeting;
};

static const struct pd_option rows[] = {
    {"toy", "toy-greeting", PD_OPTION_STRING, offsetof(struct options, greeting), 0, 0, "WORDS",
     "hello", "what the toy says", NULL},
    {0},
};

static const struct options *given;
static _Atomic uint64_t greeted;

static const struct pd_part_counter counters[] = {
    {"greeted", "times that the toy was asked", &greeted},
    {0},
};

static int open_toy(void *daemon, const void *options, struct pd_error *error)
{
    (void)daemon;
    (void)error;
    given = options;
    return 0;
}

static int greet(void *daemon, struct pd_call *call, struct pd_answer *answer,
                 struct pd_problem *problem)
{
    (void)daemon;
    (void)problem;
    pd_count(&greeted, 1);
    pd_http_answer_json(answer, 200, answer->type,
                        json_pack("{s:s, s:s}", "greeting", given->greeting, "to", call->id));
    return 0;
}

static const struct pd_part_route routes[] = {
    {.route = {"GET", "/v1/toy/{id}", PD_ROLE_READ, "greets"}, .handler = greet},
    {.handler = NULL},
};

extern const struct pd_part toy_agent_part, toy_controller_part;
const struct pd_part toy_agent_part = {
    .name = "toy",
    .options = rows,
    .options_bytes = sizeof(struct options),
    .counters = counters,
    .routes = routes,
    .open = open_toy,
};
const struct pd_part toy_controller_part = {
    .name = "toy",
    .options = rows,
    .options_bytes = sizeof(struct options),
    .counters = counters,
    .routes = routes,
    .open = open_toy,
};
