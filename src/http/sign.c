/* SPDX-License-Identifier: Apache-2.0 */
/* Signing and checking, through GnuTLS. */
#include "http/sign.h"

#include <errno.h>
#include <string.h>

/* GNUTLS_SIGN_UNKNOWN for what is not signed with. */
static gnutls_sign_algorithm_t algorithm_of(int key)
{
    switch (key) {
    case GNUTLS_PK_EDDSA_ED25519: return GNUTLS_SIGN_EDDSA_ED25519;
    case GNUTLS_PK_EDDSA_ED448: return GNUTLS_SIGN_EDDSA_ED448;
    case GNUTLS_PK_ECDSA: return GNUTLS_SIGN_ECDSA_SHA256;
    case GNUTLS_PK_RSA: return GNUTLS_SIGN_RSA_SHA256;
    default: return GNUTLS_SIGN_UNKNOWN;
    }
}

static gnutls_datum_t datum(const void *bytes, size_t len)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)bytes, (unsigned)len};
}

bool pd_http_sign_can(const struct pd_tls *tls)
{
    return tls->chain_len && tls->key &&
           algorithm_of(gnutls_privkey_get_pk_algorithm(tls->key, NULL)) != GNUTLS_SIGN_UNKNOWN;
}

int pd_http_sign(const struct pd_tls *tls, const void *text, size_t bytes,
                 struct pd_http_signature *ret_signature, struct pd_error *error)
{
    gnutls_datum_t from = datum(text, bytes), signature = {0};
    int err;

    if (!pd_http_sign_can(tls)) {
        return pd_fail(error, -PD_E_UNSUPPORTED, "there is no key to sign with");
    }
    err = gnutls_privkey_sign_data2(tls->key,
                                    algorithm_of(gnutls_privkey_get_pk_algorithm(tls->key, NULL)),
                                    0, &from, &signature);
    if (err < 0) {
        return pd_fail(error, -EIO, "not signed: %s", gnutls_strerror(err));
    }
    if (signature.size > PD_HTTP_SIGN_BYTES_MAX) {
        err = pd_fail(error, -PD_E_UNSUPPORTED, "not signed: the key is too large");
    } else {
        memcpy(ret_signature->bytes, signature.data, signature.size);
        ret_signature->len = signature.size;
    }
    gnutls_free(signature.data);
    return err;
}

static int import(const gnutls_datum_t *certificate, gnutls_pubkey_t *ret_key)
{
    gnutls_pcert_st pcert;
    int err = gnutls_pcert_import_x509_raw(&pcert, certificate, GNUTLS_X509_FMT_DER, 0);

    if (err < 0) {
        return err;
    }
    *ret_key = pcert.pubkey;
    pcert.pubkey = NULL;
    gnutls_pcert_deinit(&pcert);
    return 0;
}

int pd_http_sign_check(const gnutls_datum_t *certificate, const void *text, size_t bytes,
                       const void *signature, size_t signature_bytes, struct pd_error *error)
{
    gnutls_datum_t from = datum(text, bytes), signed_by = datum(signature, signature_bytes);
    gnutls_pubkey_t key = NULL;
    int err = import(certificate, &key);

    if (err < 0) {
        return pd_fail(error, -PD_E_FORBIDDEN, "the signer's certificate cannot be read");
    }
    err = gnutls_pubkey_verify_data2(key, algorithm_of(gnutls_pubkey_get_pk_algorithm(key, NULL)),
                                     0, &from, &signed_by);
    gnutls_pubkey_deinit(key);
    return err < 0 ? pd_fail(error, -PD_E_FORBIDDEN, "the signature does not hold") : 0;
}
