/* SPDX-License-Identifier: Apache-2.0 */
/* From a compiled plan to the tables of a switch. */
#include "pint.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "tables.h"
#include "topology/links.h"

#define LINK_MBPS 1000 /* where the topology does not say: the bed's own links have no rate */
#define GAP_MAX   (UINT64_C(1) << 47) /* what 16 random bits can be multiplied with */

_Static_assert(PINT_QUERIES == PD_PINT_QUERIES_MAX && PINT_SETS == PD_PINT_SETS_MAX,
               "a plan fits into the tables");
_Static_assert(PINT_FIELDS == PD_PINT_BITS_MAX, "all fields of a digest fit into a row");
_Static_assert(PINT_LAYERS == PD_PINT_LAYERS_MAX, "all layers of a query fit into a row");
_Static_assert(PINT_CODES == PD_PINT_CODES_MAX, "all codes of a query fit into a table");
_Static_assert((int)PINT_STATIC == (int)PD_PINT_STATIC && (int)PINT_LOOP == (int)PD_PINT_LOOP &&
                   (int)PINT_SUM == (int)PD_PINT_SUM,
               "the words are the same");

static int source_of(const struct pd_pint_query *query, uint16_t *ret_source,
                     struct pd_error *error)
{
    const bool is_static = query->aggregation == PD_PINT_STATIC;

    switch (query->value) {
    case PD_PINT_SWITCH_ID: *ret_source = PINT_SWITCH_ID; return 0;
    case PD_PINT_INGRESS_PORT: *ret_source = PINT_INGRESS_PORT; return 0;
    case PD_PINT_QUEUE: *ret_source = PINT_QUEUE; break;
    case PD_PINT_UTILISATION: *ret_source = PINT_UTILISATION; break;
    default: *ret_source = PINT_HOP_LATENCY; break;
    }
    if (query->value == PD_PINT_HIGH_LATENCY && query->values[query->codes - 1] <= 1) {
        return pd_fail(error, -PD_E_UNSUPPORTED,
                       "query %s: codes that say from how many nanoseconds a latency is high",
                       query->name);
    }
    if (query->aggregation == PD_PINT_LOOP) {
        *ret_source = PINT_SWITCH_ID;
        return 0;
    }
    return is_static
               ? pd_fail(error, -PD_E_UNSUPPORTED,
                         "query %s: a measured value is not the same for all packets", query->name)
               : 0;
}

static int put_query(const struct pd_pint_query *query, struct pint_query *ret_query,
                     struct pd_error *error)
{
    *ret_query = (struct pint_query){
        .aggregation = (uint16_t)query->aggregation,
        .function = (uint16_t)query->function,
        .bits = query->bits,
        .threshold = query->threshold,
        .nearest = query->rounding == PD_PINT_NEAREST,
        .codes = query->codes,
        .fragments = query->coding == PD_PINT_FRAGMENT ? query->fragments : 0,
        .tau = query->tau,
        .layers_len = query->xor_len,
    };
    memcpy(ret_query->layers, query->xor_layers, sizeof ret_query->layers);
    for (unsigned c = 1; c < query->codes && !ret_query->nearest; c++) {
        if (query->values[c] - query->values[c - 1] > GAP_MAX) {
            return pd_fail(error, -PD_E_UNSUPPORTED, "query %s: values farther apart than 2^47",
                           query->name);
        }
    }
    return source_of(query, &ret_query->source, error);
}

static void put_sets(const struct pd_pint_plan *plan, struct pint_plan *ret_plan)
{
    uint32_t upto = 0;

    for (unsigned s = 0; s < plan->sets_len; s++) {
        const struct pd_pint_set *set = &plan->sets[s];
        upto += set->weight;
        ret_plan->sets[s].upto = upto;
        for (unsigned f = 0; f < set->fields_len; f++) {
            const struct pd_pint_query *query = &plan->queries[set->fields[f].query];
            ret_plan->sets[s].fields[f] = (struct pint_field){
                .query = set->fields[f].query,
                .instance = set->fields[f].instance,
                .shift = set->fields[f].shift,
                .bits = (uint8_t)(query->bits + query->counter_bits),
            };
        }
    }
}

