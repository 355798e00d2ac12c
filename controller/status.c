/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/status and /metrics: state and counters of the controller and its parts. */
#include "base/clock.h"
#include "controller/routes.h"
#include "daemon/metrics.h"
#include "http/text.h"
#include "pd_version.h"

#define SET(object, name, value) \
    json_object_set_new(object, name, json_integer((json_int_t)(value)))

/* ---- the status document ---- */

static json_t *topology_json(const struct pd_topology *topology)
{
    json_t *object = json_object();

    json_object_set_new(object, "name", pd_http_text_json(topology->name));
    json_object_set_new(object, "codec", pd_http_text_json(topology->codec));
    SET(object, "switches", topology->switches_len);
    SET(object, "hosts", topology->hosts_len);
    return object;
}

static json_t *hosts_json(struct pd_hosts *hosts)
{
    struct pd_hosts_numbers numbers = pd_controller_hosts_count(hosts);
    json_t *object = json_object();

    SET(object, "all", numbers.all);
    SET(object, "up", numbers.up);
    SET(object, "missing", numbers.missing);
    return object;
}

static json_t *programs_json(struct pd_programs *programs)
{
    struct pd_program_counters counters;
    json_t *object = json_object();

    pd_programs_counters(programs, &counters);
    SET(object, "runs", counters.runs);
    SET(object, "failed", counters.failed);
    SET(object, "killed", counters.killed);
    SET(object, "started", counters.started);
    return object;
}

static json_t *counters_json(const struct pd_controller_counters *counters)
{
    json_t *object = json_object();

#define X(name, text) SET(object, #name, pd_counted(&counters->name));
    PD_CONTROLLER_COUNTERS(X)
#undef X
    return object;
}

static json_t *alarms_json(struct pd_alarm_store *store)
{
    struct pd_alarm_store_stat stat;
    json_t *object = json_object();

    pd_alarm_store_stat(store, &stat);
    SET(object, "kept", stat.kept);
    SET(object, "first_id", stat.first_id);
    SET(object, "last_id", stat.last_id);
#define X(name, text) SET(object, #name, stat.name);
    PD_ALARM_STORE_COUNTERS(X)
#undef X
    return object;
}

int pd_controller_status_answer(struct pd_controller *controller, struct pd_call *call,
                                struct pd_answer *answer, struct pd_problem *problem)
{
    struct pd_inventory *inventory = pd_controller_hosts_inventory(controller->hosts);
    json_t *document = json_object();

    (void)call;
    (void)problem;
    json_object_set_new(document, "version", json_string(PD_VERSION));
    json_object_set_new(document, "host", pd_http_text_json(controller->host));
    SET(document, "uptime_s", (pd_clock_monotonic_ns() - controller->started_ns) / PD_NS_PER_S);
    json_object_set_new(document, "topology", topology_json(inventory->topology));
    json_object_set_new(document, "hosts", hosts_json(controller->hosts));
    json_object_set_new(document, "queries", pd_daemon_admission_json(controller->admission));
    json_object_set_new(document, "programs", programs_json(controller->programs));
    json_object_set_new(document, "alarms", alarms_json(controller->alarms));
    json_object_set_new(document, "controller", counters_json(&controller->counters));
    pd_daemon_parts_status(pd_controller_parts, controller, document);
    pd_controller_inventory_free(inventory);
    pd_http_answer_json(answer, 200, answer->type, document);
    return 0;
}

/* ---- metrics ---- */

static void put_info(struct pd_metrics *metrics, const struct pd_topology *topology)
{
    char name[160], codec[160];

    pd_daemon_metrics_head(metrics, "controller_info", "gauge",
                           "version, topology and codec, as labels");
    pd_daemon_metrics_put(
        metrics, "pathdump_controller_info{version=\"%s\",topology=\"%s\",codec=\"%s\"} 1\n",
        PD_VERSION, pd_daemon_metrics_label(topology->name, name, sizeof name),
        pd_daemon_metrics_label(topology->codec, codec, sizeof codec));
    pd_daemon_metrics_gauge(metrics, "topology_switches", "switches of the topology",
                            topology->switches_len);
    pd_daemon_metrics_gauge(metrics, "topology_hosts", "hosts of the topology",
                            topology->hosts_len);
}

static void put_hosts(struct pd_metrics *metrics, struct pd_hosts *hosts)
{
    struct pd_hosts_numbers numbers = pd_controller_hosts_count(hosts);

    pd_daemon_metrics_gauge(metrics, "controller_hosts", "hosts of the inventory", numbers.all);
    pd_daemon_metrics_gauge(metrics, "controller_hosts_up", "of these, answered when asked last",
                            numbers.up);
    pd_daemon_metrics_gauge(metrics, "controller_hosts_missing", "of these, did not",
                            numbers.missing);
}

static void put_queries(struct pd_metrics *metrics, struct pd_daemon_admission *admission)
{
    struct pd_daemon_admission_counters counters;

    pd_daemon_admission_counters(admission, &counters);
    pd_daemon_metrics_gauge(metrics, "controller_queries_working", "queries that are at work",
                            counters.working);
    pd_daemon_metrics_gauge(metrics, "controller_queries_waiting",
                            "queries that wait for their turn", counters.waiting);
    pd_daemon_metrics_counter(metrics, "controller_queries_waited_total",
                              "queries that had to wait for their turn", counters.waited);
    pd_daemon_metrics_counter(metrics, "controller_queries_late_total",
                              "queries whose deadline passed while they waited", counters.late);
}

static void put_alarms(struct pd_metrics *metrics, struct pd_alarm_store *store)
{
    struct pd_alarm_store_stat stat;

    pd_alarm_store_stat(store, &stat);
    pd_daemon_metrics_gauge(metrics, "controller_alarms_kept", "alarms in the store", stat.kept);
#define X(name, text) \
    pd_daemon_metrics_counter(metrics, "controller_alarms_" #name "_total", text, stat.name);
    PD_ALARM_STORE_COUNTERS(X)
#undef X
}

int pd_controller_metrics_answer(struct pd_controller *controller, struct pd_call *call,
                                 struct pd_answer *answer, struct pd_problem *problem)
{
    struct pd_inventory *inventory = pd_controller_hosts_inventory(controller->hosts);
    struct pd_metrics metrics = {answer, 0};

    (void)call;
    (void)problem;
    answer->type = PD_METRICS_TYPE;
    put_info(&metrics, inventory->topology);
    pd_controller_inventory_free(inventory);
    pd_daemon_metrics_gauge(&metrics, "controller_uptime_seconds",
                            "seconds since the controller started",
                            (pd_clock_monotonic_ns() - controller->started_ns) / PD_NS_PER_S);
    put_hosts(&metrics, controller->hosts);
    put_queries(&metrics, controller->admission);
#define X(name, text)                                                       \
    pd_daemon_metrics_counter(&metrics, "controller_" #name "_total", text, \
                              pd_counted(&controller->counters.name));
    PD_CONTROLLER_COUNTERS(X)
#undef X
    put_alarms(&metrics, controller->alarms);
    pd_daemon_parts_metrics(pd_controller_parts, "controller_", &metrics);
    pd_switch_service_metrics(controller->switches, &metrics);
    return metrics.error;
}
