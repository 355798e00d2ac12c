/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump telemetry decode`: what switches wrote on a packet. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "telemetry/telemetry.h"

struct settings {
    const char *topology;
    uint64_t dscp;
    bool json;
};

static const struct pd_option options[] = {
    {.name = "topology",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, topology),
     .value = "FILE",
     .help = "topology file"},
    {.name = "int-dscp",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, dscp),
     .max = 63,
     .value = "N",
     .fallback = "23",
     .help = "DSCP of packets that carry INT"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "one JSON object"},
    {0},
};

/* The ID of a switch of the topology, or what was written where that is none. */
static uint32_t id_of(const struct pd_topology *topology, const struct pd_telemetry_hop *hop,
                      uint32_t sw)
{
    return sw == PD_NONE ? hop->node : topology->switches[sw].id;
}

static json_t *json_if(const struct pd_telemetry_hop *hop, enum pd_telemetry_known known,
                       uint64_t value)
{
    return hop->known & known ? json_integer((json_int_t)value) : json_null();
}

static json_t *json_hop(const struct pd_telemetry_hop *hop, uint32_t id)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "switch",
                     json_if(hop, PD_TELEMETRY_NODE, id), "in_port",
                     json_if(hop, PD_TELEMETRY_IN_PORT, hop->in_port), "out_port",
                     json_if(hop, PD_TELEMETRY_OUT_PORT, hop->out_port), "ingress_ns",
                     json_if(hop, PD_TELEMETRY_INGRESS, hop->ingress_ns), "residence_ns",
                     json_if(hop, PD_TELEMETRY_RESIDENCE, hop->residence_ns), "queue_bytes",
                     json_if(hop, PD_TELEMETRY_QUEUE, hop->queue_bytes));
}

static json_t *json_probe(const struct pd_telemetry *found)
{
    return found->probe
               ? json_pack("{s:I, s:I, s:I}", "plan", (json_int_t)found->head.plan, "number",
                           (json_int_t)found->head.number, "seq", (json_int_t)found->head.seq)
               : json_null();
}

static json_t *json_telemetry(const struct pd_telemetry *found, const struct pd_topology *topology,
                              const uint32_t *switches, bool complete)
{
    json_t *path = json_array(), *hops = json_array();
    for (uint32_t n = 0; n < found->hops_len; n++) {
        const struct pd_telemetry_hop *hop = &found->hops[n];
        uint32_t id = id_of(topology, hop, switches[n]);
        json_array_append_new(path, json_if(hop, PD_TELEMETRY_NODE, id));
        json_array_append_new(hops, json_hop(hop, id));
    }
    return json_pack("{s:s, s:o, s:b, s:o, s:o}", "kind", pd_telemetry_kind_name(found->kind),
                     "path", path, "complete", complete, "probe", json_probe(found), "hops", hops);
}

static void print_value(const struct pd_telemetry_hop *hop, enum pd_telemetry_known known,
                        uint64_t value)
{
    if (hop->known & known) {
        printf(" %12" PRIu64, value);
    } else {
        printf(" %12s", "-");
    }
}

static void print_table(const struct pd_telemetry *found, const struct pd_topology *topology,
                        const uint32_t *switches, bool complete)
{
    printf("%s, %s\n%12s %12s %12s %12s %12s %12s\n", pd_telemetry_kind_name(found->kind),
           complete ? "complete" : "incomplete", "switch", "in port", "out port", "residence ns",
           "queue bytes", "ingress ns");
    for (uint32_t n = 0; n < found->hops_len; n++) {
        const struct pd_telemetry_hop *hop = &found->hops[n];
        printf("%12" PRIu32, id_of(topology, hop, switches[n]));
        print_value(hop, PD_TELEMETRY_IN_PORT, hop->in_port);
        print_value(hop, PD_TELEMETRY_OUT_PORT, hop->out_port);
        print_value(hop, PD_TELEMETRY_RESIDENCE, hop->residence_ns);
        print_value(hop, PD_TELEMETRY_QUEUE, hop->queue_bytes);
        print_value(hop, PD_TELEMETRY_INGRESS, hop->ingress_ns);
        putchar('\n');
    }
}

static int decode(const struct settings *set, const struct pd_topology *topology,
                  const uint8_t *frame, size_t bytes, struct pd_error *error)
{
    struct pd_packet packet;
    struct pd_telemetry found;
    uint32_t switches[PD_TELEMETRY_HOPS_MAX];
    enum pd_packet_verdict verdict = pd_packet_parse(frame, bytes, bytes, &packet);
    if (verdict != PD_PACKET_OK) {
        return pd_fail(error, -PD_E_SYNTAX, "frame: %s", pd_packet_verdict_text(verdict));
    }
    int err = pd_telemetry_read(frame, bytes, &packet, (uint8_t)set->dscp, &found);
    if (err) {
        return pd_fail(error, err, "frame: %s",
                       err == -PD_E_NOT_FOUND ? "no telemetry in it" : "malformed telemetry");
    }
    bool complete = pd_telemetry_prove(&found, topology, &packet.flow, switches);
    if (set->json) {
        return pd_cli_json_print(json_telemetry(&found, topology, switches, complete), error);
    }
    print_table(&found, topology, switches, complete);
    return PD_CLI_OK;
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    const char *hex = words->words[0];
    struct pd_topology *topology = NULL;
    size_t bytes = 0;
    uint8_t *frame = malloc(strlen(hex) / 2 + 1);
    if (!frame) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    int err = pd_hex_parse(hex, frame, strlen(hex) / 2, &bytes);
    if (err) {
        err = pd_fail(error, err, "FRAME: expects hexadecimal digits, two a byte");
    }
    err = err ? err : pd_topology_read(set->topology, &topology, error);
    err = err ? err : decode(set, topology, frame, bytes, error);
    pd_topology_free(topology);
    free(frame);
    return err;
}

const struct pd_cli_command pd_cli_telemetry_decode = {
    .name = "telemetry decode",
    .synopsis = "--topology FILE FRAME [--int-dscp N] [--json]",
    .help = "what switches wrote on a packet",
    .details =
        "Reads one Ethernet frame, in hexadecimal: entries of probes, an IOAM trace in IPv6 "
        "options, or INT-MD behind TCP or UDP. Complete is a path whose switches are all there, "
        "joined by links of the topology, from a switch of the source to one of the destination.",
    .options = options,
    .required = "topology",
    .words = "FRAME",
    .words_min = 1,
    .words_max = 1,
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
