/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs that a host stands in a tree of hosts, with these below it and those above it. */
#ifndef PD_FLEET_PROOF_H
#define PD_FLEET_PROOF_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "fleet/tree.h"
#include "telemetry/bytes.h"

/* A hash tree (Merkle) laid over the aggregation tree: each host's hash covers its ID, its URL and
 * the hash of the list of hosts below it; a list's hash covers its hosts', by twos, so that one of
 * thousands is proved with a dozen hashes. Who knows the hash of the list at the top believes a
 * host's part of the tree by its way up: who stands above it, and the hashes beside.
 *
 * A host that has a part can go on: the ways of those below it begin with its own. So nothing has
 * to be signed again when a question is handed down, or when somebody asks those below a host that
 * is dead. Bytes: docs/formats/order.md.
 *
 * Thread safety: pure, or on the caller's memory. */

#define PD_FLEET_PROOF_HASH_BYTES 32u

struct pd_fleet_proof_hash {
    uint8_t bytes[PD_FLEET_PROOF_HASH_BYTES];
};

/* ---- who hands a tree down ---- */

struct pd_fleet_proof; /* the hashes of all hosts of some trees, which must outlive it */

int pd_fleet_proof_new(const struct pd_tree *trees, size_t len, struct pd_fleet_proof **ret_proof);
void pd_fleet_proof_free(struct pd_fleet_proof *proof); /* NULL is fine */

/* Of the list at the top. */
struct pd_fleet_proof_hash pd_fleet_proof_top(const struct pd_fleet_proof *proof);

/* Writes a host's way up to the top and returns its steps; 0: it is not in these trees. Errors are
 * the stream's. */
unsigned pd_fleet_proof_write(const struct pd_fleet_proof *proof, const struct pd_tree *host,
                              FILE *out);

/* ---- who believes one ---- */

/* The way of a host: itself, the one above it, and so on. */
struct pd_fleet_proof_way {
    unsigned len;
    uint32_t hosts[PD_TREE_DEPTH_MAX];
};

/* The hash of a list of hosts and all below them; NULL, 0: none. -ENOMEM. */
int pd_fleet_proof_list(const struct pd_tree *trees, size_t len,
                        struct pd_fleet_proof_hash *ret_hash);

/* Goes a way of so many steps: from the hash of the list below a host to that of the list at the
 * top. -PD_E_FORBIDDEN: these bytes are none. */
int pd_fleet_proof_go(struct pd_bytes *bytes, unsigned steps,
                      const struct pd_fleet_proof_hash *below, struct pd_fleet_proof_way *ret_way,
                      struct pd_fleet_proof_hash *ret_top);

#endif
