/* SPDX-License-Identifier: Apache-2.0 */
/* The intake that listens on a Linux interface. */
#ifndef PD_INTAKE_LIVE_LIVE_H
#define PD_INTAKE_LIVE_LIVE_H

#include "intake/intake.h"

extern const struct pd_intake_ops pd_intake_live;

#endif
