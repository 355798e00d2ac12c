/* SPDX-License-Identifier: Apache-2.0 */
/* A codec's rows as tables of a switch program. */
#ifndef PD_CODEC_TABLES_H
#define PD_CODEC_TABLES_H

#include "base/tables.h"
#include "codec/codec.h"

/* Table `rows`: the scheme's rows, without those of the edge. Fields: in_port, outer (the type of
 * the outermost tag, 0 without), tci, family, the DSCP, and addresses as src_hi, src_lo, dst_hi,
 * dst_lo (IPv4: 0x0000ffffAABBCCDD in the low half). Actions: pass, push(tpid, tci), set_dscp,
 * begin(carrier, tpid, bits), add(carrier, turn, mask, bits), punt, deny.
 *
 * Table `edge`: an entry for each port that faces a host, in_port to host(drop, strip, type,
 * clear): what becomes of a host's own tags of this type (0: of all), and whether the DSCP is
 * cleared.
 *
 * Thread safety: pure. */

/* 0 or -ENOMEM. */
int pd_codec_tables_rows(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth,
                         struct pd_tables *tables);
/* `codec` NULL: hosts' ports are known, and all passes. */
int pd_codec_tables_edge(const struct pd_topology *topology, const struct pd_codec *codec,
                         uint32_t sw, struct pd_tables *tables);

#endif
