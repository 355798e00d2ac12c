/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump pint decode`: a capture file's flows with their paths and what their hops measured. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "cli/cli.h"
#include "cli/pint_decode.h"
#include "codec/pint/encode.h"
#include "codec/pint/values.h"
#include "intake/intake.h"
#include "packet/sample.h"

#define FLOWS_MAX (1u << 20)
struct settings {
    const char *topology;
    const char *plan;
    uint64_t known_bits;
    enum pd_pint_method method;
    bool no_topology;
    bool json;
};

/* ---- flows */

static int grow(struct pd_cli_pint_decoder *decoder)
{
    uint32_t room = decoder->flows_room;
    int err = PD_GROW(decoder->flows, room, room ? (size_t)room + 1 : 256);
    uint32_t *table = err ? NULL : calloc((size_t)room * 2, sizeof *table);

    if (!table) {
        return -ENOMEM;
    }
    free(decoder->table);
    decoder->table = table;
    decoder->table_mask = 2 * room - 1;
    decoder->flows_room = room;
    for (uint32_t f = 0; f < decoder->flows_len; f++) {
        uint64_t at = pd_flow_id_hash(&decoder->flows[f]->id);
        while (table[at & decoder->table_mask]) {
            at++;
        }
        table[at & decoder->table_mask] = f + 1;
    }
    return 0;
}

static struct pd_cli_pint_flow *flow_new(struct pd_cli_pint_decoder *decoder,
                                         const struct pd_flow_id *id)
{
    const struct pd_topology *topology = decoder->pint.topology;
    const uint32_t src = pd_topology_tor_alone(topology, &id->src, id->ip_version);
    const uint32_t dst = pd_topology_tor_alone(topology, &id->dst, id->ip_version);
    struct pd_cli_pint_flow *flow = calloc(1, sizeof *flow);

    if (!flow || pd_pint_flow_new(decoder->receiver, src, dst, &flow->state)) {
        free(flow);
        return NULL;
    }
    flow->id = *id;
    return flow;
}

static int find_flow(struct pd_cli_pint_decoder *decoder, const struct pd_flow_id *id,
                     struct pd_cli_pint_flow **ret_flow)
{
    int err = decoder->flows_len == decoder->flows_room ? grow(decoder) : 0;
    uint64_t at = pd_flow_id_hash(id);

    if (err) {
        return err;
    }
    for (; decoder->table[at & decoder->table_mask]; at++) {
        struct pd_cli_pint_flow *flow =
            decoder->flows[decoder->table[at & decoder->table_mask] - 1];
        if (pd_flow_id_equal(&flow->id, id)) {
            *ret_flow = flow;
            return 0;
        }
    }
    if (decoder->flows_len == FLOWS_MAX) {
        return -PD_E_FULL;
    }
    struct pd_cli_pint_flow *flow = flow_new(decoder, id);
    if (!flow) {
        return -ENOMEM;
    }
    decoder->flows[decoder->flows_len++] = flow;
    decoder->table[at & decoder->table_mask] = decoder->flows_len;
    *ret_flow = flow;
    return 0;
}

static void measured_done(struct pd_cli_pint_measured *measured)
{
    for (size_t h = 0; h < measured->len; h++) {
        pd_telemetry_histogram_done(&measured->histograms[h]);
    }
    free(measured->histograms);
}

static void decoder_done(struct pd_cli_pint_decoder *decoder)
{
    for (uint32_t f = 0; f < decoder->flows_len; f++) {
        for (size_t r = 0; r < PD_PINT_RECORDS_MAX; r++) {
            measured_done(&decoder->flows[f]->measured[r]);
        }
        pd_pint_flow_free(decoder->flows[f]->state);
        free(decoder->flows[f]);
    }
    free(decoder->flows);
    free(decoder->table);
    pd_pint_receiver_free(decoder->receiver);
    pd_cli_pint_close(&decoder->pint);
}

/* ---- packets */

static int count_code(struct pd_cli_pint_decoder *decoder, struct pd_cli_pint_measured *measured,
                      unsigned query, uint32_t hop, uint32_t hops, unsigned code)
{
    const struct pd_pint_plan *plan = decoder->pint.plan;

    if (!measured->histograms) {
        measured->hops = hops;
        measured->len = (size_t)plan->queries_len * (hops + 1);
        measured->histograms = calloc(measured->len, sizeof *measured->histograms);
    }
    if (!measured->histograms) {
        measured->len = 0;
        return -ENOMEM;
    }
    if (hop > measured->hops) {
        return 0;
    }
    struct pd_telemetry_histogram *histogram =
        &measured->histograms[query * (measured->hops + 1) + hop];
    if (!histogram->counts && pd_telemetry_histogram_init(histogram, plan->queries[query].codes)) {
        return -ENOMEM;
    }
    pd_telemetry_histogram_add(histogram, code, 1);
    return 0;
}

/* What the switches measured, hop by hop, before it is known which switches they are. */
static int count_values(struct pd_cli_pint_decoder *decoder, struct pd_cli_pint_measured *measured,
                        const struct pd_pint_draw *draw, uint16_t digest)
{
    struct pd_pint_code_at codes[PD_PINT_BITS_MAX];
    const size_t len = pd_pint_values(decoder->pint.plan, draw, digest, codes);
    int err = 0;

    for (size_t i = 0; !err && i < len; i++) {
        err =
            count_code(decoder, measured, codes[i].query, codes[i].hop, draw->hops, codes[i].code);
    }
    return err;
}

static int take_packet(struct pd_cli_pint_decoder *decoder, const struct pd_packet *packet,
                       const uint8_t *frame, size_t captured)
{
    const struct pd_pint_plan *plan = decoder->pint.plan;
    const uint32_t hops = pd_packet_hops(pd_packet_ttl(frame, packet));
    struct pd_cli_pint_flow *flow;
    uint16_t digest;
    size_t record;

    if (!pd_pint_digest(plan, frame, packet, &digest) || hops > PD_PINT_HOPS_MAX) {
        decoder->without_digest++;
        return 0;
    }
    int err = find_flow(decoder, &packet->flow, &flow);
    if (err) {
        decoder->flows_full += err == -PD_E_FULL;
        return err == -PD_E_FULL ? 0 : err;
    }
    const uint32_t packet_id = pd_packet_id(frame, captured, packet, plan->seed);
    struct pd_pint_draw draw;
    pd_pint_draw(plan, &packet_id, &hops, 1, &draw);
    err = pd_pint_flow_add(flow->state, packet_id, digest, hops, &draw, &record);
    return err ? err : count_values(decoder, &flow->measured[record], &draw, digest);
}

static void on_frame(void *context, const struct pd_packet *packet, const uint8_t *frame,
                     size_t captured, size_t wire, uint64_t time_ns)
{
    struct pd_cli_pint_decoder *decoder = context;

    (void)wire;
    (void)time_ns;
    if (!decoder->err) {
        decoder->err = take_packet(decoder, packet, frame, captured);
    }
}

static bool forget(void *context, const struct pd_trajectory_record *record)
{
    (void)context;
    (void)record;
    return true;
}

static int read_file(struct pd_cli_pint_decoder *decoder, const char *file, struct pd_error *error)
{
    static const atomic_bool wanted = true;
    const struct pd_intake_tap tap = {decoder, &wanted, on_frame};
    const struct pd_intake_config config = {
        .trajectory = PD_TRAJECTORY_DEFAULTS,
        .tap = &tap,
        .wake_fd = -1,
    };
    const struct pd_trajectory_sink sink = {.evicted = forget};
    struct pd_intake *intake = NULL;
    struct pd_intake_status status;
    char spec[4200];
    int err;

    snprintf(spec, sizeof spec, "pcap:%s", file);
    err = pd_intake_open(spec, &config, &sink, &intake, error);
    if (err) {
        return err;
    }
    do {
        err = pd_intake_poll(intake, 0);
    } while (!err && !decoder->err);
    if (decoder->err) {
        err = pd_fail(error, decoder->err, "%s: %s", file, pd_error_text(decoder->err));
    } else if (err == -PD_E_EOF) {
        err = 0;
    } else {
        pd_intake_status(intake, &status);
        pd_fail(error, err, "%s: %s", file, status.detail);
    }
    pd_intake_close(intake);
    return err;
}

static void tell_losses(const struct pd_cli_pint_decoder *decoder)
{
    const struct pd_pint_counters *counters = pd_pint_receiver_counters(decoder->receiver);

    if (decoder->without_digest) {
        fprintf(stderr, "%" PRIu64 " packets without a digest\n", decoder->without_digest);
    }
    if (decoder->flows_full || counters->flows_full) {
        fprintf(stderr, "%" PRIu64 " packets and %" PRIu64 " flows left out: no room\n",
                decoder->flows_full, counters->flows_full);
    }
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct pd_cli_pint_decoder decoder = {0};
    const struct settings *set = settings;
    int err = pd_cli_pint_open(set->topology, set->plan, &decoder.pint, error);
    const struct pd_pint_receiver_config config = {.topology = decoder.pint.topology,
                                                   .plan = decoder.pint.plan,
                                                   .method = set->method,
                                                   .no_topology = set->no_topology,
                                                   .known_bits = (unsigned)set->known_bits};

    if (!err) {
        err = pd_pint_receiver_new(&config, &decoder.receiver);
        err = err ? pd_fail(error, err, "%s", pd_error_text(err)) : 0;
    }
    if (!err) {
        err = read_file(&decoder, words->words[0], error);
    }
    if (!err) {
        err = pd_cli_pint_print(&decoder, set->json, error);
    }
    if (!err) {
        tell_losses(&decoder);
    }
    decoder_done(&decoder);
    return err;
}

/* ---- the command */

static int set_solver(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct settings *set = target;

    if (strcmp(value, "joint") != 0 && strcmp(value, "peel") != 0) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects joint or peel, not \"%.100s\"", name,
                       value);
    }
    set->method = strcmp(value, "peel") ? PD_PINT_JOINT : PD_PINT_PEEL;
    return 0;
}

static const struct pd_option options[] = {
    {.name = "topology",
     .type = PD_OPTION_STRING,
     .value = "FILE",
     .offset = offsetof(struct settings, topology),
     .help = "the topology file"},
    {.name = "plan",
     .type = PD_OPTION_STRING,
     .value = "FILE",
     .offset = offsetof(struct settings, plan),
     .help = "the telemetry plan"},
    {.name = "known-bits",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, known_bits),
     .min = 1,
     .max = 1000,
     .value = "N",
     .fallback = "20",
     .help = "bits of digests of each hop that make a decided path known"},
    {.name = "no-topology",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, no_topology),
     .help = "each hop may be any switch, as in the paper"},
    {.name = "solver",
     .type = PD_OPTION_CALLBACK,
     .value = "joint|peel",
     .fallback = "joint",
     .set = set_solver,
     .help = "all that is known together, or hop by hop as in the paper"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object a flow, for programs"},
    {0},
};

const struct pd_cli_command pd_cli_pint_decode = {
    .name = "pint decode",
    .synopsis = "--topology FILE --plan FILE [--known-bits N] [--no-topology] "
                "[--solver joint|peel] [--json] FILE",
    .help = "paths and values of hops from the digests of a capture file",
    .details =
        "Reads a pcap or pcapng file and prints a line for each flow. A path is decided when one "
        "simple path alone fits all digests of the flow, and known when besides each of its hops "
        "has been covered by enough bits of digests. Where nothing in the topology fits, the walk "
        "really taken is worked out without the cables: miscabled; if that fails, too, the flow is "
        "infeasible.\n"
        "With --json, also the packets until then, candidates that are left, changes of the path, "
        "and for each switch and where it sends the quantiles of what it measured.",
    .options = options,
    .required = "topology plan",
    .words = "FILE",
    .words_min = 1,
    .words_max = 1,
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
