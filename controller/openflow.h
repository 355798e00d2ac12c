/* SPDX-License-Identifier: Apache-2.0 */
/* The switches as one of the controller's parts. */
#ifndef PD_CONTROLLER_OPENFLOW_H
#define PD_CONTROLLER_OPENFLOW_H

#include "controller/controller.h"

/* Opens the OpenFlow endpoint where the settings say so, by the topology of the inventory; a reload
 * that brings another topology has all switches come again. A switch that the topology does not
 * know gets nothing. */
extern const struct pd_part pd_controller_openflow_part;

#endif
