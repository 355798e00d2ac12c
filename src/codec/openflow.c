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
    static const char *const families[] = {
        [4] = ",ip", [6] = ",ipv6", [PD_ROW_ARP] = ",arp", [PD_ROW_OLD] = ",dl_type=0x9100"};
    if (row->family) {
        fputs(families[row->family], out);
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
    } else if (row->depth == PD_ROW_TAGGED) {
        fputs(",vlan_tci=0x1000/0x1000", out);
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

/* A path filter in one tag: the VLAN ID is its low 12 bits, the priority the three above. Packets
 * of hosts have no tag yet. */
static void write_begin(const struct pd_codec_rows *rows, const struct pd_codec_row *row, FILE *out)
{
    if (!row->depth) {
        fprintf(out, "push_vlan:0x%04x,", rows->tpid);
    }
    fprintf(out, "set_field:%u->vlan_vid,set_field:%u->vlan_pcp,goto_table:1",
            4096U | (row->value & 0xfff), row->value >> 12);
}

/* Between priority and VLAN ID stands a bit that is no part of the filter. */
static void write_add(const struct pd_codec_row *row, FILE *out)
{
    for (unsigned bit = 0; bit < 15; bit++) {
        if (row->value >> bit & 1) {
            fprintf(out, "load:1->NXM_OF_VLAN_TCI[%u],", bit < 12 ? bit : bit + 1);
        }
    }
    fputs("goto_table:1", out);
}

void pd_codec_openflow_row(const struct pd_codec_rows *rows, const struct pd_codec_row *row,
                           FILE *out)
{
    fprintf(out, "table=0,priority=%u", row->priority);
    write_match(row, out);
    fputs(",actions=", out);
    switch (row->action) {
    case PD_ROW_PUSH: write_push(rows, row, out); break;
    case PD_ROW_BEGIN: write_begin(rows, row, out); break;
    case PD_ROW_ADD: write_add(row, out); break;
    case PD_ROW_DSCP: fprintf(out, "set_field:%u->ip_dscp,goto_table:1", row->value); break;
    case PD_ROW_PUNT: fputs("CONTROLLER:65535", out); break;
    case PD_ROW_DROP: fputs("drop", out); break;
    case PD_ROW_STRIP: fputs("pop_vlan,TABLE", out); break;
    default: fputs("goto_table:1", out); break;
    }
}

/* Single bits can be set in the outermost tag alone, and nothing can be turned: a switch that
 * passed such packets on as they are would look right and write nothing. */
static bool can_write(const struct pd_codec_rows *rows)
{
    if (rows->carrier == PD_ROW_VLAN && !rows->turn_bits) {
        return true;
    }
    for (size_t i = 0; i < rows->len; i++) {
        if (rows->rows[i].action == PD_ROW_BEGIN || rows->rows[i].action == PD_ROW_ADD) {
            return false;
        }
    }
    return true;
}

int pd_codec_openflow_write(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth,
                            FILE *out)
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
        pd_codec_openflow_row(&rows, &rows.rows[i], out);
        fputc('\n', out);
    }
    if (fflush(out) || ferror(out)) {
        err = errno ? -errno : -EIO;
    }
    pd_codec_rows_done(&rows);
    return err;
}
