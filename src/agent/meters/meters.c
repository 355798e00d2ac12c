/* SPDX-License-Identifier: Apache-2.0 */
/* The part of meters: options, rules, epochs, routes. */
#include "agent/meters/meters.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/meters/answer.h"
#include "agent/model.h"
#include "agent/settings.h"
#include "base/clock.h"
#include "query/members.h"
#include "json/cursor.h"

#define RULES_BYTES_MAX ((size_t)4 << 20)

struct options {
    const char *meters;
    uint64_t monitor;
};

/* Since this program began, but for what the driver counts. */
static struct {
#define X(name, text) _Atomic uint64_t name;
    PD_AGENT_METER_COUNTS(X)
#undef X
    _Atomic uint64_t disagree, full, read;
} counts;

static struct {
    pthread_mutex_t lock; /* of all */
    struct pd_agent_meter_driver *driver;
    uint32_t monitor;
    uint64_t versions[2]; /* of the rules upstream and downstream; 0: none came yet */
    uint64_t epoch;       /* the newest that was told */
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- life ---- */

/* Meters mark packets in the DSCP. */
static int check_codec(const struct pd_agent *agent, struct pd_error *error)
{
    return agent->model->codecs.carriers & PD_CARRIER_DSCP
               ? pd_fail(error, -PD_E_TOPOLOGY,
                         "--meters: meters mark packets in the DSCP, and so does the codec of %s",
                         agent->settings->topology)
               : 0;
}

static int open_meters(void *daemon, const void *options, struct pd_error *error)
{
    const struct pd_agent *agent = daemon;
    const struct options *given = options;

    if (!given->meters != !given->monitor) {
        return pd_fail(error, -PD_E_VALUE, "--monitor and --meters: expects both, or neither");
    }
    if (!given->meters) {
        return 0;
    }
    if (pd_topology_switch(agent->model->topology, (uint32_t)given->monitor) == PD_NONE) {
        return pd_fail(error, -PD_E_VALUE, "--monitor: %" PRIu64 " is no switch of %s",
                       given->monitor, agent->settings->topology);
    }
    own.monitor = (uint32_t)given->monitor;
    const int err = check_codec(agent, error);
    return err ? err : pd_agent_meter_driver_open(given->meters, own.monitor, &own.driver, error);
}

static void close_meters(void *daemon)
{
    (void)daemon;
    pd_agent_meter_driver_close(own.driver);
    own.driver = NULL;
}

/* ---- what the switch has counted ---- */

/* With the lock. */
static void look_at_counts(void)
{
    struct pd_agent_meter_counts now;

    if (own.driver && !own.driver->ops->counts(own.driver, &now)) {
#define X(name, text) atomic_store_explicit(&counts.name, now.name, memory_order_relaxed);
        PD_AGENT_METER_COUNTS(X)
#undef X
    }
}

static json_t *status(void *daemon)
{
    (void)daemon;
    pthread_mutex_lock(&own.lock);
    look_at_counts();
    json_t *document =
        json_pack("{s:o}", "epoch", own.epoch ? json_integer((json_int_t)own.epoch) : json_null());
    pthread_mutex_unlock(&own.lock);
    return document;
}

static int need_driver(struct pd_problem *problem)
{
    return own.driver ? 0
                      : pd_fail(&problem->error, -PD_E_CONFLICT,
                                "no monitor of meters runs here: start it with --monitor ID "
                                "--meters DRIVER");
}

static int give(struct pd_answer *answer, struct pd_problem *problem, json_t *document)
{
    if (!document) {
        return pd_fail(&problem->error, -ENOMEM, "no memory for the answer");
    }
    pd_http_answer_json(answer, 200, answer->type, document);
    return 0;
}

/* ---- an epoch ---- */

static bool is_number(const char *text, uint64_t *ret_number)
{
    const size_t digits = strspn(text, "0123456789");

    if (!digits || text[digits] || digits > 16) {
        return false;
    }
    *ret_number = strtoull(text, NULL, 10);
    return *ret_number && *ret_number <= PD_JSON_NUMBER_MAX;
}

static int read_epoch(struct pd_call *call, uint64_t *ret_epoch, struct pd_problem *problem)
{
    char value[32];
    bool given = false;
    int more;

    while ((more = pd_http_target_next(&call->parameters, problem->parameter,
                                       sizeof problem->parameter, value, sizeof value,
                                       &problem->error)) > 0) {
        if (strcmp(problem->parameter, "epoch")) {
            return pd_fail(&problem->error, -PD_E_UNKNOWN_KEY, "%s: unknown parameter",
                           problem->parameter);
        }
        if (given || !is_number(value, ret_epoch)) {
            return pd_fail(&problem->error, -PD_E_VALUE, "epoch: expects a number from 1, once");
        }
        given = true;
    }
    return more    ? more
           : given ? 0
                   : pd_fail(&problem->error, -PD_E_VALUE, "epoch: expects the number of an epoch");
}

/* It can be told from its grace time on, until its buckets may count the next but one. */
static int check_time(uint64_t epoch, struct pd_problem *problem)
{
    const uint64_t epoch_us = own.driver->epoch_ns / 1000, grace_us = epoch_us / 4;
    const uint64_t now_us = pd_clock_wall_us();

    if (!epoch_us) {
        return pd_fail(&problem->error, -PD_E_CONFLICT, "nothing is counted: there are no rules");
    }
    if (epoch >= now_us / epoch_us || now_us < (epoch + 1) * epoch_us + grace_us) {
        return pd_fail(&problem->error, -PD_E_CONFLICT,
                       "epoch %" PRIu64 " and its grace time are not over", epoch);
    }
    return now_us < (epoch + 2) * epoch_us - grace_us
               ? 0
               : pd_fail(&problem->error, -PD_E_NOT_FOUND, "epoch %" PRIu64 " is not kept any more",
                         epoch);
}

/* Rules that came for one role only are no version. */
static uint64_t version(void)
{
    return own.versions[0] == own.versions[1] ? own.versions[0] : 0;
}

static json_t *counters_json(void)
{
    json_t *object = json_object();

    look_at_counts();
#define X(name, text) \
    json_object_set_new(object, #name, json_integer((json_int_t)pd_counted(&counts.name)));
    PD_AGENT_METER_COUNTS(X)
#undef X
    json_object_set_new(object, "disagree", json_integer((json_int_t)pd_counted(&counts.disagree)));
    json_object_set_new(object, "full", json_integer((json_int_t)pd_counted(&counts.full)));
    return object;
}

/* With the lock. The time is looked at again behind the reading: it may have taken long. */
static int tell(uint64_t epoch, struct pd_agent_meter_reading *reading, json_t **ret_document,
                struct pd_problem *problem)
{
    int err = need_driver(problem);

    err = err ? err : check_time(epoch, problem);
    err = err ? err : own.driver->ops->read(own.driver, epoch, reading, &problem->error);
    err = err ? err : check_time(epoch, problem);
    if (err) {
        pd_count(&counts.full, err == -PD_E_FULL);
        return err;
    }
    if (epoch > own.epoch) {
        own.epoch = epoch;
        pd_count(&counts.read, 1);
        pd_count(&counts.disagree, pd_agent_meters_disagree(reading));
    }
    *ret_document =
        json_pack("{s:I, s:I, s:I, s:o, s:o, s:o}", "monitor", (json_int_t)own.monitor, "epoch",
                  (json_int_t)epoch, "version", (json_int_t)version(), "meters",
                  pd_agent_meters_roles_json(reading, own.monitor, epoch,
                                             own.driver->epoch_ns / PD_NS_PER_MS),
                  "largest", pd_agent_meters_largest_json(reading), "counters", counters_json());
    return 0;
}

static int get_meters(void *daemon, struct pd_call *call, struct pd_answer *answer,
                      struct pd_problem *problem)
{
    struct pd_agent_meter_reading reading = {.rows = 0};
    json_t *document = NULL;
    uint64_t epoch = 0;
    int err = read_epoch(call, &epoch, problem);

    (void)daemon;
    if (!err) {
        pthread_mutex_lock(&own.lock);
        err = tell(epoch, &reading, &document, problem);
        pthread_mutex_unlock(&own.lock);
    }
    pd_agent_meter_reading_done(&reading);
    return err ? err : give(answer, problem, document);
}

/* ---- rules ---- */

struct rules {
    bool down;
    uint64_t version, epoch_ms;
    struct pd_flow_id *flows;
    size_t len;
};

static int read_flows(const json_t *list, const char *role, struct rules *rules,
                      struct pd_problem *problem)
{
    const json_t *item;
    size_t i;
    int err = 0;

    if (!json_is_array(list)) {
        return pd_fail(&problem->error, -PD_E_VALUE, "%s: expects a list of flow IDs", role);
    }
    if (json_array_size(list) > own.driver->ops->rules_max) {
        pd_count(&counts.full, 1);
        return pd_fail(&problem->error, -PD_E_FULL, "%s: %zu rules, and there is room for %u", role,
                       json_array_size(list), own.driver->ops->rules_max);
    }
    rules->flows = calloc(json_array_size(list) + 1, sizeof *rules->flows);
    if (!rules->flows) {
        return pd_fail(&problem->error, -ENOMEM, "no memory for the rules");
    }
    json_array_foreach(list, i, item)
    {
        if (!err && pd_query_flow_id_read(item, &rules->flows[rules->len++], NULL)) {
            err = pd_fail(&problem->error, -PD_E_VALUE, "%s[%zu]: expects a flow ID", role, i);
        }
    }
    return err;
}

static int read_rules(const struct pd_call *call, struct rules *rules, struct pd_problem *problem)
{
    static const char *const names[] = {"version", "epoch_ms", "usm", "dsm", NULL};
    const struct pd_json_cursor at = {
        .object = call->body, .err = -PD_E_VALUE, .error = &problem->error};
    const json_t *usm = json_object_get(call->body, "usm");
    const json_t *dsm = json_object_get(call->body, "dsm");
    int err = pd_json_only(&at, names);

    err = err ? err : pd_json_number(&at, "version", 1, PD_JSON_NUMBER_MAX, &rules->version);
    err = err ? err : pd_json_number(&at, "epoch_ms", 20, 60000, &rules->epoch_ms);
    if (!err && !usm == !dsm) {
        return pd_fail(&problem->error, -PD_E_VALUE, "expects \"usm\" or \"dsm\", one of them");
    }
    rules->down = dsm;
    return err ? err : read_flows(dsm ? dsm : usm, dsm ? "dsm" : "usm", rules, problem);
}

/* With the lock. */
static int take_rules(const struct pd_call *call, struct rules *rules, struct pd_problem *problem)
{
    int err = need_driver(problem);

    err = err ? err : read_rules(call, rules, problem);
    err = err ? err
              : own.driver->ops->rules(own.driver, rules->down, rules->flows, rules->len,
                                       rules->epoch_ms * PD_NS_PER_MS, &problem->error);
    if (!err) {
        own.versions[rules->down] = rules->version;
    }
    return err;
}

static int put_rules(void *daemon, struct pd_call *call, struct pd_answer *answer,
                     struct pd_problem *problem)
{
    struct rules rules = {.down = false};

    (void)daemon;
    pthread_mutex_lock(&own.lock);
    const int err = take_rules(call, &rules, problem);
    json_t *document = err ? NULL
                           : json_pack("{s:I, s:I}", "version", (json_int_t)version(), "rules",
                                       (json_int_t)rules.len);
    pthread_mutex_unlock(&own.lock);
    free(rules.flows);
    return err ? err : give(answer, problem, document);
}

/* ---- the part ---- */

static const struct pd_option rows[] = {
    {.section = "meters",
     .name = "monitor",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct options, monitor),
     .max = UINT32_MAX,
     .value = "ID",
     .fallback = "0",
     .help = "answer for the meters of this switch"},
    {.section = "meters",
     .name = "meters",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct options, meters),
     .value = "KIND:WHERE",
     .help = "where these meters are: tc:FOLDER, maps of a BPF program that are pinned there; "
             "swx:unix:/PATH:SWITCH, control of pathdump-switch"},
    {0},
};

static const struct pd_part_counter counters[] = {
#define X(name, text) {#name, text, &counts.name},
    PD_AGENT_METER_COUNTS(X)
#undef X
        {"disagree", "flows of an epoch whose clean buckets did not agree", &counts.disagree},
    {"full", "rules, or epochs with strays, for which there was no room", &counts.full},
    {"read", "epochs that were told", &counts.read},
    {0},
};

static const struct pd_part_route routes[] = {
    {.route = {"GET", "/v1/meters", PD_ROLE_READ, "what meters counted in an epoch"},
     .parameters = true,
     .handler = get_meters},
    {.route = {"PUT", "/v1/meters/rules", PD_ROLE_ADMIN, "which flows meters count"},
     .handler = put_rules,
     .body_bytes = RULES_BYTES_MAX},
    {.handler = NULL},
};

const struct pd_part pd_agent_meters = {
    .name = "meters",
    .options = rows,
    .options_bytes = sizeof(struct options),
    .counters = counters,
    .routes = routes,
    .open = open_meters,
    .close = close_meters,
    .status = status,
};
