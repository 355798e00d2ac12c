/* SPDX-License-Identifier: Apache-2.0 */
/* A TCP monitor for tests: opened in the network namespace of this process, asked by lines on
 * standard input, answers by lines of JSON.
 *
 *   monitor_probe SOURCE [ring-bytes] [flows-max] [period-ms]
 *   list THRESHOLD FROM_US     as getPoorTCPFlows
 *   stat                       source, reason, counters
 *   alarms                     since the last time: [{"flow_id",…,"time_us"}]
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "monitor/json.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static json_t *alarms;

static void hear(void *context, const struct pd_monitor_alarm *alarm)
{
    json_t *flow = pd_monitor_flow_json(alarm->flow, true);

    (void)context;
    json_object_set_new(flow, "time_us", json_integer((json_int_t)pd_clock_wall_us()));
    pthread_mutex_lock(&lock);
    json_array_append_new(alarms, flow);
    pthread_mutex_unlock(&lock);
}

static void say(json_t *json)
{
    json_dumpf(json, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    json_decref(json);
}

static void say_stat(struct pd_monitor *monitor)
{
    struct pd_monitor_stat stat;
    json_t *json;

    pd_monitor_stat(monitor, &stat);
    json = json_pack("{s:s, s:s, s:I, s:I}", "source", pd_monitor_source_id(stat.source), "reason",
                     stat.reason, "flows", (json_int_t)stat.flows, "since_us",
                     (json_int_t)stat.since_us);
#define X(name, text) json_object_set_new(json, #name, json_integer((json_int_t)stat.name));
    PD_MONITOR_COUNTERS(X)
#undef X
    say(json);
}

static void say_list(struct pd_monitor *monitor, const char *line)
{
    struct pd_monitor_request wanted = {0};
    struct pd_monitor_list list;

    if (sscanf(line, "list %" SCNu32 " %" SCNu64, &wanted.threshold, &wanted.from_us) < 1 ||
        pd_monitor_list(monitor, &wanted, &list)) {
        exit(1);
    }
    say(pd_monitor_list_json(&list, wanted.from_us > 0));
    pd_monitor_list_done(&list);
}

static void say_alarms(void)
{
    json_t *now;

    pthread_mutex_lock(&lock);
    now = alarms;
    alarms = json_array();
    pthread_mutex_unlock(&lock);
    say(now);
}

int main(int argc, char **argv)
{
    struct pd_monitor_config config = {.alarm_retransmissions = 1, .alarm = hear};
    struct pd_monitor *monitor;
    struct pd_error error = {0};
    char line[200];

    alarms = json_array();
    if (argc < 2 || pd_monitor_source_parse(argv[1], &config.source)) {
        return 2;
    }
    config.ring_bytes = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
    config.flows_max = argc > 3 ? (uint32_t)atoi(argv[3]) : 0;
    config.period_ms = argc > 4 ? (uint64_t)atoi(argv[4]) : 0;
    if (pd_monitor_open(&config, &monitor, &error)) {
        say(json_pack("{s:s}", "error", error.text));
        return 1;
    }
    say_stat(monitor);
    while (fgets(line, sizeof line, stdin)) {
        if (!strncmp(line, "list", 4)) {
            say_list(monitor, line);
        } else if (!strncmp(line, "alarms", 6)) {
            say_alarms();
        } else {
            say_stat(monitor);
        }
    }
    pd_monitor_close(monitor);
    json_decref(alarms);
    return 0;
}
