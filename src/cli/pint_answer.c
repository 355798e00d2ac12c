/* SPDX-License-Identifier: Apache-2.0 */
/* What `pathdump pint decode` prints: a flow's path, its changes and what its hops measured. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "cli/json.h"
#include "cli/pint_decode.h"

#define QUANTILES 3

static const struct {
    const char *text;
    double share;
} quantiles[QUANTILES] = {{"0.5", .5}, {"0.9", .9}, {"0.99", .99}};

static json_t *json_switches(const struct pd_pint_path *path)
{
    json_t *list = json_array();

    for (uint32_t p = 0; p < path->len; p++) {
        json_array_append_new(list, json_integer(path->switches[p]));
    }
    return list;
}

static json_t *json_count(uint64_t count)
{
    return count ? json_integer((json_int_t)count) : json_null();
}

static json_t *json_flow_id(const struct pd_flow_id *id)
{
    char src[PD_ADDR_TEXT_BYTES], dst[PD_ADDR_TEXT_BYTES];

    return json_pack("{s:s,s:s,s:i,s:i,s:i}", "src_ip",
                     pd_addr_format(&id->src, id->ip_version, src), "dst_ip",
                     pd_addr_format(&id->dst, id->ip_version, dst), "src_port", (int)id->src_port,
                     "dst_port", (int)id->dst_port, "protocol", (int)id->protocol);
}

/* The host that a flow's packets end at, 0 where the topology does not name it. */
static uint32_t last_host(const struct pd_topology *topology, const struct pd_flow_id *id)
{
    for (uint32_t h = 0; h < topology->hosts_len; h++) {
        const struct pd_host *host = &topology->hosts[h];
        for (uint32_t a = 0; a < host->addrs_len; a++) {
            if (host->ip_versions[a] == id->ip_version &&
                !memcmp(&host->addrs[a], &id->dst, sizeof id->dst)) {
                return host->id;
            }
        }
    }
    return 0;
}

/* Of codes that count as one, the one in the middle. */
static uint64_t value_of(const struct pd_pint_query *query, struct pd_telemetry_codes codes)
{
    return query->values[(codes.first + codes.last) / 2];
}

static json_t *json_histogram(const struct pd_pint_query *query,
                              const struct pd_telemetry_histogram *histogram, uint32_t sw,
                              uint32_t to)
{
    json_t *row = json_pack("{s:s}", "name", query->name), *values = json_object();
    struct pd_telemetry_codes codes;

    if (sw) {
        json_object_set_new(row, "switch", json_integer(sw));
        json_object_set_new(row, "to", json_count(to));
    }
    for (unsigned q = 0; q < QUANTILES; q++) {
        if (pd_telemetry_histogram_quantile(histogram, quantiles[q].share, &codes)) {
            json_object_set_new(values, quantiles[q].text,
                                json_integer((json_int_t)value_of(query, codes)));
        }
    }
    json_object_set_new(row, "samples", json_integer((json_int_t)histogram->samples));
    json_object_set_new(row, "quantiles", values);
    return row;
}

/* A row's histogram: one for a switch and where it sends, over all records of the flow. */
struct row {
    unsigned query;
    uint32_t sw, to;
    struct pd_telemetry_histogram histogram;
};

struct rows {
    struct row *rows;
    size_t len, room;
};

static int add_row(struct rows *rows, unsigned query, uint32_t sw, uint32_t to,
                   const struct pd_telemetry_histogram *histogram)
{
    size_t r = 0;

    while (r < rows->len &&
           (rows->rows[r].query != query || rows->rows[r].sw != sw || rows->rows[r].to != to)) {
        r++;
    }
    if (r == rows->len) {
        if (PD_GROW(rows->rows, rows->room, rows->len + 1)) {
            return -ENOMEM;
        }
        rows->rows[r] = (struct row){.query = query, .sw = sw, .to = to};
        if (pd_telemetry_histogram_init(&rows->rows[r].histogram, histogram->codes)) {
            return -ENOMEM;
        }
        rows->len++;
    }
    pd_telemetry_histogram_merge(&rows->rows[r].histogram, histogram);
    return 0;
}

static int gather_record(struct rows *rows, const struct pd_pint_plan *plan,
                         const struct pd_pint_record *record,
                         const struct pd_cli_pint_measured *measured, uint32_t host)
{
    const struct pd_pint_path *path = &record->path;
    int err = 0;

    for (unsigned query = 0; query < plan->queries_len; query++) {
        for (uint32_t hop = 0; !err && hop <= measured->hops; hop++) {
            const struct pd_telemetry_histogram *histogram =
                &measured->histograms[query * (measured->hops + 1) + hop];
            if (!histogram->counts || (hop && (hop < path->first_hop || !path->len))) {
                continue;
            }
            const uint32_t place = hop ? hop - path->first_hop : 0;
            const uint32_t sw = hop && place < path->len ? path->switches[place] : 0;
            const uint32_t to = place + 1 < path->len ? path->switches[place + 1] : host;
            err = add_row(rows, query, sw, sw ? to : 0, histogram);
        }
    }
    return err;
}

