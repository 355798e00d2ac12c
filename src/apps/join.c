/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence for localisers: questions to senders and receivers, and rows from their answers. */
#include "apps/join.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/join_look.h"
#include "apps/rows.h"
#include "base/grow.h"
#include "evidence/file.h"
#include "query/members.h"
#include "query/path_sums.h"

#define HASHES           4294967296.0
#define TRACED_BEFORE_US UINT64_C(120000000) /* epochs are seldom longer */
enum { HEX_LEN = 8, PATH_AT = PD_FLOW_ROW_LEN, PKTS_AT, BYTES_AT };

/* One look. */
struct look {
    struct pd_app_join_look of;
    uint64_t below; /* 2^32: all flows count */
    json_t *answer; /* of pathSums */
    /* Rows of evidence. */
    struct pd_evidence_row *rows;
    struct pd_evidence_way *ways;
    uint32_t *nodes;
    size_t rows_len, ways_len, nodes_len, nodes_room;
    uint64_t flows_listed; /* of which records are known */
    size_t wrong;          /* rows of answers that make no sense */
};

static void look_done(struct look *look)
{
    json_decref(look->answer);
    free(look->rows);
    free(look->ways);
    free(look->nodes);
}

/* ---- which flows suffered ---- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Hashes of the flows with new retransmissions, ascending; of more than one question has room for
 * only those below the first that has none. */
static json_t *name_flows(struct look *look)
{
    const struct pd_app_suffering *suffering = look->of.suffering;
    uint32_t *hashes = calloc(suffering->len + 1, sizeof *hashes);
    size_t len = 0;
    json_t *text = NULL;

    for (size_t i = 0; hashes && i < suffering->len; i++) {
        if (suffering->flows[i].fresh) {
            hashes[len++] = pd_query_path_sums_hash(&suffering->flows[i].flow);
        }
    }
    if (len) {
        qsort(hashes, len, sizeof *hashes, by_number);
    }
    if (len > PD_PATH_SUMS_APART_MAX) {
        look->below = hashes[PD_PATH_SUMS_APART_MAX];
        while (len && hashes[len - 1] >= look->below) {
            len--;
        }
    }
    char *hex = hashes ? malloc(len * HEX_LEN + 1) : NULL;
    for (size_t i = 0; hex && i < len; i++) {
        snprintf(hex + i * HEX_LEN, HEX_LEN + 1, "%08" PRIx32, hashes[i]);
    }
    text = hex ? json_stringn(hex, len * HEX_LEN) : NULL;
    free(hex);
    free(hashes);
    return text;
}

static bool is_wanted(const struct look *look, const struct pd_flow_id *flow)
{
    return pd_query_path_sums_hash(flow) < look->below;
}

static int ask_receivers(struct look *look, struct pd_error *error)
{
    json_t *apart = name_flows(look);
    json_t *args = json_pack("{s:I, s:I, s:o, s:b, s:I}", "from_us", (json_int_t)look->of.from_us,
                             "to_us", (json_int_t)look->of.to_us, "apart", apart, "each",
                             look->of.each, "below", (json_int_t)look->below);
    uint64_t left_out = 0;

    if (!args) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    int err = pd_app_ask(look->of.call, look->of.report, PD_PATH_SUMS_NAME, args, NULL,
                         &look->answer, error);
    if (!err && pd_app_number(look->answer, "left_out", &left_out) && left_out) {
        pd_app_report_lacks(look->of.report, "%" PRIu64 " rows for which hosts had no room",
                            left_out);
    }
    return err;
}

/* ---- rows ---- */

static int reserve_nodes(struct look *look)
{
    return PD_GROW(look->nodes, look->nodes_room, look->nodes_len + PD_PATH_MAX);
}

/* Pointers into `nodes` are set when that grows no more: a way remembers where its own begin. */
static int put_way(struct look *look, const uint32_t *nodes, const struct pd_evidence_way *way)
{
    int err = reserve_nodes(look);

    if (err) {
        return err;
    }
    memcpy(look->nodes + look->nodes_len, nodes, way->nodes_len * sizeof *nodes);
    look->nodes_len += way->nodes_len;
    look->ways[look->ways_len++] = *way;
    return 0;
}

