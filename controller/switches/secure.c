/* SPDX-License-Identifier: Apache-2.0 */
/* TLS sessions of switches, through GnuTLS. */
#include "controller/switches/secure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/role.h"

#define NAME_BYTES 256
#define NAMES_MAX  64 /* of a kind, in one certificate */

struct pd_of_tls {
    gnutls_session_t session;
    gnutls_certificate_credentials_t shown;
    struct pd_credentials_set *set; /* held: whose certificate is shown, and whose CA counts */
    gnutls_x509_crt_t leaf;         /* the peer's; NULL before it is trusted */
};

/* ---- life */

int pd_switch_tls_check(struct pd_credentials *credentials, struct pd_error *error)
{
    struct pd_credentials_set *set = pd_http_credentials_hold(credentials);
    bool good = set && set->tls.chain_len && set->tls.ca;

    pd_http_credentials_drop(set);
    return good ? 0
                : pd_fail(error, -PD_E_VALUE,
                          "openflow: tls: needs --tls-cert, --tls-key and --tls-ca");
}

void pd_switch_tls_close(struct pd_of_tls *tls)
{
    if (!tls) {
        return;
    }
    if (tls->leaf) {
        gnutls_x509_crt_deinit(tls->leaf);
    }
    if (tls->session) {
        gnutls_deinit(tls->session);
    }
    if (tls->shown) {
        gnutls_certificate_free_credentials(tls->shown);
    }
    pd_http_credentials_drop(tls->set);
    free(tls);
}

static int prepare(struct pd_of_tls *tls, int fd)
{
    if (gnutls_certificate_allocate_credentials(&tls->shown) < 0 ||
        gnutls_init(&tls->session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0) {
        return -ENOMEM;
    }
    gnutls_certificate_set_retrieve_function3(tls->shown, pd_http_tls_show);
    gnutls_session_set_ptr(tls->session, &tls->set->tls);
    gnutls_transport_set_int(tls->session, fd);
    return gnutls_priority_set_direct(tls->session, PD_TLS_PRIORITIES, NULL) < 0 ||
                   gnutls_credentials_set(tls->session, GNUTLS_CRD_CERTIFICATE, tls->shown) < 0
               ? -ENOMEM
               : 0;
}

int pd_switch_tls_open(struct pd_credentials *credentials, int fd, struct pd_of_tls **ret_tls)
{
    struct pd_of_tls *tls = calloc(1, sizeof *tls);
    int err = tls ? 0 : -ENOMEM;

    if (!err) {
        tls->set = pd_http_credentials_hold(credentials);
        err = prepare(tls, fd);
    }
    if (err) {
        pd_switch_tls_close(tls);
    } else {
        *ret_tls = tls;
    }
    return err;
}

/* ---- who is it? */

/* The peer's certificate, by this CA and its revocations. */
static int trust(const struct pd_of_tls *tls, const struct pd_tls *ca, gnutls_x509_crt_t *ret_leaf,
                 struct pd_error *error)
{
    unsigned shown = 0;
    const gnutls_datum_t *der = gnutls_certificate_get_peers(tls->session, &shown);

    return der && shown ? pd_http_tls_trust(ca, der, shown, PD_TLS_CLIENT, ret_leaf, error)
                        : pd_fail(error, -PD_E_UNAUTHORIZED, "the switch has shown no certificate");
}

/* A part of the subject; false: there is none with this number. What cannot be read is "". */
static bool subject_part(gnutls_x509_crt_t leaf, const char *oid, unsigned i, char text[NAME_BYTES])
{
    size_t bytes = NAME_BYTES;
    int result = gnutls_x509_crt_get_dn_by_oid(leaf, oid, i, 0, text, &bytes);

    if (result < 0 || strlen(text) != bytes) {
        text[0] = '\0';
    }
    return i < NAMES_MAX && result != GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE;
}

static bool dns_name(gnutls_x509_crt_t leaf, unsigned i, char text[NAME_BYTES])
{
    size_t bytes = NAME_BYTES - 1;
    int kind = gnutls_x509_crt_get_subject_alt_name(leaf, i, text, &bytes, NULL);

    text[kind == GNUTLS_SAN_DNSNAME && bytes < NAME_BYTES ? bytes : 0] = '\0';
    return i < NAMES_MAX && kind != GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE;
}

/* Those who ask or are asked over HTTP are no switches, whatever their names are. */
static bool has_role(gnutls_x509_crt_t leaf)
{
    char unit[NAME_BYTES];
    enum pd_role role;

    for (unsigned i = 0; subject_part(leaf, GNUTLS_OID_X520_ORGANIZATIONAL_UNIT_NAME, i, unit);
         i++) {
        if (!pd_http_role_parse(unit, &role)) {
            return true;
        }
    }
    return false;
}

int pd_switch_tls_shake(struct pd_of_tls *tls, struct pd_error *error)
{
    int result = gnutls_handshake(tls->session);
    int err;

    if (result < 0) {
        return gnutls_error_is_fatal(result)
                   ? pd_fail(error, -PD_E_UNAUTHORIZED, "%s", gnutls_strerror(result))
                   : -EAGAIN;
    }
    err = trust(tls, &tls->set->tls, &tls->leaf, error);
    return !err && has_role(tls->leaf)
               ? pd_fail(error, -PD_E_UNAUTHORIZED, "its certificate is not a switch's")
               : err;
}

bool pd_switch_tls_names(const struct pd_of_tls *tls, const char *name)
{
    char text[NAME_BYTES];

    for (unsigned i = 0; subject_part(tls->leaf, GNUTLS_OID_X520_COMMON_NAME, i, text); i++) {
        if (*text && !strcmp(text, name)) {
            return true;
        }
    }
    for (unsigned i = 0; dns_name(tls->leaf, i, text); i++) {
        if (*text && !strcmp(text, name)) {
            return true;
        }
    }
    return false;
}

int pd_switch_tls_renew(struct pd_of_tls *tls, struct pd_credentials *credentials,
                        struct pd_error *error)
{
    struct pd_credentials_set *set = pd_http_credentials_hold(credentials);
    gnutls_x509_crt_t leaf;
    int err = 0;

    if (set != tls->set) {
        err = trust(tls, &set->tls, &leaf, error);
    }
    if (set != tls->set && !err) {
        gnutls_x509_crt_deinit(leaf);
        gnutls_session_set_ptr(tls->session, &set->tls);
        pd_http_credentials_drop(tls->set);
        tls->set = set;
    } else {
        pd_http_credentials_drop(set);
    }
    return err;
}

/* ---- bytes */

bool pd_switch_tls_writes(const struct pd_of_tls *tls)
{
    return gnutls_record_get_direction(tls->session) == 1;
}

static ssize_t result_of(ssize_t result)
{
    return result >= 0                          ? result
           : gnutls_error_is_fatal((int)result) ? -EPROTO
           : result == GNUTLS_E_REHANDSHAKE     ? -EPROTO
                                                : -EAGAIN;
}

ssize_t pd_switch_tls_recv(struct pd_of_tls *tls, void *room, size_t bytes)
{
    return result_of(gnutls_record_recv(tls->session, room, bytes));
}

ssize_t pd_switch_tls_send(struct pd_of_tls *tls, const void *data, size_t bytes)
{
    return result_of(gnutls_record_send(tls->session, data, bytes));
}

bool pd_switch_tls_pending(const struct pd_of_tls *tls)
{
    return gnutls_record_check_pending(tls->session) > 0;
}
