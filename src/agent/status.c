/* SPDX-License-Identifier: Apache-2.0 */
/* The members of the status document, from the stages' counter tables. */
#include "agent/status.h"

#include "base/clock.h"
#include "http/text.h"
#include "pd_version.h"

#define SET(object, name, value) \
    json_object_set_new(object, name, json_integer((json_int_t)(value)))

static json_t *intake_json(const struct pd_intake_status *status)
{
    json_t *intake = json_object(), *verdicts = json_object();

    json_object_set_new(intake, "kind", json_string(status->kind));
    json_object_set_new(intake, "state", json_string(pd_intake_state_id(status->state)));
    json_object_set_new(intake, "detail", pd_http_text_json(status->detail));
#define X(name, text) SET(intake, #name, status->name);
    PD_INTAKE_COUNTERS(X)
#undef X
    SET(intake, "ring_events", status->ring_events);
    for (int i = 0; i < PD_PACKET_VERDICT_COUNT; i++) {
        SET(verdicts, pd_packet_verdict_id((enum pd_packet_verdict)i), status->verdicts[i]);
    }
    json_object_set_new(intake, "verdicts", verdicts);
    return intake;
}

/* Each with what it was given as. */
static json_t *intakes_json(const struct pd_pipeline_status *status)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < status->intakes_len; i++) {
        json_t *intake = intake_json(&status->intakes[i].status);

        json_object_set_new(intake, "spec", pd_http_text_json(status->intakes[i].spec));
        json_array_append_new(list, intake);
    }
    return list;
}

static json_t *trajectory_json(const struct pd_intake_status *status)
{
    json_t *trajectory = json_object();

#define X(name, text) SET(trajectory, #name, status->trajectory.name);
    PD_TRAJECTORY_COUNTERS(X)
#undef X
    SET(trajectory, "live_records", status->live_records);
    return trajectory;
}

static json_t *decoder_json(const struct pd_resolver_counters *counters)
{
    json_t *decoder = json_object();

    SET(decoder, "hits", counters->hits);
    SET(decoder, "misses", counters->misses);
    SET(decoder, "infeasible", counters->infeasible);
    SET(decoder, "ambiguous", counters->ambiguous);
    SET(decoder, "unknown_hosts", counters->unknown_hosts);
    return decoder;
}

static json_t *tib_json(struct pd_tib *tib)
{
    struct pd_tib_stat stat = {0};
    json_t *object = json_object();
    int err = pd_tib_stat(tib, &stat);

    json_object_set_new(object, "state", pd_http_text_json(err ? pd_error_text(err) : "ok"));
#define X(name, text) SET(object, #name, stat.name);
    PD_TIB_COUNTERS(X)
#undef X
    SET(object, "spooled", stat.spooled);
    SET(object, "records", stat.records);
    SET(object, "segments", stat.segments);
    SET(object, "paths", stat.paths);
    SET(object, "bytes_used", stat.bytes_used);
    SET(object, "bytes_file", stat.bytes_file);
    SET(object, "min_stime_us", stat.min_stime_us);
    SET(object, "max_etime_us", stat.max_etime_us);
    return object;
}

static json_t *delivery_json(struct pd_alarm_sender *sender)
{
    struct pd_alarm_sender_stat stat = {0};
    json_t *object = json_object();

    if (sender) {
        pd_alarm_sender_stat(sender, &stat);
    }
    json_object_set_new(object, "state",
                        json_string(!sender        ? "off"
                                    : stat.reached ? "reached"
                                                   : "waiting"));
    SET(object, "waiting", stat.spool.waiting);
    SET(object, "waiting_bytes", stat.spool.waiting_bytes);
#define X(name, text) SET(object, #name, stat.spool.name);
    PD_ALARM_SPOOL_COUNTERS(X)
#undef X
    SET(object, "retries", stat.retries);
    return object;
}

