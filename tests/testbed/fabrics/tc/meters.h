/* SPDX-License-Identifier: Apache-2.0 */
/* Meters of a switch in the kernel: which ports count, and where a monitor finds the maps. */
#ifndef TESTBED_FABRICS_TC_METERS_H
#define TESTBED_FABRICS_TC_METERS_H

#include "switches.h"

/* Where segments end. */
struct tc_meters {
    const char
        *folder; /* of a BPF file system: maps are pinned in FOLDER/SWITCH; NULL: no meters */
    bool top;    /* also switches at the top, not only those of racks */
};

/* Puts meters on an open switch if it is at the end of segments; maps that were pinned there before
 * are another's, and are replaced. In the network namespace of its ports. 0 or a negative error in
 * words. */
int tc_meters_open(struct tc_switch *sw, const struct tc_meters *meters, struct pd_error *error);

#endif