static int add_way(struct look *look, const uint32_t *nodes, uint32_t len, uint64_t pkts,
                   uint64_t bytes)
{
    double share = (double)look->below / HASHES;

    return put_way(look, nodes,
                   &(struct pd_evidence_way){.nodes_len = len,
                                             .reached = true,
                                             .origin = PD_EVIDENCE_FROM_TAGS,
                                             .pkts = pkts,
                                             .bytes = (uint64_t)((double)bytes / share)});
}

static int add_path(struct look *look, const uint32_t *nodes, uint32_t len, const json_t *sum)
{
    uint64_t pkts, bytes, began = 0;

    if (!pd_query_row_number(sum, 0, &pkts) || !pd_query_row_number(sum, 1, &bytes)) {
        look->wrong++;
        return 0;
    }
    (void)pd_query_row_number(sum, 2, &began); /* not every agent says */
    look->rows[look->rows_len++] = (struct pd_evidence_row){
        .kind = PD_EVIDENCE_PATH, .pkts = pkts, .ways_len = 1, .began = began};
    return add_way(look, nodes, len, pkts, bytes);
}

/* A path within a rack crosses no link between switches. */
static int add_paths(struct look *look)
{
    const char *text;
    json_t *sum;
    int err = 0;

    json_object_foreach(json_object_get(look->answer, "paths"), text, sum)
    {
        struct pd_path path;

        if (pd_path_parse(text, &path)) {
            look->wrong++;
        } else if (path.len > 1 && !err) {
            err = add_path(look, path.switches, path.len, sum);
        }
    }
    return err;
}

/* The links of hosts, up from sources or down to receivers. Of a host that hangs at several
 * switches a sum does not say which link its packets took. */
static int add_hosts(struct look *look, const char *list, bool up)
{
    const struct pd_topology *topology = look->of.call->world->topology;
    const char *text;
    json_t *sum;
    int err = 0;

    json_object_foreach(json_object_get(look->answer, list), text, sum)
    {
        struct pd_addr addr;
        uint8_t version;
        uint32_t id =
            pd_addr_parse(text, &addr, &version) ? 0 : pd_app_host_of(topology, &addr, version);

        const struct pd_host *host = id ? &topology->hosts[pd_topology_host(topology, id)] : NULL;

        if (host && host->tors_len == 1 && !err) {
            uint32_t tor = topology->switches[host->tor].id;

            err = add_path(look, (const uint32_t[]){up ? id : tor, up ? tor : id}, 2, sum);
        }
    }
    return err;
}

/* ---- rows of flows ---- */

struct part {
    struct pd_flow_id flow;
    struct pd_path path;
    uint64_t pkts, bytes;
};

/* All but the flow, by which it was sorted. */
static bool read_part(const json_t *row, struct part *part)
{
    const char *path = json_string_value(json_array_get(row, PATH_AT));

    return path && !pd_path_parse(path, &part->path) &&
           pd_query_row_number(row, PKTS_AT, &part->pkts) &&
           pd_query_row_number(row, BYTES_AT, &part->bytes);
}

/* With packets on some paths, the others did not matter in this span. */
static void close_row(struct look *look, struct pd_evidence_row *row)
{
    struct pd_evidence_way *ways = look->ways + look->ways_len - row->ways_len;
    size_t kept = 0, nodes_len = look->nodes_len;

    for (size_t i = 0; i < row->ways_len; i++) {
        nodes_len -= ways[i].nodes_len;
    }
    for (size_t i = 0, at = nodes_len; i < row->ways_len; at += ways[i++].nodes_len) {
        if (row->pkts && !ways[i].pkts) {
            continue;
        }
        memmove(look->nodes + nodes_len, look->nodes + at, ways[i].nodes_len * sizeof(uint32_t));
        nodes_len += ways[i].nodes_len;
        ways[kept++] = ways[i];
    }
    look->ways_len -= row->ways_len - kept;
    look->nodes_len = nodes_len;
    row->ways_len = kept;
}

static int add_part(struct look *look, const struct part *part)
{
    struct pd_evidence_row *row = look->rows_len ? &look->rows[look->rows_len - 1] : NULL;

    if (!row || !pd_flow_id_equal(&row->flow, &part->flow)) {
        const struct pd_app_sufferer *of = pd_app_suffering_find(look->of.suffering, &part->flow);

        if (row) {
            close_row(look, row);
        }
        row = &look->rows[look->rows_len++];
        *row = (struct pd_evidence_row){
            .kind = PD_EVIDENCE_FLOW, .flow = part->flow, .lost = of ? of->lost : 0};
    }
    if (row->ways_len == PD_EVIDENCE_WAYS_MAX) {
        look->wrong++;
        return 0;
    }
    row->ways_len++;
    row->pkts += part->pkts;
    return add_way(look, part->path.switches, part->path.len, part->pkts, part->bytes);
}

