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
    int err = gnutls_certificate_allocate_credentials(&pair);

    if (err < 0) {
        return -ENOMEM;
    }
    err = gnutls_certificate_set_x509_key_mem(pair, cert, key, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(pair);
    return err < 0 ? pd_fail(error, -PD_E_VALUE, "certificate and key: %s", gnutls_strerror(err))
                   : 0;
}

int pd_http_tls_load_own(struct pd_tls *tls, const char *cert, const char *key,
                         struct pd_error *error)
{
    gnutls_datum_t cert_pem = datum(cert), key_pem = datum(key);
    unsigned len = PD_TLS_CHAIN_MAX;
    int err = check_pair(&cert_pem, &key_pem, error);

    if (err) {
        return err;
    }
    err = gnutls_pcert_list_import_x509_raw(tls->chain, &len, &cert_pem, GNUTLS_X509_FMT_PEM, 0);
    if (err < 0) {
        return pd_fail(error, -PD_E_VALUE, "certificate: %s", gnutls_strerror(err));
    }
    tls->chain_len = len;
    err = gnutls_privkey_init(&tls->key);
    if (err >= 0) {
        err = gnutls_privkey_import_x509_raw(tls->key, &key_pem, GNUTLS_X509_FMT_PEM, NULL, 0);
    }
    return err < 0 ? pd_fail(error, -PD_E_VALUE, "key: %s", gnutls_strerror(err)) : 0;
}

int pd_http_tls_load_ca(struct pd_tls *tls, const char *ca, struct pd_error *error)
{
    gnutls_datum_t pem = datum(ca);
    int err = gnutls_x509_trust_list_init(&tls->ca, 0);

    if (err < 0) {
        return -ENOMEM;
    }
    err = gnutls_x509_trust_list_add_trust_mem(tls->ca, &pem, NULL, GNUTLS_X509_FMT_PEM, 0, 0);
    if (err > 0) {
        return 0;
    }
    return pd_fail(error, -PD_E_VALUE, "CA: %s",
                   err ? gnutls_strerror(err) : "no certificate is in it");
}

static int check_crls(gnutls_x509_crl_t *crls, unsigned len, const char *ca, struct pd_error *error)
{
    gnutls_datum_t pem = datum(ca);
    gnutls_x509_crt_t *list = NULL;
    unsigned list_len = 0, status = 0;
    int result = gnutls_x509_crt_list_import2(&list, &list_len, &pem, GNUTLS_X509_FMT_PEM, 0);

    for (unsigned i = 0; result >= 0 && !status && i < len; i++) {
        result = gnutls_x509_crl_verify(crls[i], list, list_len, GNUTLS_VERIFY_DISABLE_TIME_CHECKS,
                                        &status);
    }
    while (list_len) {
        gnutls_x509_crt_deinit(list[--list_len]);
    }
    gnutls_free(list);
    if (result < 0) {
        return pd_fail(error, -PD_E_VALUE, "revoked certificates: %s", gnutls_strerror(result));
    }
    return status ? pd_fail(error, -PD_E_VALUE,
                            "revoked certificates: the list is not signed by the CA")
                  : 0;
}

int pd_http_tls_load_crl(struct pd_tls *tls, const char *ca, const char *crl,
                         struct pd_error *error)
{
    gnutls_datum_t pem = datum(crl);
    int result =
        gnutls_x509_crl_list_import2(&tls->crls, &tls->crls_len, &pem, GNUTLS_X509_FMT_PEM, 0);

    if (result < 0) {
        tls->crls_len = 0;
        return pd_fail(error, -PD_E_VALUE, "revoked certificates: %s", gnutls_strerror(result));
    }
    return check_crls(tls->crls, tls->crls_len, ca, error);
}

void pd_http_tls_done(struct pd_tls *tls)
{
    while (tls->crls_len) {
        gnutls_x509_crl_deinit(tls->crls[--tls->crls_len]);
    }
    gnutls_free(tls->crls);
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

int pd_http_tls_show(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                     gnutls_pcert_st **ret_chain, unsigned *ret_chain_len,
                     gnutls_ocsp_data_st **ret_ocsp, unsigned *ret_ocsp_len,
                     gnutls_privkey_t *ret_key, unsigned *ret_flags)
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
    if (!e && pd_http_role_parse(role, ret_role)) {
        e = pd_fail(error, -PD_E_UNAUTHORIZED,
                    "its OU \"%s\" is no role: expects read, install, admin or agent", role);
    }
    if (!e) {
        memcpy(ret_name, name, sizeof name);
    }
    return e;
}

