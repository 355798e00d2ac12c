/* SPDX-License-Identifier: Apache-2.0 */
/* The controller of pathdump-controller, with the simulator behind it. */
#include "cli/serve.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "controller/server.h"
#include "daemon/signals.h"

#define ALARMS_A_PERIOD 32u /* that are stored; each is a flush to the disk */
#define WORDS           10
#define MODULE          "simulate"
#define LAG_S           10 /* from which on it is told */
#define LOOK_MS         1000
#define SPOOL           1u

struct served {
    const struct pd_cli_serve *serve;
    char state[PATH_MAX];
    char words[WORDS][PATH_MAX]; /* its flags; the settings point to them */
    struct pd_controller_settings settings;
    bool has_settings;
    struct pd_controller_server server;
    struct pd_sim_live *live;
    uint64_t *seqs;       /* of alarms, by host */
    uint64_t alarms_left; /* not stored */
    int signal_fd;
    bool told_lag, told_end;
};

/* ---- alarms ---- */

static int read_alarm(const json_t *json, struct pd_alarm_message *ret_message)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)json);
    struct pd_error error = {0};
    int err;

    json_object_del(copy, "id");
    json_object_del(copy, "host");
    err = pd_fleet_alarm_message_read(copy, NULL, ret_message, NULL, &error);
    json_decref(copy);
    return err;
}

static int store_alarm(struct served *served, const json_t *json)
{
    const struct pd_topology *topology = served->serve->scenario->topology;
    uint32_t id = (uint32_t)json_integer_value(json_object_get(json, "host"));
    uint32_t host = pd_topology_host(topology, id);
    struct pd_alarm_message message;
    uint64_t last;
    int err = host == PD_NONE ? -PD_E_VALUE : read_alarm(json, &message);

    if (err) {
        return err;
    }
    const struct pd_alarm_delivery delivery = {
        .host = id, .spool = SPOOL, .len = 1, .messages = &message, .seqs = &served->seqs[host]};

    served->seqs[host]++;
    return pd_alarm_store_add(served->server.controller.alarms, &delivery, &last);
}

/* In the thread that simulates. */
static void take_alarms(void *context, const json_t *alarms)
{
    struct served *served = context;
    const json_t *alarm;
    size_t i;

    json_array_foreach(alarms, i, alarm)
    {
        if (i >= ALARMS_A_PERIOD || store_alarm(served, alarm)) {
            served->alarms_left++;
        }
    }
}

/* ---- what the controller is made of ---- */

/* Flags as for pathdump-controller, so that everything has its default. */
static int make_settings(struct served *served, struct pd_error *error)
{
    char *argv[WORDS + 1] = {NULL};
    const char *const given[] = {"pathdump",    "--topology", "simulated",
                                 "--hosts",     "simulated",  "--state",
                                 served->state, "--listen",   served->serve->address};
    const int len = sizeof given / sizeof *given;
    bool usage;
    int err;

    for (int i = 0; i < len; i++) {
        snprintf(served->words[i], sizeof served->words[i], "%s", given[i]);
        argv[i] = served->words[i];
    }
    snprintf(served->words[len], sizeof served->words[len], "--link-mbps=%" PRIu32,
             served->serve->scenario->link_mbps);
    argv[len] = served->words[len];
    err = pd_controller_settings_load(len + 1, argv, &served->settings, &usage, error);
    served->has_settings = !err;
    return err;
}

/* The controller has a topology of its own: equal ones have equal numbers. */
static int copy_topology(const struct pd_topology *topology, struct pd_topology **ret_topology,
                         struct pd_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    int err = out ? pd_topology_write(topology, out) : -ENOMEM;

    if (out && fclose(out) && !err) {
        err = -ENOMEM;
    }
    err = err ? pd_fail(error, err, "topology: %s", pd_error_text(err))
              : pd_topology_parse(text, bytes, "simulated", ret_topology, error);
    free(text);
    return err;
}

static int make_inventory(const struct pd_topology *topology, struct pd_inventory **ret_inventory,
                          struct pd_error *error)
{
    struct pd_topology *copy = NULL;
    char *text = NULL;
    size_t bytes = 0;
    int err = copy_topology(topology, &copy, error);
    FILE *out = err ? NULL : open_memstream(&text, &bytes);

    if (!out) {
        pd_topology_free(copy);
        return err ? err : pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    for (uint32_t i = 0; i < topology->hosts_len; i++) {
        fprintf(out, "%s{\"id\":%u,\"url\":\"unix:/simulated/%u\"}", i ? "," : "[",
                topology->hosts[i].id, topology->hosts[i].id);
    }
    fputs(topology->hosts_len ? "]" : "[]", out);
    err = fclose(out) ? pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM)) : 0;
    if (err) {
        pd_topology_free(copy);
    } else {
        err = pd_controller_inventory_parse(copy, text, bytes, "simulated hosts", ret_inventory,
                                            error);
    }
    free(text);
    return err;
}

static int make_folder(struct served *served, struct pd_error *error)
{
    const char *root = getenv("TMPDIR");

    snprintf(served->state, sizeof served->state, "%.3000s/pathdump-serve-XXXXXX",
             root && *root ? root : "/tmp");
    if (!mkdtemp(served->state)) {
        return pd_fail(error, -errno, "%.300s: %s", served->state, strerror(errno));
    }
    return 0;
}

