/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the controller's settings, and what is checked beyond single values. */
#include "controller/settings.h"

#include <stddef.h>
#include <string.h>

#include "controller/controller.h"
#include "http/listen.h"

#define AT(member) offsetof(struct pd_controller_settings, member)

static int accept_openflow(void *target, const char *name, const char *value,
                           struct pd_error *error)
{
    bool tcp = !strncmp(value, "tcp:", 4);
    int e = -PD_E_VALUE;

    (void)target;
    if (tcp || !strncmp(value, "unix:", 5)) {
        e = pd_listen_check(tcp ? value + 4 : value, error); /* there is no TLS for switches */
    }
    return e ? pd_fail(error, e,
                       "%s: expects tcp:ADDRESS:PORT on loopback or unix:/PATH, not \"%.100s\"",
                       name, value)
             : 0;
}

static int set_depth(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct pd_controller_settings *settings = target;

    if (strcmp(value, "pcp") != 0 && strcmp(value, "plain") != 0) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects pcp or plain, not \"%.100s\"", name, value);
    }
    settings->openflow_depth = strcmp(value, "pcp") ? PD_DEPTH_PLAIN : PD_DEPTH_PCP;
    return 0;
}

static const struct pd_option first_rows[] = {
    PD_DAEMON_OPTIONS_FIRST("check the settings, the topology and the hosts"),
    {"controller", "topology", PD_OPTION_STRING, AT(topology), 0, 0, "FILE", NULL,
     "topology of the network, JSON; it names the codec", NULL},
    {"controller", "hosts", PD_OPTION_STRING, AT(hosts), 0, 0, "FILE", NULL,
     "the hosts that run an agent, JSON: [{\"id\", \"name\", \"url\"}, ...]", NULL},
    {"controller", "state", PD_OPTION_STRING, AT(state), 0, 0, "DIR", NULL,
     "what must outlive a restart, made when it is not there", NULL},
    {"controller", "listen", PD_OPTION_STRING, AT(listen), 0, 0, "ADDRESS", "127.0.0.1:7412",
     "serve REST here: 127.0.0.1:PORT, [::1]:PORT, localhost:PORT (0: any port) or unix:/PATH; "
     "with TLS any address, as 0.0.0.0:PORT or [::]:PORT",
     pd_daemon_accept_listen},
    {"controller", "queries-at-once", PD_OPTION_U64, AT(queries_at_once), 1, 64, "N", "4",
     "queries that run at the same time; others wait for their turn", NULL},
    {"controller", "queries-waiting", PD_OPTION_U64, AT(queries_waiting), 0, 1024, "N", "32",
     "queries that may wait; more are refused", NULL},
    {"controller", "link-mbps", PD_OPTION_U64, AT(link_mbps), 0, 10000000, "N", "0",
     "speed of the links between switches, for applications that judge their load; 0: not known",
     NULL},
    {"alarms", "alarms-kept", PD_OPTION_U64, AT(alarms_kept), 1000, 100000000, "N", "1000000",
     "most alarms to keep; the oldest go first", NULL},
    {"alarms", "alarms-age", PD_OPTION_SECONDS, AT(alarms_age_s), 0, 0, "TIME", "30d",
     "remove alarms that are older; 0: none", NULL},
    {"switches", "openflow", PD_OPTION_STRING, AT(openflow), 0, 0, "tcp:ADDRESS:PORT", NULL,
     "serve OpenFlow 1.3 to the switches here, or on unix:/PATH; when not given: switches are left "
     "alone",
     accept_openflow},
    {"switches", "openflow-depth", PD_OPTION_CALLBACK, 0, 0, 0, "pcp|plain", "pcp",
     "tags mark their depth in the outer PCP, or not (hardware that counts tags by itself)",
     set_depth},
    {NULL, "dry-run", PD_OPTION_FLAG, AT(dry_run), 0, 0, NULL, NULL,
     "print what would change on the switches that connect, change nothing, and exit", NULL},
    {NULL, "dry-run-wait", PD_OPTION_SECONDS, AT(dry_run_wait_s), 0, 3600, "TIME", "10s",
     "how long a dry run waits for switches", NULL},
    {0},
};

static const struct pd_option last_rows[] = {
    PD_DAEMON_OPTIONS_LAST,
    {0},
};
static struct pd_options_joined joined;

const struct pd_option *pd_controller_options(void)
{
    if (!joined.len) {
        joined.own_at = AT(own);
        pd_options_rows(&joined, first_rows);
        for (size_t i = 0; pd_switch_providers[i]; i++) {
            pd_options_own(&joined, pd_switch_providers[i]->options,
                           pd_switch_providers[i]->options_bytes);
        }
        pd_parts_options(pd_controller_parts, &joined);
        pd_options_rows(&joined, last_rows);
    }
    return joined.table;
}

const struct pd_options_joined *pd_controller_joined(void)
{
    return pd_controller_options() ? &joined : NULL;
}

int pd_controller_settings_load(int argc, char **argv, struct pd_controller_settings *ret_settings,
                                bool *ret_usage, struct pd_error *error)
{
    struct pd_controller_settings settings = {0};
    int e = pd_daemon_settings_load(pd_controller_options(), &settings.common, argc, argv,
                                    ret_usage, error);

    if (!e) {
        *ret_settings = settings;
    }
    return e;
}

int pd_controller_settings_check(const struct pd_controller_settings *settings,
                                 struct pd_error *error)
{
    const struct pd_daemon_needed needed[] = {
        {"topology", settings->topology}, {"hosts", settings->hosts}, {"state", settings->state}};
    int e = pd_daemon_check_needed(needed, sizeof needed / sizeof needed[0], error);

    if (e) {
        return e;
    }
    return pd_daemon_check_listen(&settings->common, settings->listen, error);
}

void pd_controller_settings_done(struct pd_controller_settings *settings)
{
    pd_daemon_settings_done(&settings->common);
}

/* These are read again at every reload. */
static bool at_once(const struct pd_option *option)
{
    return option->offset == AT(topology) || option->offset == AT(hosts);
}

void pd_controller_settings_compare(const struct pd_controller_settings *now,
                                    const struct pd_controller_settings *wanted,
                                    void (*report)(const char *name))
{
    pd_daemon_settings_compare(pd_controller_options(), now, wanted, at_once, report);
}
