/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the agent: how each is opened, started, stopped and closed, and in which order. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/installed/host.h"
#include "agent/meters/meters.h"
#include "agent/poor.h"
#include "agent/probes/probes.h"
#include "agent/settings.h"
#include "agent/telemetry.h"
#include "agent/traces.h"
#include "base/clock.h"
#include "pd_extensions.h"

/* ---- alarms ---- */

static int open_alarms(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_agent *agent = daemon;

    (void)options;
    (void)error;
    return pd_alarms_new(&agent->alarms);
}

static void close_alarms(void *daemon)
{
    pd_alarms_free(((struct pd_agent *)daemon)->alarms);
}

static const struct pd_part alarms = {.name = "alarms", .open = open_alarms, .close = close_alarms};

/* ---- questions ---- */

/* What questions take, beside the store. */
static int open_questions(void *daemon, const void *options, struct pd_error *error)
{
    static const struct pd_daemon_admission_limits queries = {PD_AGENT_QUERIES_MAX,
                                                              PD_AGENT_WAITING_MAX,
                                                              PD_AGENT_CLIENT_WAITS_MAX},
                                                   programs = {PD_AGENT_PROGRAMS_MAX,
                                                               PD_AGENT_WAITING_MAX,
                                                               PD_AGENT_CLIENT_WAITS_MAX};
    struct pd_agent *agent = daemon;
    const struct pd_settings *settings = agent->settings;
    int err = pd_daemon_admission_new(&queries, &agent->query_turns);

    (void)options;
    agent->again = pd_agent_response_cache_new(); /* without it each answer is made anew */

    agent->host_id = (uint32_t)settings->host_id;
    agent->program_limits = (struct pd_program_limits){settings->program_instructions,
                                                       settings->program_memory_bytes, 0};
    agent->program_time_ns = settings->program_time_s * PD_NS_PER_S;
    if (!err) {
        err = pd_daemon_admission_new(&programs, &agent->program_turns);
    }
    if (!err) {
        err = pd_programs_new(NULL, &agent->programs);
    }
    if (!err && (settings->listen || settings->controller) &&
        !(agent->fanout = pd_fleet_fanout_new())) {
        err = -ENOMEM;
    }
    if (!err && agent->fanout) {
        pd_fleet_fanout_use(agent->fanout, agent->credentials);
    }
    if (!err) {
        err = pd_agent_orders_new(agent->credentials, agent->host_id, &agent->orders);
    }
    return err ? pd_fail(error, err, "questions: %s", pd_error_text(err)) : 0;
}

static void close_questions(void *daemon)
{
    struct pd_agent *agent = daemon;

    if (agent->fanout) {
        pd_fleet_fanout_free(agent->fanout);
    }
    pd_programs_free(agent->programs);
    pd_daemon_admission_free(agent->program_turns);
    pd_daemon_admission_free(agent->query_turns);
    pd_agent_response_cache_free(agent->again);
    pd_agent_orders_free(agent->orders);
}

static const struct pd_part questions = {
    .name = "questions", .open = open_questions, .close = close_questions};

/* ---- topology and codec, as they are at the start ---- */

static int open_model(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_agent *agent = daemon;

    (void)options;
    return pd_agent_model_load(agent->settings->topology, &agent->model, error);
}

static void close_model(void *daemon)
{
    pd_agent_model_free(((struct pd_agent *)daemon)->model);
}

static const struct pd_part model = {.name = "model", .open = open_model, .close = close_model};

/* ---- the store ---- */

static int open_store(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_agent *agent = daemon;
    struct pd_tib_config config = pd_agent_settings_tib(agent->settings);

    (void)options;
    return pd_tib_open(agent->settings->tib, PD_TIB_WRITE, &config, &agent->tib, error);
}

static void close_store(void *daemon)
{
    pd_tib_close(((struct pd_agent *)daemon)->tib);
}

static const struct pd_part store = {.name = "store", .open = open_store, .close = close_store};

/* ---- alarms to the controller ---- */

/* The spool of alarms lies with the records. */
static int open_sender(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_agent *agent = daemon;
    const struct pd_settings *settings = agent->settings;
    char file[4096];
    struct pd_alarm_sender_config config = {
        .spool = {file, (uint32_t)settings->host_id, settings->alarm_spool_bytes},
        .controller = settings->controller,
        .alarms = agent->alarms,
        .fanout = agent->fanout,
        .budget = settings->alarm_budget,
    };

    (void)options;
    if (!config.controller) {
        return 0;
    }
    if (snprintf(file, sizeof file, "%s/alarms.spool", pd_agent_settings_folder(settings)) >=
        (int)sizeof file) {
        return pd_fail(error, -ENAMETOOLONG, "tib: too long a name");
    }
    return pd_alarm_sender_new(&config, &agent->sender, error);
}

static int start_sender(void *daemon, struct pd_error *error)
{
    struct pd_agent *agent = daemon;
    int err = agent->sender ? pd_alarm_sender_start(agent->sender) : 0;

    return err ? pd_fail(error, err, "threads: %s", pd_error_text(err)) : 0;
}

static void end_sender(void *daemon)
{
    pd_alarm_sender_stop(((struct pd_agent *)daemon)->sender);
}

static void close_sender(void *daemon)
{
    pd_alarm_sender_free(((struct pd_agent *)daemon)->sender);
}

static const struct pd_part sender = {.name = "alarm sender",
                                      .open = open_sender,
                                      .start = start_sender,
                                      .end = end_sender,
                                      .close = close_sender};

/* ---- installed queries: the list, and their runs ---- */

static int open_installed(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_agent *agent = daemon;

    (void)options;
    return pd_installed_open(agent, pd_agent_settings_folder(agent->settings), agent->model, error);
}

