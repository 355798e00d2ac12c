/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that know DPDK: frames and the buffers that they lie in. */
#ifndef PD_SWX_DPDK_H
#define PD_SWX_DPDK_H

#include "swx/frame.h"

/* What DPDK calls a frame (a struct rte_mbuf), and back. */
void *pd_swx_frame_handle(struct pd_swx_frame *frame);
struct pd_swx_frame *pd_swx_frame_of(void *handle);

#endif
