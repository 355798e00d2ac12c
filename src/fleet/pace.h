/* SPDX-License-Identifier: Apache-2.0 */
/* How long servers take until they begin to answer, as they were lately: what silence is measured
 * against. */
#ifndef PD_FLEET_PACE_H
#define PD_FLEET_PACE_H

#include <stdint.h>

/* Mean and mean deviation of the time to the first byte, smoothed as TCP smooths its round-trip
 * times (RFC 6298): 1/8 and 1/4 of the new value. A server is suspect when it is silent for longer
 * than mean + 4 deviations, and for PD_PACE_LEAST_NS at least. The table is bounded: a server that
 * needs the place of another one takes it, and that one begins anew.
 *
 * Thread safety: none; pd_fanout holds its lock. */

#define PD_PACE_LEAST_NS UINT64_C(200000000)
#define PD_PACE_MOST_NS  UINT64_C(5000000000)
#define PD_PACE_SERVERS  4096u

struct pd_pace {
    struct pd_pace_server {
        uint64_t hash; /* of the URL; 0: free */
        uint64_t mean_ns, deviation_ns;
    } servers[PD_PACE_SERVERS];
};

void pd_fleet_pace_note(struct pd_pace *pace, const char *url, uint64_t first_byte_ns);

/* How long this server may be silent before it is suspect. */
uint64_t pd_fleet_pace_patience_ns(const struct pd_pace *pace, const char *url);

#endif
