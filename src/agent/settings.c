/* SPDX-License-Identifier: Apache-2.0 */
/* The table of pathdumpd's settings, and what is checked beyond single values. */
#include "agent/settings.h"

#include <stddef.h>
#include <string.h>

#include "agent/agent.h"
#include "daemon/own.h"
#include "http/url.h"
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
    return pd_http_url_check(value, error) ? pd_fail_within(error, name) : 0;
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
    {.section = "agent",
     .name = "topology",
     .type = PD_OPTION_STRING,
     .offset = AT(topology),
     .value = "FILE",
     .help = "topology of the network, JSON; it names the codec, if switches mark packets"},
    {.section = "agent",
     .name = "telemetry",
     .type = PD_OPTION_STRING,
     .offset = AT(telemetry),
     .value = "FILE",
     .help = "telemetry plan of the switches, JSON, where a codec of the topology is pint"},
    {.section = "agent",
     .name = "listen",
     .type = PD_OPTION_STRING,
     .offset = AT(listen),
     .value = "ADDRESS",
     .help =
         "serve REST here: 127.0.0.1:PORT, [::1]:PORT, localhost:PORT (0: any port) or unix:/PATH; "
         "with TLS any address, as 0.0.0.0:PORT or [::]:PORT; "
         "when not given: " LISTEN ", or nowhere with --exit-after-intake",
     .set = pd_daemon_accept_listen},
    {.name = "exit-after-intake",
     .type = PD_OPTION_FLAG,
     .offset = AT(exit_after_intake),
     .help = "exit once the intake has ended and all is stored"},
    {.section = "intake",
     .name = "intake",
     .type = PD_OPTION_LIST,
     .offset = AT(intakes),
     .value = "KIND:WHAT",
     .help = "where packets come from",
     .set = accept_intake},
    /* the last: its help is made below */
    {0},
};