static int verify(const struct pd_tls *tls, gnutls_x509_crt_t *chain, unsigned len,
                  const char *meant_for, struct pd_error *error)
{
    gnutls_typed_vdata_st purpose = {GNUTLS_DT_KEY_PURPOSE_OID,
                                     (unsigned char *)(uintptr_t)meant_for, 0};
    gnutls_datum_t words = {0};
    unsigned status = 0;
    int err = gnutls_x509_trust_list_verify_crt2(tls->ca, chain, len, &purpose, 1,
                                                 GNUTLS_PROFILE_TO_VFLAGS(GNUTLS_PROFILE_MEDIUM),
                                                 &status, NULL);

    if (err < 0) {
        return pd_fail(error, -PD_E_UNAUTHORIZED, "%s", gnutls_strerror(err));
    }
    for (unsigned i = 0; !status && i < len; i++) {
        if (pd_http_tls_revoked(tls, chain[i])) {
            return pd_fail(error, -PD_E_UNAUTHORIZED, "it is revoked");
        }
    }
    if (!status) {
        return 0;
    }
    err = gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &words, 0);
    pd_fail(error, -PD_E_UNAUTHORIZED, "%s", err < 0 ? "not trusted" : (char *)words.data);
    gnutls_free(words.data);
    return -PD_E_UNAUTHORIZED;
}

bool pd_http_tls_revoked(const struct pd_tls *tls, gnutls_x509_crt_t crt)
{
    return tls->crls_len && gnutls_x509_crt_check_revocation(crt, tls->crls, tls->crls_len) == 1;
}

gnutls_x509_crt_t pd_http_tls_leaf(gnutls_session_t session)
{
    unsigned shown = 0;
    const gnutls_datum_t *der = gnutls_certificate_get_peers(session, &shown);
    gnutls_x509_crt_t crt;

    if (!der || !shown || gnutls_x509_crt_init(&crt) < 0) {
        return NULL;
    }
    if (gnutls_x509_crt_import(crt, der, GNUTLS_X509_FMT_DER) < 0) {
        gnutls_x509_crt_deinit(crt);
        return NULL;
    }
    return crt;
}

/* Words of a stranger's certificate go into a log: cut, and printable. */
static void name_subject(gnutls_x509_crt_t crt, const char *whose, struct pd_error *error)
{
    char dn[160] = "?", prefix[200];
    size_t bytes = sizeof dn;

    if (gnutls_x509_crt_get_dn(crt, dn, &bytes) < 0) {
        memcpy(dn, "?", 2);
    }
    pd_printable(dn);
    snprintf(prefix, sizeof prefix, "%s certificate %s", whose, dn);
    pd_fail_within(error, prefix);
}

static int import(const gnutls_datum_t *der, unsigned der_len, const char *whose,
                  gnutls_x509_crt_t *chain, unsigned *len, struct pd_error *error)
{
    int err = 0;

    if (der_len > PD_TLS_CHAIN_MAX) {
        return pd_fail(error, -PD_E_UNAUTHORIZED, "the %s shows a chain of %u certificates", whose,
                       der_len);
    }
    while (!err && *len < der_len) {
        if (gnutls_x509_crt_init(&chain[*len]) < 0) {
            err = -ENOMEM;
        } else if (gnutls_x509_crt_import(chain[*len], &der[*len], GNUTLS_X509_FMT_DER) < 0) {
            err = pd_fail(error, -PD_E_UNAUTHORIZED, "a %s certificate cannot be read", whose);
        }
        *len += err != -ENOMEM;
    }
    return err;
}

static const char *name_side(enum pd_tls_side side)
{
    return side == PD_TLS_CLIENT ? "client" : "server";
}

int pd_http_tls_trust(const struct pd_tls *tls, const gnutls_datum_t *der, unsigned der_len,
                      enum pd_tls_side side, gnutls_x509_crt_t *ret_leaf, struct pd_error *error)
{
    const char *purpose =
        side == PD_TLS_CLIENT ? GNUTLS_KP_TLS_WWW_CLIENT : GNUTLS_KP_TLS_WWW_SERVER;
    gnutls_x509_crt_t chain[PD_TLS_CHAIN_MAX];
    unsigned len = 0;
    int err = import(der, der_len, name_side(side), chain, &len, error);

    if (!err && (err = verify(tls, chain, len, purpose, error))) {
        name_subject(chain[0], name_side(side), error);
    }
    if (!err) {
        *ret_leaf = chain[0];
    }
    while (len > !err) {
        gnutls_x509_crt_deinit(chain[--len]);
    }
    return err;
}

int pd_http_tls_judge(const struct pd_tls *tls, const gnutls_datum_t *der, unsigned der_len,
                      enum pd_tls_side side, enum pd_role *ret_role, char *ret_name,
                      struct pd_error *error)
{
    gnutls_x509_crt_t leaf;
    int err = pd_http_tls_trust(tls, der, der_len, side, &leaf, error);

    if (err) {
        return err;
    }
    err = read_subject(leaf, ret_role, ret_name, error);
    if (err) {
        name_subject(leaf, name_side(side), error);
    }
    gnutls_x509_crt_deinit(leaf);
    return err;
}

int pd_http_tls_principal(const struct pd_tls *tls, gnutls_session_t session,
                          enum pd_role *ret_role, char *ret_name, struct pd_error *error)
{
    unsigned shown = 0;
    const gnutls_datum_t *der = gnutls_certificate_get_peers(session, &shown);

    return der && shown
               ? pd_http_tls_judge(tls, der, shown, PD_TLS_CLIENT, ret_role, ret_name, error)
               : -PD_E_NOT_FOUND;
}
