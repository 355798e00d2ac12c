/* SPDX-License-Identifier: Apache-2.0 */
/* pathdump-controller: start, signals, end. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "controller/audit/rest.h"
#include "controller/controller.h"
#include "controller/events/events.h"
#include "controller/server.h"
#include "daemon/notify.h"
#include "daemon/signals.h"
#include "pd_version.h"

#define MODULE "controller"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* All that the main thread holds. */
struct daemon {
    int argc;
    char **argv;
    struct pd_controller_settings settings; /* in force */
    struct pd_controller_server server;
    int signal_fd;
    uint64_t watchdog_ns; /* 0: none */
};

static int complain(const struct pd_error *error)
{
    fprintf(stderr, "pathdump-controller: %s\n",
            error->text[0] ? error->text : pd_error_text(error->code));
    return EXIT_FAILED;
}

static void print_help(void)
{
    puts("Usage: pathdump-controller --topology FILE --hosts FILE --state DIR [FLAG …]\n"
         "Asks the agents of all hosts as one: queries, installed queries, alarms, switches.\n");
    pd_options_help(pd_controller_options(), stdout);
    puts("\nExit status: 0 done, 1 failed, 2 wrong usage. pathdump-controller(8) says more.");
}

/* ---- start ---- */

/* Signals are held before the parts start threads. */
static int open_all(struct daemon *daemon, struct pd_error *error)
{
    int err;

    pd_daemon_signals_hold();
    err = pd_daemon_signals_open(&daemon->signal_fd, error);
    return err ? err : pd_controller_server_open(&daemon->server, NULL, error);
}

static void announce(struct daemon *daemon)
{
    struct pd_hosts_numbers numbers = pd_controller_hosts_count(daemon->server.controller.hosts);
    char state[400];

    pd_log(PD_LOG_INFO, MODULE, NULL, "pathdump-controller %s serves %s, %zu hosts, state in %s",
           PD_VERSION, daemon->server.listener.name, numbers.all, daemon->settings.state);
    snprintf(state, sizeof state, "READY=1\nSTATUS=serving %.150s", daemon->server.listener.name);
    pd_daemon_notify(state);
}

/* ---- at work ---- */

static void warn_restart(const char *name)
{
    pd_log(PD_LOG_WARN, MODULE, NULL, "%s has changed: it takes effect at the next start", name);
}

static int replace_inventory(struct daemon *daemon, const struct pd_controller_settings *wanted,
                             struct pd_error *error)
{
    struct pd_credentials_set *set = NULL;
    struct pd_inventory *inventory = NULL;
    int err = pd_controller_settings_check(wanted, error);

    if (!err) {
        err = pd_http_credentials_read(daemon->server.controller.credentials,
                                       &wanted->common.credentials, &set, error);
    }
    if (!err) {
        err = pd_controller_inventory_read(wanted->topology, wanted->hosts, &inventory, error);
    }
    if (!err && (err = pd_controller_hosts_replace(daemon->server.controller.hosts, inventory))) {
        pd_controller_inventory_free(inventory);
        pd_fail(error, err, "%s", pd_error_text(err));
    }
    if (err) {
        pd_http_credentials_drop(set);
        return err;
    }
    pd_http_credentials_put(daemon->server.controller.credentials, set);
    pd_http_reload(daemon->server.http);
    pd_daemon_parts_reload(&daemon->server.parts);
    pd_events_reloaded(&daemon->server.controller);
    return 0;
}

static int load_again(struct daemon *daemon, struct pd_controller_settings *ret_wanted,
                      struct pd_error *error)
{
    bool usage;
    int err = pd_controller_settings_load(daemon->argc, daemon->argv, ret_wanted, &usage, error);

    if (err) {
        return err;
    }
    err = replace_inventory(daemon, ret_wanted, error);
    if (err) {
        pd_controller_settings_done(ret_wanted);
    }
    return err;
}

/* All or nothing: after an error everything stays as it was. */
static void reload(struct daemon *daemon)
{
    struct pd_controller_settings wanted;
    struct pd_error error = {0};

    pd_daemon_notify_reloading();
    if (pd_audit_reload_begin(&daemon->server.controller, &error) ||
        load_again(daemon, &wanted, &error)) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "not reloaded, all stays as it was: %s", error.text);
        pd_count(&daemon->server.controller.counters.reloads_failed, 1);
        pd_audit_reload_end(&daemon->server.controller, error.text);
    } else {
        pd_controller_settings_compare(&daemon->settings, &wanted, warn_restart);
        pd_log_set_level(wanted.common.log_level);
        pd_controller_settings_done(&wanted);
        pd_log(PD_LOG_INFO, MODULE, NULL,
               "configuration, topology, hosts and credentials reloaded");
        pd_count(&daemon->server.controller.counters.reloads, 1);
        pd_audit_reload_end(&daemon->server.controller, "done");
    }
    pd_daemon_notify("READY=1");
}

