/* SPDX-License-Identifier: Apache-2.0 */
/* Writes evidence as NDJSON. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "evidence/file.h"

static void write_count(FILE *out, const char *name, uint64_t count)
{
    if (count == PD_EVIDENCE_UNKNOWN) {
        fprintf(out, ",\"%s\":null", name);
    } else {
        fprintf(out, ",\"%s\":%" PRIu64, name, count);
    }
}

static void write_nodes(FILE *out, const struct pd_evidence_way *way)
{
    fputs("\"path\":[", out);
    for (uint32_t i = 0; i < way->nodes_len; i++) {
        fprintf(out, "%s%" PRIu32, i ? "," : "", way->nodes[i]);
    }
    fputc(']', out);
}

static void write_way(FILE *out, const struct pd_evidence_way *way)
{
    fputc('{', out);
    write_nodes(out, way);
    write_count(out, "pkts", way->pkts);
    if (way->bytes) {
        write_count(out, "bytes", way->bytes);
    }
    fprintf(out, ",\"origin\":\"%s\",\"reached\":%s}",
            pd_evidence_origin_name((enum pd_evidence_origin)way->origin),
            way->reached ? "true" : "false");
}

static void write_flow(FILE *out, const struct pd_evidence_row *row)
{
    const struct pd_flow_id *flow = &row->flow;
    char src[PD_ADDR_TEXT_BYTES], dst[PD_ADDR_TEXT_BYTES];
    fprintf(out,
            "{\"flow_id\":{\"src_ip\":\"%s\",\"dst_ip\":\"%s\",\"src_port\":%u,\"dst_port\":%u,"
            "\"protocol\":%u},\"retransmissions\":%" PRIu64,
            pd_addr_format(&flow->src, flow->ip_version, src),
            pd_addr_format(&flow->dst, flow->ip_version, dst), flow->src_port, flow->dst_port,
            flow->protocol, row->lost);
    write_count(out, "pkts", row->pkts);
    if (row->srtt_us) {
        write_count(out, "srtt_us", row->srtt_us);
    }
    fputs(",\"paths\":[", out);
    for (size_t i = 0; i < row->ways_len; i++) {
        fputs(i ? "," : "", out);
        write_way(out, &row->ways[i]);
    }
    fputc(']', out);
}

static void write_path(FILE *out, const struct pd_evidence_row *row)
{
    fputc('{', out);
    write_nodes(out, &row->ways[0]);
    write_count(out, "pkts", row->pkts);
    write_count(out, "lost", row->lost);
    fprintf(out, ",\"origin\":\"%s\"",
            pd_evidence_origin_name((enum pd_evidence_origin)row->ways[0].origin));
}

int pd_evidence_write(FILE *out, const struct pd_evidence_period *period)
{
    for (size_t i = 0; i < period->rows_len; i++) {
        const struct pd_evidence_row *row = &period->rows[i];
        if (row->kind == PD_EVIDENCE_PATH) {
            write_path(out, row);
        } else {
            write_flow(out, row);
        }
        if (row->began) {
            write_count(out, "began", row->began);
        }
        if (period->to_us) {
            fprintf(out, ",\"t_s\":%" PRIu64 ".%06" PRIu64, period->to_us / 1000000,
                    period->to_us % 1000000);
        }
        if (row->truth_from) {
            fprintf(out, ",\"truth\":\"%" PRIu32 "-%" PRIu32 "\"", row->truth_from, row->truth_to);
        }
        fputs("}\n", out);
    }
    return ferror(out) ? -EIO : 0;
}
