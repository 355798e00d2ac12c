/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the telemetry plan: its text, its routes. */
#include "agent/telemetry.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/settings.h"
#include "base/hash.h"
#include "base/log.h"
#include "codec/pint/plan.h"

#define MODULE "telemetry"

static struct {
    pthread_mutex_t lock; /* of the text, and of the order of changes */
    char *text;           /* of the plan, as it is told; NULL: none */
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

static char *text_of(const struct pd_pint_plan *plan)
{
    json_t *json = pd_pint_plan_json(plan);
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

    json_decref(json);
    return text;
}

/* ---- life */

static int open_telemetry(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_agent *agent = daemon;
    const struct pd_settings *settings = agent->settings;
    const struct pd_codec_set *codecs = &agent->model->codecs;
    const bool fits = pd_codec_set_find(codecs, "pint") != NULL;
    const uint64_t key_bits =
        codecs->aside_tpid ? pd_tags_bits(codecs->carriers & PD_CARRIER_DSCP) : 0;
    struct pd_pint_plan *plan = NULL;
    int err = 0;

    (void)options;
    if (settings->telemetry && !fits) {
        return pd_fail(error, -PD_E_VALUE, "--telemetry: the codec of %s is not pint",
                       settings->topology);
    }
    if (!fits) {
        return 0;
    }
    if (settings->telemetry) {
        err = pd_pint_plan_read(settings->telemetry, &plan, error);
    }
    if (!err && plan && !(own.text = text_of(plan))) {
        pd_pint_plan_free(plan);
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    return err ? err
               : pd_agent_digests_new(settings->topology, plan, key_bits, settings->max_records,
                                      &agent->counters, agent->alarms, &agent->digests, error);
}

static void close_telemetry(void *daemon)
{
    pd_agent_digests_free(((struct pd_agent *)daemon)->digests);
    free(own.text);
    own.text = NULL;
}

/* ---- routes */

/* With the lock held; null where there is no plan. */
static json_t *hash_json(void)
{
    char text[20];

    if (!own.text) {
        return json_null();
    }
    snprintf(text, sizeof text, "%016" PRIx64, pd_hash(own.text, strlen(own.text)));
    return json_string(text);
}

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
    json_t *plan = own.text ? json_loads(own.text, 0, NULL) : json_null();
    json_t *document = json_pack("{s:o, s:o}", "plan", plan, "hash", hash_json());
    pthread_mutex_unlock(&own.lock);
    return give(answer, problem, document);
}

static int get_status(void *daemon, struct pd_call *call, struct pd_answer *answer,
                      struct pd_problem *problem)
{
    const struct pd_agent *agent = daemon;

    (void)call;
    pthread_mutex_lock(&own.lock);
    json_t *document =
        json_pack("{s:b, s:o, s:b}", "able", agent->digests != NULL, "hash", hash_json(),
                  "settling", agent->digests && pd_agent_digests_settling(agent->digests));
    pthread_mutex_unlock(&own.lock);
    return give(answer, problem, document);
}

/* With the lock held. The same plan again is no change: nothing has to settle. */
static void change(struct pd_agent *agent, struct pd_pint_plan *plan, char *text)
{
    if (own.text && !strcmp(own.text, text)) {
        pd_pint_plan_free(plan);
        free(text);
        return;
    }
    free(own.text);
    own.text = text;
    pd_agent_digests_offer(agent->digests, plan);
    pd_log(PD_LOG_INFO, MODULE, NULL, "another telemetry plan is taken over");
}

static int put_plan(void *daemon, struct pd_call *call, struct pd_answer *answer,
                    struct pd_problem *problem)
{
    struct pd_agent *agent = daemon;
    char *given = json_dumps(call->body, JSON_COMPACT), *text = NULL;
    struct pd_pint_plan *plan = NULL;
    int err = given ? 0 : pd_fail(&problem->error, -ENOMEM, "no memory for the plan");

    if (!err && !agent->digests) {
        err = pd_fail(&problem->error, -PD_E_CONFLICT,
                      "not supported here: no codec of this host's topology is pint");
    }
    if (!err) {
        err = pd_pint_plan_parse(given, strlen(given), "plan", &plan, &problem->error);
    }
    if (!err && !(text = text_of(plan))) {
        pd_pint_plan_free(plan);
        err = pd_fail(&problem->error, -ENOMEM, "no memory for the plan");
    }
    free(given);
    if (err) {
        return err;
    }
    pthread_mutex_lock(&own.lock);
    change(agent, plan, text);
    pthread_mutex_unlock(&own.lock);
    return get_status(daemon, call, answer, problem);
}

static const struct pd_part_route routes[] = {
    {.route = {"GET", "/v1/telemetry/plan", PD_ROLE_READ, "the telemetry plan in force"},
     .handler = get_plan},
    {.route = {"PUT", "/v1/telemetry/plan", PD_ROLE_ADMIN, "another telemetry plan"},
     .handler = put_plan},
    {.route = {"GET", "/v1/telemetry/status", PD_ROLE_READ, "which telemetry plan is in force"},
     .handler = get_status},
    {.handler = NULL},
};

const struct pd_part pd_agent_telemetry = {
    .name = "telemetry",
    .routes = routes,
    .open = open_telemetry,
    .close = close_telemetry,
};