static void work(struct daemon *daemon)
{
    struct pollfd fd = {.fd = daemon->signal_fd, .events = POLLIN};
    int timeout_ms = daemon->watchdog_ns ? (int)(daemon->watchdog_ns / PD_NS_PER_MS) : -1;
    struct pd_signals_taken taken = {0};

    while (!taken.end) {
        if (daemon->watchdog_ns) {
            pd_daemon_notify("WATCHDOG=1");
        }
        if (poll(&fd, 1, timeout_ms) < 0 && errno != EINTR) {
            break;
        }
        taken = pd_daemon_signals_take(daemon->signal_fd);
        if (taken.reload && !taken.end) {
            reload(daemon);
        }
    }
}

/* ---- end ---- */

static void close_all(struct daemon *daemon)
{
    pd_controller_server_close(&daemon->server);
    if (daemon->signal_fd >= 0) {
        close(daemon->signal_fd);
    }
}

static int run(struct daemon *daemon)
{
    struct pd_error error = {0};
    int status = EXIT_OK, err = open_all(daemon, &error);

    if (!err) {
        err = pd_controller_server_serve(&daemon->server, &error);
    }
    if (err) {
        error.code = err;
        status = complain(&error);
    } else {
        announce(daemon);
        work(daemon);
        pd_daemon_notify("STOPPING=1");
    }
    close_all(daemon);
    if (!err) {
        pd_log(PD_LOG_INFO, MODULE, NULL, "stopped");
    }
    return status;
}

static int check_config(struct daemon *daemon)
{
    struct pd_inventory *inventory;
    struct pd_error error = {0};

    if (pd_controller_inventory_read(daemon->settings.topology, daemon->settings.hosts, &inventory,
                                     &error)) {
        return complain(&error);
    }
    pd_controller_inventory_free(inventory);
    if (pd_http_credentials_new(&daemon->settings.common.credentials,
                                &daemon->server.controller.credentials, &error)) {
        return complain(&error);
    }
    pd_http_credentials_free(daemon->server.controller.credentials);
    puts("the configuration is fine");
    return EXIT_OK;
}

/* The address to listen on is that of the switches; a controller that runs has it. */
static int dry_run(struct daemon *daemon)
{
    const struct pd_controller_settings *settings = &daemon->settings;
    struct pd_controller *controller = &daemon->server.controller;
    struct pd_error error = {0};
    int err =
        pd_http_credentials_new(&settings->common.credentials, &controller->credentials, &error);

    pd_controller_openflow(settings, controller->openflow);
    if (!err) {
        const struct pd_switch_service_settings wanted = {
            .listen = *controller->openflow ? controller->openflow : NULL,
            .credentials = controller->credentials,
            .depth = settings->openflow_depth};

        err = pd_switch_service_dry_run(settings->topology, &wanted,
                                        settings->dry_run_wait_s * 1000, stdout, &error);
    }
    pd_http_credentials_free(controller->credentials);
    return err ? complain(&error) : EXIT_OK;
}

static int start(struct daemon *daemon)
{
    if (daemon->settings.common.check_config) {
        return check_config(daemon);
    }
    return daemon->settings.dry_run ? dry_run(daemon) : run(daemon);
}

int main(int argc, char **argv)
{
    struct daemon daemon = {.argc = argc, .argv = argv, .signal_fd = -1};
    struct pd_error error = {0};
    bool usage = false;
    int status;

    pd_controller_server_init(&daemon.server, &daemon.settings);
    if (pd_controller_settings_load(argc, argv, &daemon.settings, &usage, &error)) {
        complain(&error);
        return usage ? EXIT_USAGE : EXIT_FAILED;
    }
    if (daemon.settings.common.help || daemon.settings.common.version) {
        if (daemon.settings.common.help) {
            print_help();
        } else {
            puts("pathdump-controller " PD_VERSION);
        }
        return EXIT_OK;
    }
    pd_log_set_level(daemon.settings.common.log_level);
    daemon.watchdog_ns = pd_daemon_notify_watchdog_ns();
    if (pd_controller_settings_check(&daemon.settings, &error)) {
        status = complain(&error);
    } else {
        status = start(&daemon);
    }
    pd_controller_settings_done(&daemon.settings);
    return status;
}
