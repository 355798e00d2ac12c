/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of pathdump-controller: one table for flags, configuration file, help and man page. */
#ifndef PD_CONTROLLER_SETTINGS_H
#define PD_CONTROLLER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "codec/codec.h"
#include "daemon/own.h"

/* Plain data, filled once at start and once more at each SIGHUP; a copy is compared with the one in
 * force.
 *
 * Thread safety: the main thread owns them; other threads get what they need when they start. */

struct pd_controller_settings {
    struct pd_daemon_settings common;
    const char *topology;           /* file */
    const char *hosts;              /* file */
    const char *state;              /* directory */
    const char *listen;             /* "127.0.0.1:7412", "unix:/run/pathdump/controller.sock" */
    struct pd_option_list openflow; /* "tcp:127.0.0.1:6653"; none: switches are left alone */
    enum pd_depth openflow_depth;
    bool dry_run;
    uint64_t dry_run_wait_s;
    uint64_t queries_at_once;
    uint64_t queries_waiting;
    uint64_t link_mbps;
    uint64_t alarms_kept;
    uint64_t alarms_age_s;
    /* options that parts bring, each in a struct of its own (daemon/own.h) */
    _Alignas(max_align_t) unsigned char own[PD_OPTIONS_OWN_BYTES];
};

/* Ends with a NULL name. The first call, from the main thread, makes it. */
const struct pd_option *pd_controller_options(void);
const struct pd_options_joined *pd_controller_joined(void);

/* As pd_daemon_settings_load. */
int pd_controller_settings_load(int argc, char **argv, struct pd_controller_settings *ret_settings,
                                bool *ret_usage, struct pd_error *error);

/* What no single value shows: that the needed ones are there. -PD_E_VALUE. */
int pd_controller_settings_check(const struct pd_controller_settings *settings,
                                 struct pd_error *error);

void pd_controller_settings_done(struct pd_controller_settings *settings);

/* All addresses of --openflow in one list; "": none. */
#define PD_CONTROLLER_OPENFLOW_BYTES 2048
void pd_controller_openflow(const struct pd_controller_settings *settings,
                            char text[PD_CONTROLLER_OPENFLOW_BYTES]);

/* Calls `report` with the name of each option whose value differs and that only a restart can
 * change. */
void pd_controller_settings_compare(const struct pd_controller_settings *now,
                                    const struct pd_controller_settings *wanted,
                                    void (*report)(const char *name));

#endif
