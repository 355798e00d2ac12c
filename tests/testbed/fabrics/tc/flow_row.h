/* SPDX-License-Identifier: Apache-2.0 */
/* A flow of the controller as a row of a codec: what the kernel's tables are made of. */
#ifndef TESTBED_FABRICS_TC_FLOW_ROW_H
#define TESTBED_FABRICS_TC_FLOW_ROW_H

#include "controller/switches/flow.h"

/* `tpid` is left alone where the row pushes no tag. False: the switches do not execute it. */
bool tc_flow_row(const struct pd_of_flow *flow, struct pd_codec_row *ret_row, uint16_t *tpid);

#endif
