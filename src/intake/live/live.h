/* SPDX-License-Identifier: Apache-2.0 */
/* The intake that listens on a Linux interface. */
#ifndef PD_INTAKE_LIVE_LIVE_H
#define PD_INTAKE_LIVE_LIVE_H

#include "intake/intake.h"

/* What only this kind can do: an intake's `options`. */
struct pd_intake_live_options {
    bool strip;          /* take the tags off for the host's own stack */
    bool promiscuous;    /* frames for other hosts as well */
    bool payload;        /* up to 2 KB of each frame: telemetry lies behind ports */
    uint64_t ring_bytes; /* size of the kernel's ring, all of it resident; 0: 4 MiB */
};

extern const struct pd_intake_ops pd_intake_live;

#endif
