/* SPDX-License-Identifier: Apache-2.0 */
/* pathdumpd: start, signals, end. */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/intake_log.h"
#include "agent/model.h"
#include "agent/poor.h"
#include "agent/rest.h"
#include "agent/settings.h"
#include "agent/traces.h"
#include "base/clock.h"
#include "base/log.h"
#include "daemon/notify.h"
#include "daemon/signals.h"
#include "http/listen.h"
#include "http/server.h"
#include "pd_version.h"

#define MODULE "agent"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* A thread that was not seen for so long gets no sign of life sent for it. */
#define STALLED_NS (30 * PD_NS_PER_S)

/* All that the main thread holds. */
struct daemon {
    int argc;
    char **argv;
    struct pd_settings settings;
    struct pd_agent agent;
    struct pd_listener listener;
    struct pd_http *http;
    struct pd_parts parts;
    int signal_fd;
    uint64_t watchdog_ns; /* 0: none */
};

static int complain(const struct pd_error *error)
{
    fprintf(stderr, "pathdumpd: %s\n", error->text[0] ? error->text : pd_error_text(error->code));
    return EXIT_FAILED;
}

static void print_help(void)
{
    puts("Usage: pathdumpd --topology FILE --intake KIND:WHAT --tib DIR [FLAG …]\n"
         "Keeps record of the paths that packets took to this host, and answers queries about "
         "them.\n");
    pd_options_help(pd_agent_settings_table(), stdout);
    puts("\nExit status: 0 done, 1 failed, 2 wrong usage. pathdumpd(8) says more.");
}

/* ---- start ---- */

/* What may be refused comes before what leaves traces. Signals come last, for opening an intake may
 * block: a FIFO waits for its writer. */
static int open_all(struct daemon *daemon, struct pd_error *error)
{
    struct pd_agent *agent = &daemon->agent;
    int err;

    pd_daemon_signals_hold();
    agent->settings = &daemon->settings;
    agent->started_ns = pd_clock_monotonic_ns();
    if (gethostname(agent->host, sizeof agent->host - 1)) {
        agent->host[0] = '\0';
    }
    err = pd_http_credentials_new(&daemon->settings.common.credentials, &agent->credentials, error);
    if (!err && daemon->settings.listen) {
        err = pd_daemon_open_listen(&daemon->settings.common, daemon->settings.listen,
                                    &daemon->listener, error);
    }
    if (!err) {
        err = pd_daemon_parts_open(&daemon->parts, pd_agent_settings_joined(), &daemon->settings,
                                   error);
    }
    return err ? err : pd_daemon_signals_open(&daemon->signal_fd, error);
}

static int start_all(struct daemon *daemon, struct pd_error *error)
{
    int err = pd_daemon_parts_start(&daemon->parts, error);

    if (err || !daemon->settings.listen) {
        return err;
    }
    struct pd_http_service service = pd_agent_rest_service(&daemon->agent);
    service.credentials = daemon->agent.credentials;
    service.allowed_hosts = daemon->settings.common.allowed_host;
    service.answer_budget_bytes = daemon->settings.common.answer_budget_bytes;
    err = pd_http_start(&service, &daemon->listener, &daemon->http);
    return err ? pd_fail(error, err, "listen: %s: %s", daemon->settings.listen, pd_error_text(err))
               : 0;
}

static void announce(struct daemon *daemon)
{
    const char *where = daemon->settings.listen ? daemon->listener.name : "nobody";
    char state[400], tib[PD_TIB_SHOWN_BYTES], intakes[400] = "";
    size_t len = 0;

    for (unsigned i = 0; i < daemon->settings.intakes.len && len < sizeof intakes; i++) {
        len += (size_t)snprintf(intakes + len, sizeof intakes - len, "%s%s", i ? ", " : "",
                                daemon->settings.intakes.items[i]);
    }
    pd_log(PD_LOG_INFO, MODULE, NULL, "pathdumpd %s serves %s, intake %s, store %s", PD_VERSION,
           where, intakes, pd_tib_shown(daemon->settings.tib, tib));
    snprintf(state, sizeof state, "READY=1\nSTATUS=serving %.150s", where);
    pd_daemon_notify(state);
}

/* ---- at work ---- */

static void warn_restart(const char *name)
{
    pd_log(PD_LOG_WARN, MODULE, NULL, "%s has changed: it takes effect at the next start", name);
}

