/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's time stamps of frames (wall time) put on the monotonic clock, on which live flows
 * end. */
#ifndef PD_INTAKE_LIVE_STAMP_H
#define PD_INTAKE_LIVE_STAMP_H

#include <stdint.h>

/* Pure functions: the caller reads the clocks. Wall time may be set while this runs, forward or
 * back, by hand or by NTP; no flow may end by that, and none may live on for ever. */

/* How far wall time is ahead of the monotonic clock. `before_ns` and `after_ns` are monotonic, read
 * around `wall_ns`. `old_ahead_ns` (0: none yet) is kept when this thread was off the CPU in
 * between, and while the clock is only being slewed: a frame's wall time then comes out of its
 * record as it went in. */
int64_t pd_live_stamp_wall_ahead(int64_t old_ahead_ns, uint64_t before_ns, uint64_t wall_ns,
                                 uint64_t after_ns);

/* The monotonic time of a frame stamped `wall_ns`. One that was stamped before the clock was set
 * has a time far off: it is put where its neighbours are. `newest_ns` is the latest time of an
 * earlier frame; nothing is later than `now_ns`. */
uint64_t pd_live_stamp_monotonic(uint64_t wall_ns, int64_t wall_ahead_ns, uint64_t newest_ns,
                                 uint64_t now_ns);

#endif
