/* SPDX-License-Identifier: Apache-2.0 */
/* Which epoch a marked packet was counted in. */
#include "meter/epoch.h"

#include "meter/epoch_of.h"

_Static_assert(PD_METER_EVEN == 2 && PD_METER_ODD == 3,
               "what programs in the kernel take for them");

bool pd_meter_epoch(uint8_t mark, uint64_t time_ns, uint64_t epoch_ns, uint64_t *ret_epoch)
{
    __u64 epoch = 0;
    const bool found = pd_meter_epoch_of(mark, time_ns, epoch_ns, &epoch);

    if (found) {
        *ret_epoch = epoch;
    }
    return found;
}
