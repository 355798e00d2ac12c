/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates, through GnuTLS. */
#include "http/tls.h"

#include <errno.h>
#include <string.h>

#include "http/role.h"

static gnutls_datum_t datum(const char *text)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

/* ---- loading ---- */

/* GnuTLS compares them when they become credentials; these are thrown away again. */
static int check_pair(const gnutls_datum_t *cert, const gnutls_datum_t *key, struct pd_error *error)
{
    gnutls_certificate_credentials_t pair;
    int e = gnutls_certificate_allocate_credentials(&pair);

    if (e < 0) {
        return -ENOMEM;
    }
    e = gnutls_certificate_set_x509_key_mem(pair, cert, key, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(pair);
    return e < 0 ? pd_fail(error, -PD_E_VALUE, "certificate and key: %s", gnutls_strerror(e)) : 0;
}

int pd_tls_load_own(struct pd_tls *tls, const char *cert, const char *key, struct pd_error *error)
{
    gnutls_datum_t cert_pem = datum(cert), key_pem = datum(key);
    unsigned len = PD_TLS_CHAIN_MAX;
    int e = check_pair(&cert_pem, &key_pem, error);

    if (e) {
        return e;
    }
    e = gnutls_pcert_list_import_x509_raw(tls->chain, &len, &cert_pem, GNUTLS_X509_FMT_PEM, 0);
    if (e < 0) {
        return pd_fail(error, -PD_E_VALUE, "certificate: %s", gnutls_strerror(e));
    }
    tls->chain_len = len;
    e = gnutls_privkey_init(&tls->key);
    if (e >= 0) {
        e = gnutls_privkey_import_x509_raw(tls->key, &key_pem, GNUTLS_X509_FMT_PEM, NULL, 0);
    }
    return e < 0 ? pd_fail(error, -PD_E_VALUE, "key: %s", gnutls_strerror(e)) : 0;
}

int pd_tls_load_ca(struct pd_tls *tls, const char *ca, struct pd_error *error)
{
    gnutls_datum_t pem = datum(ca);
    int e = gnutls_x509_trust_list_init(&tls->ca, 0);

    if (e < 0) {
        return -ENOMEM;
    }
    e = gnutls_x509_trust_list_add_trust_mem(tls->ca, &pem, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
    if (e > 0) {
        return 0;
    }
    return pd_fail(error, -PD_E_VALUE, "CA: %s",
                   e ? gnutls_strerror(e) : "no certificate is in it");
}

void pd_tls_done(struct pd_tls *tls)
{
    for (unsigned i = 0; i < tls->chain_len; i++) {
        gnutls_pcert_deinit(&tls->chain[i]);
    }
    if (tls->key) {
        gnutls_privkey_deinit(tls->key);
    }
    if (tls->ca) {
        gnutls_x509_trust_list_deinit(tls->ca, 1);
    }
    *tls = (struct pd_tls){0};
}

/* ---- our certificate ---- */

int pd_tls_show(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                gnutls_pcert_st **ret_chain, unsigned *ret_chain_len,
                gnutls_ocsp_data_st **ret_ocsp, unsigned *ret_ocsp_len, gnutls_privkey_t *ret_key,
                unsigned *ret_flags)
{
    struct pd_tls *tls = gnutls_session_get_ptr(session);

    (void)info;
    if (!tls) {
        return -1;
    }
    if (tls->ca) {
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
        gnutls_certificate_send_x509_rdn_sequence(session, 1);
    }
    *ret_chain = tls->chain;
    *ret_chain_len = tls->chain_len;
    *ret_ocsp = NULL;
    *ret_ocsp_len = 0;
    *ret_key = tls->key;
    *ret_flags = 0; /* it stays ours */
    return 0;
}

/* ---- a client's certificate ---- */

/* What stands in the subject under this OID, once and readable. */
static int subject_part(gnutls_x509_crt_t crt, const char *oid, const char *what, char *ret_text,
                        struct pd_error *error)
{
    char text[PD_TLS_NAME_BYTES], second[PD_TLS_NAME_BYTES];
    size_t bytes = sizeof text, more = sizeof second;

    if (gnutls_x509_crt_get_dn_by_oid(crt, oid, 0, 0, text, &bytes) < 0 || !bytes ||
        strlen(text) != bytes) {
        return pd_fail(error, -PD_E_UNAUTHORIZED, "it has no %s of at most %d bytes", what,
                       PD_TLS_NAME_BYTES - 1);
    }
    if (gnutls_x509_crt_get_dn_by_oid(crt, oid, 1, 0, second, &more) !=
        GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) {
        return pd_fail(error, -PD_E_UNAUTHORIZED, "it has more than one %s", what);
    }
    for (const char *c = text; *c; c++) {
        if (*c <= ' ' || *c > '~') {
            return pd_fail(error, -PD_E_UNAUTHORIZED, "its %s is not visible ASCII", what);
        }
    }
    memcpy(ret_text, text, bytes + 1);
    return 0;
}

static int read_subject(gnutls_x509_crt_t crt, enum pd_role *ret_role, char *ret_name,
                        struct pd_error *error)
{
    char role[PD_TLS_NAME_BYTES], name[PD_TLS_NAME_BYTES];
    int e =
        subject_part(crt, GNUTLS_OID_X520_ORGANIZATIONAL_UNIT_NAME, "OU (its role)", role, error);

    if (!e) {
        e = subject_part(crt, GNUTLS_OID_X520_COMMON_NAME, "CN (its name)", name, error);
    }
    if (!e && pd_role_parse(role, ret_role)) {
        e = pd_fail(error, -PD_E_UNAUTHORIZED,
                    "its OU \"%s\" is no role: expects read, install, admin or agent", role);
    }
    if (!e) {
        memcpy(ret_name, name, sizeof name);
    }
    return e;
}

static int verify(const struct pd_tls *tls, gnutls_x509_crt_t *chain, unsigned len,
                  struct pd_error *error)
{
    gnutls_typed_vdata_st purpose = {GNUTLS_DT_KEY_PURPOSE_OID,
                                     (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT, 0};
    gnutls_datum_t words = {0};
    unsigned status = 0;
    int e = gnutls_x509_trust_list_verify_crt2(tls->ca, chain, len, &purpose, 1,
                                               GNUTLS_PROFILE_TO_VFLAGS(GNUTLS_PROFILE_MEDIUM),
                                               &status, NULL);

    if (e < 0) {
        return pd_fail(error, -PD_E_UNAUTHORIZED, "%s", gnutls_strerror(e));
    }
    if (!status) {
        return 0;
    }
    e = gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &words, 0);
    pd_fail(error, -PD_E_UNAUTHORIZED, "%s", e < 0 ? "not trusted" : (char *)words.data);
    gnutls_free(words.data);
    return -PD_E_UNAUTHORIZED;
}

/* Words of a stranger's certificate go into a log: cut, and printable. */
static void name_subject(gnutls_x509_crt_t crt, struct pd_error *error)
{
    char dn[160] = "?", prefix[200];
    size_t bytes = sizeof dn;

    if (gnutls_x509_crt_get_dn(crt, dn, &bytes) < 0) {
        memcpy(dn, "?", 2);
    }
    pd_printable(dn);
    snprintf(prefix, sizeof prefix, "client certificate %s", dn);
    pd_fail_within(error, prefix);
}

int pd_tls_who(const struct pd_tls *tls, gnutls_session_t session, enum pd_role *ret_role,
               char *ret_name, struct pd_error *error)
{
    gnutls_x509_crt_t chain[PD_TLS_CHAIN_MAX];
    unsigned shown = 0, len = 0;
    const gnutls_datum_t *der = gnutls_certificate_get_peers(session, &shown);
    int e = 0;

    if (!der || !shown) {
        return -PD_E_NOT_FOUND;
    }
    if (shown > PD_TLS_CHAIN_MAX) {
        return pd_fail(error, -PD_E_UNAUTHORIZED, "the client shows a chain of %u certificates",
                       shown);
    }
    while (!e && len < shown) {
        if (gnutls_x509_crt_init(&chain[len]) < 0) {
            e = -ENOMEM;
        } else if (gnutls_x509_crt_import(chain[len], &der[len], GNUTLS_X509_FMT_DER) < 0) {
            e = pd_fail(error, -PD_E_UNAUTHORIZED, "a client certificate cannot be read");
        }
        len += e != -ENOMEM;
    }
    if (!e) {
        e = verify(tls, chain, len, error);
        if (!e) {
            e = read_subject(chain[0], ret_role, ret_name, error);
        }
        if (e) {
            name_subject(chain[0], error);
        }
    }
    while (len) {
        gnutls_x509_crt_deinit(chain[--len]);
    }
    return e;
}
