/* SPDX-License-Identifier: Apache-2.0 */
/* Which epoch a marked packet is counted in, for programs here and in the kernel. */
#ifndef PD_METER_EPOCH_OF_H
#define PD_METER_EPOCH_OF_H

#include <linux/types.h>
#include <stdbool.h>

/* As pd_meter_epoch (epoch.h) says. */
static inline bool pd_meter_epoch_of(__u8 mark, __u64 time_ns, __u64 epoch_ns, __u64 *ret_epoch)
{
    const __u64 now = time_ns / epoch_ns, into_ns = time_ns % epoch_ns, grace_ns = epoch_ns / 4;

    if (mark < 2 || mark > 3) {
        return false;
    }
    if (mark == (2 | (now & 1))) {
        *ret_epoch = now;
        return true;
    }
    if (into_ns < grace_ns && now) {
        *ret_epoch = now - 1;
        return true;
    }
    if (into_ns >= epoch_ns - grace_ns) {
        *ret_epoch = now + 1;
        return true;
    }
    return false;
}

#endif
