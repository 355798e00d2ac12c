/* SPDX-License-Identifier: Apache-2.0 */
/* Which counters and gauges there are, from the stages' tables. */
#include "agent/metrics.h"

#include "base/clock.h"
#include "daemon/metrics.h"
#include "pd_version.h"

static void put_info(struct pd_metrics *metrics, const struct pd_agent *agent,
                     const struct pd_pipeline_status *status)
{
    char topology[160], codec[160];

    pd_daemon_metrics_head(metrics, "info", "gauge", "version, topology and codec, as labels");
    pd_daemon_metrics_put(metrics, "pathdump_info{version=\"%s\",topology=\"%s\",codec=\"%s\"} 1\n",
                          PD_VERSION,
                          pd_daemon_metrics_label(status->topology, topology, sizeof topology),
                          pd_daemon_metrics_label(status->codec, codec, sizeof codec));
    pd_daemon_metrics_gauge(metrics, "uptime_seconds", "seconds since the daemon started",
                            (pd_clock_monotonic_ns() - agent->started_ns) / PD_NS_PER_S);
    pd_daemon_metrics_gauge(metrics, "topology_switches", "switches of the topology",
                            status->switches);
    pd_daemon_metrics_gauge(metrics, "topology_hosts", "hosts of the topology", status->hosts);
#define X(name, text)                                                 \
    pd_daemon_metrics_counter(metrics, "agent_" #name "_total", text, \
                              pd_counted(&agent->counters.name));
    PD_AGENT_COUNTERS(X)
#undef X
    pd_daemon_metrics_gauge(metrics, "agent_queue_len", "records between intake and store",
                            status->queue_len);
}

static uint64_t count_in(const struct pd_pipeline_status *all, enum pd_intake_state state)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < all->intakes_len; i++) {
        n += all->intakes[i].status.state == state;
    }
    return n;
}

static void put_intake(struct pd_metrics *metrics, const struct pd_pipeline_status *all)
{
    const struct pd_intake_status *status = &all->intake;

    static const enum pd_intake_state states[] = {PD_INTAKE_WAITING, PD_INTAKE_RUNNING,
                                                  PD_INTAKE_FINISHED, PD_INTAKE_FAILED};

    pd_daemon_metrics_head(metrics, "intake_state", "gauge", "how many intakes are in the state");
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        pd_daemon_metrics_labelled(metrics, "intake_state", "state", pd_intake_state_id(states[i]),
                                   count_in(all, states[i]));
    }
    pd_daemon_metrics_head(metrics, "intake_verdicts_total", "counter",
                           "frames by what became of them");
    for (int i = 0; i < PD_PACKET_VERDICT_COUNT; i++) {
        pd_daemon_metrics_labelled(metrics, "intake_verdicts_total", "verdict",
                                   pd_packet_verdict_id((enum pd_packet_verdict)i),
                                   status->verdicts[i]);
    }
