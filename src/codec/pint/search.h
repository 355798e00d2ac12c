/* SPDX-License-Identifier: Apache-2.0 */
/* Searches: from a flow's digests to the only path that fits them all. */
#ifndef PD_CODEC_PINT_SEARCH_H
#define PD_CODEC_PINT_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/pint/draws.h"
#include "codec/pint/trellis.h"

/* Paper 002 knows a set of switches and peels one hop after the other. Here both racks, the number
 * of hops and the cables are known, too. For each hop the switches that are left are thinned out by
 * digests of that hop, by neighbours both ways, by which values the other hops of an XOR can make
 * (exactly, walk by walk, over the trellis), and by switches that are certain elsewhere, until
 * nothing changes. As soon as few walks are left, they are listed: forward and backward halves
 * are joined where their XORs agree, and from then on each digest is tried on the list.
 *
 * A host may have routed before the first switch: offsets 0 to 3 are tried side by side, and only a
 * walk that is alone over all of them is decided. A true path is never thrown out, so a decided
 * path is wrong only if the true one is not in the topology.
 *
 * Thread safety: a solver and its searches belong to one thread. */

#define PD_PINT_SAMPLES_MAX 512 /* of a search */
#define PD_PINT_OFFSETS     4

enum pd_pint_method {
    PD_PINT_JOINT, /* all of the above */
    PD_PINT_PEEL,  /* the paper's way: an XOR tells a hop when all others in it are known */
};

struct pd_pint_solver;

int pd_pint_solver_new(const struct pd_topology *topology, const struct pd_pint_plan *plan,
                       enum pd_pint_method method, size_t trellis_bytes,
                       struct pd_pint_solver **ret_solver);
void pd_pint_solver_free(struct pd_pint_solver *solver); /* NULL is fine; after its searches */

struct pd_pint_search;

/* Packets of one pair of racks (indexes; PD_NONE: not believed, each hop is one of all switches)
 * whose TTL was lowered `hops` times, by at most `offsets` - 1 hosts among them. 0, also when no
 * walk fits at all; -PD_E_FULL, -ENOMEM. */
int pd_pint_search_new(struct pd_pint_solver *solver, uint32_t src, uint32_t dst, uint32_t hops,
                       unsigned offsets, struct pd_pint_search **ret_search);
void pd_pint_search_free(struct pd_pint_search *search); /* NULL is fine */

/* Takes a packet's digest. 0; -PD_E_FULL: it was left out, since there are PD_PINT_SAMPLES_MAX;
 * -ENOMEM. */
int pd_pint_search_add(struct pd_pint_search *search, uint32_t packet_id, uint16_t digest);

/* Walks that fit: 0, 1 (decided), or more; UINT64_MAX: so many that they were not counted. */
uint64_t pd_pint_search_candidates(const struct pd_pint_search *search);

/* A path that is decided: switch IDs. */
struct pd_pint_path {
    uint32_t switches[PD_PINT_HOPS_MAX];
    uint32_t len;
    uint32_t first_hop; /* hop number of the first switch: 1, more behind hosts that route */
};

/* True with the path when it is decided. */
bool pd_pint_search_path(const struct pd_pint_search *search, struct pd_pint_path *ret_path);

/* Bits of digests that speak of each hop of a path: adds those of this packet. False: the digest
 * contradicts the path. `draw`: the packet's, or NULL. */
bool pd_pint_fits(const struct pd_pint_plan *plan, const struct pd_pint_path *path,
                  uint32_t packet_id, uint16_t digest, const struct pd_pint_draw *draw,
                  uint16_t *coverage);

/* The digests that the search was given. */
struct pd_pint_sample {
    uint32_t packet_id;
    uint16_t digest;
};
const struct pd_pint_sample *pd_pint_search_samples(const struct pd_pint_search *search,
                                                    size_t *ret_len);

size_t pd_pint_search_bytes(const struct pd_pint_search *search);

#endif
