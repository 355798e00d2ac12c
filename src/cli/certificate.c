/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and certificates through GnuTLS. */
#include "cli/certificate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ca_folder.h"

#define SERIAL_BYTES 16

/* ---- certificates ---- */

bool pd_cli_certificate_is_dns_name(const char *text)
{
    size_t len = strlen(text);
    return len && len < 254 && text[0] != '-' && text[0] != '.' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") == len;
}

static int set_host(gnutls_x509_crt_t crt, const char *host)
{
    unsigned char address[16];
    if (inet_pton(AF_INET, host, address) == 1) {
        return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, address, 4,
                                                    GNUTLS_FSAN_APPEND);
    }
    if (inet_pton(AF_INET6, host, address) == 1) {
        return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, address, 16,
                                                    GNUTLS_FSAN_APPEND);
    }
    if (!pd_cli_certificate_is_dns_name(host)) {
        return GNUTLS_E_INVALID_REQUEST;
    }
    return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, host,
                                                (unsigned)strlen(host), GNUTLS_FSAN_APPEND);
}

static int set_name(gnutls_x509_crt_t crt, const char *oid, const char *text)
{
    return gnutls_x509_crt_set_dn_by_oid(crt, oid, 0, text, (unsigned)strlen(text));
}

/* What all have: version, serial, time, key and its ID. */
static int set_common(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key, time_t from, time_t until)
{
    unsigned char serial[SERIAL_BYTES], id[64];
    size_t id_bytes = sizeof id;
    int result = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);
    serial[0] = (serial[0] & 0x7f) | 0x01; /* positive, and never short */
    if (result >= 0) {
        result = gnutls_x509_crt_set_version(crt, 3);
    }
    if (result >= 0) {
        result = gnutls_x509_crt_set_serial(crt, serial, sizeof serial);
    }
    if (result >= 0) {
        result = gnutls_x509_crt_set_activation_time(crt, from);
    }
    if (result >= 0) {
        result = gnutls_x509_crt_set_expiration_time(crt, until);
    }
    if (result >= 0) {
        result = gnutls_x509_crt_set_key(crt, key);
    }
    if (result >= 0) {
        result = gnutls_x509_crt_get_key_id(crt, 0, id, &id_bytes);
    }
    if (result >= 0) {
        result = gnutls_x509_crt_set_subject_key_id(crt, id, id_bytes);
    }
    return result;
}

static int set_leaf(gnutls_x509_crt_t crt, gnutls_x509_crt_t issuer,
                    const struct pd_certificate *wanted)
{
    unsigned char id[64];
    size_t id_bytes = sizeof id;
    int result = set_name(crt, GNUTLS_OID_X520_ORGANIZATIONAL_UNIT_NAME, wanted->role);
    if (result >= 0) {
        result = set_name(crt, GNUTLS_OID_X520_COMMON_NAME, wanted->name);
    }
    if (result >= 0) {
        result = gnutls_x509_crt_set_basic_constraints(crt, 0, -1);
    }
    if (result >= 0) {
        result = gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE);
    }
    if (result >= 0) {
        result = gnutls_x509_crt_set_key_purpose_oid(crt, GNUTLS_KP_TLS_WWW_CLIENT, 0);
    }
    if (result >= 0 && wanted->hosts) {
        result = gnutls_x509_crt_set_key_purpose_oid(crt, GNUTLS_KP_TLS_WWW_SERVER, 0);
    }
    for (size_t i = 0; result >= 0 && wanted->hosts && wanted->hosts[i]; i++) {
        result = set_host(crt, wanted->hosts[i]);
    }
    if (result >= 0) {
        result = gnutls_x509_crt_get_subject_key_id(issuer, id, &id_bytes, NULL);
    }
    return result < 0 ? result : gnutls_x509_crt_set_authority_key_id(crt, id, id_bytes);
}