static json_t *alarms_json(struct pd_alarms *alarms, struct pd_alarm_sender *sender)
{
    json_t *object = json_object(), *reasons = json_object();
    struct pd_alarm_counts counts;

    pd_alarms_counts(alarms, &counts);
    for (unsigned i = 0; i < counts.reasons_len; i++) {
        SET(reasons, counts.reasons[i].reason, counts.reasons[i].raised);
    }
    SET(object, "kept", counts.kept);
    SET(object, "suppressed", counts.suppressed);
    SET(object, "overwritten", counts.overwritten);
    json_object_set_new(object, "by_reason", reasons);
    json_object_set_new(object, "delivery", delivery_json(sender));
    return object;
}

static json_t *installed_json(struct pd_installed *installed)
{
    json_t *object = json_object();
    struct pd_installed_sums sums;

    pd_installed_sums(installed, &sums);
    SET(object, "active", sums.active);
    SET(object, "stopped", sums.stopped);
#define X(name, text) SET(object, #name, sums.name);
    PD_INSTALLED_SUMS(X)
#undef X
    return object;
}

static json_t *tcp_json(struct pd_monitor *monitor)
{
    struct pd_monitor_stat stat = {0};
    json_t *object = json_object();

    if (monitor) {
        pd_monitor_stat(monitor, &stat);
    }
    json_object_set_new(object, "source", json_string(pd_monitor_source_id(stat.source)));
    json_object_set_new(object, "reason", pd_http_text_json(stat.reason));
    SET(object, "since_us", stat.since_us);
    SET(object, "flows", stat.flows);
#define X(name, text) SET(object, #name, stat.name);
    PD_MONITOR_COUNTERS(X)
#undef X
    return object;
}

static json_t *topology_json(const struct pd_pipeline_status *status)
{
    json_t *topology = json_object();

    json_object_set_new(topology, "name", pd_http_text_json(status->topology));
    json_object_set_new(topology, "codec", pd_http_text_json(status->codec));
    SET(topology, "switches", status->switches);
    SET(topology, "hosts", status->hosts);
    return topology;
}

static json_t *agent_json(const struct pd_agent *agent, const struct pd_pipeline_status *status)
{
    json_t *object = json_object();

#define X(name, text) SET(object, #name, pd_counted(&agent->counters.name));
    PD_AGENT_COUNTERS(X)
#undef X
    SET(object, "queue_len", status->queue_len);
    return object;
}

json_t *pd_agent_status_json(struct pd_agent *agent)
{
    struct pd_pipeline_status status;
    json_t *document = json_object();

    pd_agent_pipeline_status(agent->pipeline, &status);
    json_object_set_new(document, "version", json_string(PD_VERSION));
    json_object_set_new(document, "host", pd_http_text_json(agent->host));
    SET(document, "uptime_s", (pd_clock_monotonic_ns() - agent->started_ns) / PD_NS_PER_S);
    json_object_set_new(document, "topology", topology_json(&status));
    if (status.intakes_len == 1) {
        json_object_set_new(document, "intake", intake_json(&status.intake));
    }
    json_object_set_new(document, "intakes", intakes_json(&status));
    json_object_set_new(document, "trajectory", trajectory_json(&status.intake));
    json_object_set_new(document, "decoder", decoder_json(&status.decoder));
    json_object_set_new(document, "tib", tib_json(agent->tib));
    json_object_set_new(document, "alarms", alarms_json(agent->alarms, agent->sender));
    json_object_set_new(document, "installed", installed_json(agent->installed));
    json_object_set_new(document, "tcp", tcp_json(agent->monitor));
    json_object_set_new(document, "agent", agent_json(agent, &status));
    pd_daemon_parts_status(pd_agent_parts, agent, document);
    json_object_set_new(document, "query_turns", pd_daemon_admission_json(agent->query_turns));
    json_object_set_new(document, "program_turns", pd_daemon_admission_json(agent->program_turns));
    return document;
}
