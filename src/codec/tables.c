/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and the edge, field by field. */
#include "codec/tables.h"

#include "codec/edge.h"
#include "topology/links.h"

#define TABLE       "rows"
#define PCP_AT      13
#define PCP_MASK    0xe000u
#define ANY_TAG     0x8000u /* a bit that the types of tags have, and no other that is read */
#define MAPPED_IPV4 UINT64_C(0xffff00000000)

/* ---- matches */

static uint64_t number(const uint8_t *bytes, unsigned len)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < len; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static uint64_t mask_of(unsigned bits)
{
    return bits ? UINT64_MAX << (64 - bits) : 0;
}

static void match_prefix(struct pd_tables_row *row, const char *hi, const char *lo,
                         const struct pd_prefix *prefix)
{
    if (prefix->ip_version == 4) {
        pd_tables_match(row, hi, 0, PD_TABLES_EXACT);
        pd_tables_match(row, lo, MAPPED_IPV4 | number(prefix->addr.bytes, 4),
                        mask_of(32 + prefix->bits));
    } else if (prefix->ip_version == 6) {
        pd_tables_match(row, hi, number(prefix->addr.bytes, 8),
                        mask_of(prefix->bits < 64 ? prefix->bits : 64));
        pd_tables_match(row, lo, number(prefix->addr.bytes + 8, 8),
                        mask_of(prefix->bits < 64 ? 0 : prefix->bits - 64));
    }
}

/* The depth stands in the priority of the outermost tag; tenants' tags have their own type. */
static void match_depth(struct pd_tables_row *row, uint16_t tpid, uint8_t depth)
{
    const bool shared = tpid == PD_TPID_DEFAULT;
    if (depth == PD_ROW_ANY) {
        return;
    }
    if (depth == 0) {
        pd_tables_match(row, "outer", 0, PD_TABLES_EXACT);
    } else if (depth == PD_ROW_TENANT) {
        pd_tables_match(row, "outer", shared ? PD_TPID_SERVICE : PD_TPID_DEFAULT, PD_TABLES_EXACT);
    } else {
        pd_tables_match(row, "outer", shared ? ANY_TAG : tpid, shared ? ANY_TAG : PD_TABLES_EXACT);
        pd_tables_match(row, "tci", (uint64_t)depth << PCP_AT, PCP_MASK);
    }
}

static void match(struct pd_tables_row *to, const struct pd_codec_rows *rows,
                  const struct pd_codec_row *row)
{
    if (row->in_port) {
        pd_tables_match(to, "in_port", row->in_port, PD_TABLES_EXACT);
    }
    match_depth(to, rows->tpid, row->depth);
    if (row->family) {
        pd_tables_match(to, "family", row->family, PD_TABLES_EXACT);
    }
    if (row->dscp != PD_ROW_ANY) {
        pd_tables_match(to, "dscp", row->dscp, PD_TABLES_EXACT);
    }
    match_prefix(to, "src_hi", "src_lo", &row->src);
    match_prefix(to, "dst_hi", "dst_lo", &row->dst);
}

/* ---- actions */

static void argue_push(struct pd_tables_row *to, const struct pd_codec_rows *rows,
                       const struct pd_codec_row *row)
{
    uint32_t pcp = row->depth == PD_ROW_ANY ? 0 : row->depth == PD_ROW_TENANT ? 1 : row->depth + 1u;
    pd_tables_argument(to, "tpid", rows->tpid);
    pd_tables_argument(to, "tci", pcp << PCP_AT | row->value);
}

static void argue(struct pd_tables_row *to, const struct pd_codec_rows *rows,
                  const struct pd_codec_row *row)
{
    switch (row->action) {
    case PD_ROW_PUSH: argue_push(to, rows, row); break;
    case PD_ROW_DSCP: pd_tables_argument(to, "dscp", row->value); break;
    case PD_ROW_BEGIN:
        pd_tables_argument(to, "carrier", rows->carrier);
        pd_tables_argument(to, "tpid", rows->tpid);
        pd_tables_argument(to, "bits", row->value);
        break;
    case PD_ROW_ADD:
        pd_tables_argument(to, "carrier", rows->carrier);
        pd_tables_argument(to, "turn", rows->turn_bits);
        pd_tables_argument(to, "mask",
                           rows->turn_bits ? UINT32_MAX >> (32 - rows->turn_bits) : UINT32_MAX);
        pd_tables_argument(to, "bits", row->value);
        break;
    default: break;
    }
}

int pd_codec_tables_rows(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth,
                         struct pd_tables *tables)
{
    static const char *const actions[] = {
        [PD_ROW_PASS] = "pass",   [PD_ROW_PUSH] = "push", [PD_ROW_DSCP] = "set_dscp",
        [PD_ROW_BEGIN] = "begin", [PD_ROW_ADD] = "add",   [PD_ROW_PUNT] = "punt",
        [PD_ROW_DROP] = "deny",   [PD_ROW_STRIP] = "deny"};
    struct pd_codec_rows rows;
    int err = pd_codec_rows_make(codec, sw, depth, &rows);
    if (err) {
        return err;
    }
    for (size_t i = 0; i < rows.len; i++) {
        const struct pd_codec_row *row = &rows.rows[i];
        if (!pd_codec_is_edge_row(row)) {
            struct pd_tables_row *to =
                pd_tables_add(tables, TABLE, row->priority, actions[row->action]);
            match(to, &rows, row);
            argue(to, &rows, row);
        }
    }
    pd_codec_rows_done(&rows);
    return pd_tables_error(tables);
}

/* ---- the edge */

static void add_host(struct pd_tables *tables, const struct pd_codec *codec, uint16_t port)
{
    struct pd_tables_row *row = pd_tables_add(tables, "edge", 0, "host");
    const unsigned carriers = codec ? pd_codec_carriers(codec) : 0;
    const struct pd_codec_choice *choice =
        codec ? pd_topology_codec(codec->topology, codec->ops->name) : NULL;
    const enum pd_edge_option edge = codec ? pd_codec_edge(codec) : PD_EDGE_OPEN;
    const bool vlan = carriers & PD_CARRIER_VLAN;
    pd_tables_match(row, "in_port", port, PD_TABLES_EXACT);
    pd_tables_argument(row, "drop", vlan && edge == PD_EDGE_DROP);
    pd_tables_argument(row, "strip", vlan && edge == PD_EDGE_STRIP);
    pd_tables_argument(row, "type", choice && choice->tpid != PD_TPID_DEFAULT ? choice->tpid : 0);
    pd_tables_argument(row, "clear", carriers & PD_CARRIER_DSCP && edge != PD_EDGE_OPEN);
}

int pd_codec_tables_edge(const struct pd_topology *topology, const struct pd_codec *codec,
                         uint32_t sw, struct pd_tables *tables)
{
    const struct pd_switch *entry = &topology->switches[sw];
    for (uint32_t i = entry->switch_neighbours; i < entry->neighbours_len; i++) {
        const struct pd_neighbour *host = &entry->neighbours[i];
        for (uint32_t nth = 0; nth < host->parallel; nth++) {
            add_host(tables, codec, pd_links_port(topology, host->link + 2 * nth));
        }
    }
    return pd_tables_error(tables);
}
