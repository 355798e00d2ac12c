/* SPDX-License-Identifier: Apache-2.0 */
/* A flow of a switch in one form, whether it comes from the codec or from the switch. */
#ifndef PD_CONTROLLER_SWITCHES_FLOW_H
#define PD_CONTROLLER_SWITCHES_FLOW_H

#include <stdio.h>

#include "base/error.h"
#include "codec/rows.h"
#include "controller/switches/wire.h"

/* The form is that of the wire, simplified until two flows that do the same are equal byte by byte:
 * fields of the match in ascending order, masks that are all ones or all zeros left out, bits
 * outside of a mask zero; instructions in ascending order of type. So a switch may answer in
 * another order or with other masks than it was told, and fields that we have no name for are still
 * compared.
 *
 *     pd_switch_flow_of_row(&rows, &rows.rows[i], room, &flow, &error);
 *     pd_switch_flow_write(&flow, OF_ADD, xid, &buffer);
 *
 * Internal to controller/switches/. Thread safety: on the caller's memory only. */

struct pd_of_flow {
    uint64_t cookie;
    uint16_t priority;
    uint8_t table;
    bool timed;           /* it would go away by itself: no rule of ours does */
    uint16_t match_bytes; /* of OXM fields, without the head and padding of the match */
    uint16_t instructions_bytes;
    uint8_t *match; /* into the memory that it was read from */
    uint8_t *instructions;
};

#define PD_OF_FLOW_ROOM 256 /* for match and instructions of any row of a codec */

/* A row of a codec, in the room. Cookie 0. -PD_E_UNSUPPORTED when OpenFlow has no such action. */
int pd_switch_flow_of_row(const struct pd_codec_rows *rows, const struct pd_codec_row *row,
                          uint8_t room[PD_OF_FLOW_ROOM], struct pd_of_flow *ret_flow,
                          struct pd_error *error);

/* Takes the next entry of a flow statistics reply and simplifies it in place. -PD_E_CORRUPT. */
int pd_switch_flow_next(struct of_reader *reader, struct pd_of_flow *ret_flow);

/* Puts match and instructions into the one form, in place. -PD_E_CORRUPT when their parts do not
 * add up. */
int pd_switch_flow_simplify(struct pd_of_flow *flow);

/* Order by priority (highest first) and match; 0: one would replace the other. */
int pd_switch_flow_compare(const struct pd_of_flow *a, const struct pd_of_flow *b);
bool pd_switch_flow_does_same(const struct pd_of_flow *a,
                              const struct pd_of_flow *b); /* instructions */

/* Adds a flow modification message. */
void pd_switch_flow_write(const struct pd_of_flow *flow, enum of_command command, uint32_t xid,
                          struct of_buffer *buffer);

/* For people: as ovs-ofctl writes it where the fields are those of our rules, else field numbers
 * and hex. No newline. */
void pd_switch_flow_print(const struct pd_of_flow *flow, FILE *out);

#endif