static int put_steps(const struct tc_switch *sw, const struct pd_pint_plan *plan)
{
    const int fd = tc_table(sw, "pint_steps");
    int r = 0;

    for (unsigned q = 0; q < plan->queries_len; q++) {
        const struct pd_pint_query *query = &plan->queries[q];
        for (uint32_t c = 0; c < query->codes && r == 0; c++) {
            const uint32_t value = q * 2 * PINT_CODES + c, bound = value + PINT_CODES;
            r = bpf_map_update_elem(fd, &value, &query->values[c], BPF_ANY);
            r = r < 0 ? r : bpf_map_update_elem(fd, &bound, &query->bounds[c], BPF_ANY);
        }
    }
    return r;
}

/* As of struct pint_port in pint.bpf.h. */
struct port_row {
    uint64_t capacity_bytes, last_ns, used_ppm;
};

static uint64_t capacity_of(const struct tc_switch *sw, uint16_t port)
{
    const uint32_t link = pd_topology_links_by_port(sw->topology, sw->index, port);
    const uint32_t own = link == PD_NONE ? 0 : pd_links_of(sw->topology, link)->mbps;

    return (uint64_t)(own ? own : LINK_MBPS) * 125000 * PINT_WINDOW_NS / 1000000000;
}

static int put_ports(const struct tc_switch *sw)
{
    const struct pd_switch *entry = &sw->topology->switches[sw->index];
    const int fd = tc_table(sw, "pint_ports");
    int r = 0;

    for (uint32_t i = 0; i < entry->neighbours_len && r == 0; i++) {
        const uint32_t port = entry->neighbours[i].port;
        const struct port_row row = {.capacity_bytes = capacity_of(sw, (uint16_t)port)};
        r = bpf_map_update_elem(fd, &port, &row, BPF_ANY);
    }
    return r;
}

static int put_hosts(const struct tc_switch *sw)
{
    const struct pd_switch *entry = &sw->topology->switches[sw->index];
    const int fd = tc_table(sw, "pint_hosts");
    int r = 0;

    for (uint32_t i = 0; i < entry->neighbours_len && r == 0; i++) {
        const uint32_t port = entry->neighbours[i].port, is_host = entry->neighbours[i].is_host;
        r = bpf_map_update_elem(fd, &port, &is_host, BPF_ANY);
    }
    return r;
}

/* The plan itself comes last: until then nobody reads the rest. */
int tc_pint_put(const struct tc_switch *sw, const struct pd_pint_plan *plan, struct pd_error *error)
{
    static struct pint_plan tables;
    const uint32_t zero = 0;
    int err = 0;

    tables = (struct pint_plan){.on = 1, .seed = plan->seed, .sets_len = plan->sets_len};
    if (plan->carrier != PD_PINT_TAG) {
        return pd_fail(error, -PD_E_UNSUPPORTED, "carrier: these switches write tags alone");
    }
    for (unsigned q = 0; q < plan->queries_len && !err; q++) {
        err = put_query(&plan->queries[q], &tables.queries[q], error);
    }
    if (err) {
        return err;
    }
    for (unsigned q = 0; q < plan->queries_len; q++) {
        tables.at_egress |= tables.queries[q].source >= PINT_QUEUE;
    }
    put_sets(plan, &tables);
    err = put_hosts(sw);
    err = err < 0 ? err : put_ports(sw);
    err = err < 0 ? err : put_steps(sw, plan);
    err = err < 0 ? err : bpf_map_update_elem(tc_table(sw, "pint"), &zero, &tables, BPF_ANY);
    return err < 0 ? pd_fail(error, err, "switch %u: plan: %s", sw->id, strerror(-err)) : 0;
}
