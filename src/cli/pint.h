/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands `pathdump pint …` share. */
#ifndef PD_CLI_PINT_H
#define PD_CLI_PINT_H

#include "codec/pint/plan.h"
#include "topology/topology.h"

/* One thread. */

struct pd_cli_pint {
    struct pd_topology *topology;
    struct pd_pint_plan *plan;
};

/* Reads both files; done works on what a failure leaves, too. */
int pd_cli_pint_open(const char *topology, const char *plan, struct pd_cli_pint *ret_pint,
                     struct pd_error *error);
void pd_cli_pint_close(struct pd_cli_pint *pint);

/* `codec verify` of a topology whose codec is pint: trials of 8 bits on each packet. An error when
 * a path was told wrong, or not at all. */
int pd_cli_pint_verify(const struct pd_topology *topology, bool json, struct pd_error *error);

#endif
