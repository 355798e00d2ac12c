/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the simulated receivers, in a TIB that exists when somebody asks. */
#ifndef PD_SIM_RECORDS_H
#define PD_SIM_RECORDS_H

#include "sim/sim.h"
#include "tib/tib.h"

/* The TIBs of all hosts are one store here. Records wait in memory, PD_RECORDS_WAITING of them; the
 * store is made when more come or when it is read. It lies in a directory of its own under $TMPDIR
 * or /tmp, which is removed as soon as the files are open: nothing is left behind, however the
 * program ends. Internal to sim/. One thread. */

#define PD_RECORDS_WAITING 131072u

struct pd_record_row;

struct pd_sim_records {
    struct pd_record_row *rows;
    uint32_t len, room;
    struct pd_tib *tib;
};

void pd_sim_records_done(struct pd_sim_records *records); /* works on zeroed memory */

int pd_sim_records_take(struct pd_sim_records *records, const struct pd_sim_period *period,
                        struct pd_error *error);

/* With every record so far. Ends with pd_tib_release. */
int pd_sim_records_snapshot(struct pd_sim_records *records, struct pd_tib_snapshot **ret_snapshot,
                            struct pd_error *error);

#endif
