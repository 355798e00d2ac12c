/* SPDX-License-Identifier: Apache-2.0 */
/* What GnuTLS is needed for: a server's certificate, and whose certificate a client has shown. */
#ifndef PD_HTTP_TLS_H
#define PD_HTTP_TLS_H

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/error.h"
#include "http/server.h"

/* A client's certificate says who it is: OU is the role (read, install, admin, agent), CN the name;
 * an agent's CN is its host's ID. Each must stand there once. It must come from the CA, be valid
 * today, and be meant for clients.
 *
 * Thread safety: struct pd_tls is immutable once loaded; GnuTLS allows any number of threads to
 * verify and sign with it. */

/* TLS 1.2 and 1.3, with forward secrecy and authenticated ciphers only. */
#define PD_TLS_PRIORITIES                                                                    \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-DHE-RSA:-MAC-ALL:+AEAD:-SHA1:%SERVER_" \
    "PRECEDENCE"

#define PD_TLS_CHAIN_MAX 8

struct pd_tls {
    gnutls_pcert_st chain[PD_TLS_CHAIN_MAX];
    unsigned chain_len; /* 0: no certificate of our own */
    gnutls_privkey_t key;
    gnutls_x509_trust_list_t ca; /* NULL: nobody is asked for one */
    gnutls_x509_crl_t *crls;     /* what the CA has revoked */
    unsigned crls_len;
};

/* Texts are PEM; NULL for what there is not. -PD_E_VALUE. `tls` may be given to pd_http_tls_done
 * after an error, too. */
int pd_http_tls_load_own(struct pd_tls *tls, const char *cert, const char *key,
                         struct pd_error *error);
int pd_http_tls_load_ca(struct pd_tls *tls, const char *ca, struct pd_error *error);
/* Lists that the CA (its text) has signed; one whose time is over still holds. */
int pd_http_tls_load_crl(struct pd_tls *tls, const char *ca, const char *crl,
                         struct pd_error *error);
void pd_http_tls_done(struct pd_tls *tls);

/* For GnuTLS, during a server's handshake: the session's pointer is the struct pd_tls whose
 * certificate is shown. It asks for a client certificate when there is a CA, without a list of
 * names: so a CA can change while the server runs. */
int pd_http_tls_show(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                     gnutls_pcert_st **ret_chain, unsigned *ret_chain_len,
                     gnutls_ocsp_data_st **ret_ocsp, unsigned *ret_ocsp_len,
                     gnutls_privkey_t *ret_key, unsigned *ret_flags);

/* Has the CA revoked this one? */
bool pd_http_tls_revoked(const struct pd_tls *tls, gnutls_x509_crt_t crt);

/* The certificate that the client has shown, whether it is good or not; the caller's. NULL: none.
 */
gnutls_x509_crt_t pd_http_tls_leaf(gnutls_session_t session);

/* What a certificate is used for. */
enum pd_tls_side { PD_TLS_CLIENT, PD_TLS_SERVER };

/* Whose a chain is, DER, the leaf first: it has to come from the CA and be meant for that side.
 * -PD_E_UNAUTHORIZED with the reason. `name` takes PD_TLS_NAME_BYTES. */
#define PD_TLS_NAME_BYTES 64
int pd_http_tls_judge(const struct pd_tls *tls, const gnutls_datum_t *der, unsigned der_len,
                      enum pd_tls_side side, enum pd_role *ret_role, char *ret_name,
                      struct pd_error *error);

/* The leaf of a chain that comes from the CA and is meant for that side, whatever it says of
 * itself; the caller's. -PD_E_UNAUTHORIZED with the reason. */
int pd_http_tls_trust(const struct pd_tls *tls, const gnutls_datum_t *der, unsigned der_len,
                      enum pd_tls_side side, gnutls_x509_crt_t *ret_leaf, struct pd_error *error);

/* The same of a session. -PD_E_NOT_FOUND when the client has shown no certificate. */
int pd_http_tls_principal(const struct pd_tls *tls, gnutls_session_t session,
                          enum pd_role *ret_role, char *ret_name, struct pd_error *error);

#endif
