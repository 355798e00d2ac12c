/* SPDX-License-Identifier: Apache-2.0 */
/* The table of pathdumpd's settings, and what is checked beyond single values. */
#include "agent/settings.h"

#include <stddef.h>
#include <string.h>

#include "agent/agent.h"
#include "daemon/own.h"
#include "fleet/url.h"
#include "intake/set.h"

/* What it names is looked at when it is opened. */
static int accept_intake(void *target, const char *name, const char *value, struct pd_error *error)
{
    const struct pd_intake_ops *ops;

    (void)target;
    (void)name;
    return strcmp(value, "none") != 0 ? pd_intake_find(value, &ops, NULL, error) : 0;
}

static int accept_controller(void *target, const char *name, const char *value,
                             struct pd_error *error)
{
    (void)target;
    return pd_fleet_url_check(value, error) ? pd_fail_within(error, name) : 0;
}

static int accept_monitor(void *target, const char *name, const char *value, struct pd_error *error)
{
    enum pd_monitor_source source;

    (void)target;
    return pd_monitor_source_parse(value, &source)
               ? pd_fail(error, -PD_E_VALUE,
                         "%s: expects auto, bpf, inet_diag or none, not \"%.100s\"", name, value)
               : 0;
}

#define AT(member) offsetof(struct pd_settings, member)
#define GIB        (UINT64_C(1) << 30)
#define LISTEN     "127.0.0.1:7411"

static const struct pd_option first_rows[] = {
    PD_DAEMON_OPTIONS_FIRST("check the settings and the topology"),
    {"agent", "topology", PD_OPTION_STRING, AT(topology), 0, 0, "FILE", NULL,
     "topology of the network, JSON; it names the codec, if switches mark packets", NULL},
    {"agent", "telemetry", PD_OPTION_STRING, AT(telemetry), 0, 0, "FILE", NULL,
     "telemetry plan of the switches, JSON, where the topology's codec is pint", NULL},
    {"agent", "listen", PD_OPTION_STRING, AT(listen), 0, 0, "ADDRESS", NULL,
     "serve REST here: 127.0.0.1:PORT, [::1]:PORT, localhost:PORT (0: any port) or unix:/PATH; "
     "with TLS any address, as 0.0.0.0:PORT or [::]:PORT; "
     "when not given: " LISTEN ", or nowhere with --exit-after-intake",
     pd_daemon_accept_listen},
    {NULL, "exit-after-intake", PD_OPTION_FLAG, AT(exit_after_intake), 0, 0, NULL, NULL,
     "exit once the intake has ended and all is stored", NULL},
    {"intake", "intake", PD_OPTION_LIST, AT(intakes), 0, 0, "KIND:WHAT", NULL,
     "where packets come from", accept_intake}, /* the last: its help is made below */
    {0},
};

