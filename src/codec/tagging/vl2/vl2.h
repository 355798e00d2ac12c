/* SPDX-License-Identifier: Apache-2.0 */
/* CherryPick for VL2: aggs write the link a packet came in by, first into the DSCP, then as link
 * tags. */
#ifndef PD_CODEC_TAGGING_VL2_VL2_H
#define PD_CODEC_TAGGING_VL2_VL2_H

#include "codec/tagging/tagging.h"

extern const struct pd_tagging_ops pd_vl2_codec;

#endif
