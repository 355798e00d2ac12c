/* SPDX-License-Identifier: Apache-2.0 */
/* From the marks that a flow's packets carried to what is known of their way. */
#ifndef PD_RESOLVE_RESOLVE_H
#define PD_RESOLVE_RESOLVE_H

#include "base/claim.h"
#include "base/flow_id.h"
#include "codec/set.h"
#include "trajectory/samples.h"

/* The one place where marks become claims, for records, watches, packet logs and snapshots. In
 * front of the codecs stands a cache (paper, section 3.2): most packets of a data centre carry few
 * different trajectories.
 *
 * The racks of both addresses come from the topology. Where a host hangs at several, each is tried:
 * one that fits is the way, several are ambiguous. Where several codecs have keys in a mark, each
 * reads its own: one that knows the way is enough, two that contradict each other are ambiguous.
 *
 * Thread safety: a resolver, with its cache, belongs to one thread. */

struct pd_resolver;

/* The cache is keyed by (source rack, destination rack, mark) and bounded: `cache_entries` (rounded
 * up to a power of 2, at least 4). `codecs` outlive it. 0 or -ENOMEM. */
int pd_resolver_new(const struct pd_codec_set *codecs, size_t cache_entries,
                    struct pd_resolver **ret_resolver);
void pd_resolver_free(struct pd_resolver *resolver); /* NULL is fine */

/* What the mark tells of a flow's packets. *ret_claim is always filled; its path lives in the
 * resolver until the next call, and is empty, with the mark kept, unless this returns 0.
 * -PD_E_INFEASIBLE: no path leaves this mark; -PD_E_AMBIGUOUS: several do; -PD_E_UNKNOWN_HOST: an
 * address of no rack; -PD_E_UNSUPPORTED: nobody writes marks here. All are cached as well. */
int pd_resolver_claim(struct pd_resolver *resolver, const struct pd_flow_id *flow, uint64_t mark,
                      struct pd_claim *ret_claim);

/* Takes a sample in: where no key tells the way, many samples of a flow do, and a claim says
 * *undecided* until they do. Flows are kept in a table of `PD_RESOLVER_FOLDS` (folds.h), made with
 * the first sample. As pd_resolve_folds_add, or -ENOMEM. */
int pd_resolver_sample(struct pd_resolver *resolver, const struct pd_sample *sample);

struct pd_resolver_counters {
    uint64_t hits;
    uint64_t misses;
    uint64_t infeasible;    /* answers, cached or not */
    uint64_t ambiguous;     /* likewise */
    uint64_t unknown_hosts; /* likewise */
};
const struct pd_resolver_counters *pd_resolver_counters(const struct pd_resolver *resolver);

#endif