static const struct pd_option last_rows[] = {
    {"trajectory", "idle-ms", PD_OPTION_U64, AT(idle_ms), 1, 86400000, "MS", "5000",
     "a record is finished after so long without a packet", NULL},
    {"trajectory", "active-ms", PD_OPTION_U64, AT(active_ms), 1, 86400000, "MS", "60000",
     "long flows are stored in slices of this length", NULL},
    {"trajectory", "fin-linger-ms", PD_OPTION_U64, AT(fin_linger_ms), 0, 4000, "MS", "200",
     "so long after FIN or RST late packets still belong to the record", NULL},
    {"trajectory", "max-records", PD_OPTION_U64, AT(max_records), 1, 1 << 26, "N", "1048576",
     "most records in the trajectory memory", NULL},
    {"tib", "tib", PD_OPTION_STRING, AT(tib), 0, 0, "DIR", NULL,
     "the store, made when it is not there; or mongodb://HOST:PORT/DB", NULL},
    {"tib", "retention-age", PD_OPTION_SECONDS, AT(retention_age_s), 0, 0, "TIME", "0",
     "remove records that are older; 0: none", NULL},
    {"tib", "retention-bytes", PD_OPTION_BYTES, AT(retention_bytes), 0, 0, "BYTES", "0",
     "remove the oldest records when the store takes more; 0: none", NULL},
    {"tib", "tib-cold-after", PD_OPTION_SECONDS, AT(cold_after_s), 0, 0, "TIME", "6h",
     "pack records that are older: half the bytes, slower to read; 0: never", NULL},
    {"tib", "map-bytes", PD_OPTION_BYTES, AT(map_bytes), 0, 0, "BYTES", "0",
     "most the store may ever take on the disk; 0: as the store likes it", NULL},
    {"tib", "host-id", PD_OPTION_U64, AT(host_id), 0, UINT32_MAX, "N", "0",
     "number of this host: its ID in the topology, as the controller knows it; in a store that "
     "many "
     "share (mongodb://) no two have the same",
     NULL},
    {"tib", "tib-spool", PD_OPTION_STRING, AT(spool), 0, 0, "DIR", NULL,
     "where records wait for the server of such a store; when not given: /var/lib/pathdump/spool",
     NULL},
    {"tib", "tib-spool-bytes", PD_OPTION_BYTES, AT(spool_bytes), 0, 0, "BYTES", "1G",
     "most that may wait there; what comes then is lost, and counted", NULL},
    {"programs", "program-instructions", PD_OPTION_U64, AT(program_instructions), 1,
     UINT64_C(1000000000000), "N", "200000000", "most instructions that one run of a program takes",
     NULL},
    {"programs", "program-memory", PD_OPTION_BYTES, AT(program_memory_bytes), 1 << 20, 4 * GIB,
     "BYTES", "64M", "most memory that one run of a program takes", NULL},
    {"programs", "program-time", PD_OPTION_SECONDS, AT(program_time_s), 1, 3600, "TIME", "10s",
     "longest run of a program, however far its deadline is", NULL},
    {"alarms", "controller", PD_OPTION_STRING, AT(controller), 0, 0, "URL", NULL,
     "bring alarms to this controller: http://HOST:PORT, https://HOST:PORT or unix:/SOCKET; needs "
     "--host-id",
     accept_controller},
    {"alarms", "alarm-spool-bytes", PD_OPTION_BYTES, AT(alarm_spool_bytes), 65536, GIB, "BYTES",
     "4M", "most alarms that may wait for the controller; what comes then is lost, and counted",
     NULL},
    {"tcp", "tcp-monitor", PD_OPTION_STRING, AT(tcp_monitor), 0, 0, "SOURCE", "auto",
     "how TCP connections are watched: bpf, inet_diag, none, or auto: the first of them that is to "
     "be had",
     accept_monitor},
    {"tcp", "tcp-period-ms", PD_OPTION_U64, AT(tcp_period_ms), 10, 60000, "MS", "200",
     "retransmissions are counted in periods of this length, and with inet_diag looked for once in "
     "each",
     NULL},
    {"tcp", "tcp-alarm-retransmissions", PD_OPTION_U64, AT(tcp_alarm_retransmissions), 0, 1000000,
     "N", "1", "alarm POOR_PERF at so many retransmissions of a connection in one period; 0: never",
     NULL},
    PD_DAEMON_OPTIONS_LAST,
    {0},
};

/* "pcap:FILE, live:IFACE or ovs:SOCKET" */
static void list_kinds(char *text, size_t bytes)
{
    size_t len = 0;

    for (size_t i = 0; pd_intakes[i] && len < bytes; i++) {
        len += (size_t)snprintf(text + len, bytes - len, "%s%s:%s",
                                !i                  ? ""
                                : pd_intakes[i + 1] ? ", "
                                                    : " or ",
                                pd_intakes[i]->kind, pd_intakes[i]->argument);
    }
}

static void name_kinds(struct pd_option *option)
{
    static char help[400];
    char kinds[300] = "";

    list_kinds(kinds, sizeof kinds);
    snprintf(help, sizeof help, "where packets come from: %s, once for each; none: from nowhere",
             kinds);
    option->help = help;
}

/* Options of kinds of intake stand behind the intake. */
static struct pd_options_joined joined;

const struct pd_option *pd_settings_table(void)
{
    if (joined.len) {
        return joined.table;
    }
    joined.own_at = AT(own);
    pd_options_rows(&joined, first_rows);
    name_kinds(&joined.table[joined.len - 1]);
    for (size_t i = 0; pd_intakes[i]; i++) {
        pd_options_own(&joined, pd_intakes[i]->options, pd_intakes[i]->options_bytes);
    }
    pd_parts_options(pd_agent_parts, &joined);
    pd_options_rows(&joined, last_rows);
    return joined.table;
}

const struct pd_options_joined *pd_settings_joined(void)
{
    return pd_settings_table() ? &joined : NULL;
}

int pd_settings_load(int argc, char **argv, struct pd_settings *ret_settings, bool *ret_usage,
                     struct pd_error *error)
{
    struct pd_settings settings = {0};
    int e = pd_daemon_settings_load(pd_settings_table(), &settings.common, argc, argv, ret_usage,
                                    error);

    if (e) {
        return e;
    }
    /* Whoever only stores a capture does not want to be in the way of the agent that serves. */
    if (!settings.listen && !settings.exit_after_intake) {
        settings.listen = LISTEN;
    }
    *ret_settings = settings;
    return 0;
}

void pd_settings_done(struct pd_settings *settings)
{
    pd_daemon_settings_done(&settings->common);
}

