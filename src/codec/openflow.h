/* SPDX-License-Identifier: Apache-2.0 */
/* Writes rows as OpenFlow 1.3 text for ovs-ofctl (docs/formats/tagging-rules.md). */
#ifndef PD_CODEC_OPENFLOW_H
#define PD_CODEC_OPENFLOW_H

#include "codec/codec.h"

/* One row as one line for table 0, without its end. */
void pd_codec_openflow_row(const struct pd_codec_rows *rows, const struct pd_codec_row *row,
                           FILE *out);

/* All rows of a switch, one a line. 0, -ENOMEM, -PD_E_UNSUPPORTED (OpenFlow has no such action) or
 * -errno of the write. */
int pd_codec_openflow_write(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth,
                            FILE *out);

#endif
