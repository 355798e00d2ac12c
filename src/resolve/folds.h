/* SPDX-License-Identifier: Apache-2.0 */
/* Folds: what the samples of each flow have told so far. */
#ifndef PD_RESOLVE_FOLDS_H
#define PD_RESOLVE_FOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/flow_id.h"
#include "codec/set.h"
#include "trajectory/samples.h"

/* A scheme with samples keeps a state for each flow (fold, decide: codec/codec.h). They lie in a
 * table that never grows: a flow has one of the 8 places from its hash on, and a new one takes the
 * place of the flow that has been silent longest there, which is counted.
 *
 * Where a host hangs at several racks, each pair of racks has a state of its own: one that tells a
 * walk is the way, several are ambiguous.
 *
 * Samples that contradict each other tell that the flow's way has changed. Its state then begins
 * anew with the next sample.
 *
 * Thread safety: one thread owns a table. */

#define PD_RESOLVER_FOLDS                                                  \
    65536u /* pairs of flow and racks; 6 MiB and as many states, once used \
            */

struct pd_resolve_folds;

/* `len`: places, a power of two, at least 8. `codecs` outlive it. 0 or -ENOMEM. */
int pd_resolve_folds_new(const struct pd_codec_set *codecs, size_t len,
                         struct pd_resolve_folds **ret_folds);
void pd_resolve_folds_free(struct pd_resolve_folds *folds); /* NULL is fine */

/* How many flows made room for this one's; -PD_E_UNSUPPORTED: no codec has such samples, or an
 * address is of no rack. */
int pd_resolve_folds_add(struct pd_resolve_folds *folds, const struct pd_sample *sample);

/* What is known by now. 0; -PD_E_NOT_FOUND: no sample of this flow; -PD_E_INFEASIBLE: they fit no
 * walk. */
int pd_resolve_folds_decide(struct pd_resolve_folds *folds, const struct pd_flow_id *flow,
                            struct pd_decoding *ret_decoding);

#endif
