/* SPDX-License-Identifier: Apache-2.0 */
/* The part of meters: rules of the controller, readings of a switch. */
#ifndef PD_AGENT_METERS_METERS_H
#define PD_AGENT_METERS_METERS_H

#include "daemon/part.h"

extern const struct pd_part pd_agent_meters;

#endif
