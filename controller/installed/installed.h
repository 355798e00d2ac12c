/* SPDX-License-Identifier: Apache-2.0 */
/* Installed queries of the fleet: kept here, brought to the hosts that they are meant for, and
 * taken away again. */
#ifndef PD_CONTROLLER_INSTALLED_INSTALLED_H
#define PD_CONTROLLER_INSTALLED_INSTALLED_H

#include "controller/controller.h"

/* The list lies in the state directory (installed.json); what it says is what hosts shall have
 * (paper, Table 1: install, uninstall). POST and DELETE try each host once, for two seconds at
 * most; whoever is away gets it later: a thread compares what each host has with what it shall
 * have, at the start, soon after a failure, and every half a minute. It installs what is missing or
 * differs, and uninstalls what was installed from here (IDs below 2^40) and is not wanted any more.
 * A host that was away, a controller that lost its state, a crash between the file and the host:
 * all are the same difference. */

extern const struct pd_part pd_installed_part;

#endif
