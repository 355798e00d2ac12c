/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's time stamps of frames put on the monotonic clock. */
#include "intake/live/stamp.h"

#include "base/clock.h"

#define STEADY_NS   (PD_NS_PER_MS / 10)     /* between two readings without a pause between them */
#define STEP_NS     ((int64_t)PD_NS_PER_MS) /* less than that is the clock being slewed */
#define BACK_MAX_NS PD_NS_PER_S /* frames of several CPUs are at most so much out of order */

int64_t pd_live_stamp_wall_ahead(int64_t old_ahead_ns, uint64_t before_ns, uint64_t wall_ns,
                                 uint64_t after_ns)
{
    const int64_t ahead_ns = (int64_t)(wall_ns - before_ns);
    const int64_t step_ns = ahead_ns - old_ahead_ns;

    if (old_ahead_ns != 0 &&
        (after_ns - before_ns > STEADY_NS || (step_ns <= STEP_NS && step_ns >= -STEP_NS))) {
        return old_ahead_ns;
    }
    return ahead_ns;
}

uint64_t pd_live_stamp_monotonic(uint64_t wall_ns, int64_t wall_ahead_ns, uint64_t newest_ns,
                                 uint64_t now_ns)
{
    const int64_t time_ns = (int64_t)wall_ns - wall_ahead_ns;
    const int64_t least_ns = newest_ns > BACK_MAX_NS ? (int64_t)(newest_ns - BACK_MAX_NS) : 0;

    if (time_ns > (int64_t)now_ns) {
        return now_ns;
    }
    return time_ns < least_ns ? newest_ns : (uint64_t)time_ns;
}
