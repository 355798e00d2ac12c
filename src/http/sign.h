/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures with this process's own certificate, and whose those of others are. */
#ifndef PD_HTTP_SIGN_H
#define PD_HTTP_SIGN_H

#include <stddef.h>
#include <stdint.h>

#include "http/tls.h"

/* What has to be believed after the connection that it came through is gone: a text goes along with
 * the signer's chain of certificates, and anybody with the CA can tell who signed it. The key says
 * how it is signed: Ed25519, Ed448, ECDSA or RSA with SHA-256.
 *
 * Thread safety: pure, as struct pd_tls. */

#define PD_HTTP_SIGN_BYTES_MAX 1024u

struct pd_http_signature {
    unsigned char bytes[PD_HTTP_SIGN_BYTES_MAX];
    size_t len;
};

/* Can this process sign at all? */
bool pd_http_sign_can(const struct pd_tls *tls);

/* -PD_E_UNSUPPORTED: there is no key, or of a kind that signs otherwise. */
int pd_http_sign(const struct pd_tls *tls, const void *text, size_t bytes,
                 struct pd_http_signature *ret_signature, struct pd_error *error);

/* The certificate of a signer: the first of a chain, DER. -PD_E_FORBIDDEN. */
int pd_http_sign_check(const gnutls_datum_t *certificate, const void *text, size_t bytes,
                       const void *signature, size_t signature_bytes, struct pd_error *error);

#endif
