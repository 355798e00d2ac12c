/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump ca`: a test CA and the certificates of a whole fleet, made at once, and added to later.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/certificate.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "http/url.h"
#include "topology/topology.h"

#define HOSTS_FILE_MAX_BYTES (64 << 20)
#define HOSTS_MAX            16 /* names of one server */
#define DAY_S                86400
#define CA_DAYS              3650

struct settings {
    const char *controller;
    const char *hosts;
    const char *topology;
    uint64_t days;
    bool renew;
};

static const struct pd_option options[] = {
    {.name = "controller",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, controller),
     .value = "NAMES",
     .help = "names and addresses of the controller, between commas"},
    {.name = "hosts",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, hosts),
     .value = "FILE",
     .help = "the hosts that run an agent, as the controller reads them"},
    {.name = "topology",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, topology),
     .value = "FILE",
     .help = "its switches get certificates, too, for OpenFlow over TLS"},
    {.name = "days",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, days),
     .min = 1,
     .max = 36500,
     .value = "N",
     .fallback = "365",
     .help = "how long certificates are good; the CA: ten years or more"},
    {.name = "renew",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, renew),
     .help = "make all certificates anew but the CA"},
    {0},
};

/* One run: what was made, and what was there. */
struct issuing {
    const struct settings *set;
    const char *folder;
    struct pd_ca *ca;
    time_t now;
    uint64_t made, kept;
};

static int issue(struct issuing *run, struct pd_certificate *wanted, struct pd_error *error)
{
    time_t days = (time_t)run->set->days;
    wanted->from = run->now - PD_CA_BACK_S; /* clocks differ */
    wanted->until = run->now + days * DAY_S;
    /* What is there is left alone for the first half of its life. */
    const char *why =
        run->set->renew ? "" : pd_cli_ca_lacks(run->ca, wanted, run->now + days * DAY_S / 2);
    if (!why) {
        run->kept++;
        return 0;
    }
    int err = pd_cli_ca_issue(run->ca, wanted, error);
    if (err) {
        return err;
    }
    run->made++;
    printf("%s/%s.pem  %s %s%s", run->folder, wanted->file, wanted->role, wanted->name,
           wanted->hosts ? "  for" : "");
    for (size_t i = 0; wanted->hosts && wanted->hosts[i]; i++) {
        printf("%c%s", i ? ',' : ' ', wanted->hosts[i]);
    }
    printf("%s%s%s\n", *why ? "  (was made anew: " : "", why, *why ? ")" : "");
    return 0;
}

/* ---- people and the controller ---- */

static int issue_people(struct issuing *run, struct pd_error *error)
{
    static const char *const roles[] = {"read", "install", "admin"};
    int err = 0;
    for (size_t i = 0; !err && i < sizeof roles / sizeof roles[0]; i++) {
        struct pd_certificate wanted = {.file = roles[i], .role = roles[i], .name = roles[i]};
        err = issue(run, &wanted, error);
    }
    return err;
}

static bool is_address(const char *text)
{
    return strchr(text, ':') || strspn(text, "0123456789.") == strlen(text);
}

/* The list is cut at its commas. */
static int split(char *list, const char *names[HOSTS_MAX + 1], struct pd_error *error)
{
    size_t len = 0;
    char *rest;
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (len == HOSTS_MAX || (!is_address(name) && !pd_cli_certificate_is_dns_name(name))) {
            return pd_fail(error, -PD_E_VALUE,
                           "--controller: expects at most %d names or addresses, as in "
                           "controller.example,10.0.0.9",
                           HOSTS_MAX);
        }
        names[len++] = name;
    }
    names[len] = NULL;
    return len ? 0 : pd_fail(error, -PD_E_VALUE, "--controller: expects a name");
}

static int issue_controller(struct issuing *run, struct pd_error *error)
{
    const char *names[HOSTS_MAX + 1];
    char *list = strdup(run->set->controller);
    int err = list ? split(list, names, error) : pd_fail(error, -ENOMEM, "no memory");
    if (!err) {
        struct pd_certificate wanted = {
            .file = "controller", .role = "admin", .name = names[0], .hosts = names};
        err = issue(run, &wanted, error);
    }
    free(list);
    return err;
}

/* ---- hosts ---- */

static int issue_host(struct issuing *run, const json_t *entry, struct pd_error *error)
{
    const struct pd_cli_reader reader = {"the entry of a host", error};
    const char *url = json_string_value(json_object_get(entry, "url"));
    const char *name = json_string_value(json_object_get(entry, "name"));
    char file[32], id_text[16], host[PD_HTTP_URL_BYTES];
    const char *hosts[3] = {NULL};
    size_t len = 0;
    uint64_t id;
    int err = pd_cli_read_number(&reader, entry, "id", UINT32_MAX, &id);
    if (err) {
        return err;
    }
    if (!url || pd_http_url_check(url, error)) {
        return url ? pd_fail_within(error, "url")
                   : pd_fail(error, -PD_E_VALUE, "url: expects a string");
    }
    if (!pd_http_url_host(url, host, sizeof host)) {
        hosts[len++] = host;
    }
    if (name && pd_cli_certificate_is_dns_name(name) && (!len || strcmp(name, host) != 0)) {
        hosts[len++] = name;
    }
    snprintf(file, sizeof file, "host-%" PRIu64, id);
    snprintf(id_text, sizeof id_text, "%" PRIu64, id);
    struct pd_certificate wanted = {
        .file = file, .role = "agent", .name = id_text, .hosts = len ? hosts : NULL};
    return issue(run, &wanted, error);
}

static int issue_hosts(struct issuing *run, struct pd_error *error)
{
    const char *file = run->set->hosts;
    json_error_t where;
    json_t *hosts = json_load_file(file, JSON_REJECT_DUPLICATES, &where), *entry;
    char place[400];
    size_t i;
    int err = 0;
    if (!json_is_array(hosts)) {
        json_decref(hosts);
        return hosts ? pd_fail(error, -PD_E_SYNTAX,
                               "%.200s: expects an array [{\"id\", \"name\", \"url\"}, …]", file)
                     : pd_fail(error, -PD_E_SYNTAX, "%.200s: line %d: %.200s", file, where.line,
                               where.text);
    }
    json_array_foreach(hosts, i, entry)
    {
        err = issue_host(run, entry, error);
        if (err) {
            snprintf(place, sizeof place, "%.200s: [%zu]", file, i);
            pd_fail_within(error, place);
            break;
        }
    }
    json_decref(hosts);
    return err;
}

/* ---- switches ---- */

/* Known by its name in the topology; the file bears it, too, where a file can. */
static int issue_switch(struct issuing *run, const struct pd_switch *sw, struct pd_error *error)
{
    bool plain = pd_cli_certificate_is_dns_name(sw->name);
    const char *hosts[] = {sw->name, NULL};
    char file[128];
    if (plain) {
        snprintf(file, sizeof file, "switch-%s", sw->name);
    } else {
        snprintf(file, sizeof file, "switch-%" PRIu32, sw->id);
    }
    struct pd_certificate wanted = {
        .file = file, .role = "switch", .name = sw->name, .hosts = plain ? hosts : NULL};
    return issue(run, &wanted, error);
}

static int issue_switches(struct issuing *run, struct pd_error *error)
{
    struct pd_topology *topology = NULL;
    int err = run->set->topology ? pd_topology_read(run->set->topology, &topology, error) : 0;
    for (uint32_t i = 0; topology && !err && i < topology->switches_len; i++) {
        err = issue_switch(run, &topology->switches[i], error);
    }
    pd_topology_free(topology);
    return err;
}

/* ---- the command ---- */

static int check(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct stat found;
    (void)words;
    if (!stat(set->hosts, &found) &&
        (!S_ISREG(found.st_mode) || found.st_size > HOSTS_FILE_MAX_BYTES)) {
        return pd_fail(error, -PD_E_VALUE, "--hosts: %.200s is no file, or larger than 64 MiB",
                       set->hosts);
    }
    return 0;
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct issuing run = {.set = set, .folder = words->words[0], .now = time(NULL)};
    uint64_t ca_days = set->days > CA_DAYS ? set->days : CA_DAYS;
    bool made;
    int err = pd_cli_ca_open(run.folder, run.now + (time_t)ca_days * DAY_S, &run.ca, &made, error);
    if (err) {
        return err;
    }
    printf("%s/ca.pem  the CA%s\n", run.folder, made ? "" : ", as it was");
    err = issue_controller(&run, error);
    if (!err) {
        err = issue_people(&run, error);
    }
    if (!err) {
        err = issue_hosts(&run, error);
    }
    if (!err) {
        err = issue_switches(&run, error);
    }
    pd_cli_ca_free(run.ca);
    printf("%" PRIu64 " certificates made, each with its .key beside it; %" PRIu64
           " left as they were\n",
           run.made, run.kept);
    return err;
}

const struct pd_cli_command pd_cli_ca = {
    .name = "ca",
    .synopsis = "DIR --controller NAMES --hosts FILE  [options]",
    .help = "make a test CA and the certificates of a fleet",
    .details =
        "Writes into DIR, each certificate beside its private key, which only you can read:\n"
        "\tca.pem\twhat all of them trust; ca.key belongs to nobody but who issues certificates\n"
        "\tcontroller.pem\tof the controller: role admin\n"
        "\thost-ID.pem\tof each agent: role agent, good for the host of its URL and for its name\n"
        "\tswitch-NAME.pem\tof each switch of --topology: known by that name, OpenFlow alone\n"
        "\tread.pem, install.pem, admin.pem\tof people, by what they may do\n"
        "Run again, it makes what is missing, what has passed half of its time, and what is for an "
        "address that a host no longer has; the CA stays. ECDSA with the curve P-256. Keys are not "
        "encrypted: for test beds and trials. ca revoke and ca renew do the rest.",
    .options = options,
    .required = "controller hosts",
    .words = "DIR",
    .words_min = 1,
    .words_max = 1,
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = run,
};
