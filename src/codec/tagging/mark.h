/* SPDX-License-Identifier: Apache-2.0 */
/* The mark of link tags: the VLAN IDs and the DSCP of a packet, as bytes. */
#ifndef PD_CODEC_TAGGING_MARK_H
#define PD_CODEC_TAGGING_MARK_H

#include "base/mark.h"

/* Ten bytes (docs/formats/tib.md): four VLAN IDs in the order pushed, unused ones 0, the first
 * byte of each the higher one; their number; the DSCP. */

#define PD_TAGGING_SCHEME   1 /* number of the scheme */
#define PD_TAGGING_TAGS_MAX 4

extern const struct pd_mark_scheme pd_tagging_scheme;

/* The mark of `len` (at most PD_TAGGING_TAGS_MAX) tags; no mark where there is nothing to keep. */
struct pd_mark pd_tagging_mark(const uint16_t *vids, unsigned len, uint8_t dscp);

/* What pd_tagging_mark was called with; the mark is none, or of this scheme and valid. Returns the
 * number of tags; unused ones become 0. */
unsigned pd_tagging_mark_read(const struct pd_mark *mark, uint16_t ret_vids[PD_TAGGING_TAGS_MAX],
                              uint8_t *ret_dscp);

#endif
