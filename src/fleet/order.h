/* SPDX-License-Identifier: Apache-2.0 */
/* Orders: what the controller has asked, so that hosts answer each other nothing else. */
#ifndef PD_FLEET_ORDER_H
#define PD_FLEET_ORDER_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fleet/proof.h"
#include "http/sign.h"

/* A question for a tree of hosts carries an order: the controller's signature over the question
 * (its digest), the hosts with their URLs (the hash of their tree), a deadline and a nonce. A host
 * that hands the question down sends each one below it the same signature with that one's way in
 * the tree (fleet/proof.h). So a certificate of a host's opens other hosts for as long as the
 * controller wants it to, for that question, from those who stand above in the tree; and no host
 * asks at a URL that the controller did not name.
 *
 * The signer is known by its certificate, which goes along: from the CA, of the role admin, and
 * meant for servers, as only controllers' and agents' are. Bytes: docs/formats/order.md.
 *
 * Thread safety: pure, or on the caller's memory; orders that are handed down are immutable. */

#define PD_FLEET_ORDER_HEADER       "Pathdump-Order"
#define PD_FLEET_ORDER_NONCE_BYTES  16u
#define PD_FLEET_ORDER_MAX_BYTES    49152u             /* before Base64 */
#define PD_FLEET_ORDER_TOLERANCE_US UINT64_C(30000000) /* how far clocks may be apart */

struct pd_fleet_order_terms {
    uint64_t issued_us, deadline_us; /* wall time of who signs */
    uint8_t nonce[PD_FLEET_ORDER_NONCE_BYTES];
    struct pd_fleet_proof_hash digest; /* of the document */
    struct pd_fleet_proof_hash top;    /* of the hosts */
};

/* The digest of a document: without "deadline_ms" and "children", members in the order of their
 * names, compact. -ENOMEM. */
int pd_fleet_order_digest(const json_t *document, struct pd_fleet_proof_hash *ret_digest);

/* ---- orders that are handed down ---- */

struct pd_fleet_orders;

/* Signs for these trees, which must outlive it. -PD_E_UNSUPPORTED without a key, -ENOMEM. */
int pd_fleet_orders_sign(const struct pd_tls *tls, const json_t *document, uint64_t deadline_us,
                         const struct pd_tree *trees, size_t len,
                         struct pd_fleet_orders **ret_orders, struct pd_error *error);

/* That of one host of the trees as the header wants it, the caller's; NULL: there is no memory, or
 * it would be too long. */
char *pd_fleet_orders_text(const struct pd_fleet_orders *orders, const struct pd_tree *host);

void pd_fleet_orders_free(struct pd_fleet_orders *orders); /* NULL is fine */

/* ---- an order that came ---- */

struct pd_fleet_order {
    struct pd_fleet_order_terms terms;
    /* from the host that got it up to the top; after pd_fleet_order_prove */
    struct pd_fleet_proof_way way;
    gnutls_datum_t chain[PD_TLS_CHAIN_MAX]; /* of the signer; into `bytes` */
    unsigned chain_len;
    size_t signed_bytes; /* of `bytes`, that the signature is over */
    size_t signature_at, signature_bytes;
    size_t way_at, way_bytes;
    unsigned way_steps;
    uint8_t *bytes;
};

/* -PD_E_FORBIDDEN in words: it is none. */
int pd_fleet_order_read(const char *text, struct pd_fleet_order *ret_order, struct pd_error *error);
void pd_fleet_order_done(struct pd_fleet_order *order); /* a zeroed one is fine */

/* Is it of this document, and for this host with these below it? -PD_E_FORBIDDEN, -ENOMEM. */
int pd_fleet_order_prove(struct pd_fleet_order *order, const json_t *document, uint32_t host,
                         const struct pd_tree *below, size_t below_len, struct pd_error *error);

/* Is it time for it, by this clock? The words tell how far the clocks are apart. -PD_E_FORBIDDEN.
 */
int pd_fleet_order_timely(const struct pd_fleet_order_terms *terms, uint64_t now_us,
                          struct pd_error *error);

/* Has a controller signed it? `known` is the certificate that was found to be one last, and becomes
 * this one; all zero at first. `proven`: a certificate whose key the connection that it came by has
 * proven, DER: where that is the signer's own, its signature could say no more and is not looked at
 * (NULL: none). -PD_E_FORBIDDEN. */
struct pd_fleet_order_signer {
    struct pd_fleet_proof_hash certificate;
    uint64_t until_ns; /* monotonic */
};
int pd_fleet_order_signed(const struct pd_fleet_order *order, const struct pd_tls *tls,
                          struct pd_fleet_order_signer *known, const gnutls_datum_t *proven,
                          struct pd_error *error);

/* The orders of those below: what came, with their ways before its own. `order` and `below` must
 * outlive it. -ENOMEM. */
int pd_fleet_order_pass(const struct pd_fleet_order *order, const struct pd_tree *below,
                        size_t below_len, struct pd_fleet_orders **ret_orders);

#endif
