/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the controller's settings, and what is checked beyond single values. */
#include "controller/settings.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "controller/controller.h"
#include "http/listen.h"

#define AT(member) offsetof(struct pd_controller_settings, member)

static int accept_openflow(void *target, const char *name, const char *value,
                           struct pd_error *error)
{
    bool tls;

    (void)target;
    (void)name; /* what is wrong begins with it */
    return pd_switch_endpoint_check(value, &tls, error);
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
    {.section = "controller",
     .name = "topology",
     .type = PD_OPTION_STRING,
     .offset = AT(topology),
     .value = "FILE",
     .help = "topology of the network, JSON; it names the codec"},
    {.section = "controller",
     .name = "hosts",
     .type = PD_OPTION_STRING,
     .offset = AT(hosts),
     .value = "FILE",
     .help = "the hosts that run an agent, JSON: [{\"id\", \"name\", \"url\"}, ...]"},
    {.section = "controller",
     .name = "state",
     .type = PD_OPTION_STRING,
     .offset = AT(state),
     .value = "DIR",
     .help = "what must outlive a restart, made when it is not there"},
    {.section = "controller",
     .name = "listen",
     .type = PD_OPTION_STRING,
     .offset = AT(listen),
     .value = "ADDRESS",
     .fallback = "127.0.0.1:7412",
     .help =
         "serve REST here: 127.0.0.1:PORT, [::1]:PORT, localhost:PORT (0: any port) or unix:/PATH; "
         "with TLS any address, as 0.0.0.0:PORT or [::]:PORT",
     .set = pd_daemon_accept_listen},
    {.section = "controller",
     .name = "queries-at-once",
     .type = PD_OPTION_U64,
     .offset = AT(queries_at_once),
     .min = 1,
     .max = 64,
     .value = "N",
     .fallback = "4",
     .help = "queries that run at the same time; others wait for their turn"},
    {.section = "controller",
     .name = "queries-waiting",
     .type = PD_OPTION_U64,
     .offset = AT(queries_waiting),
     .max = 1024,
     .value = "N",
     .fallback = "32",
     .help = "queries that may wait; more are refused"},
    {.section = "controller",
     .name = "link-mbps",
     .type = PD_OPTION_U64,
     .offset = AT(link_mbps),
     .max = 10000000,
     .value = "N",
     .fallback = "0",
     .help = "speed of the links between switches, for applications that judge their load; 0: not "
             "known"},
    {.section = "alarms",
     .name = "alarms-kept",
     .type = PD_OPTION_U64,
     .offset = AT(alarms_kept),
     .min = 1000,
     .max = 100000000,
     .value = "N",
     .fallback = "1000000",
     .help = "most alarms to keep; the oldest go first"},
    {.section = "alarms",
     .name = "alarms-age",
     .type = PD_OPTION_SECONDS,
     .offset = AT(alarms_age_s),
     .value = "TIME",
     .fallback = "30d",
     .help = "remove alarms that are older; 0: none"},
    {.section = "switches",
     .name = "openflow",
     .type = PD_OPTION_LIST,
     .offset = AT(openflow),
     .value = "ADDRESS[,ADDRESS...]",
     .help = "serve OpenFlow 1.3 to the switches here: tls:ADDRESS:PORT, where they are known by "
             "their certificates; tcp:ADDRESS:PORT on loopback; unix:/PATH. When not given: "
             "switches are left alone",
     .set = accept_openflow},
    {.section = "switches",
     .name = "openflow-depth",
     .type = PD_OPTION_CALLBACK,
     .value = "pcp|plain",
     .fallback = "pcp",
     .help = "tags mark their depth in the outer PCP, or not (hardware that counts tags by itself)",
     .set = set_depth},
    {.name = "dry-run",
     .type = PD_OPTION_FLAG,
     .offset = AT(dry_run),
     .help = "print what would change on the switches that connect, change nothing, and exit"},
    {.name = "dry-run-wait",
     .type = PD_OPTION_SECONDS,
     .offset = AT(dry_run_wait_s),
     .max = 3600,
     .value = "TIME",
     .fallback = "10s",
     .help = "how long a dry run waits for switches"},
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
        pd_daemon_options_rows(&joined, first_rows);
        for (size_t i = 0; pd_switch_providers[i]; i++) {
            pd_daemon_options_own(&joined, pd_switch_providers[i]->options,
                                  pd_switch_providers[i]->options_bytes);
        }
        pd_daemon_parts_options(pd_controller_parts, &joined);
        pd_daemon_options_rows(&joined, last_rows);
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
    int err = pd_daemon_settings_load(pd_controller_options(), &settings.common, argc, argv,
                                      ret_usage, error);

    if (!err) {
        *ret_settings = settings;
    }
    return err;
}

void pd_controller_openflow(const struct pd_controller_settings *settings,
                            char text[PD_CONTROLLER_OPENFLOW_BYTES])
{
    size_t at = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < settings->openflow.len && at < PD_CONTROLLER_OPENFLOW_BYTES; i++) {
        at += (size_t)snprintf(text + at, PD_CONTROLLER_OPENFLOW_BYTES - at, "%s%s", i ? "," : "",
                               settings->openflow.items[i]);
    }
}

/* All together, and that switches can know us, and we them. */
static int check_openflow(const struct pd_controller_settings *settings, struct pd_error *error)
{
    const struct pd_credentials_files *files = &settings->common.credentials;
    char text[PD_CONTROLLER_OPENFLOW_BYTES];
    bool tls = false;
    int err;

    pd_controller_openflow(settings, text);
    err = *text ? pd_switch_endpoint_check(text, &tls, error) : 0;
    if (!err && tls && !(files->cert && files->key && files->ca)) {
        err =
            pd_fail(error, -PD_E_VALUE, "openflow: tls: needs --tls-cert, --tls-key and --tls-ca");
    }
    return err;
}

int pd_controller_settings_check(const struct pd_controller_settings *settings,
                                 struct pd_error *error)
{
    const struct pd_daemon_needed needed[] = {
        {"topology", settings->topology}, {"hosts", settings->hosts}, {"state", settings->state}};
    int err = pd_daemon_check_needed(needed, sizeof needed / sizeof needed[0], error);

    if (err) {
        return err;
    }
    err = check_openflow(settings, error);
    return err ? err : pd_daemon_check_listen(&settings->common, settings->listen, error);
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