static int set_ca(gnutls_x509_crt_t crt)
{
    int result = set_name(crt, GNUTLS_OID_X520_COMMON_NAME, "PathDump test CA");
    if (result >= 0) {
        result = gnutls_x509_crt_set_basic_constraints(crt, 1, 0);
    }
    return result < 0
               ? result
               : gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_KEY_CERT_SIGN | GNUTLS_KEY_CRL_SIGN);
}

static int make_key(gnutls_x509_privkey_t *ret_key)
{
    int result = gnutls_x509_privkey_init(ret_key);
    if (result < 0) {
        return result;
    }
    result = gnutls_x509_privkey_generate(*ret_key, GNUTLS_PK_ECDSA,
                                          GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    if (result < 0) {
        gnutls_x509_privkey_deinit(*ret_key);
    }
    return result;
}

/* ---- the CA ---- */

static int make_ca(struct pd_ca *ca, time_t until, struct pd_error *error)
{
    int result = make_key(&ca->key);
    if (result < 0) {
        ca->key = NULL;
        return pd_cli_ca_fail(error, "CA", result);
    }
    result = gnutls_x509_crt_init(&ca->crt);
    if (result >= 0) {
        result = set_common(ca->crt, ca->key, time(NULL) - PD_CA_BACK_S, until);
    }
    if (result >= 0) {
        result = set_ca(ca->crt);
    }
    if (result >= 0) {
        result = gnutls_x509_crt_sign2(ca->crt, ca->crt, ca->key, GNUTLS_DIG_SHA256, 0);
    }
    if (result < 0) {
        return pd_cli_ca_fail(error, "CA", result);
    }
    int err = pd_cli_ca_write_key(ca, "ca", ca->key, error);
    return err ? err : pd_cli_ca_write_crt(ca, "ca", ca->crt, error);
}

/* Both files, or neither. */
static int open_or_make(struct pd_ca *ca, time_t until, bool *ret_made, struct pd_error *error)
{
    int crt = pd_cli_ca_read_crt(ca, "ca", &ca->crt, error);
    if (crt) {
        ca->crt = NULL;
    }
    if (crt && crt != -ENOENT) {
        return crt;
    }
    int key = pd_cli_ca_read_key(ca, "ca", &ca->key, error);
    if (key) {
        ca->key = NULL;
    }
    if (key && key != -ENOENT) {
        return key;
    }
    if (!crt && key) {
        return pd_fail(error, -PD_E_VALUE,
                       "%.300s: there is ca.pem without ca.key: the key that could issue more is "
                       "not here",
                       ca->folder);
    }
    if (crt) { /* a key alone has issued nothing yet */
        if (ca->key) {
            gnutls_x509_privkey_deinit(ca->key);
        }
        *ret_made = true;
        return make_ca(ca, until, error);
    }
    *ret_made = false;
    return gnutls_x509_crt_get_expiration_time(ca->crt) > time(NULL)
               ? 0
               : pd_fail(error, -PD_E_VALUE, "%.300s/ca.pem has expired: begin with a new folder",
                         ca->folder);
}

int pd_cli_ca_open(const char *folder, time_t until, struct pd_ca **ret_ca, bool *ret_made,
                   struct pd_error *error)
{
    if (strlen(folder) >= sizeof((struct pd_ca *)0)->folder) {
        return pd_fail(error, -PD_E_VALUE, "the folder's name is too long");
    }
    if (mkdir(folder, 0700) && errno != EEXIST) {
        return pd_fail(error, -errno, "%.300s: %s", folder, strerror(errno));
    }
    struct pd_ca *ca = calloc(1, sizeof *ca);
    if (!ca) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    strcpy(ca->folder, folder);
    int err = open_or_make(ca, until, ret_made, error);
    if (err) {
        pd_cli_ca_free(ca);
    } else {
        *ret_ca = ca;
    }
    return err;
}

void pd_cli_ca_free(struct pd_ca *ca)
{
    if (!ca) {
        return;
    }
    if (ca->crt) {
        gnutls_x509_crt_deinit(ca->crt);
    }
    if (ca->key) {
        gnutls_x509_privkey_deinit(ca->key);
    }
    free(ca);
}

int pd_cli_ca_issue(struct pd_ca *ca, const struct pd_certificate *wanted, struct pd_error *error)
{
    time_t ca_until = gnutls_x509_crt_get_expiration_time(ca->crt);
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t crt;
    int result = make_key(&key), err;
    if (result < 0) {
        return pd_cli_ca_fail(error, wanted->file, result);
    }
    result = gnutls_x509_crt_init(&crt);
    if (result < 0) {
        gnutls_x509_privkey_deinit(key);
        return pd_cli_ca_fail(error, wanted->file, result);
    }
    result =
        set_common(crt, key, wanted->from, wanted->until < ca_until ? wanted->until : ca_until);
    if (result >= 0) {
        result = set_leaf(crt, ca->crt, wanted);
    }
    if (result >= 0) {
        result = gnutls_x509_crt_sign2(crt, ca->crt, ca->key, GNUTLS_DIG_SHA256, 0);
    }
    err = result < 0 ? pd_cli_ca_fail(error, wanted->file, result)
                     : pd_cli_ca_write_key(ca, wanted->file, key, error);
    if (!err) {
        err = pd_cli_ca_write_crt(ca, wanted->file, crt, error);
    }
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
    return err;
}

/* ---- what is there ---- */

static bool has_name(gnutls_x509_crt_t crt, const char *oid, const char *wanted)
{
    char text[256];
    size_t bytes = sizeof text;
    return gnutls_x509_crt_get_dn_by_oid(crt, oid, 0, 0, text, &bytes) >= 0 &&
           !strcmp(text, wanted);
}

static const char *look(struct pd_ca *ca, gnutls_x509_crt_t crt,
                        const struct pd_certificate *wanted, time_t until)
{
    time_t ca_until = gnutls_x509_crt_get_expiration_time(ca->crt);
    unsigned status = 0;
    if (gnutls_x509_crt_verify(crt, &ca->crt, 1, GNUTLS_VERIFY_DISABLE_TIME_CHECKS, &status) < 0 ||
        status) {
        return "it is from another CA";
    }
    if (gnutls_x509_crt_get_expiration_time(crt) < (until < ca_until ? until : ca_until)) {
        return "it expires";
    }
    if (!has_name(crt, GNUTLS_OID_X520_ORGANIZATIONAL_UNIT_NAME, wanted->role) ||
        !has_name(crt, GNUTLS_OID_X520_COMMON_NAME, wanted->name)) {
        return "it has another name";
    }
    for (size_t i = 0; wanted->hosts && wanted->hosts[i]; i++) {
        if (!gnutls_x509_crt_check_hostname(crt, wanted->hosts[i])) {
            return "it is for another address";
        }
    }
    return NULL;
}

const char *pd_cli_ca_lacks(struct pd_ca *ca, const struct pd_certificate *wanted, time_t until)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t crt;
    unsigned char ids[2][64];
    size_t bytes[2] = {sizeof ids[0], sizeof ids[1]};
    const char *why;
    if (pd_cli_ca_read_crt(ca, wanted->file, &crt, NULL)) {
        return "";
    }
    if (pd_cli_ca_read_key(ca, wanted->file, &key, NULL)) {
        gnutls_x509_crt_deinit(crt);
        return "its key is not here";
    }
    why = gnutls_x509_crt_get_key_id(crt, 0, ids[0], &bytes[0]) < 0 ||
                  gnutls_x509_privkey_get_key_id(key, 0, ids[1], &bytes[1]) < 0 ||
                  bytes[0] != bytes[1] || memcmp(ids[0], ids[1], bytes[0]) != 0
              ? "its key is another one"
              : look(ca, crt, wanted, until);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
    return why;
}
