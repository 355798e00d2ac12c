/* SPDX-License-Identifier: Apache-2.0 */
/* The plan, the thread that looks after the hosts, and the routes. */
#include "controller/telemetry/telemetry.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/wait.h"
#include "codec/pint/plan.h"
#include "daemon/state_file.h"
#include "fleet/collect.h"
#include "http/text.h"

#define MODULE         "telemetry"
#define ROUND_NS       (5 * PD_NS_PER_S)
#define ATTEMPT_NS     (2 * PD_NS_PER_S)
#define AT_ONCE        64
#define STATUS_BYTES   4096u
#define PLAN_BYTES_MAX ((size_t)1 << 20)
#define HASH_BYTES     20
#define FILE_VERSION   1

struct host {
    uint32_t id;
    bool asked;
    char hash[HASH_BYTES]; /* of its plan; "": none, or not known */
    char reason[120];      /* why it has not ours, or "" */
};

static struct {
    struct pd_controller *controller;
    struct pd_fanout *fanout; /* of its own */
    char *file;
    pthread_t thread;
    bool started;
    pthread_mutex_t change; /* one push at a time; outside of `lock` */
    pthread_mutex_t lock;   /* of all below */
    pthread_cond_t wake;
    bool stopping;
    char *text;      /* the plan; NULL: none */
    uint64_t number; /* of the plan: how many there were before */
    char hash[HASH_BYTES];
    struct host *hosts;
    size_t hosts_len;
} own = {.change = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the plan */

/* As agents hash it: what pd_pint_plan_json says, keys in order. */
static char *text_of(const struct pd_pint_plan *plan)
{
    json_t *json = pd_pint_plan_json(plan);
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

    json_decref(json);
    return text;
}

/* Owns the text from then on. With the lock held, or before there are threads. */
static void take_text(char *text)
{
    free(own.text);
    own.text = text;
    own.number++;
    snprintf(own.hash, sizeof own.hash, "%016" PRIx64, pd_hash(text, strlen(text)));
}

void pd_telemetry_plan_now(uint64_t *number, struct pd_pint_plan **plan)
{
    pthread_mutex_lock(&own.lock);
    if (*number != own.number) {
        pd_pint_plan_free(*plan);
        *plan = NULL;
        if (own.text) {
            pd_pint_plan_parse(own.text, strlen(own.text), "plan", plan, NULL);
        }
        *number = own.number;
    }
    pthread_mutex_unlock(&own.lock);
}

static int parse(const json_t *json, char **ret_text, struct pd_error *error)
{
    char *given = json_dumps(json, JSON_COMPACT), *text = NULL;
    struct pd_pint_plan *plan = NULL;
    int err = given ? 0 : pd_fail(error, -ENOMEM, "no memory for the plan");

    if (!err && strlen(given) > PLAN_BYTES_MAX) {
        err = pd_fail(error, -PD_E_TOO_LARGE, "plan: larger than %zu bytes", PLAN_BYTES_MAX);
    }
    if (!err) {
        err = pd_pint_plan_parse(given, strlen(given), "plan", &plan, error);
    }
    if (!err && !(text = text_of(plan))) {
        err = pd_fail(error, -ENOMEM, "no memory for the plan");
    }
    pd_pint_plan_free(plan);
    free(given);
    if (!err) {
        *ret_text = text;
    }
    return err;
}

static int save(const char *text, struct pd_error *error)
{
    json_t *document =
        json_pack("{s:i, s:o}", "version", FILE_VERSION, "plan", json_loads(text, 0, NULL));
    int err = document ? pd_daemon_state_write(own.file, document, error)
                       : pd_fail(error, -ENOMEM, "no memory for the plan");

    json_decref(document);
    return err;
}

/* A file that is damaged was set aside by then: the controller starts without a plan. */
static int load(struct pd_error *error)
{
    json_t *document = NULL;
    char *text = NULL;
    int err = pd_daemon_state_read(own.file, FILE_VERSION, 2 * PLAN_BYTES_MAX, &document, error);

    if (!err && document) {
        err = parse(json_object_get(document, "plan"), &text, error);
    }
    json_decref(document);
    if (text) {
        take_text(text);
    }
    if (err == -PD_E_CORRUPT || err == -PD_E_VALUE || err == -PD_E_SYNTAX) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "no telemetry plan: %s", error->text);
        return 0;
    }
    return err;
}

/* ---- hosts; with the lock held */

static struct host *find_host(uint32_t id)
{
    for (size_t i = 0; i < own.hosts_len; i++) {
        if (own.hosts[i].id == id) {
            return &own.hosts[i];
        }
    }
    return NULL;
}

/* What is known of hosts that stay is kept. 0 or -ENOMEM. */
static int take_inventory(const struct pd_inventory *inventory)
{
    struct host *hosts = calloc(inventory->hosts_len + 1, sizeof *hosts);

    if (!hosts) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < inventory->hosts_len; i++) {
        const struct host *known = find_host(inventory->hosts[i].id);
        hosts[i] = known ? *known : (struct host){.id = inventory->hosts[i].id};
    }
    free(own.hosts);
    own.hosts = hosts;
    own.hosts_len = inventory->hosts_len;
    return 0;
}

