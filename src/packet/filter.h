/* SPDX-License-Identifier: Apache-2.0 */
/* Path filters on frames: where the bits that switches set stand, in three carriers. */
#ifndef PD_PACKET_FILTER_H
#define PD_PACKET_FILTER_H

#include "packet/packet.h"

/* Paper 004, section III-B; layout in docs/formats/path-filter.md. A mark is the filter in the low
 * 32 bits, and one bit more where there is one, so that an empty filter is not the same as none.
 *
 *     VXLAN  the reserved fields of the outer header: filter bits 31-8 in the 24 behind the flags,
 *            7-0 in the last byte; the flow is the outer one
 *     VLAN   one tag: filter bits 0-11 are the VLAN ID, 12-14 the priority
 *     VLAN2  two tags, 16 bits each, the high half outside
 *
 * Bytes as they came in; what lies behind `captured` is not there. Thread safety: pure. */

#define PD_FILTER_PRESENT   (UINT64_C(1) << 32)
#define PD_FILTER_MALFORMED (UINT64_C(1) << 33) /* tags, but not as many as switches write */
#define PD_FILTER_BITS      (PD_FILTER_PRESENT | PD_FILTER_MALFORMED | UINT32_MAX)

#define PD_VXLAN_PORT       4789

pd_packet_mark_reader pd_packet_filter_read_vxlan;
pd_packet_mark_reader pd_packet_filter_read_vlan;
pd_packet_mark_reader pd_packet_filter_read_vlan2;

#endif