#define X(name, text) \
    pd_daemon_metrics_counter(metrics, "intake_" #name "_total", text, status->name);
    PD_INTAKE_COUNTERS(X)
#undef X
#define X(name, text) \
    pd_daemon_metrics_counter(metrics, "trajectory_" #name "_total", text, status->trajectory.name);
    PD_TRAJECTORY_COUNTERS(X)
#undef X
    pd_daemon_metrics_gauge(metrics, "intake_ring_events",
                            "events in the switch's rings that are not stored yet",
                            status->ring_events);
    pd_daemon_metrics_gauge(metrics, "trajectory_live_records", "records in the trajectory memory",
                            status->live_records);
}

static void put_decoder(struct pd_metrics *metrics, const struct pd_resolver_counters *counters)
{
    pd_daemon_metrics_counter(metrics, "decoder_hits_total", "trajectories found in the cache",
                              counters->hits);
    pd_daemon_metrics_counter(metrics, "decoder_misses_total", "trajectories worked out",
                              counters->misses);
    pd_daemon_metrics_counter(metrics, "decoder_infeasible_total", "trajectories that fit no path",
                              counters->infeasible);
    pd_daemon_metrics_counter(metrics, "decoder_ambiguous_total",
                              "trajectories that fit several paths", counters->ambiguous);
    pd_daemon_metrics_counter(metrics, "decoder_unknown_hosts_total",
                              "trajectories of an address that belongs to no rack",
                              counters->unknown_hosts);
}

static void put_tib(struct pd_metrics *metrics, struct pd_tib *tib)
{
    struct pd_tib_stat stat = {0};

    pd_daemon_metrics_gauge(metrics, "tib_up", "1 when the store can be asked",
                            pd_tib_stat(tib, &stat) == 0);
#define X(name, text) pd_daemon_metrics_counter(metrics, "tib_" #name "_total", text, stat.name);
    PD_TIB_COUNTERS(X)
#undef X
    pd_daemon_metrics_gauge(metrics, "tib_records", "records in the store", stat.records);
    pd_daemon_metrics_gauge(metrics, "tib_spooled", "of these, not yet known to be on its server",
                            stat.spooled);
    pd_daemon_metrics_gauge(metrics, "tib_segments", "segments in the store", stat.segments);
    pd_daemon_metrics_gauge(metrics, "tib_paths", "different paths in the store", stat.paths);
    pd_daemon_metrics_gauge(metrics, "tib_used_bytes", "bytes of the store's files in use",
                            stat.bytes_used);
    pd_daemon_metrics_gauge(metrics, "tib_file_bytes", "bytes of the store's files",
                            stat.bytes_file);
}

static void put_delivery(struct pd_metrics *metrics, struct pd_alarm_sender *sender)
{
    struct pd_alarm_sender_stat stat = {0};

    if (sender) {
        pd_alarm_sender_stat(sender, &stat);
    }
    pd_daemon_metrics_gauge(metrics, "alarm_delivery_waiting",
                            "alarms that wait for the controller", stat.spool.waiting);
#define X(name, text) \
    pd_daemon_metrics_counter(metrics, "alarm_delivery_" #name "_total", text, stat.spool.name);
    PD_ALARM_SPOOL_COUNTERS(X)
#undef X
    pd_daemon_metrics_counter(metrics, "alarm_delivery_retries_total",
                              "requests to the controller that failed", stat.retries);
}

static void put_installed(struct pd_metrics *metrics, struct pd_installed *installed)
{
    struct pd_installed_sums sums;

    pd_installed_sums(installed, &sums);
    pd_daemon_metrics_gauge(metrics, "installed_active", "queries that are installed and run",
                            sums.active);
    pd_daemon_metrics_gauge(metrics, "installed_stopped",
                            "queries that failed too often and were stopped", sums.stopped);
#define X(name, text) \
    pd_daemon_metrics_counter(metrics, "installed_" #name "_total", text, sums.name);
    PD_INSTALLED_SUMS(X)
#undef X
}

static void put_tcp(struct pd_metrics *metrics, struct pd_monitor *monitor)
{
    static const enum pd_monitor_source sources[] = {PD_MONITOR_BPF, PD_MONITOR_INET_DIAG,
                                                     PD_MONITOR_NONE};
    struct pd_monitor_stat stat = {0};

    if (monitor) {
        pd_monitor_stat(monitor, &stat);
    }
    pd_daemon_metrics_head(metrics, "tcp_source", "gauge", "1 for the source that watches TCP");
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        pd_daemon_metrics_labelled(metrics, "tcp_source", "source",
                                   pd_monitor_source_id(sources[i]), stat.source == sources[i]);
    }
#define X(name, text) pd_daemon_metrics_counter(metrics, "tcp_" #name "_total", text, stat.name);
    PD_MONITOR_COUNTERS(X)
#undef X
    pd_daemon_metrics_gauge(metrics, "tcp_flows", "connections that the monitor knows now",
                            stat.flows);
}

static void put_alarms(struct pd_metrics *metrics, struct pd_alarms *alarms)
{
    struct pd_alarm_counts counts;

    pd_alarms_counts(alarms, &counts);
    pd_daemon_metrics_head(metrics, "alarms_total", "counter", "alarms raised, by reason");
    for (unsigned i = 0; i < counts.reasons_len; i++) {
        pd_daemon_metrics_labelled(metrics, "alarms_total", "reason", counts.reasons[i].reason,
                                   counts.reasons[i].raised);
    }
    pd_daemon_metrics_counter(metrics, "alarms_suppressed_total",
                              "alarms counted but not kept: too many in a second",
                              counts.suppressed);
    pd_daemon_metrics_counter(metrics, "alarms_overwritten_total",
                              "alarms pushed out by newer ones", counts.overwritten);
}

/* Names in full, so that who looks for one finds it. */
static void put_turns(struct pd_metrics *metrics, const struct pd_agent *agent)
{
    static const char *const help[] = {"now at work", "waiting now", "waited, and got their turn",
                                       "waited until their deadline"};
    static const char *const names[] = {"agent_turns_working", "agent_turns_waiting",
                                        "agent_turns_waited_total", "agent_turns_late_total"};
    struct pd_daemon_admission_counters queries, programs;

    pd_daemon_admission_counters(agent->query_turns, &queries);
    pd_daemon_admission_counters(agent->program_turns, &programs);
    const uint64_t values[][2] = {{queries.working, programs.working},
                                  {queries.waiting, programs.waiting},
                                  {queries.waited, programs.waited},
                                  {queries.late, programs.late}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pd_daemon_metrics_head(metrics, names[i], i < 2 ? "gauge" : "counter", help[i]);
        pd_daemon_metrics_labelled(metrics, names[i], "of", "queries", values[i][0]);
        pd_daemon_metrics_labelled(metrics, names[i], "of", "programs", values[i][1]);
    }
}

int pd_agent_metrics_write(struct pd_agent *agent, struct pd_answer *answer)
{
    struct pd_metrics metrics = {answer, 0};
    struct pd_pipeline_status status;

    pd_agent_pipeline_status(agent->pipeline, &status);
    answer->type = PD_METRICS_TYPE;
    put_info(&metrics, agent, &status);
    put_intake(&metrics, &status);
    put_decoder(&metrics, &status.decoder);
    put_tib(&metrics, agent->tib);
    put_alarms(&metrics, agent->alarms);
    put_delivery(&metrics, agent->sender);
    put_installed(&metrics, agent->installed);
    put_tcp(&metrics, agent->monitor);
    put_turns(&metrics, agent);
    pd_daemon_parts_metrics(pd_agent_parts, "", &metrics);
    return metrics.error;
}