static void close_installed(void *daemon)
{
    pd_installed_free(((struct pd_agent *)daemon)->installed);
}

static const struct pd_part installed = {
    .name = "installed", .open = open_installed, .close = close_installed};

static int start_runs(void *daemon, struct pd_error *error)
{
    int err = pd_installed_start(((struct pd_agent *)daemon)->installed);

    return err ? pd_fail(error, err, "threads: %s", pd_error_text(err)) : 0;
}

static void end_runs(void *daemon)
{
    pd_installed_stop(((struct pd_agent *)daemon)->installed);
}

static const struct pd_part runs = {.name = "runs", .start = start_runs, .end = end_runs};

/* ---- packet logs ---- */

static int open_logs(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_agent *agent = daemon;

    (void)options;
    if (pd_log_packet_logs_new(pd_agent_settings_folder(agent->settings), &agent->logs)) {
        return pd_fail(error, -ENOMEM, "packet logs: %s", pd_error_text(-ENOMEM));
    }
    pd_log_packet_logs_model(agent->logs, agent->model);
    return 0;
}

static void close_logs(void *daemon)
{
    pd_log_packet_logs_free(((struct pd_agent *)daemon)->logs);
}

static const struct pd_part logs = {.name = "logs", .open = open_logs, .close = close_logs};

/* ---- from the intakes to the store ---- */

/* What switches say by themselves is an alarm of this host. */
static void tell_complaint(void *context, enum pd_intake_complaint what,
                           const struct pd_flow_id *flow, uint32_t node, const char *detail)
{
    const struct pd_alarm_raise raise = {.reason = what == PD_INTAKE_DROPPED ? PD_ALARM_INT_DROP
                                                                             : PD_ALARM_INT_QUEUE,
                                         .flow = flow,
                                         .detail = detail};

    (void)node;
    pd_alarms_raise(((struct pd_agent *)context)->alarms, &raise);
}

static int open_pipeline(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_agent *agent = daemon;
    struct pd_pipeline_config config = {
        .intakes = agent->settings->intakes,
        .intake_config = pd_agent_settings_intake(agent->settings, false),
        .intake_options = pd_agent_settings_intake_options,
        .intake_options_context = (void *)(uintptr_t)agent->settings,
        .model = pd_agent_model_hold(agent->model),
        .tib = agent->tib,
        .alarms = agent->alarms,
        .counters = &agent->counters,
        .feed = pd_installed_feed(agent->installed),
    };
    int err;

    (void)options;
    config.intake_config.tap = pd_log_packet_logs_tap(agent->logs);
    config.intake_config.taker = pd_agent_probes_taker();
    agent->complaints = (struct pd_intake_complaints){agent, tell_complaint};
    config.intake_config.complaints = &agent->complaints;
    if (agent->digests) {
        config.digests = agent->digests;
        config.intake_config.tap = pd_agent_digests_tap(agent->digests, config.intake_config.tap);
        config.intake_config.no_marks = !agent->model->codecs.aside_tpid;
    }
    err = pd_agent_samples_new(agent->model, &agent->counters, &agent->samples);
    if (err) {
        pd_agent_model_free(config.model);
        return pd_fail(error, err, "%s", pd_error_text(err));
    }
    if (agent->samples) {
        config.samples = agent->samples;
        config.intake_config.tap = pd_agent_samples_tap(agent->samples, config.intake_config.tap);
        config.intake_config.no_marks |= !agent->model->codecs.keys_len;
    }
    err = pd_agent_pipeline_open(&config, &agent->pipeline, error);
    if (err) {
        pd_agent_model_free(config.model);
    }
    return err;
}

static int start_pipeline(void *daemon, struct pd_error *error)
{
    int err = pd_agent_pipeline_start(((struct pd_agent *)daemon)->pipeline);

    return err ? pd_fail(error, err, "threads: %s", pd_error_text(err)) : 0;
}

static void stop_pipeline(void *daemon)
{
    pd_agent_pipeline_stop(((struct pd_agent *)daemon)->pipeline);
}

static void close_pipeline(void *daemon)
{
    struct pd_agent *agent = daemon;

    pd_agent_pipeline_free(agent->pipeline);
    pd_agent_samples_free(agent->samples);
}

static const struct pd_part pipeline = {.name = "pipeline",
                                        .open = open_pipeline,
                                        .start = start_pipeline,
                                        .stop = stop_pipeline,
                                        .close = close_pipeline};

/* ---- TCP ---- */

static int start_tcp(void *daemon, struct pd_error *error)
{
    struct pd_agent *agent = daemon;
    struct pd_monitor_config config = pd_agent_settings_monitor(agent->settings);

    return pd_agent_watch_tcp(agent, &config, error);
}

static void end_tcp(void *daemon)
{
    struct pd_agent *agent = daemon;

    pd_monitor_close(agent->monitor);
    agent->monitor = NULL;
    pd_agent_poor_done(agent);
}

static const struct pd_part tcp = {.name = "tcp", .start = start_tcp, .end = end_tcp};

/* ---- all of them ---- */

#define X(symbol) extern const struct pd_part symbol;
PD_EXTENSION_AGENT_PART(X)
#undef X

/* What may be refused comes before what leaves traces: the store is made only when all else is well
 * but the intakes. Runs begin when all else is there. What gives to the pipeline is told to stop
 * before it. */
const struct pd_part *const pd_agent_parts[] = {
    &alarms,
    &questions,
    &model,
    &pd_agent_meters,
    &store,
    &sender,
    &installed,
    &logs,
    &pd_agent_telemetry,
    &pd_agent_probes,
    &tcp,
    &pd_agent_traces,
    &pipeline,
    &runs,
#define X(symbol) &(symbol),
    PD_EXTENSION_AGENT_PART(X)
#undef X
        NULL,
};
