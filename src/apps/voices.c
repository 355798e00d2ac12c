/* SPDX-License-Identifier: Apache-2.0 */
/* Whose word a finding is. */
#include "apps/voices.h"

#include <inttypes.h>
#include <stdio.h>

#include "apps/rows.h"

static void hear(uint32_t host, bool any, uint32_t *first, bool *several)
{
    *several |= any && *first != host;
    *first = any ? *first : host;
}

void pd_app_voices_add(struct pd_app_voices *voices, const struct pd_topology *topology,
                       const struct pd_flow_id *flow)
{
    hear(pd_app_host_of(topology, &flow->dst, flow->ip_version), voices->any, &voices->told,
         &voices->told_by_several);
    hear(pd_app_host_of(topology, &flow->src, flow->ip_version), voices->any, &voices->sent,
         &voices->sent_by_several);
    voices->any = true;
}

static const char *name_of(uint32_t host, bool several, char text[32])
{
    if (several) {
        return "several hosts";
    }
    snprintf(text, 32, host ? "host %" PRIu32 " alone" : "one address", host);
    return text;
}

void pd_app_voices_say(const struct pd_app_voices *voices, const char *what,
                       struct pd_report *report)
{
    char told[32], sent[32];

    if (!voices->any) {
        return;
    }
    pd_app_report_evidence(report,
                           "%s: this is the word of %s, which received it; it was sent by %s", what,
                           name_of(voices->told, voices->told_by_several, told),
                           name_of(voices->sent, voices->sent_by_several, sent));
}

struct pd_app_edges pd_app_edges_say(const struct pd_app_call *call, struct pd_report *report)
{
    struct pd_app_edges edges = {.open = 0};

    if (!call->world->ops->edges) {
        return edges;
    }
    call->world->ops->edges(call->world->context, &edges);
    if (edges.open) {
        pd_app_report_lacks(report,
                            "the edge of %" PRIu32 " switches is open (the first is %" PRIu32
                            "): a host there can write link tags of its own",
                            edges.open, edges.first_open);
    }
    if (edges.unknown) {
        pd_app_report_evidence(
            report,
            "whether hosts can write link tags of their own is not known at %" PRIu32
            " switches (the first is %" PRIu32 ")",
            edges.unknown, edges.first_unknown);
    }
    return edges;
}
