/* SPDX-License-Identifier: Apache-2.0 */
/* Which requests are noted, as what; GET /v1/audit. */
#include "controller/audit/rest.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/audit/audit.h"
#include "controller/routes.h"
#include "http/role.h"

#define SHORT_BYTES   1024u /* of arguments; longer ones are told by their digest */
#define HOSTS_BYTES   4096u
#define DIGEST_BYTES  32u
#define DEFAULT_LIMIT 1000u

/* ---- what is noted ---- */

/* Names of routes; of others that change something, the last part of their path. */
static const struct name {
    const char *method, *path, *what;
    bool programs; /* only where the body is a program */
} names[] = {
    {.method = "POST", .path = "/v1/install", .what = "install"},
    {.method = "DELETE", .path = "/v1/installed/{id}", .what = "uninstall"},
    {.method = "POST", .path = "/v1/watches", .what = "watch"},
    {.method = "DELETE", .path = "/v1/watches/{id}", .what = "unwatch"},
    {.method = "POST", .path = "/v1/apps/{id}", .what = "app"},
    {.method = "POST", .path = "/v1/execute", .what = "program", .programs = true},
};

static bool changes(const struct pd_route *route)
{
    return strcmp(route->method, "GET") != 0 &&
           (route->role == PD_ROLE_INSTALL || route->role == PD_ROLE_ADMIN);
}

/* NULL: it is not noted. */
static const char *what_of(const struct pd_route *route, const struct pd_call *call)
{
    const char *last = strrchr(route->path, '/');

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(route->method, names[i].method) && !strcmp(route->path, names[i].path)) {
            return names[i].programs && !json_object_get(call->body, "program") ? NULL
                                                                                : names[i].what;
        }
    }
    return changes(route) ? last + 1 : NULL;
}

/* ---- how ---- */

static void put_digest(json_t *detail, const char *name, const char *text, size_t len)
{
    unsigned char digest[DIGEST_BYTES];
    char hex[2 * DIGEST_BYTES + 1];

    gnutls_hash_fast(GNUTLS_DIG_SHA256, text, len, digest);
    for (size_t i = 0; i < DIGEST_BYTES; i++) {
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    }
    json_object_set_new(detail, name, json_string(hex));
}

static void put_args(json_t *detail, const json_t *args)
{
    char *text = args ? json_dumps(args, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    if (text && strlen(text) > SHORT_BYTES) {
        put_digest(detail, "args_sha256", text, strlen(text));
    } else if (args) {
        json_object_set(detail, "args", (json_t *)(uintptr_t)args);
    }
    free(text);
}

/* Small things as they are, a program by its digest. */
static json_t *detail_of(const struct pd_call *call)
{
    static const char *const copied[] = {"query", "period_ms", "on", "app", "period_s", "mode"};
    const json_t *program = json_object_get(call->body, "program");
    json_t *detail = json_object();

    if (*call->id) {
        json_object_set_new(detail, "id", json_string(call->id));
    }
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
        json_t *member = json_object_get(call->body, copied[i]);

        if (json_is_number(member) || json_string_length(member) < SHORT_BYTES) {
            json_object_set(detail, copied[i], member);
        }
    }
    if (json_is_string(program)) {
        put_digest(detail, "program_sha256", json_string_value(program),
                   json_string_length(program));
    }
    put_args(detail, json_object_get(call->body, "args"));
    return detail;
}

/* As asked; a long list by its length. */
static json_t *hosts_of(const struct pd_call *call)
{
    json_t *hosts = json_object_get(call->body, "hosts");

    if (hosts && json_dumpb(hosts, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY) > HOSTS_BYTES) {
        return json_pack("{s:I}", "count", (json_int_t)json_array_size(hosts));
    }
    return json_incref(hosts);
}

/* ---- the witness ---- */

static int before(void *daemon, const struct pd_route *route, const struct pd_call *call,
                  struct pd_problem *problem)
{
    struct pd_controller *controller = daemon;

    (void)call;
    return changes(route) ? pd_audit_reserve(controller->audit, &problem->error) : 0;
}