static const struct pd_option last_rows[] = {
    {.section = "trajectory",
     .name = "idle-ms",
     .type = PD_OPTION_U64,
     .offset = AT(idle_ms),
     .min = 1,
     .max = 86400000,
     .value = "MS",
     .fallback = "5000",
     .help = "a record is finished after so long without a packet"},
    {.section = "trajectory",
     .name = "active-ms",
     .type = PD_OPTION_U64,
     .offset = AT(active_ms),
     .min = 1,
     .max = 86400000,
     .value = "MS",
     .fallback = "60000",
     .help = "long flows are stored in slices of this length"},
    {.section = "trajectory",
     .name = "fin-linger-ms",
     .type = PD_OPTION_U64,
     .offset = AT(fin_linger_ms),
     .max = 4000,
     .value = "MS",
     .fallback = "200",
     .help = "so long after FIN or RST late packets still belong to the record"},
    {.section = "trajectory",
     .name = "max-records",
     .type = PD_OPTION_U64,
     .offset = AT(max_records),
     .min = 1,
     .max = 1 << 26,
     .value = "N",
     .fallback = "1048576",
     .help = "most records in the trajectory memory"},
    {.section = "tib",
     .name = "tib",
     .type = PD_OPTION_STRING,
     .offset = AT(tib),
     .value = "DIR",
     .help = "the store, made when it is not there; or mongodb://HOST:PORT/DB"},
    {.section = "tib",
     .name = "retention-age",
     .type = PD_OPTION_SECONDS,
     .offset = AT(retention_age_s),
     .value = "TIME",
     .fallback = "0",
     .help = "remove records that are older; 0: none"},
    {.section = "tib",
     .name = "retention-bytes",
     .type = PD_OPTION_BYTES,
     .offset = AT(retention_bytes),
     .value = "BYTES",
     .fallback = "0",
     .help = "remove the oldest records when the store takes more; 0: none"},
    {.section = "tib",
     .name = "tib-cold-after",
     .type = PD_OPTION_SECONDS,
     .offset = AT(cold_after_s),
     .value = "TIME",
     .fallback = "6h",
     .help = "pack records that are older: half the bytes, slower to read; 0: never"},
    {.section = "tib",
     .name = "map-bytes",
     .type = PD_OPTION_BYTES,
     .offset = AT(map_bytes),
     .value = "BYTES",
     .fallback = "0",
     .help = "most the store may ever take on the disk; 0: as the store likes it"},
    {.section = "tib",
     .name = "host-id",
     .type = PD_OPTION_U64,
     .offset = AT(host_id),
     .max = UINT32_MAX,
     .value = "N",
     .fallback = "0",
     .help =
         "number of this host: its ID in the topology, as the controller knows it; in a store that "
         "many "
         "share (mongodb://) no two have the same"},
    {.section = "tib",
     .name = "tib-spool",
     .type = PD_OPTION_STRING,
     .offset = AT(spool),
     .value = "DIR",
     .help = "where records wait for the server of such a store; when not given: "
             "/var/lib/pathdump/spool"},
    {.section = "tib",
     .name = "tib-spool-bytes",
     .type = PD_OPTION_BYTES,
     .offset = AT(spool_bytes),
     .value = "BYTES",
     .fallback = "1G",
     .help = "most that may wait there; what comes then is lost, and counted"},
    {.section = "programs",
     .name = "program-instructions",
     .type = PD_OPTION_U64,
     .offset = AT(program_instructions),
     .min = 1,
     .max = UINT64_C(1000000000000),
     .value = "N",
     .fallback = "200000000",
     .help = "most instructions that one run of a program takes"},
    {.section = "programs",
     .name = "program-memory",
     .type = PD_OPTION_BYTES,
     .offset = AT(program_memory_bytes),
     .min = 1 << 20,
     .max = 4 * GIB,
     .value = "BYTES",
     .fallback = "64M",
     .help = "most memory that one run of a program takes"},
    {.section = "programs",
     .name = "program-time",
     .type = PD_OPTION_SECONDS,
     .offset = AT(program_time_s),
     .min = 1,
     .max = 3600,
     .value = "TIME",
     .fallback = "10s",
     .help = "longest run of a program, however far its deadline is"},
    {.section = "alarms",
     .name = "controller",
     .type = PD_OPTION_STRING,
     .offset = AT(controller),
     .value = "URL",
     .help = "bring alarms to this controller: http://HOST:PORT, https://HOST:PORT or "
             "unix:/SOCKET; needs "
             "--host-id",
     .set = accept_controller},
    {.section = "alarms",
     .name = "alarm-spool-bytes",
     .type = PD_OPTION_BYTES,
     .offset = AT(alarm_spool_bytes),
     .min = 65536,
     .max = GIB,
     .value = "BYTES",
     .fallback = "4M",
     .help = "most alarms that may wait for the controller; what comes then is lost, and counted"},
    {.section = "alarms",
     .name = "alarm-budget",
     .type = PD_OPTION_U64,
     .offset = AT(alarm_budget),
     .min = 1,
     .max = 1000000,
     .value = "N",
     .fallback = "60",
     .help = "alarms a minute that the controller is brought, besides the first of each reason; "
             "one more says how many there were beyond"},
    {.section = "tcp",
     .name = "tcp-monitor",
     .type = PD_OPTION_STRING,
     .offset = AT(tcp_monitor),
     .value = "SOURCE",
     .fallback = "auto",
     .help = "how TCP connections are watched: bpf, inet_diag, none, or auto: the first of them "
             "that is to "
             "be had",
     .set = accept_monitor},
    {.section = "tcp",
     .name = "tcp-period-ms",
     .type = PD_OPTION_U64,
     .offset = AT(tcp_period_ms),
     .min = 10,
     .max = 60000,
     .value = "MS",
     .fallback = "200",
     .help = "retransmissions are counted in periods of this length, and with inet_diag looked for "
             "once in "
             "each"},
    {.section = "tcp",
     .name = "tcp-alarm-retransmissions",
     .type = PD_OPTION_U64,
     .offset = AT(tcp_alarm_retransmissions),
     .max = 1000000,
     .value = "N",
     .fallback = "1",
     .help = "alarm POOR_PERF at so many retransmissions of a connection in one period; 0: never"},
    {.section = "tcp",
     .name = "tcp-alarm-all",
     .type = PD_OPTION_FLAG,
     .offset = AT(tcp_alarm_all),
     .help = "alarm POOR_PERF also of connections with an address that the topology does not have"},
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

const struct pd_option *pd_agent_settings_table(void)
{
    if (joined.len) {
        return joined.table;
    }
    joined.own_at = AT(own);
    pd_daemon_options_rows(&joined, first_rows);
    name_kinds(&joined.table[joined.len - 1]);
    for (size_t i = 0; pd_intakes[i]; i++) {
        pd_daemon_options_own(&joined, pd_intakes[i]->options, pd_intakes[i]->options_bytes);
    }
    pd_daemon_parts_options(pd_agent_parts, &joined);
    pd_daemon_options_rows(&joined, last_rows);
    return joined.table;
}

const struct pd_options_joined *pd_agent_settings_joined(void)
{
    return pd_agent_settings_table() ? &joined : NULL;
}

int pd_agent_settings_load(int argc, char **argv, struct pd_settings *ret_settings, bool *ret_usage,
                           struct pd_error *error)
{
    struct pd_settings settings = {0};
    int err = pd_daemon_settings_load(pd_agent_settings_table(), &settings.common, argc, argv,
                                      ret_usage, error);

    if (err) {
        return err;
    }
    /* Whoever only stores a capture does not want to be in the way of the agent that serves. */
    if (!settings.listen && !settings.exit_after_intake) {
        settings.listen = LISTEN;
    }
    *ret_settings = settings;
    return 0;
}

void pd_agent_settings_done(struct pd_settings *settings)
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
    const char *own = pd_agent_settings_intake_options((void *)(uintptr_t)settings, ops);

    for (const struct pd_option *option = ops->options; option && option->name; option++) {
        if (option->type == PD_OPTION_FLAG && own[option->offset]) {
            return option->name;
        }
    }
    return NULL;
}