/* ---- asking */

/* One request to some hosts: their status, or the plan. */
struct errand {
    const char *method, *route;
    const char *body; /* NULL: none */
    struct pd_inventory *inventory;
    uint32_t *hosts; /* IDs */
    struct pd_collected *peers;
    size_t len;
};

static void note(struct host *host, const json_t *status, const struct pd_error *error)
{
    const char *hash = json_string_value(json_object_get(status, "hash"));
    const bool able = json_is_true(json_object_get(status, "able"));

    host->asked = true;
    *host->reason = '\0';
    if (error->code) {
        *host->hash = '\0';
        snprintf(host->reason, sizeof host->reason, "%.110s", error->text);
    } else {
        snprintf(host->hash, sizeof host->hash, "%.16s", hash ? hash : "");
        snprintf(host->reason, sizeof host->reason, "%s",
                 able ? "" : "no codec of its topology is pint");
    }
}

static void take_status(void *context, size_t i, const struct pd_collected *peer)
{
    const struct errand *errand = context;
    struct pd_error words = peer->error;
    json_t *status = words.code ? NULL : json_loadb(peer->answer, peer->len, 0, NULL);

    if (!words.code && !json_is_object(status)) {
        pd_fail(&words, -PD_E_SYNTAX, "its answer is no JSON object");
    }
    pthread_mutex_lock(&own.lock);
    struct host *host = find_host(errand->hosts[i]);
    if (host) {
        note(host, status, &words);
    }
    pthread_mutex_unlock(&own.lock);
    json_decref(status);
}

static void run(struct errand *errand)
{
    const struct pd_fanout_request request = {.method = errand->method,
                                              .route = errand->route,
                                              .type = "application/json",
                                              .accept = "application/json",
                                              .deadline_ns = pd_clock_monotonic_ns() + ATTEMPT_NS,
                                              .max_bytes = STATUS_BYTES,
                                              .at_once = AT_ONCE,
                                              .cancelled = &own.controller->stopping};

    for (size_t i = 0; i < errand->len; i++) {
        const size_t at = pd_controller_inventory_find(errand->inventory, errand->hosts[i]);

        errand->peers[i] =
            (struct pd_collected){.url = errand->inventory->hosts[at].url, .body = errand->body};
    }
    pd_fleet_collect(own.fanout, &request, errand->peers, errand->len, take_status, errand);
}

/* All hosts, or those that have not our plan. */
static void choose(struct errand *errand, bool all)
{
    errand->len = 0;
    pthread_mutex_lock(&own.lock);
    for (size_t i = 0; i < errand->inventory->hosts_len; i++) {
        const struct host *host = find_host(errand->inventory->hosts[i].id);
        if (host && (all || (!*host->reason && strcmp(host->hash, own.hash) != 0))) {
            errand->hosts[errand->len++] = host->id;
        }
    }
    pthread_mutex_unlock(&own.lock);
}

/* With `change` held. */
static void go_round(void)
{
    struct errand errand = {.inventory = pd_controller_hosts_inventory(own.controller->hosts)};
    char *body = NULL;

    pthread_mutex_lock(&own.lock);
    int err = take_inventory(errand.inventory);
    if (own.text) {
        body = strdup(own.text);
    }
    pthread_mutex_unlock(&own.lock);
    const size_t room = errand.inventory->hosts_len + 1;
    errand.hosts = err ? NULL : calloc(room, sizeof *errand.hosts);
    errand.peers = err ? NULL : calloc(room, sizeof *errand.peers);
    if (errand.hosts && errand.peers && body) {
        errand.method = "GET";
        errand.route = "/v1/telemetry/status";
        choose(&errand, true);
        run(&errand);
        errand.method = "PUT";
        errand.route = "/v1/telemetry/plan";
        errand.body = body;
        choose(&errand, false);
        run(&errand);
    }
    free(errand.hosts);
    free(errand.peers);
    free(body);
    pd_controller_inventory_free(errand.inventory);
}

/* ---- the thread */

static bool sleep_until_round(void)
{
    const uint64_t until_ns = pd_clock_monotonic_ns() + ROUND_NS;

    pthread_mutex_lock(&own.lock);
    while (!own.stopping && pd_wait_until(&own.wake, &own.lock, until_ns)) {
        continue;
    }
    const bool stopping = own.stopping;
    pthread_mutex_unlock(&own.lock);
    return !stopping;
}

static void *rounds(void *context)
{
    (void)context;
    do {
        pthread_mutex_lock(&own.change);
        go_round();
        pthread_mutex_unlock(&own.change);
    } while (sleep_until_round());
    return NULL;
}

/* ---- life */

