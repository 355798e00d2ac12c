/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables of a switch with a compiled program should hold. */
#ifndef PD_CONTROLLER_SWITCHES_P4_WANTED_H
#define PD_CONTROLLER_SWITCHES_P4_WANTED_H

#include <jansson.h>

#include "base/error.h"
#include "codec/rows.h"
#include "topology/topology.h"

/* All that the schemes of a program yield for a switch (p4/tables.h), but routes: which way packets
 * go is the network's own affair, as with OpenFlow. Tables that are not among them are left alone.
 *
 * Internal to the folder. Thread safety: pure. */

/* {TABLE: ["match … action …", …], …}, by the compiled program's names; the caller owns it.
 * `depth`: whether tags tell theirs. Negative errors in words. */
int pd_switch_p4_wanted(const struct pd_topology *topology, uint32_t sw, const char *program,
                        enum pd_depth depth, json_t **ret_tables, struct pd_error *error);

/* Rows of `wanted` that are not in `found`, both lists of texts. */
uint32_t pd_switch_p4_missing(const json_t *wanted, const json_t *found);

#endif
