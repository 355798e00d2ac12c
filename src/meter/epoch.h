/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs of meters, and the two bits of the DSCP that tell them on packets. */
#ifndef PD_METER_EPOCH_H
#define PD_METER_EPOCH_H

#include <stdbool.h>
#include <stdint.h>

/* An epoch is Unix time divided by its length. The upstream meter writes its parity on the packets
 * that it counts, the downstream meter counts each in the epoch of that parity which fits its own
 * clock: so both count the same packets in one epoch, also those on their way at its end (paper
 * 004, section III-G1). The bits are the lower two of the DSCP: 0 not counted, 2 even, 3 odd. */

enum pd_meter_mark { PD_METER_UNMARKED = 0, PD_METER_EVEN = 2, PD_METER_ODD = 3 };
#define PD_METER_MARK_BITS 3u

static inline enum pd_meter_mark pd_meter_mark(uint64_t epoch)
{
    return epoch & 1 ? PD_METER_ODD : PD_METER_EVEN;
}

/* The epoch of a packet with this mark that comes at `time_ns`: the one in force; the one before
 * within a quarter of an epoch behind its end, when its meter has not been read yet; the next one
 * in the last quarter, when the sender's clock is ahead. False: late, or the mark tells no epoch.
 */
bool pd_meter_epoch(uint8_t mark, uint64_t time_ns, uint64_t epoch_ns, uint64_t *ret_epoch);

#endif