static int open_part(void *daemon, const void *options, struct pd_error *error)
{
    (void)options;
    own.controller = daemon;
    if (asprintf(&own.file, "%s/telemetry.json", own.controller->state.path) < 0) {
        own.file = NULL;
        return pd_fail(error, -ENOMEM, "no memory for the telemetry plan");
    }
    return load(error);
}

static int start_part(void *daemon, struct pd_error *error)
{
    int err = (own.fanout = pd_fleet_fanout_new()) ? 0 : -ENOMEM;

    (void)daemon;
    pd_wait_init(&own.wake);
    if (!err) {
        pd_fleet_fanout_use(own.fanout, own.controller->credentials);
        err = -pthread_create(&own.thread, NULL, rounds, NULL);
    }
    own.started = !err;
    return err ? pd_fail(error, err, "telemetry: %s", pd_error_text(err)) : 0;
}

static void stop_part(void *daemon)
{
    (void)daemon;
    pthread_mutex_lock(&own.lock);
    own.stopping = true;
    if (own.started) {
        pthread_cond_signal(&own.wake);
    }
    pthread_mutex_unlock(&own.lock);
}

static void end_part(void *daemon)
{
    if (own.started) {
        stop_part(daemon);
        pthread_join(own.thread, NULL);
        pthread_cond_destroy(&own.wake);
        own.started = false;
    }
}

static void close_part(void *daemon)
{
    (void)daemon;
    if (own.fanout) {
        pd_fleet_fanout_free(own.fanout);
    }
    free(own.hosts);
    free(own.text);
    free(own.file);
    own.fanout = NULL;
    own.hosts = NULL;
    own.hosts_len = 0;
    own.text = own.file = NULL;
    own.stopping = false;
}

/* ---- routes */

static int give(struct pd_answer *answer, struct pd_problem *problem, json_t *document)
{
    if (!document) {
        return pd_fail(&problem->error, -ENOMEM, "no memory for the answer");
    }
    pd_http_answer_json(answer, 200, answer->type, document);
    return 0;
}

static int get_plan(void *daemon, struct pd_call *call, struct pd_answer *answer,
                    struct pd_problem *problem)
{
    (void)daemon;
    (void)call;
    pthread_mutex_lock(&own.lock);
    json_t *document =
        json_pack("{s:o, s:o}", "plan", own.text ? json_loads(own.text, 0, NULL) : json_null(),
                  "hash", own.text ? json_string(own.hash) : json_null());
    pthread_mutex_unlock(&own.lock);
    return give(answer, problem, document);
}

/* With the lock held. */
static json_t *host_json(const struct host *host)
{
    const bool current = own.text && !strcmp(host->hash, own.hash);
    const char *state = current ? "current" : *host->reason ? "failed" : "pending";

    return json_pack("{s:I, s:s, s:o, s:o}", "id", (json_int_t)host->id, "state", state, "hash",
                     *host->hash ? pd_http_text_json(host->hash) : json_null(), "reason",
                     pd_http_text_json(current ? "" : host->reason));
}

static int get_status(void *daemon, struct pd_call *call, struct pd_answer *answer,
                      struct pd_problem *problem)
{
    json_t *list = json_array();
    int failed = 0;

    (void)daemon;
    (void)call;
    pthread_mutex_lock(&own.lock);
    for (size_t i = 0; i < own.hosts_len && !failed; i++) {
        failed = json_array_append_new(list, host_json(&own.hosts[i]));
    }
    json_t *document = json_pack("{s:o, s:o}", "hash",
                                 own.text ? json_string(own.hash) : json_null(), "hosts", list);
    pthread_mutex_unlock(&own.lock);
    if (failed) {
        json_decref(document);
        document = NULL;
    }
    return give(answer, problem, document);
}

static int put_plan(void *daemon, struct pd_call *call, struct pd_answer *answer,
                    struct pd_problem *problem)
{
    char *text = NULL;
    int err = parse(call->body, &text, &problem->error);

    if (err) {
        return err;
    }
    pthread_mutex_lock(&own.change);
    err = save(text, &problem->error);
    if (err) {
        free(text);
    } else {
        pthread_mutex_lock(&own.lock);
        take_text(text);
        pthread_mutex_unlock(&own.lock);
        go_round();
    }
    pthread_mutex_unlock(&own.change);
    return err ? err : get_status(daemon, call, answer, problem);
}

static const struct pd_part_route routes[] = {
    {.route = {"GET", "/v1/telemetry/plan", PD_ROLE_READ, "the telemetry plan of all hosts"},
     .handler = get_plan},
    {.route = {"PUT", "/v1/telemetry/plan", PD_ROLE_ADMIN,
               "another one, which is brought to all hosts"},
     .handler = put_plan},
    {.route = {"GET", "/v1/telemetry/status", PD_ROLE_READ, "which hosts have the plan"},
     .handler = get_status},
    {.handler = NULL},
};

const struct pd_part pd_telemetry_part = {
    .name = "telemetry",
    .routes = routes,
    .open = open_part,
    .start = start_part,
    .stop = stop_part,
    .end = end_part,
    .close = close_part,
};
