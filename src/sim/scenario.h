/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios: what is simulated, read from JSON that anyone may have written. */
#ifndef PD_SIM_SCENARIO_H
#define PD_SIM_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "meter/loop.h"
#include "sim/faults.h"
#include "sim/sizes.h"
#include "sim/transport.h"
#include "topology/topology.h"

/* docs/simulator.md has the members. Unknown members are errors: a slip in a name would otherwise
 * change what is simulated without a word. Each error names the member. Immutable once read. */

#define PD_SCENARIO_FAULTS_MAX 1024
#define PD_SCENARIO_FLOWS_MAX  10000

enum pd_sim_level { PD_SIM_FLOWS, PD_SIM_PACKETS, PD_SIM_EPOCHS };

/* Of the level of epochs; ranges are drawn from evenly, both ends included. */
struct pd_sim_epochs {
    uint32_t epochs;
    double epoch_s;
    uint32_t flows_per_host[2], pkts_per_flow[2];
    double noise[2];        /* loss of each healthy link */
    uint32_t random_faults; /* links that are faulty, beside the scenario's */
    double random_loss[2];
    uint32_t heavy;   /* so many of them lose 10 to 100 % */
    double hot_share; /* of all flows, to the first hot_racks racks */
    uint32_t hot_racks;
};

/* Meters at switches; epoch_ms 0: there are none. */
struct pd_sim_meters_settings {
    uint32_t epoch_ms;
    uint32_t rows, width; /* of a sketch */
    bool top;             /* at the top switches, too, not at ToRs alone */
    struct pd_meter_loop_settings loop;
};

/* A flow that the scenario asks for, beside those that hosts start by themselves. */
struct pd_sim_planned {
    uint32_t src, dst; /* places of hosts */
    uint16_t src_port, dst_port;
    double bytes;
    double start_s;
};

struct pd_pint_plan;

struct pd_sim_scenario {
    struct pd_topology *topology;
    struct pd_sim_sizes sizes;
    struct pd_sim_fault *faults;
    size_t faults_len;
    struct pd_sim_planned *planned; /* by start */
    size_t planned_len;
    double duration_s;
    double load; /* of each host's access link */
    uint32_t link_mbps;
    uint32_t period_ms;             /* of the monitors */
    uint32_t alarm_retransmissions; /* in a period, from which a flow raises POOR_PERF */
    uint32_t buffer_pkts;           /* of each port */
    enum pd_sim_level level;
    struct pd_sim_epochs epochs; /* of the level of epochs */
    bool spray;
    double probe_rate_hz; /* of each path; 0: there are none */
    uint32_t probe_max_hops;
    struct pd_sim_meters_settings meters;
    struct pd_sim_transport transport; /* of the level of packets */
    struct pd_pint_plan *plan;         /* "telemetry"; NULL: packets carry no digests */
};

/* `file` names the place that files of the scenario are relative to. 0, or an error with its place:
 * "x.json: faults[0].link: …". */
int pd_sim_scenario_read(const char *file, struct pd_sim_scenario *ret_scenario,
                         struct pd_error *error);
/* The same from memory; `name` stands for the file in errors. Without `files`, members that name
 * files are refused. */
int pd_sim_scenario_parse(const char *json, size_t bytes, const char *name, bool files,
                          struct pd_sim_scenario *ret_scenario, struct pd_error *error);
void pd_sim_scenario_done(struct pd_sim_scenario *scenario); /* works on zeroed memory */

#endif