/* The pipeline decodes what is stored, installed queries what they look at before. */
static int reload_model(struct daemon *daemon, const struct pd_settings *wanted,
                        struct pd_error *error)
{
    struct pd_model *model;
    int err = pd_agent_model_load(wanted->topology, &model, error);

    if (err) {
        return err;
    }
    pd_agent_model_hold(model);
    err = pd_agent_pipeline_model(daemon->agent.pipeline, model, error);
    if (!err) {
        pd_installed_model(daemon->agent.installed, model);
        pd_log_packet_logs_model(daemon->agent.logs, model);
        pd_agent_traces_model(&daemon->agent, model);
        pd_agent_poor_model(&daemon->agent, model);
    }
    pd_agent_model_free(model);
    return err;
}

static int reload_checked(struct daemon *daemon, struct pd_settings *wanted, struct pd_error *error)
{
    struct pd_credentials_set *set = NULL;
    int err = pd_agent_settings_check(wanted, error);

    if (!err) {
        err = pd_http_credentials_read(daemon->agent.credentials, &wanted->common.credentials, &set,
                                       error);
    }
    if (!err) {
        err = reload_model(daemon, wanted, error);
    }
    if (err) {
        pd_http_credentials_drop(set);
    } else {
        pd_http_credentials_put(daemon->agent.credentials, set);
        pd_http_reload(daemon->http);
    }
    return err;
}

/* All or nothing: after an error everything stays as it was. */
static void reload(struct daemon *daemon)
{
    struct pd_settings wanted;
    struct pd_error error = {0};
    bool usage;
    int err;

    pd_daemon_notify_reloading();
    err = pd_agent_settings_load(daemon->argc, daemon->argv, &wanted, &usage, &error);
    if (!err) {
        err = reload_checked(daemon, &wanted, &error);
        if (err) {
            pd_agent_settings_done(&wanted);
        }
    }
    if (err) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "not reloaded, all stays as it was: %s", error.text);
        pd_count(&daemon->agent.counters.reloads_failed, 1);
    } else {
        pd_agent_settings_compare(&daemon->settings, &wanted, warn_restart);
        pd_log_set_level(wanted.common.log_level);
        pd_tib_retain(daemon->agent.tib, wanted.retention_bytes, wanted.retention_age_s);
        pd_agent_settings_done(&daemon->settings);
        daemon->settings = wanted;
        pd_daemon_parts_reload(&daemon->parts);
        pd_log(PD_LOG_INFO, MODULE, NULL, "configuration, topology and credentials reloaded");
        pd_count(&daemon->agent.counters.reloads, 1);
    }
    pd_daemon_notify("READY=1");
}

/* Returns whether one of the signals ends the daemon. */
static bool take_signals(struct daemon *daemon)
{
    struct pd_signals_taken taken = pd_daemon_signals_take(daemon->signal_fd);

    if (taken.reload) {
        reload(daemon);
    }
    return taken.end;
}

/* A sign of life is sent for threads that work, not for a main thread that sleeps. */
static void feed_watchdog(const struct daemon *daemon)
{
    if (daemon->watchdog_ns &&
        pd_clock_monotonic_ns() - pd_agent_pipeline_alive_ns(daemon->agent.pipeline) < STALLED_NS) {
        pd_daemon_notify("WATCHDOG=1");
    }
}

static void tell_intake_end(struct daemon *daemon)
{
    struct pd_pipeline_status status;
    const char *what = "all of it";

    pd_agent_pipeline_status(daemon->agent.pipeline, &status);
    if (status.intake.state == PD_INTAKE_FAILED) {
        what = "what was counted before";
    } else if (status.intake.trajectory.lost_full_pkts) {
        what = "what was counted";
    }
    pd_log(PD_LOG_INFO, MODULE, NULL, "the intake has %s, %s is stored",
           pd_intake_state_id(status.intake.state), what);
    pd_agent_intake_log_refused(&status.intake);
}

/* Until a signal, or until the intake has ended if that ends the daemon. */
static void work(struct daemon *daemon)
{
    struct pollfd fds[] = {
        {.fd = daemon->signal_fd, .events = POLLIN},
        {.fd = pd_agent_pipeline_ended_fd(daemon->agent.pipeline), .events = POLLIN}};
    int timeout_ms = daemon->watchdog_ns ? (int)(daemon->watchdog_ns / PD_NS_PER_MS) : -1;
    bool end = false;

    while (!end) {
        feed_watchdog(daemon);
        if (poll(fds, 2, timeout_ms) < 0 && errno != EINTR) {
            break;
        }
        if (fds[0].revents) {
            end = take_signals(daemon);
        }
        if (fds[1].revents) {
            tell_intake_end(daemon);
            fds[1].fd = -1;
            end = end || daemon->settings.exit_after_intake;
        }
    }
}

