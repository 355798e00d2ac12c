/* SPDX-License-Identifier: Apache-2.0 */
/* The planner: queries as an operator asks them become a plan. */
#ifndef PD_CODEC_PINT_PLANNER_H
#define PD_CODEC_PINT_PLANNER_H

#include <jansson.h>

#include "codec/pint/plan.h"
#include "topology/topology.h"

/* Paper 002, sections 3.3 and 3.4, where a person does it. A query asks for bits and for a share of
 * the packets (shares.h); measured values get codes between `min` and `max`; the numbers of static
 * queries come from one of the paper's definitions, or are searched for by trials on the topology,
 * with a few links down that the decoder does not know. One thread. */

#define PD_PINT_PARAMETERS(X)                        \
    X(SEARCH, "search", "by trials on the topology") \
    X(TEXT, "text", "section 4.2 with footnote 8")   \
    X(ALGORITHM1, "algorithm1", "algorithm 1")       \
    X(REVISED, "revised", "appendix A.3: more packets in the Baseline layer")

enum pd_pint_parameters {
#define X(name, id, text) PD_PINT_##name,
    PD_PINT_PARAMETERS(X)
#undef X
        PD_PINT_PARAMETERS_COUNT
};
extern const char *const pd_pint_parameters_names[]; /* ended by NULL */

struct pd_pint_order {
    const struct pd_topology *topology;
    unsigned bits; /* of the digest */
    enum pd_pint_carrier carrier;
    enum pd_pint_parameters parameters;
    uint32_t seed;
};

/* `queries` is a list of objects (docs/formats/pint.md); `name` stands for its file in errors.
 * -PD_E_FULL names the query that does not fit. */
int pd_pint_plan_make(const json_t *queries, const char *name, const struct pd_pint_order *order,
                      struct pd_pint_plan **ret_plan, struct pd_error *error);

/* Packets of the Baseline layer and XOR probabilities, of PD_PINT_ONE, for paths of about `len`
 * switches. Not for PD_PINT_SEARCH. */
void pd_pint_parameters(enum pd_pint_parameters parameters, double len, uint32_t *ret_tau,
                        uint32_t *ret_layers, unsigned *ret_layers_len);

#endif
