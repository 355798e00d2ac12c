/* SPDX-License-Identifier: Apache-2.0 */
/* One line of help, one of type and one or more samples for each metric. */
#include "agent/metrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "pd_version.h"

struct writer {
    struct pd_answer *answer;
    int error; /* the first one; then nothing is written any more */
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer, const char *format,
                                                      ...)
{
    char line[512];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (!writer->error && len > 0)
        writer->error = pd_answer_write(writer->answer, line,
                                        (size_t)len < sizeof line ? (size_t)len : sizeof line - 1);
}

static void put_head(struct writer *writer, const char *name, const char *type, const char *help)
{
    put(writer, "# HELP pathdump_%s %s\n# TYPE pathdump_%s %s\n", name, help, name, type);
}

static void put_gauge(struct writer *writer, const char *name, const char *help, uint64_t value)
{
    put_head(writer, name, "gauge", help);
    put(writer, "pathdump_%s %" PRIu64 "\n", name, value);
}

static void put_counter(struct writer *writer, const char *name, const char *help, uint64_t value)
{
    put_head(writer, name, "counter", help);
    put(writer, "pathdump_%s %" PRIu64 "\n", name, value);
}

static void put_labelled(struct writer *writer, const char *name, const char *label,
                         const char *text, uint64_t value)
{
    put(writer, "pathdump_%s{%s=\"%s\"} %" PRIu64 "\n", name, label, text, value);
}

/* A label's value from outside: backslash and quote escaped, control characters replaced. */
static const char *label_text(const char *text, char *buffer, size_t bytes)
{
    size_t len = 0;

    for (; *text && len + 2 < bytes; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '\\' || c == '"')
            buffer[len++] = '\\';
        buffer[len++] = c < 0x20 || c >= 0x7f ? '?' : *text;
    }
    buffer[len] = '\0';
    return buffer;
}

static void put_info(struct writer *writer, const struct pd_agent *agent,
                     const struct pd_pipeline_status *status)
{
    char topology[160], codec[160];

    put_head(writer, "info", "gauge", "version, topology and codec, as labels");
    put(writer, "pathdump_info{version=\"%s\",topology=\"%s\",codec=\"%s\"} 1\n", PD_VERSION,
        label_text(status->topology, topology, sizeof topology),
        label_text(status->codec, codec, sizeof codec));
    put_gauge(writer, "uptime_seconds", "seconds since the daemon started",
              (pd_clock_monotonic_ns() - agent->started_ns) / PD_NS_PER_S);
    put_gauge(writer, "topology_switches", "switches of the topology", status->switches);
    put_gauge(writer, "topology_hosts", "hosts of the topology", status->hosts);
#define X(name, text) \
    put_counter(writer, "agent_" #name "_total", text, pd_counted(&agent->counters.name));
    PD_AGENT_COUNTERS(X)
#undef X
    put_gauge(writer, "agent_queue_len", "records between intake and store", status->queue_len);
}

static void put_intake(struct writer *writer, const struct pd_intake_status *status)
{
    static const enum pd_intake_state states[] = {PD_INTAKE_WAITING, PD_INTAKE_RUNNING,
                                                  PD_INTAKE_FINISHED, PD_INTAKE_FAILED};

    put_head(writer, "intake_state", "gauge", "1 for the state that the intake is in");
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        put_labelled(writer, "intake_state", "state", pd_intake_state_id(states[i]),
                     status->state == states[i]);
    put_head(writer, "intake_verdicts_total", "counter", "frames by what became of them");
    for (int i = 0; i < PD_PACKET_VERDICT_COUNT; i++)
        put_labelled(writer, "intake_verdicts_total", "verdict",
                     pd_packet_verdict_id((enum pd_packet_verdict)i), status->verdicts[i]);
#define X(name, text) put_counter(writer, "intake_" #name "_total", text, status->name);
    PD_INTAKE_COUNTERS(X)
#undef X
#define X(name, text) \
    put_counter(writer, "trajectory_" #name "_total", text, status->trajectory.name);
    PD_TRAJECTORY_COUNTERS(X)
#undef X
    put_gauge(writer, "intake_ring_events", "events in the switch's rings that are not stored yet",
              status->ring_events);
    put_gauge(writer, "trajectory_live_records", "records in the trajectory memory",
              status->live_records);
}

static void put_decoder(struct writer *writer, const struct pd_decoder_counters *counters)
{
    put_counter(writer, "decoder_hits_total", "trajectories found in the cache", counters->hits);
    put_counter(writer, "decoder_misses_total", "trajectories worked out", counters->misses);
    put_counter(writer, "decoder_infeasible_total", "trajectories that fit no path",
                counters->infeasible);
    put_counter(writer, "decoder_unknown_hosts_total",
                "trajectories of an address that belongs to no rack", counters->unknown_hosts);
}

static void put_tib(struct writer *writer, struct pd_tib *tib)
{
    struct pd_tib_stat stat = {0};

    put_gauge(writer, "tib_up", "1 when the store can be asked", pd_tib_stat(tib, &stat) == 0);
#define X(name, text) put_counter(writer, "tib_" #name "_total", text, stat.name);
    PD_TIB_COUNTERS(X)
#undef X
    put_gauge(writer, "tib_records", "records in the store", stat.records);
    put_gauge(writer, "tib_spooled", "of these, not yet known to be on its server", stat.spooled);
    put_gauge(writer, "tib_segments", "segments in the store", stat.segments);
    put_gauge(writer, "tib_paths", "different paths in the store", stat.paths);
    put_gauge(writer, "tib_used_bytes", "bytes of the store's files in use", stat.bytes_used);
    put_gauge(writer, "tib_file_bytes", "bytes of the store's files", stat.bytes_file);
}

static void put_alarms(struct writer *writer, struct pd_alarms *alarms)
{
    struct pd_alarm_counts counts;

    pd_alarms_counts(alarms, &counts);
    put_head(writer, "alarms_total", "counter", "alarms raised, by reason");
    for (int i = 0; i < PD_ALARM_REASON_COUNT; i++)
        put_labelled(writer, "alarms_total", "reason", pd_alarm_reason_id((enum pd_alarm_reason)i),
                     counts.by_reason[i]);
    put_counter(writer, "alarms_suppressed_total",
                "alarms counted but not kept: too many in a second", counts.suppressed);
    put_counter(writer, "alarms_overwritten_total", "alarms pushed out by newer ones",
                counts.overwritten);
}

int pd_metrics_write(struct pd_agent *agent, struct pd_answer *answer)
{
    struct writer writer = {answer, 0};
    struct pd_pipeline_status status;

    pd_pipeline_status(agent->pipeline, &status);
    answer->type = "text/plain; version=0.0.4; charset=utf-8";
    put_info(&writer, agent, &status);
    put_intake(&writer, &status.intake);
    put_decoder(&writer, &status.decoder);
    put_tib(&writer, agent->tib);
    put_alarms(&writer, agent->alarms);
    return writer.error;
}
