/* SPDX-License-Identifier: Apache-2.0 */
/* Silent hosts are asked for a sign of life in the background, until they give one. */
#ifndef PD_CONTROLLER_PULSE_H
#define PD_CONTROLLER_PULSE_H

#include "daemon/part.h"

/* One thread, `pd-pulse`, asleep while no host is silent. Each of them is asked for its status
 * again and again, all at the same time; what answers, whatever it says, takes part in questions
 * again. What refuses the connection is missing, and not silent: asking it costs nothing. */
extern const struct pd_part pd_controller_pulse_part;

#endif
