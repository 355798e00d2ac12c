/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump probes encode`: the frame of a probe, as its carrier writes it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "probe/carrier.h"

struct settings {
    const char *topology;
    const struct pd_probe_carrier *carrier;
    uint32_t path[PD_TELEMETRY_HOPS_MAX]; /* IDs */
    uint32_t path_len;
    struct pd_addr ends[2]; /* source, destination */
    uint8_t ip_versions[2];
    uint64_t plan, number, seq, sent_ns;
    uint8_t key[PD_SIPHASH_KEY_BYTES];
    bool json;
};

static int set_carrier(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;
    set->carrier = pd_probe_carrier_find(value);
    return set->carrier ? 0
                        : pd_fail(error, -PD_E_VALUE,
                                  "%s: expects sr-int or srv6-ioam, not \"%.100s\"", name, value);
}

static int set_path(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;
    if (pd_switches_parse(value, set->path, PD_TELEMETRY_HOPS_MAX, &set->path_len)) {
        return pd_fail(error, -PD_E_VALUE,
                       "%s: expects 1 to %d switch IDs as in 1,9,17, not \"%.100s\"", name,
                       PD_TELEMETRY_HOPS_MAX, value);
    }
    return 0;
}

static int set_end(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;
    int end = !strcmp(name, "dst");
    if (pd_addr_parse(value, &set->ends[end], &set->ip_versions[end])) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects an IPv4 or IPv6 address, not \"%.100s\"",
                       name, value);
    }
    return 0;
}

static int set_key(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;
    size_t bytes;
    if (pd_hex_parse(value, set->key, sizeof set->key, &bytes) || bytes != sizeof set->key) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects %zu bytes as %zu hexadecimal digits", name,
                       sizeof set->key, 2 * sizeof set->key);
    }
    return 0;
}

#define OPTION_NUMBER(NAME, MEMBER, MAX, HELP)                                            \
    {                                                                                     \
        .name = NAME, .type = PD_OPTION_U64, .offset = offsetof(struct settings, MEMBER), \
        .max = MAX, .value = "N", .help = HELP,                                           \
    }

static const struct pd_option options[] = {
    {.name = "topology",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, topology),
     .value = "FILE",
     .help = "topology file"},
    {.name = "carrier",
     .type = PD_OPTION_CALLBACK,
     .value = "sr-int|srv6-ioam",
     .set = set_carrier,
     .help = "what carries the probe"},
    {.name = "path",
     .type = PD_OPTION_CALLBACK,
     .value = "LIST",
     .set = set_path,
     .help = "switch IDs, first to last, as in 1,9,17,11,3"},
    {.name = "src",
     .type = PD_OPTION_CALLBACK,
     .value = "IP",
     .set = set_end,
     .help = "address of the host that sends"},
    {.name = "dst",
     .type = PD_OPTION_CALLBACK,
     .value = "IP",
     .set = set_end,
     .help = "address of the host that collects"},
    OPTION_NUMBER("plan", plan, UINT32_MAX, "number of the plan"),
    OPTION_NUMBER("number", number, UINT32_MAX, "number of the path in the plan"),
    OPTION_NUMBER("seq", seq, UINT32_MAX, "sequence number of the probe"),
    OPTION_NUMBER("sent-ns", sent_ns, 0, "when it is sent, by the host's clock"),
    {.name = "key",
     .type = PD_OPTION_CALLBACK,
     .value = "HEX",
     .set = set_key,
     .help = "key of the plan, 16 bytes; zeros without it"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "one JSON object"},
    {0},
};

static int check(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    (void)words;
    return set->ip_versions[0] == set->ip_versions[1]
               ? 0
               : pd_fail(error, -PD_E_VALUE, "--src and --dst are not of one IP version");
}

static int find_switches(const struct settings *set, const struct pd_topology *topology,
                         uint32_t *switches, struct pd_error *error)
{
    for (uint32_t n = 0; n < set->path_len; n++) {
        switches[n] = pd_topology_switch(topology, set->path[n]);
        if (switches[n] == PD_NONE) {
            return pd_fail(error, -PD_E_NOT_FOUND,
                           "--path: %" PRIu32 " is no switch of the topology", set->path[n]);
        }
    }
    return 0;
}

static int print_frame(const struct settings *set, const uint8_t *frame, size_t bytes,
                       struct pd_error *error)
{
    char hex[2 * PD_PROBE_CARRIER_FRAME_MAX + 1] = "";
    for (size_t n = 0; n < bytes; n++) {
        snprintf(hex + 2 * n, 3, "%02x", frame[n]);
    }
    if (set->json) {
        return pd_cli_json_print(json_pack("{s:s}", "frame", hex), error);
    }
    puts(hex);
    return PD_CLI_OK;
}

static int encode(const struct settings *set, const struct pd_topology *topology,
                  struct pd_error *error)
{
    uint32_t switches[PD_TELEMETRY_HOPS_MAX];
    uint8_t frame[PD_PROBE_CARRIER_FRAME_MAX];
    size_t bytes = 0;
    struct pd_probe_carrier_request request = {.topology = topology,
                                               .switches = switches,
                                               .switches_len = set->path_len,
                                               .src = set->ends[0],
                                               .dst = set->ends[1],
                                               .ip_version = set->ip_versions[0],
                                               .head = {.plan = (uint32_t)set->plan,
                                                        .number = (uint32_t)set->number,
                                                        .seq = (uint32_t)set->seq,
                                                        .sent_ns = set->sent_ns}};
    memcpy(request.key, set->key, sizeof request.key);
    int err = find_switches(set, topology, switches, error);
    err = err ? err : set->carrier->encode(&request, frame, &bytes, error);
    return err ? err : print_frame(set, frame, bytes, error);
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_topology *topology = NULL;
    (void)words;
    int err = pd_topology_read(set->topology, &topology, error);
    err = err ? err : encode(set, topology, error);
    pd_topology_free(topology);
    return err;
}

const struct pd_cli_command pd_cli_probes_encode = {
    .name = "probes encode",
    .synopsis = "--topology FILE --carrier sr-int|srv6-ioam --path LIST --src IP --dst IP "
                "[--plan N] [--number N] [--seq N] [--sent-ns N] [--key HEX] [--json]",
    .help = "frame of a probe over a path",
    .details = "Prints the Ethernet frame that a host sends, in hexadecimal. sr-int: a stack of "
               "port numbers in a UDP packet, up to 64 switches. srv6-ioam: segments and an IOAM "
               "trace, up to 15 switches, over IPv6; the topology gives each switch its \"sid\".",
    .options = options,
    .required = "topology carrier path src dst",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = run,
};
