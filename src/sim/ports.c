/* SPDX-License-Identifier: Apache-2.0 */
/* Ports' values, and digests. */
#include "sim/ports.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "sim/flows.h"

#define PPM 1e6

struct pd_sim_hpcc_port pd_sim_port_leave(struct pd_sim_port *port,
                                          const struct pd_sim_leaving *leaving, double rtt_ns)
{
    const struct pd_sim_hpcc_port told = {leaving->now_ns, port->sent_bytes,
                                          (uint64_t)leaving->queue_bytes};
    double gap_ns = (double)(leaving->now_ns - port->left_ns);

    gap_ns = gap_ns < rtt_ns ? gap_ns : rtt_ns;
    port->used = port->used * (1 - gap_ns / rtt_ns) +
                 leaving->queue_bytes * gap_ns / (leaving->bytes_ns * rtt_ns * rtt_ns) +
                 leaving->bytes / (leaving->bytes_ns * rtt_ns);
    port->sent_bytes += (uint64_t)leaving->bytes;
    port->left_ns = leaving->now_ns;
    return told;
}

/* ---- digests */

static uint32_t word_of(const uint8_t *bytes)
{
    uint32_t word;

    memcpy(&word, bytes, sizeof word);
    return ntohl(word);
}

uint32_t pd_sim_packet_id(const struct pd_pint_plan *plan, const struct pd_flow_id *flow,
                          uint32_t order)
{
    uint32_t words[13], len = 0, addr_words = flow->ip_version == 4 ? 1 : 4;

    for (uint32_t i = 0; i < addr_words; i++) {
        words[len++] = word_of(flow->src.bytes + 4 * i);
    }
    for (uint32_t i = 0; i < addr_words; i++) {
        words[len++] = word_of(flow->dst.bytes + 4 * i);
    }
    words[len++] = (uint32_t)flow->protocol << 16 | (addr_words == 1 ? order & 0xffff : 0);
    words[len++] = 0;
    words[len++] = (uint32_t)flow->src_port << 16 | flow->dst_port;
    words[len++] = 1 + order * PD_SIM_MSS_BYTES;
    words[len++] = 1;
    return pd_lookup3(plan->seed, words, len);
}

static uint64_t value_of(enum pd_pint_value value, const struct pd_sim_hop *hop,
                         const struct pd_sim_leaving *leaving, const struct pd_sim_port *port)
{
    switch (value) {
    case PD_PINT_SWITCH_ID: return hop->sw;
    case PD_PINT_INGRESS_PORT: return hop->in_port;
    case PD_PINT_QUEUE: return (uint64_t)leaving->met_bytes;
    case PD_PINT_UTILISATION: return (uint64_t)(port->used * PPM);
    default: /* a bit of it is as high as the plan's codes say */
        return leaving->now_ns - leaving->came_ns + (uint64_t)(leaving->bytes / leaving->bytes_ns);
    }
}

void pd_sim_digest(const struct pd_pint_plan *plan, const struct pd_sim_hop *hop,
                   const struct pd_sim_leaving *leaving, const struct pd_sim_port *port,
                   uint16_t *digest)
{
    uint64_t values[PD_PINT_QUERIES_MAX];
    const struct pd_pint_visit visit = {.packet_id = hop->packet_id,
                                        .sw = hop->sw,
                                        .hop = hop->hop,
                                        .first = hop->hop == 1,
                                        .values = values};

    for (unsigned q = 0; q < plan->queries_len; q++) {
        values[q] = value_of(plan->queries[q].value, hop, leaving, port);
    }
    pd_pint_switch(plan, &visit, digest);
}

double pd_sim_digest_used(const struct pd_pint_plan *plan, uint32_t packet_id, uint16_t digest)
{
    int set = pd_pint_set_of(plan, packet_id);

    for (unsigned f = 0; set >= 0 && f < plan->sets[set].fields_len; f++) {
        const struct pd_pint_field *field = &plan->sets[set].fields[f];
        const struct pd_pint_query *query = &plan->queries[field->query];
        if (query->aggregation == PD_PINT_PACKET && query->function == PD_PINT_MAX &&
            query->value == PD_PINT_UTILISATION) {
            uint32_t code = pd_pint_field_bits(query, field, digest);
            return (double)query->values[code < query->codes ? code : query->codes - 1U] / PPM;
        }
    }
    return -1;
}

struct pd_pint_plan *pd_sim_hpcc_plan(void)
{
    struct pd_pint_plan *plan = calloc(1, sizeof *plan);
    double value = 1000;

    if (!plan) {
        return NULL;
    }
    *plan = (struct pd_pint_plan){.seed = 7, .bits = 8, .queries_len = 1, .sets_len = 1};
    struct pd_pint_query *query = &plan->queries[0];
    *query = (struct pd_pint_query){.name = "used",
                                    .aggregation = PD_PINT_PACKET,
                                    .value = PD_PINT_UTILISATION,
                                    .bits = 8,
                                    .instances = 1,
                                    .function = PD_PINT_MAX,
                                    .rounding = PD_PINT_RANDOM,
                                    .codes = PD_PINT_CODES_MAX};
    for (unsigned c = 1; c < PD_PINT_CODES_MAX; c++) {
        query->values[c] = (uint64_t)value;
        value *= 1.025 * 1.025;
    }
    plan->sets[0] = (struct pd_pint_set){.weight = PD_PINT_ONE, .queries_len = 1};
    if (pd_pint_plan_lay_out(plan, NULL)) {
        free(plan);
        return NULL;
    }
    return plan;
}
