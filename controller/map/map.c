/* SPDX-License-Identifier: Apache-2.0 */
/* The map as a part of the controller: its options, its page, its sessions. */
#include "controller/map/map.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "controller/routes.h"
#include "daemon/page.h"
#include "http/sessions.h"

struct options {
    const char *web_root;
    bool no_web;
};

#define AT(member) offsetof(struct options, member)

static const struct pd_option rows[] = {
    {.section = "map",
     .name = "web-root",
     .type = PD_OPTION_STRING,
     .offset = AT(web_root),
     .value = "DIR",
     .help = "serve the map's page from this folder instead of the one that is built in"},
    {.section = "map",
     .name = "no-web",
     .type = PD_OPTION_FLAG,
     .offset = AT(no_web),
     .help = "serve no page"},
    {0},
};

/* Opened before the first request. */
static struct pd_page page;

/* ---- the page ---- */

int pd_map_root(struct pd_controller *controller, struct pd_call *call, struct pd_answer *answer,
                struct pd_problem *problem)
{
    (void)controller;
    (void)call;
    return pd_daemon_page_lead(&page, answer, problem);
}

int pd_map_file(struct pd_controller *controller, struct pd_call *call, struct pd_answer *answer,
                struct pd_problem *problem)
{
    (void)controller;
    return pd_daemon_page_answer(&page, "", call, answer, problem);
}

int pd_map_vendor(struct pd_controller *controller, struct pd_call *call, struct pd_answer *answer,
                  struct pd_problem *problem)
{
    (void)controller;
    return pd_daemon_page_answer(&page, "vendor/", call, answer, problem);
}

/* ---- sessions ---- */

static int read_token(const json_t *body, const char **ret_token, struct pd_problem *problem)
{
    const json_t *token = json_object_get(body, "token");

    if (json_object_size(body) > 1 || !json_is_string(token)) {
        return pd_fail(&problem->error, -PD_E_VALUE, "token: expects {\"token\": TEXT}");
    }
    *ret_token = json_string_value(token);
    return 0;
}

int pd_map_login(struct pd_controller *controller, struct pd_call *call, struct pd_answer *answer,
                 struct pd_problem *problem)
{
    const char *token = NULL;
    int err = read_token(call->body, &token, problem);

    if (!err) {
        struct pd_credentials_set *set = pd_http_credentials_hold(controller->credentials);

        err = pd_http_sessions_begin(controller->sessions, set, token, answer, &problem->error);
        pd_http_credentials_drop(set);
    }
    if (!err) {
        answer->http_status = 204;
    }
    return err;
}

int pd_map_logout(struct pd_controller *controller, struct pd_call *call, struct pd_answer *answer,
                  struct pd_problem *problem)
{
    (void)problem;
    pd_http_sessions_end(controller->sessions, call->http->cookie, answer);
    answer->http_status = 204;
    return 0;
}

/* ---- the part ---- */

static int open_map(void *daemon, const void *own, struct pd_error *error)
{
    struct pd_controller *controller = daemon;
    const struct options *options = own;

    controller->sessions = pd_http_sessions_new(NULL);
    if (!controller->sessions) {
        return pd_fail(error, -ENOMEM, "map: %s", pd_error_text(-ENOMEM));
    }
    return options->no_web ? 0 : pd_daemon_page_open(&page, pd_web_files, options->web_root, error);
}

static void close_map(void *daemon)
{
    struct pd_controller *controller = daemon;

    pd_daemon_page_close(&page);
    pd_http_sessions_free(controller->sessions);
    controller->sessions = NULL;
}

static json_t *tell_status(void *daemon)
{
    const struct pd_controller *controller = daemon;
    struct pd_sessions_stat stat;

    pd_http_sessions_stat(controller->sessions, &stat);
    return json_pack("{s:b, s:{s:i, s:I, s:I, s:I, s:I, s:I}}", "page", page.files != NULL,
                     "sessions", "open", (int)stat.open, "begun", (json_int_t)stat.begun, "ended",
                     (json_int_t)stat.ended, "expired", (json_int_t)stat.expired, "displaced",
                     (json_int_t)stat.displaced, "refused", (json_int_t)stat.refused);
}

const struct pd_part pd_map_part = {.name = "map",
                                    .options = rows,
                                    .options_bytes = sizeof(struct options),
                                    .open = open_map,
                                    .close = close_map,
                                    .status = tell_status};
