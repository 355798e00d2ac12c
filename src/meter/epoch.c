/* SPDX-License-Identifier: Apache-2.0 */
/* Which epoch a marked packet was counted in. */
#include "meter/epoch.h"

bool pd_meter_epoch(uint8_t mark, uint64_t time_ns, uint64_t epoch_ns, uint64_t *ret_epoch)
{
    const uint64_t now = time_ns / epoch_ns, into_ns = time_ns % epoch_ns;
    const uint64_t grace_ns = epoch_ns / 4;

    if (mark != PD_METER_EVEN && mark != PD_METER_ODD) {
        return false;
    }
    if (mark == pd_meter_mark(now)) {
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
