/* SPDX-License-Identifier: Apache-2.0 */
/* The table that the trajectory memory is measured against, fed with the same packets. */
#ifndef PD_BENCH_TRAJECTORY_PEER_H
#define PD_BENCH_TRAJECTORY_PEER_H

#include <stdint.h>

#include "packet/packet.h"

/* NULL with a note on stderr when there is none. */
const char *peer_name(void);

void peer_open(uint32_t live);
/* At most 32 packets. A FIN or RST deletes the record at once: the peer needs no sweep. */
void peer_update(const struct pd_packet *packets, unsigned n, uint64_t now_ns);
void peer_close(void);

#endif