/* ---- end ---- */

/* With --exit-after-intake the exit status says whether the whole of the input is in the store. */
static int verdict(struct daemon *daemon)
{
    struct pd_pipeline_status status;
    struct pd_tib_stat stat = {0};

    if (!daemon->settings.exit_after_intake) {
        return EXIT_OK;
    }
    pd_agent_pipeline_status(daemon->agent.pipeline, &status);
    if (status.intake.trajectory.lost_full_pkts) {
        pd_log(PD_LOG_ERROR, MODULE, NULL,
               "%llu packets could not be counted: the trajectory memory was full (max-records)",
               (unsigned long long)status.intake.trajectory.lost_full_pkts);
    }
    if (pd_tib_stat(daemon->agent.tib, &stat) || stat.lost_full || stat.lost_error) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "%llu records could not be stored",
               (unsigned long long)(stat.lost_full + stat.lost_error));
        return EXIT_FAILED;
    }
    if (status.intake.trajectory.lost_full_pkts) {
        return EXIT_FAILED;
    }
    return status.intake.state == PD_INTAKE_FAILED ? EXIT_FAILED : EXIT_OK;
}

static void close_all(struct daemon *daemon)
{
    pd_daemon_parts_stop(&daemon->parts);
    atomic_store_explicit(&daemon->agent.stopping, true, memory_order_relaxed);
    pd_http_stop(daemon->http);
    pd_http_listen_close(&daemon->listener);
    pd_daemon_parts_close(&daemon->parts);
    pd_http_credentials_free(daemon->agent.credentials);
    if (daemon->signal_fd >= 0) {
        close(daemon->signal_fd);
    }
}

static int run(struct daemon *daemon)
{
    struct pd_error error = {0};
    int status, err = open_all(daemon, &error);

    if (!err) {
        err = start_all(daemon, &error);
    }
    if (err) {
        error.code = err;
        status = complain(&error);
    } else {
        malloc_trim(0);
        announce(daemon);
        work(daemon);
        pd_daemon_notify("STOPPING=1\nSTATUS=storing what is in memory");
        pd_agent_traces_stop(&daemon->agent);
        pd_agent_pipeline_stop(daemon->agent.pipeline);
        status = verdict(daemon);
        pd_log(PD_LOG_INFO, MODULE, NULL, "stopped");
    }
    close_all(daemon);
    return status;
}

static int check_config(struct daemon *daemon)
{
    struct pd_model *model;
    struct pd_error error = {0};
    int err = pd_agent_model_load(daemon->settings.topology, &model, &error);

    if (err) {
        return complain(&error);
    }
    pd_agent_model_free(model);
    if (pd_http_credentials_new(&daemon->settings.common.credentials, &daemon->agent.credentials,
                                &error)) {
        return complain(&error);
    }
    pd_http_credentials_free(daemon->agent.credentials);
    puts("the configuration is fine");
    return EXIT_OK;
}

int main(int argc, char **argv)
{
    struct daemon daemon = {.argc = argc,
                            .argv = argv,
                            .listener = {.fd = -1},
                            .signal_fd = -1,
                            .parts = {.list = pd_agent_parts}};
    struct pd_error error = {0};
    bool usage = false;
    int status;

    daemon.parts.daemon = &daemon.agent;
    mallopt(M_ARENA_MAX, 2); /* every further arena is memory that an idle daemon keeps */
    mallopt(M_MMAP_THRESHOLD,
            65536); /* large blocks are touched only as they are used, and go back whole */
    if (pd_agent_settings_load(argc, argv, &daemon.settings, &usage, &error)) {
        complain(&error);
        return usage ? EXIT_USAGE : EXIT_FAILED;
    }
    if (daemon.settings.common.help || daemon.settings.common.version) {
        if (daemon.settings.common.help) {
            print_help();
        } else {
            puts("pathdumpd " PD_VERSION);
        }
        return EXIT_OK;
    }
    pd_log_set_level(daemon.settings.common.log_level);
    daemon.watchdog_ns = pd_daemon_notify_watchdog_ns();
    if (pd_agent_settings_check(&daemon.settings, &error)) {
        status = complain(&error);
    } else {
        status = daemon.settings.common.check_config ? check_config(&daemon) : run(&daemon);
    }
    pd_agent_settings_done(&daemon.settings);
    return status;
}
