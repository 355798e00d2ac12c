/* SPDX-License-Identifier: Apache-2.0 */
/* A table of flows by hash, one place each. */
#include "intake/report/postcards.h"

#include <stdlib.h>
#include <string.h>

struct waiting {
    bool used;
    struct pd_flow_id flow;
    struct pd_postcards_list list;
    uint32_t counts[PD_POSTCARDS_HOPS];
};

struct pd_postcards {
    pd_postcards_out *out;
    void *context;
    struct waiting flows[PD_POSTCARDS_FLOWS];
};

struct pd_postcards *pd_intake_postcards_new(pd_postcards_out *out, void *context)
{
    struct pd_postcards *postcards = calloc(1, sizeof *postcards);

    if (postcards) {
        postcards->out = out;
        postcards->context = context;
    }
    return postcards;
}

void pd_intake_postcards_free(struct pd_postcards *postcards)
{
    free(postcards);
}

/* By time where switches tell it; those without keep the order in which they came. */
static void sort_hops(struct pd_telemetry *telemetry)
{
    for (uint32_t i = 1; i < telemetry->hops_len; i++) {
        const struct pd_telemetry_hop hop = telemetry->hops[i];
        uint32_t at = i;

        for (; at > 0 && hop.known & telemetry->hops[at - 1].known & PD_TELEMETRY_INGRESS &&
               hop.ingress_ns < telemetry->hops[at - 1].ingress_ns;
             at--) {
            telemetry->hops[at] = telemetry->hops[at - 1];
        }
        telemetry->hops[at] = hop;
    }
}

static void let_out(struct pd_postcards *postcards, struct waiting *waiting)
{
    struct pd_postcards_list *list = &waiting->list;

    for (uint32_t i = 0; i < list->telemetry.hops_len; i++) {
        list->pkts = waiting->counts[i] > list->pkts ? waiting->counts[i] : list->pkts;
    }
    sort_hops(&list->telemetry);
    postcards->out(postcards->context, list);
    waiting->used = false;
}

static struct waiting *find(struct pd_postcards *postcards, const struct pd_flow_id *flow,
                            const uint8_t *frame, size_t captured, size_t wire, uint64_t time_ns)
{
    struct waiting *waiting = &postcards->flows[pd_flow_id_hash(flow) % PD_POSTCARDS_FLOWS];

    if (waiting->used && !pd_flow_id_equal(&waiting->flow, flow)) {
        let_out(postcards, waiting);
    }
    if (!waiting->used) {
        captured = captured < PD_POSTCARDS_BYTES ? captured : PD_POSTCARDS_BYTES;
        *waiting = (struct waiting){.used = true,
                                    .flow = *flow,
                                    .list = {.telemetry = {.kind = PD_TELEMETRY_INT_XD},
                                             .time_ns = time_ns,
                                             .captured = captured,
                                             .wire = wire}};
        memcpy(waiting->list.frame, frame, captured);
    }
    return waiting;
}

void pd_intake_postcards_add(struct pd_postcards *postcards, const struct pd_flow_id *flow,
                             const struct pd_telemetry_hop *hop, const uint8_t *frame,
                             size_t captured, size_t wire, uint64_t time_ns)
{
    struct waiting *waiting = find(postcards, flow, frame, captured, wire, time_ns);
    struct pd_telemetry *telemetry = &waiting->list.telemetry;
    uint32_t at = 0;

    while (at < telemetry->hops_len && telemetry->hops[at].node != hop->node) {
        at++;
    }
    if (at == PD_POSTCARDS_HOPS) {
        telemetry->cut = true;
        return;
    }
    if (at == telemetry->hops_len) {
        telemetry->hops[telemetry->hops_len++] = *hop;
    }
    waiting->counts[at]++;
}

void pd_intake_postcards_sweep(struct pd_postcards *postcards, uint64_t now_ns)
{
    for (size_t i = 0; i < PD_POSTCARDS_FLOWS; i++) {
        struct waiting *waiting = &postcards->flows[i];

        if (waiting->used &&
            (now_ns == UINT64_MAX || now_ns - waiting->list.time_ns >= PD_POSTCARDS_NS)) {
            let_out(postcards, waiting);
        }
    }
}
