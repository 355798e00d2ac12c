/* SPDX-License-Identifier: Apache-2.0 */
/* Time: monotonic inside, wall time at the edges, converted here and nowhere else. */
#ifndef PD_BASE_CLOCK_H
#define PD_BASE_CLOCK_H

#include <stdint.h>

#define PD_NS_PER_US UINT64_C(1000)
#define PD_NS_PER_MS UINT64_C(1000000)
#define PD_NS_PER_S  UINT64_C(1000000000)
#define PD_US_PER_S  UINT64_C(1000000)

uint64_t pd_clock_monotonic_ns(void);
uint64_t pd_clock_wall_us(void); /* microseconds since the epoch */
uint64_t pd_clock_wall_ns(void);
uint64_t pd_clock_thread_ns(void); /* processor time of the calling thread */

/* Reads seconds since the epoch ("1700000000.25", up to microseconds) or RFC 3339
 * ("2026-11-21T01:02:03.5Z", "…+02:00") into microseconds since the epoch. Returns 0 or
 * -PD_E_VALUE. Times from 2^53 us (the year 2255) to the end of 9999 are read as the last
 * microsecond before, so that "--to 9999999999" works; nothing is below 0. */
int pd_time_parse(const char *text, uint64_t *ret_us);

/* What people type: all of the above; "now", "today" (since midnight), "yesterday"; "-5m", so long
 * ago, with s, m, h or d; "2026-11-22 14:00[:30[.5]]", "2026-11-22" and "14:00" (today), without a
 * zone: that of this process. `now_us` is the time of now. */
int pd_time_parse_words(const char *text, uint64_t now_us, uint64_t *ret_us);
#define PD_TIME_WORDS \
    "a time: -5m, now, today, 2026-11-22 14:00, 2026-11-22T13:00:00Z or seconds since the epoch"

#define PD_TIME_TEXT_BYTES 40
/* RFC 3339 in UTC with microseconds; returns `text`. */
const char *pd_time_format(uint64_t wall_us, char text[PD_TIME_TEXT_BYTES]);
/* The same in the time zone of this process: "2026-11-22T15:00:00.000000+01:00". */
const char *pd_time_format_local(uint64_t wall_us, char text[PD_TIME_TEXT_BYTES]);

#endif
