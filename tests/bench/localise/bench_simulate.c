/* SPDX-License-Identifier: Apache-2.0 */
/* Packet-hops per second of processor time, at both levels, without and with an application.
 *
 * Usage: bench_simulate */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sim/watch.h"

static double cpu_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int measure(const char *topology, const char *level, double duration_s, const char *app)
{
    char json[400];
    struct pd_sim_scenario scenario;
    struct pd_sim_watch_end end;
    struct pd_error error = {0};
    snprintf(json, sizeof json,
             "{\"topology\":%s,\"level\":\"%s\",\"duration_s\":%g,\"load\":0.7,"
             "\"faults\":[{\"link\":\"1-%s\",\"loss\":0.01}]}",
             topology, level, duration_s, strstr(topology, "16") ? "129" : "9");
    if (pd_sim_scenario_parse(json, strlen(json), "scenario", false, &scenario, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    double start_s = cpu_s();
    const struct pd_sim_watch watch = {
        .scenario = &scenario, .seed = 2016, .app = app ? pd_app_find(app) : NULL};
    int err = pd_sim_watch(&watch, &end, &error);
    double used_s = cpu_s() - start_s;
    pd_sim_scenario_done(&scenario);
    if (err) {
        return 1;
    }
    printf("{\"bench\":\"simulate\",\"topology\":%s,\"level\":\"%s\",\"app\":\"%s\",\"t_s\":%g,"
           "\"flows\":%llu,\"packet_hops\":%llu,\"cpu_s\":%.3f,\"packet_hops_per_s\":%.0f}\n",
           topology, level, app ? app : "none", end.totals.now_s,
           (unsigned long long)end.totals.flows, (unsigned long long)end.totals.packet_hops, used_s,
           (double)end.totals.packet_hops / used_s);
    fflush(stdout);
    return 0;
}

int main(void)
{
    int failed = 0;
    failed |= measure("{\"fat_tree\":4}", "packet", 10, NULL);
    failed |= measure("{\"fat_tree\":4}", "packet", 10, "silent-drops");
    failed |= measure("{\"fat_tree\":4}", "flow", 20, NULL);
    failed |= measure("{\"fat_tree\":4}", "flow", 20, "silent-drops");
    failed |= measure("{\"fat_tree\":16}", "packet", 0.5, NULL);
    failed |= measure("{\"fat_tree\":16}", "flow", 1, NULL);
    return failed;
}
