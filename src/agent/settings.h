/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of pathdumpd: one table for flags, configuration file, help and man page. */
#ifndef PD_AGENT_SETTINGS_H
#define PD_AGENT_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/options.h"
#include "daemon/own.h"
#include "intake/intake.h"
#include "monitor/monitor.h"
#include "tib/tib.h"

/* Plain data, filled once at start and once more at each SIGHUP; a copy is compared with the one in
 * force.
 *
 * Thread safety: the main thread owns them; other threads get what they need when they start. */

struct pd_settings {
    struct pd_daemon_settings common;
    const char *topology;  /* file */
    const char *telemetry; /* file of a telemetry plan; NULL: none */
    const char *listen;    /* "127.0.0.1:7411", "unix:/run/pathdump/agent.sock"; NULL: nowhere */
    struct pd_option_list intakes; /* "pcap:FILE", "live:IFACE", or "none" */
    const char *tib;               /* directory */
    bool exit_after_intake;
    uint64_t idle_ms;
    uint64_t active_ms;
    uint64_t fin_linger_ms;
    uint64_t max_records;
    uint64_t retention_age_s;
    uint64_t retention_bytes;
    uint64_t cold_after_s;
    uint64_t map_bytes;
    uint64_t host_id;
    uint64_t program_instructions;
    uint64_t program_memory_bytes;
    uint64_t program_time_s;
    const char *spool;
    uint64_t spool_bytes;
    const char *controller; /* URL; NULL: alarms stay here */
    uint64_t alarm_spool_bytes;
    uint64_t alarm_budget;
    const char *tcp_monitor; /* enum pd_monitor_source, as text */
    uint64_t tcp_period_ms;
    uint64_t tcp_alarm_retransmissions;
    bool tcp_alarm_all;
    /* options that kinds of intake bring, each in a struct of its own (daemon/own.h) */
    _Alignas(max_align_t) unsigned char own[PD_OPTIONS_OWN_BYTES];
};

/* Ends with a NULL name. The first call, from the main thread, makes it. */
const struct pd_option *pd_agent_settings_table(void);
const struct pd_options_joined *pd_agent_settings_joined(void);

/* Defaults, then flags, then what the file says and the flags do not. `argv` must outlive the
 * settings. `ret_usage` tells whether it was the command line (exit 2) and not a file (exit 1) that
 * was wrong. */
int pd_agent_settings_load(int argc, char **argv, struct pd_settings *ret_settings, bool *ret_usage,
                           struct pd_error *error);

/* What no single value shows: that the needed ones are there and go together. -PD_E_VALUE. */
int pd_agent_settings_check(const struct pd_settings *settings, struct pd_error *error);

void pd_agent_settings_done(struct pd_settings *settings);

/* Calls `report` with the name of each option whose value differs and that only a restart can
 * change. */
void pd_agent_settings_compare(const struct pd_settings *now, const struct pd_settings *wanted,
                               void (*report)(const char *name));

/* Where what must outlive a restart is kept beside the records: the store's directory, or that of
 * its spool. */
const char *pd_agent_settings_folder(const struct pd_settings *settings);

/* The options of a kind of intake, for pd_intake_set_open; `settings` are not changed. */
const void *pd_agent_settings_intake_options(void *settings, const struct pd_intake_ops *ops);
struct pd_intake_config pd_agent_settings_intake(const struct pd_settings *settings, bool use_dscp);
struct pd_tib_config pd_agent_settings_tib(const struct pd_settings *settings);
struct pd_monitor_config pd_agent_settings_monitor(const struct pd_settings *settings);

#endif
