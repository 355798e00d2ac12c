/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: each is one line that names the place in the file, what is there and what is expected.
 */
#include "topology/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "topology/draft.h"

static void add(struct pd_findings *findings, const char *place, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static void add(struct pd_findings *findings, const char *place, const char *format, va_list args)
{
    char text[sizeof findings->first];
    if (findings->len++ >= PD_FINDINGS_MAX) {
        return;
    }
    int at = snprintf(text, sizeof text, "%.*s%s%s", 200, findings->file ? findings->file : "",
                      findings->file ? ": " : "", place);
    vsnprintf(text + at, sizeof text - (size_t)at, format, args);
    if (findings->len == 1) {
        memcpy(findings->first, text, sizeof text);
    }
    if (findings->report) {
        findings->report(findings->context, text);
    }
}

void pd_topology_findings_add(struct pd_findings *findings, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add(findings, "", format, args);
    va_end(args);
}

void pd_topology_findings_switch(struct pd_findings *findings, uint32_t sw, const char *format, ...)
{
    char place[32] = "";
    if (findings->draft) {
        snprintf(place, sizeof place, "nodes[%u]: ", findings->draft->by_id[sw]);
    }
    va_list args;
    va_start(args, format);
    add(findings, place, format, args);
    va_end(args);
}

/* The place of the link between two switches; a linear search, since only what is wrong is looked
 * for. */
static size_t find_link(const struct pd_draft *draft, uint32_t a, uint32_t b)
{
    for (size_t i = 0; i < draft->links_len; i++) {
        const struct pd_draft_node *ends[] = {&draft->nodes[draft->links[i].nodes[0]],
                                              &draft->nodes[draft->links[i].nodes[1]]};
        uint32_t source = ends[0]->index, target = ends[1]->index;
        if (ends[0]->role == PD_ROLE_HOST || ends[1]->role == PD_ROLE_HOST) {
            continue;
        }
        if ((source == a && target == b) || (source == b && target == a)) {
            return i;
        }
    }
    return draft->links_len;
}

void pd_topology_findings_link(struct pd_findings *findings, uint32_t a, uint32_t b,
                               const char *format, ...)
{
    char place[32] = "";
    if (findings->draft) {
        snprintf(place, sizeof place, "links[%zu]: ", find_link(findings->draft, a, b));
    }
    va_list args;
    va_start(args, format);
    add(findings, place, format, args);
    va_end(args);
}

int pd_topology_findings_end(struct pd_findings *findings, struct pd_error *error)
{
    if (!findings->len) {
        return 0;
    }
    if (findings->len > PD_FINDINGS_MAX && findings->report) {
        char text[64];
        snprintf(text, sizeof text, "%u more findings", findings->len - PD_FINDINGS_MAX);
        findings->report(findings->context, text);
    }
    if (findings->len == 1) {
        return pd_fail(error, -PD_E_TOPOLOGY, "%s", findings->first);
    }
    return pd_fail(error, -PD_E_TOPOLOGY, "%s (and %u more findings)", findings->first,
                   findings->len - 1);
}