struct key {
    struct pd_flow_id flow;
    const json_t *row;
};

static int by_flow(const void *a, const void *b)
{
    return memcmp(&((const struct key *)a)->flow, &((const struct key *)b)->flow,
                  sizeof(struct pd_flow_id));
}

/* Ascending by flow, whatever order hosts have them in. */
static size_t sort_parts(struct look *look, struct key *keys)
{
    const json_t *flows = json_object_get(look->answer, "flows"), *row;
    size_t len = 0, i;

    json_array_foreach((json_t *)(uintptr_t)flows, i, row)
    {
        if (pd_query_flow_row_read(row, &keys[len].flow)) {
            keys[len++].row = row;
        } else {
            look->wrong++;
        }
    }
    qsort(keys, len, sizeof *keys, by_flow);
    return len;
}

/* Flows with packets in the span, which `flows_seen` counts, too. */
static uint64_t count_listed(const struct look *look)
{
    uint64_t listed = 0;

    for (size_t i = 0; i < look->rows_len; i++) {
        listed += look->rows[i].pkts > 0;
    }
    return listed;
}

/* Of all flows that hosts saw, those without a row. */
static uint64_t count_unlisted(const struct look *look)
{
    uint64_t seen = 0;

    return pd_app_number(look->answer, "flows_seen", &seen) && seen > look->flows_listed
               ? seen - look->flows_listed
               : 0;
}

static int add_flows(struct look *look)
{
    size_t room = json_array_size(json_object_get(look->answer, "flows")) + 1;
    struct key *keys = calloc(room, sizeof *keys);
    int err = keys ? 0 : -ENOMEM;
    size_t len = keys ? sort_parts(look, keys) : 0;

    for (size_t i = 0; i < len && !err; i++) {
        struct part part = {.flow = keys[i].flow};

        if (read_part(keys[i].row, &part)) {
            err = add_part(look, &part);
        } else {
            look->wrong++;
        }
    }
    if (look->rows_len && !err) {
        close_row(look, &look->rows[look->rows_len - 1]);
    }
    look->flows_listed = count_listed(look);
    free(keys);
    return err;
}

static int row_by_flow(const void *key, const void *row)
{
    return memcmp(key, &((const struct pd_evidence_row *)row)->flow, sizeof(struct pd_flow_id));
}

/* A flow without records whose sender has traced it: it has a way, and how many packets it sent is
 * not known. What was sent again and had not been lost is no loss here either. */
static int add_traced(struct look *look, const struct pd_app_sufferer *of,
                      const struct pd_app_trace *trace)
{
    if (!of->lost) {
        return 0;
    }
    look->rows[look->rows_len++] = (struct pd_evidence_row){.kind = PD_EVIDENCE_FLOW,
                                                            .flow = trace->wire,
                                                            .pkts = PD_EVIDENCE_UNKNOWN,
                                                            .lost = of->lost,
                                                            .ways_len = 1};
    return put_way(look, trace->path.switches,
                   &(struct pd_evidence_way){.nodes_len = trace->path.len,
                                             .reached = trace->reached,
                                             .origin = PD_EVIDENCE_FROM_TRACE,
                                             .pkts = PD_EVIDENCE_UNKNOWN});
}

/* Flows that sent again and of which no record is known: without a trace they have no path, and
 * localisers count them. Nothing of theirs came, the handshake neither: all that they sent again
 * was lost. */
static int add_pathless(struct look *look)
{
    const struct pd_app_suffering *suffering = look->of.suffering;
    size_t with_rows = look->rows_len;
    int err = 0;

    for (size_t i = 0; i < suffering->len && !err; i++) {
        const struct pd_app_sufferer *of = &suffering->flows[i];
        const struct pd_app_trace *trace = pd_app_traces_find(look->of.traces, &of->flow);

        if (!of->fresh || !is_wanted(look, &of->flow) ||
            bsearch(&of->flow, look->rows, with_rows, sizeof *look->rows, row_by_flow)) {
            continue;
        }
        if (trace) {
            err = add_traced(look, of, trace);
        } else {
            look->rows[look->rows_len++] = (struct pd_evidence_row){.kind = PD_EVIDENCE_FLOW,
                                                                    .flow = of->flow,
                                                                    .pkts = PD_EVIDENCE_UNKNOWN,
                                                                    .lost = of->fresh};
        }
    }
    return err;
}

