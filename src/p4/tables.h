/* SPDX-License-Identifier: Apache-2.0 */
/* All that one switch with a set of programs needs: what each scheme yields for it. */
#ifndef PD_P4_TABLES_H
#define PD_P4_TABLES_H

#include <stdbool.h>

#include "base/tables.h"
#include "codec/codec.h"
#include "codec/pint/plan.h"

/* A set is names of programs with + between them; each has a line in the table of tables.c, with
 * the function that yields its part. Forwarding and the edge belong to all.
 *
 * Thread safety: pure. */

struct pd_p4_want {
    const struct pd_topology *topology;
    uint32_t sw;     /* index */
    const char *set; /* "cherrypick+sr-int" */
    enum pd_depth depth;
    const struct pd_pint_plan *plan; /* of pint; may be NULL otherwise */
    bool routes;
    bool probe_hosts_all;        /* probes may come from all hosts */
    const uint32_t *probe_hosts; /* else from these, by ID */
    uint32_t probe_hosts_len;
    const char *monitors; /* of path-bloom, in place of the topology's; NULL: as there */
};

/* -PD_E_UNSUPPORTED, -PD_E_TOPOLOGY, -PD_E_VALUE in words; -ENOMEM. */
int pd_p4_tables_make(const struct pd_p4_want *want, struct pd_tables *tables,
                      struct pd_error *error);

#endif
