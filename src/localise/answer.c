/* SPDX-License-Identifier: Apache-2.0 */
/* Links of a localiser's verdict in order, and the verdict as JSON. */
#include <stdio.h>

#include "localise/localise.h"

#define LINK_BYTES 24 /* "4294967295-4294967295" */

int pd_localise_by_ids(const void *a, const void *b)
{
    const struct pd_verdict_link *x = a, *y = b;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    return (x->to > y->to) - (x->to < y->to);
}

int pd_localise_by_score(const void *a, const void *b)
{
    const struct pd_verdict_link *x = a, *y = b;
    if (x->score > y->score || x->score < y->score) {
        return x->score > y->score ? -1 : 1;
    }
    return pd_localise_by_ids(a, b);
}

static void format_link(const struct pd_verdict_link *link, char text[LINK_BYTES])
{
    if (link->to) {
        snprintf(text, LINK_BYTES, "%u-%u", link->from, link->to);
    } else {
        snprintf(text, LINK_BYTES, "%u", link->from);
    }
}

static json_t *link_names(const struct pd_verdict *verdict)
{
    json_t *names = json_array();
    char text[LINK_BYTES];
    for (size_t i = 0; i < verdict->links_len; i++) {
        format_link(&verdict->links[i], text);
        json_array_append_new(names, json_string(text));
    }
    return names;
}

static json_t *ranking_row(const struct pd_verdict_link *link)
{
    char text[LINK_BYTES];
    format_link(link, text);
    return json_pack("{s:s, s:f, s:o}", link->to ? "link" : "switch", text, "score", link->score,
                     "loss", link->loss < 0 ? json_null() : json_real(link->loss));
}

static json_t *ranking(const struct pd_verdict *verdict)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < verdict->ranking_len; i++) {
        json_array_append_new(rows, ranking_row(&verdict->ranking[i]));
    }
    return rows;
}

static json_t *counts(const struct pd_localiser_counters *c, const char *what)
{
    if (*what == 'f') {
        return json_pack("{s:I, s:I, s:I}", "seen", (json_int_t)c->flows, "suffered",
                         (json_int_t)c->suffered, "unknown", (json_int_t)c->unknown);
    }
    return json_pack("{s:I, s:I, s:I, s:I}", "seen", (json_int_t)c->paths, "lossy",
                     (json_int_t)c->paths_lossy, "unknown", (json_int_t)c->paths_unknown, "unused",
                     (json_int_t)c->paths_unused);
}

json_t *pd_localiser_answer(const struct pd_localiser *localiser, double took_ms)
{
    const struct pd_verdict *verdict = &localiser->verdict;
    json_t *answer =
        json_pack("{s:s, s:o, s:b, s:f, s:o, s:f, s:o, s:o, s:f}", "localiser",
                  localiser->ops->name, "links", link_names(verdict), "certain", verdict->certain,
                  "confidence", verdict->confidence, "ranking", ranking(verdict), "total",
                  verdict->total, "flows", counts(&localiser->counters, "flows"), "paths",
                  counts(&localiser->counters, "paths"), "took_ms", took_ms);
    if (answer && localiser->ops->describe) {
        localiser->ops->describe(localiser, answer);
    }
    return answer;
}

json_t *pd_localiser_cause_json(const struct pd_flow_id *flow, const struct pd_cause *cause)
{
    static const char *const classes[] = {
        [PD_CAUSE_NOISE] = "noise", [PD_CAUSE_FAILURE] = "failure", [PD_CAUSE_UNKNOWN] = "unknown"};
    const struct pd_verdict_link link = {.from = cause->from, .to = cause->to};
    char src[PD_ADDR_TEXT_BYTES], dst[PD_ADDR_TEXT_BYTES], text[LINK_BYTES];
    format_link(&link, text);
    return json_pack("{s:{s:s, s:s, s:i, s:i, s:i}, s:s, s:o}", "flow_id", "src_ip",
                     pd_addr_format(&flow->src, flow->ip_version, src), "dst_ip",
                     pd_addr_format(&flow->dst, flow->ip_version, dst), "src_port", flow->src_port,
                     "dst_port", flow->dst_port, "protocol", flow->protocol, "class",
                     classes[cause->class], "link",
                     cause->class == PD_CAUSE_FAILURE ? json_string(text) : json_null());
}