static int check_intakes(const struct pd_settings *settings, struct pd_error *error)
{
    int err = pd_intake_set_check(settings->intakes.items, settings->intakes.len, error);

    for (size_t i = 0; pd_intakes[i] && !err; i++) {
        const char *name =
            has_kind(settings, pd_intakes[i]) ? NULL : idle_flag(settings, pd_intakes[i]);

        if (name) {
            err = pd_fail(error, -PD_E_VALUE, "%s: only a %s intake can do that", name,
                          pd_intakes[i]->kind);
        }
    }
    if (!err && settings->exit_after_intake && !strcmp(settings->intakes.items[0], "none")) {
        err = pd_fail(error, -PD_E_VALUE, "exit-after-intake: there is no intake");
    }
    return err;
}

int pd_agent_settings_check(const struct pd_settings *settings, struct pd_error *error)
{
    const struct pd_daemon_needed needed[] = {
        {"topology", settings->topology},
        {"intake", settings->intakes.len ? settings->intakes.items[0] : NULL},
        {"tib", settings->tib}};
    int err = pd_daemon_check_needed(needed, sizeof needed / sizeof needed[0], error);

    if (err) {
        return err;
    }
    err = check_intakes(settings, error);
    if (err) {
        return err;
    }
    if (settings->controller && !settings->host_id) {
        return pd_fail(error, -PD_E_VALUE,
                       "controller: needs --host-id, the ID that it knows this host by");
    }
    return settings->listen ? pd_daemon_check_listen(&settings->common, settings->listen, error)
                            : 0;
}

const char *pd_agent_settings_folder(const struct pd_settings *settings)
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

void pd_agent_settings_compare(const struct pd_settings *now, const struct pd_settings *wanted,
                               void (*report)(const char *name))
{
    pd_daemon_settings_compare(pd_agent_settings_table(), now, wanted, at_once, report);
}

const void *pd_agent_settings_intake_options(void *settings, const struct pd_intake_ops *ops)
{
    return pd_daemon_options_own_of(&joined, settings, ops->options);
}

struct pd_intake_config pd_agent_settings_intake(const struct pd_settings *settings, bool use_dscp)
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

struct pd_tib_config pd_agent_settings_tib(const struct pd_settings *settings)
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
struct pd_monitor_config pd_agent_settings_monitor(const struct pd_settings *settings)
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