static int remove_one(const char *name, const struct stat *stat, int kind, struct FTW *at)
{
    (void)stat;
    (void)kind;
    (void)at;
    remove(name); /* what cannot be removed stays, the rest goes */
    return 0;
}

/* The controller has its files open: nothing is left behind, however it ends. */
static void remove_folder(const char *name)
{
    nftw(name, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* ---- its life ---- */

static int watch_app(struct served *served, struct pd_error *error)
{
    const struct pd_cli_serve *serve = served->serve;
    json_t *watch;
    int err;

    if (!serve->app) {
        return 0;
    }
    watch = json_pack("{s:s, s:O*}", "app", serve->app->name, "args", serve->args);
    err = watch ? pd_controller_server_watch(&served->server, watch, error) : -ENOMEM;
    json_decref(watch);
    return err;
}

static int open_all(struct served *served, struct pd_error *error)
{
    struct pd_controller *controller = &served->server.controller;
    struct pd_inventory *inventory = NULL;
    const struct pd_sim_live_config config = {.scenario = served->serve->scenario,
                                              .seed = served->serve->seed,
                                              .speed = (double)served->serve->speed,
                                              .alarms = take_alarms,
                                              .context = served};
    int err = make_settings(served, error);

    if (!err) {
        err = make_inventory(config.scenario->topology, &inventory, error);
    }
    if (!err && (err = pd_sim_live_new(&config, &served->live))) {
        pd_controller_inventory_free(inventory);
    }
    if (err) {
        return err;
    }
    pd_controller_server_init(&served->server, &served->settings);
    controller->simulated = pd_sim_live_world(served->live);
    return pd_controller_server_open(&served->server, inventory, error);
}

static int begin(struct served *served, struct pd_error *error)
{
    const struct pd_topology *topology = served->serve->scenario->topology;
    int err = open_all(served, error);

    if (!err) {
        served->seqs = calloc((size_t)topology->hosts_len + 1, sizeof *served->seqs);
        err = served->seqs ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; i < topology->hosts_len && !err; i++) {
        pd_controller_hosts_asked(served->server.controller.hosts, topology->hosts[i].id, NULL);
    }
    if (!err) {
        err = pd_sim_live_start(served->live, error);
    }
    if (!err) {
        err = watch_app(served, error);
    }
    return err ? err : pd_controller_server_serve(&served->server, error);
}

static void announce(const struct served *served)
{
    const char *name = served->server.listener.name;
    bool http = strncmp(name, "unix:", 5) != 0;

    printf("%" PRIu32 " switches and %" PRIu32
           " hosts are simulated for %.0f s; served at %s%s%s\n",
           served->serve->scenario->topology->switches_len,
           served->serve->scenario->topology->hosts_len, served->serve->scenario->duration_s,
           http ? "http://" : "", name, http ? "/map" : "");
    fflush(stdout);
}

/* Says once that the machine cannot keep up, and once that it is over. */
static void look(struct served *served)
{
    struct pd_sim_live_stat stat;

    pd_sim_live_stat(served->live, &stat);
    if (stat.lag_s > LAG_S && !served->told_lag) {
        pd_log(PD_LOG_WARN, MODULE, NULL, "simulated time is %.0f s behind the clock", stat.lag_s);
        served->told_lag = true;
    }
    if (stat.ended && !served->told_end) {
        pd_log(*stat.error ? PD_LOG_ERROR : PD_LOG_INFO, MODULE, NULL,
               "the simulation has ended after %.1f s%s%s; what was is still served", stat.now_s,
               *stat.error ? ": " : "", stat.error);
        served->told_end = true;
    }
}

static void wait_for_end(struct served *served)
{
    struct pollfd fd = {.fd = served->signal_fd, .events = POLLIN};

    do {
        if (poll(&fd, 1, LOOK_MS) < 0 && errno != EINTR) {
            return;
        }
        look(served);
    } while (!pd_daemon_signals_take(served->signal_fd).end);
}

/* Whoever simulates gives alarms to the controller, which asks what is simulated: first the one
 * stands still, then the other ends. */
static void end(struct served *served)
{
    if (served->live) {
        pd_sim_live_stop(served->live);
    }
    if (served->has_settings) {
        pd_controller_server_close(&served->server);
        pd_controller_settings_done(&served->settings);
    }
    pd_sim_live_free(served->live);
    free(served->seqs);
    if (served->signal_fd >= 0) {
        close(served->signal_fd);
    }
}

int pd_cli_serve(const struct pd_cli_serve *serve, struct pd_error *error)
{
    struct served *served = calloc(1, sizeof *served);
    int err;

    if (!served) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    served->serve = serve;
    served->signal_fd = -1;
    pd_controller_server_init(&served->server, &served->settings);
    pd_daemon_signals_hold();
    err = make_folder(served, error);
    if (!err) {
        err = pd_daemon_signals_open(&served->signal_fd, error);
        err = err ? err : begin(served, error);
        remove_folder(served->state);
    }
    if (!err) {
        announce(served);
        wait_for_end(served);
    }
    end(served);
    free(served);
    return err && !error->text[0] ? pd_fail(error, err, "%s", pd_error_text(err)) : err;
}