static int json_telemetry(struct pd_cli_pint_decoder *decoder, const struct pd_cli_pint_flow *flow,
                          json_t **ret_list)
{
    const struct pd_pint_plan *plan = decoder->pint.plan;
    const uint32_t host = last_host(decoder->pint.topology, &flow->id);
    struct rows rows = {0};
    json_t *list = json_array();
    int err = 0;

    for (size_t r = 0; !err && r < pd_pint_flow_records(flow->state); r++) {
        if (flow->measured[r].histograms) {
            err = gather_record(&rows, plan, pd_pint_flow_record(flow->state, r),
                                &flow->measured[r], host);
        }
    }
    for (size_t r = 0; r < rows.len; r++) {
        const struct row *row = &rows.rows[r];
        json_array_append_new(
            list, json_histogram(&plan->queries[row->query], &row->histogram, row->sw, row->to));
        pd_telemetry_histogram_done(&rows.rows[r].histogram);
    }
    free(rows.rows);
    *ret_list = list;
    return err;
}

static json_t *json_changes(const struct pd_pint_flow *flow)
{
    json_t *list = json_array();

    for (size_t r = 1; r < pd_pint_flow_records(flow); r++) {
        const struct pd_pint_record *record = pd_pint_flow_record(flow, r);
        if (record->path.len && record->known_at) {
            json_array_append_new(list,
                                  json_pack("{s:I,s:o}", "packet", (json_int_t)record->first_packet,
                                            "path", json_switches(&record->path)));
        }
    }
    return list;
}

static int print_flow(struct pd_cli_pint_decoder *decoder, const struct pd_cli_pint_flow *flow,
                      FILE *out)
{
    const struct pd_pint_record *first = pd_pint_flow_record(flow->state, 0);
    const uint64_t candidates =
        first->candidates == UINT64_MAX ? (uint64_t)INT64_MAX : first->candidates;
    json_t *telemetry = NULL;
    int err = json_telemetry(decoder, flow, &telemetry);
    json_t *row = json_pack(
        "{s:o,s:I,s:I,s:o,s:s,s:I,s:o,s:o,s:o,s:o}", "flow_id", json_flow_id(&flow->id), "hops",
        (json_int_t)first->hops, "pkts", (json_int_t)pd_pint_flow_pkts(flow->state), "path",
        json_switches(&first->path), "state", pd_pint_state_id(first->state), "candidates",
        (json_int_t)candidates, "decided_at", json_count(first->decided_at), "known_at",
        json_count(first->known_at), "changes", json_changes(flow->state), "telemetry", telemetry);

    if (!err && (!row || json_dumpf(row, out, JSON_COMPACT) || putc('\n', out) == EOF)) {
        err = -ENOMEM;
    }
    json_decref(row);
    return err;
}

static void print_line(const struct pd_cli_pint_flow *flow, FILE *out)
{
    const struct pd_pint_record *first = pd_pint_flow_record(flow->state, 0);
    char ends[PD_ENDS_TEXT_BYTES];

    fprintf(out, "%-48s %10" PRIu64 "  %-10s ", pd_ends_format(&flow->id, ends),
            pd_pint_flow_pkts(flow->state), pd_pint_state_id(first->state));
    for (uint32_t p = 0; p < first->path.len; p++) {
        fprintf(out, "%s%" PRIu32, p ? "," : "", first->path.switches[p]);
    }
    putc('\n', out);
}

static int print_flows(struct pd_cli_pint_decoder *decoder, bool json, FILE *out)
{
    int err = 0;

    for (uint32_t f = 0; !err && f < decoder->flows_len; f++) {
        struct pd_cli_pint_flow *flow = decoder->flows[f];
        err = pd_pint_flow_end(flow->state);
        if (!err && json) {
            err = print_flow(decoder, flow, out);
        } else if (!err) {
            print_line(flow, out);
        }
    }
    return err;
}

int pd_cli_pint_print(struct pd_cli_pint_decoder *decoder, bool json, struct pd_error *error)
{
    char *answer = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&answer, &bytes);
    int err = out ? print_flows(decoder, json, out) : -ENOMEM;

    if (out && fclose(out) && !err) {
        err = -ENOMEM;
    }
    if (!err) {
        fwrite(answer, 1, bytes, stdout);
    }
    free(answer);
    return err ? pd_fail(error, err, "%s", pd_error_text(err)) : 0;
}
