/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as OpenFlow 1.3 text. */
#include "codec/openflow.h"

#include <errno.h>

static void write_prefix(const char *field, const struct pd_prefix *prefix, FILE *out)
{
    char text[PD_ADDR_TEXT_BYTES];
    if (prefix->ip_version) {
        fprintf(out, ",%s=%s/%u", field, pd_addr_format(&prefix->addr, prefix->ip_version, text),
                prefix->bits);
    }
}

static void write_match(const struct pd_codec_row *row, FILE *out)
{
    if (row->family) {
        fputs(row->family == 4 ? ",ip" : ",ipv6", out);
    }
    if (row->in_port) {
        fprintf(out, ",in_port=%u", row->in_port);
    }
    write_prefix(row->family == 4 ? "nw_src" : "ipv6_src", &row->src, out);
    write_prefix(row->family == 4 ? "nw_dst" : "ipv6_dst", &row->dst, out);
    if (row->dscp != PD_ROW_ANY) {
        fprintf(out, ",ip_dscp=%u", row->dscp);
    }
    if (row->depth == 0) {
        fputs(",vlan_tci=0x0000/0x1000", out);
    } else if (row->depth == PD_ROW_TENANT) {
        fputs(",dl_vlan_pcp=0", out);
    } else if (row->depth != PD_ROW_ANY) {
        fprintf(out, ",dl_vlan_pcp=%u", row->depth);
    }
}

/* The depth of the tag stack is kept in the outer PCP, where rows look at it. */
static void write_push(const struct pd_codec_rows *rows, const struct pd_codec_row *row, FILE *out)
{
    fprintf(out, "push_vlan:0x%04x,set_field:%u->vlan_vid,", rows->tpid, 4096U | row->value);
    if (row->depth != PD_ROW_ANY) {
        fprintf(out, "set_field:%u->vlan_pcp,", row->depth == PD_ROW_TENANT ? 1U : row->depth + 1U);
    }
    fputs("goto_table:1", out);
}

void pd_openflow_row(const struct pd_codec_rows *rows, const struct pd_codec_row *row, FILE *out)
{
    fprintf(out, "table=0,priority=%u", row->priority);
    write_match(row, out);
    fputs(",actions=", out);
    switch (row->action) {
    case PD_ROW_PUSH: write_push(rows, row, out); break;
    case PD_ROW_DSCP: fprintf(out, "set_field:%u->ip_dscp,goto_table:1", row->value); break;
    case PD_ROW_PUNT: fputs("CONTROLLER:65535", out); break;
    default: fputs("goto_table:1", out); break;
    }
}

/* It has no action that sets single bits of a mark: a switch that passed such packets on as they
 * are would look right and write nothing. */
static bool can_write(const struct pd_codec_rows *rows)
{
    for (size_t i = 0; i < rows->len; i++) {
        if (rows->rows[i].action == PD_ROW_BEGIN || rows->rows[i].action == PD_ROW_ADD) {
            return false;
        }
    }
    return true;
}

int pd_openflow_write(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth, FILE *out)
{
    struct pd_codec_rows rows;
    int err = pd_codec_rows_make(codec, sw, depth, &rows);
    if (err) {
        return err;
    }
    if (!can_write(&rows)) {
        pd_codec_rows_done(&rows);
        return -PD_E_UNSUPPORTED;
    }
    errno = 0;
    for (size_t i = 0; i < rows.len; i++) {
        pd_openflow_row(&rows, &rows.rows[i], out);
        fputc('\n', out);
    }
    if (fflush(out) || ferror(out)) {
        err = errno ? -errno : -EIO;
    }
    pd_codec_rows_done(&rows);
    return err;
}