static bool has_kind(const struct pd_settings *settings, const struct pd_intake_ops *wanted)
{
    const struct pd_intake_ops *ops;

    for (unsigned i = 0; i < settings->intakes.len; i++) {
        if (!pd_intake_find(settings->intakes.items[i], &ops, NULL, NULL) && ops == wanted) {
            return true;
        }
    }
    return false;
}

/* The option of this kind that is given although there is no such intake; NULL: none. Sizes do no
 * harm, and stand in files that many hosts share. */
static const char *idle_flag(const struct pd_settings *settings, const struct pd_intake_ops *ops)
{
    const char *own = pd_settings_intake_options((void *)(uintptr_t)settings, ops);

    for (const struct pd_option *option = ops->options; option && option->name; option++) {
        if (option->type == PD_OPTION_FLAG && own[option->offset]) {
            return option->name;
        }
    }
    return NULL;
}

static int check_intakes(const struct pd_settings *settings, struct pd_error *error)
{
    int e = pd_intake_set_check(settings->intakes.items, settings->intakes.len, error);

    for (size_t i = 0; pd_intakes[i] && !e; i++) {
        const char *name =
            has_kind(settings, pd_intakes[i]) ? NULL : idle_flag(settings, pd_intakes[i]);

        if (name) {
            e = pd_fail(error, -PD_E_VALUE, "%s: only a %s intake can do that", name,
                        pd_intakes[i]->kind);
        }
    }
    if (!e && settings->exit_after_intake && !strcmp(settings->intakes.items[0], "none")) {
        e = pd_fail(error, -PD_E_VALUE, "exit-after-intake: there is no intake");
    }
    return e;
}

int pd_settings_check(const struct pd_settings *settings, struct pd_error *error)
{
    const struct pd_daemon_needed needed[] = {
        {"topology", settings->topology},
        {"intake", settings->intakes.len ? settings->intakes.items[0] : NULL},
        {"tib", settings->tib}};
    int e = pd_daemon_check_needed(needed, sizeof needed / sizeof needed[0], error);

    if (e) {
        return e;
    }
    e = check_intakes(settings, error);
    if (e) {
        return e;
    }
    if (settings->controller && !settings->host_id) {
        return pd_fail(error, -PD_E_VALUE,
                       "controller: needs --host-id, the ID that it knows this host by");
    }
    return settings->listen ? pd_daemon_check_listen(&settings->common, settings->listen, error)
                            : 0;
}

const char *pd_settings_folder(const struct pd_settings *settings)
{
    if (!strstr(settings->tib, "://")) {
        return settings->tib;
    }
    return settings->spool ? settings->spool : "/var/lib/pathdump/spool";
}

/* These are taken over at run time; another topology file if its codec allows. */
static bool at_once(const struct pd_option *option)
{
    return option->offset == AT(topology) || option->offset == AT(retention_age_s) ||
           option->offset == AT(retention_bytes);
}

void pd_settings_compare(const struct pd_settings *now, const struct pd_settings *wanted,
                         void (*report)(const char *name))
{
    pd_daemon_settings_compare(pd_settings_table(), now, wanted, at_once, report);
}

const void *pd_settings_intake_options(void *settings, const struct pd_intake_ops *ops)
{
    return pd_options_own_of(&joined, settings, ops->options);
}

struct pd_intake_config pd_settings_intake(const struct pd_settings *settings, bool use_dscp)
{
    return (struct pd_intake_config){
        .trajectory = {.idle_ns = settings->idle_ms * 1000000,
                       .active_ns = settings->active_ms * 1000000,
                       .fin_linger_ns = settings->fin_linger_ms * 1000000,
                       .max_records = (uint32_t)settings->max_records},
        .use_dscp = use_dscp,
        .wake_fd = -1,
    };
}

struct pd_tib_config pd_settings_tib(const struct pd_settings *settings)
{
    return (struct pd_tib_config){
        .max_bytes = settings->retention_bytes,
        .max_age_s = settings->retention_age_s,
        .cold_after_s = settings->cold_after_s,
        .map_bytes = settings->map_bytes,
        .host_id = (uint32_t)settings->host_id,
        .spool = settings->spool,
        .spool_bytes = settings->spool_bytes,
    };
}

/* Who only stores a capture watches nothing. */
struct pd_monitor_config pd_settings_monitor(const struct pd_settings *settings)
{
    struct pd_monitor_config config = {
        .source = PD_MONITOR_NONE,
        .period_ms = settings->tcp_period_ms,
        .alarm_retransmissions = (uint32_t)settings->tcp_alarm_retransmissions,
    };

    if (!settings->exit_after_intake) {
        (void)pd_monitor_source_parse(settings->tcp_monitor, &config.source);
    }
    return config;
}