static void after(void *daemon, const struct pd_route *route, const struct pd_call *call, int err,
                  const struct pd_problem *problem)
{
    struct pd_controller *controller = daemon;
    const struct pd_http_request *http = call->http;
    struct pd_audit_entry entry = {.who = http->peer ? http->peer : "",
                                   .role = pd_http_role_id(http->role),
                                   .address = http->address ? http->address : "",
                                   .what = what_of(route, call),
                                   .changes = !err && changes(route),
                                   .outcome = !err                   ? "done"
                                              : *problem->error.text ? problem->error.text
                                                                     : pd_error_text(err)};

    if (!entry.what) {
        return;
    }
    entry.detail = detail_of(call);
    entry.hosts = hosts_of(call);
    pd_count(pd_audit_write(controller->audit, &entry) ? &controller->counters.audit_failed
                                                       : &controller->counters.audited,
             1);
    json_decref(entry.detail);
    json_decref(entry.hosts);
}

const struct pd_rest_witness pd_audit_witness = {before, after};

int pd_audit_reload_begin(struct pd_controller *controller, struct pd_error *error)
{
    return pd_audit_reserve(controller->audit, error);
}

void pd_audit_reload_end(struct pd_controller *controller, const char *outcome)
{
    const struct pd_audit_entry entry = {.who = "SIGHUP",
                                         .role = "admin",
                                         .address = "",
                                         .what = "reload",
                                         .outcome = outcome,
                                         .changes = true};

    pd_count(pd_audit_write(controller->audit, &entry) ? &controller->counters.audit_failed
                                                       : &controller->counters.audited,
             1);
}

/* ---- the part ---- */

static int open_audit(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_controller *controller = daemon;
    char directory[4096];

    (void)options;
    if (snprintf(directory, sizeof directory, "%s/audit", controller->state.path) >=
        (int)sizeof directory - 32) {
        return pd_fail(error, -ENAMETOOLONG, "%s: too long a name", controller->state.path);
    }
    return pd_audit_open(directory, &controller->audit, error);
}

static void close_audit(void *daemon)
{
    pd_audit_close(((struct pd_controller *)daemon)->audit);
}

const struct pd_part pd_audit_part = {.name = "audit", .open = open_audit, .close = close_audit};

/* ---- GET ---- */

struct wanted {
    uint64_t from_us, to_us, limit;
};

static int take_parameter(struct wanted *wanted, const char *name, const char *value,
                          struct pd_error *error)
{
    size_t len = strspn(value, "0123456789");
    uint64_t number = strtoull(value, NULL, 10);
    bool is_limit = !strcmp(name, "limit");

    if (!is_limit && strcmp(name, "from") != 0 && strcmp(name, "to") != 0) {
        return pd_fail(error, -PD_E_UNKNOWN_KEY, "%s: unknown parameter", name);
    }
    if (!len || len > 16 || value[len] || (is_limit && (!number || number > PD_AUDIT_LIMIT))) {
        return is_limit
                   ? pd_fail(error, -PD_E_VALUE, "limit: expects a number from 1 to %u",
                             PD_AUDIT_LIMIT)
                   : pd_fail(error, -PD_E_VALUE, "%s: expects microseconds since the epoch", name);
    }
    *(is_limit ? &wanted->limit : !strcmp(name, "to") ? &wanted->to_us : &wanted->from_us) = number;
    return 0;
}

int pd_audit_answer(struct pd_controller *controller, struct pd_call *call,
                    struct pd_answer *answer, struct pd_problem *problem)
{
    struct wanted wanted = {.to_us = UINT64_MAX, .limit = DEFAULT_LIMIT};
    char value[PD_TARGET_MAX_BYTES];
    json_t *document;
    int err;

    while (
        (err = pd_http_target_next(&call->parameters, problem->parameter, sizeof problem->parameter,
                                   value, sizeof value, &problem->error)) > 0) {
        err = take_parameter(&wanted, problem->parameter, value, &problem->error);
        if (err) {
            return err;
        }
    }
    if (err) {
        return err;
    }
    problem->parameter[0] = '\0';
    document = pd_audit_read(controller->audit, wanted.from_us, wanted.to_us, wanted.limit);
    if (!document) {
        return pd_fail(&problem->error, -ENOMEM, "no memory for the audit");
    }
    pd_http_answer_json(answer, 200, answer->type, document);
    return 0;
}