/* Where packets carry tags, these tell. */
static int ask_traces(const struct pd_app_join_look *of, struct pd_error *error)
{
    uint64_t from_us = of->from_us > TRACED_BEFORE_US ? of->from_us - TRACED_BEFORE_US : 0;
    bool fresh = false;

    for (size_t i = 0; i < of->suffering->len; i++) {
        fresh |= of->suffering->flows[i].fresh > 0;
    }
    return !fresh || of->call->world->topology->codecs_len
               ? 0
               : pd_app_traces_ask(of->traces, of->call, from_us, UINT64_MAX, of->report, error);
}

/* ---- all of it ---- */

static size_t size_of(const struct look *look, const char *list)
{
    const json_t *value = json_object_get(look->answer, list);

    return json_array_size(value) + json_object_size(value);
}

static int make_rows(struct look *look)
{
    size_t ways = size_of(look, "flows") + size_of(look, "paths") + size_of(look, "sources") +
                  size_of(look, "receivers");
    size_t rows = ways + look->of.suffering->len;

    look->rows = calloc(rows + 1, sizeof *look->rows);
    look->ways = calloc(rows + 1, sizeof *look->ways);
    int err = look->rows && look->ways ? add_flows(look) : -ENOMEM;
    err = err ? err : add_pathless(look);
    err = err ? err : add_paths(look);
    err = err ? err : add_hosts(look, "sources", true);
    err = err ? err : add_hosts(look, "receivers", false);
    if (err) {
        return err;
    }
    for (size_t i = 0, way = 0, node = 0; i < look->rows_len; i++) {
        look->rows[i].ways = look->ways + way;
        for (size_t w = 0; w < look->rows[i].ways_len; w++, way++) {
            look->ways[way].nodes = look->nodes + node;
            node += look->ways[way].nodes_len;
        }
    }
    return 0;
}

static int hand_over(const struct look *look, struct pd_error *error)
{
    const struct pd_evidence_period period = {.from_us = look->of.from_us,
                                              .to_us = look->of.to_us,
                                              .rows = look->rows,
                                              .rows_len = look->rows_len,
                                              .flows_unlisted = count_unlisted(look)};
    int err = look->of.copy ? pd_evidence_write(look->of.copy, &period) : 0;

    if (look->wrong) {
        pd_app_report_lacks(look->of.report, "%zu rows of hosts that make no sense", look->wrong);
    }
    if (err) {
        return pd_fail(error, err, "evidence: %s", pd_error_text(err));
    }
    return look->of.sink->take(look->of.sink->context, &period);
}

int pd_app_join_look(const struct pd_app_join_look *of, struct pd_error *error)
{
    struct look look = {.of = *of, .below = UINT64_C(1) << 32};
    uint64_t since_us = of->suffering->since_us;

    /* What was lost before a monitor began is not known: packets of then must not clear anything.
     */
    if (since_us > of->from_us) {
        look.of.from_us = since_us < of->to_us ? since_us : of->to_us;
    }
    int err = ask_receivers(&look, error);
    err = err ? err : ask_traces(of, error);
    if (!err) {
        err = make_rows(&look);
        err = err ? pd_fail(error, err, "%s", pd_error_text(err)) : hand_over(&look, error);
    }
    look_done(&look);
    return err;
}

int pd_app_join(struct pd_app_join *join, const struct pd_app_call *call, uint64_t from_us,
                uint64_t to_us, bool each, const struct pd_evidence_sink *sink,
                struct pd_report *report, struct pd_error *error)
{
    struct pd_app_traces traces = {0};
    const struct pd_app_join_look look = {.call = call,
                                          .traces = &traces,
                                          .suffering = &join->suffering,
                                          .from_us = from_us,
                                          .to_us = to_us,
                                          .each = each,
                                          .copy = join->copy,
                                          .sink = sink,
                                          .report = report};

    int err = 0;

    if (!join->suffering.asked && !each) {
        err = pd_app_join_back(&look, &join->suffering, error);
    } else {
        err = pd_app_suffering_ask(&join->suffering, call, from_us, report, error);
        err = err ? err : pd_app_join_look(&look, error);
    }
    pd_app_traces_done(&traces);
    return err;
}

void pd_app_join_done(struct pd_app_join *join)
{
    pd_app_suffering_done(&join->suffering);
}
