/* SPDX-License-Identifier: Apache-2.0 */
/* The CA's list of revoked certificates, and certificates that are made anew. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/ca_folder.h"
#include "cli/certificate.h"

/* ---- what is revoked ---- */

int pd_cli_ca_open_existing(const char *folder, struct pd_ca **ret_ca, struct pd_error *error)
{
    char path[PD_CA_PATH_BYTES];
    bool made;
    snprintf(path, sizeof path, "%.3000s/ca.pem", folder);
    if (access(path, F_OK)) {
        return pd_fail(error, -errno, "%.300s: %s: expects the folder of a CA", path,
                       strerror(errno));
    }
    return pd_cli_ca_open(folder, 0, ret_ca, &made, error);
}

/* An empty list when there is none. */
static int read_list(const struct pd_ca *ca, gnutls_x509_crl_t *ret_list, struct pd_error *error)
{
    char path[PD_CA_PATH_BYTES];
    gnutls_datum_t text;
    pd_cli_ca_path(ca, "crl", ".pem", path);
    int err = pd_cli_ca_read_file(path, &text, error);
    if (err && err != -ENOENT) {
        return err;
    }
    int result = gnutls_x509_crl_init(ret_list);
    if (result >= 0 && !err) {
        result = gnutls_x509_crl_import(*ret_list, &text, GNUTLS_X509_FMT_PEM);
        if (result < 0) {
            gnutls_x509_crl_deinit(*ret_list);
        }
    }
    if (!err) {
        gnutls_free(text.data);
    }
    return result < 0 ? pd_cli_ca_fail(error, path, result) : 0;
}

/* The number counts the lists; a list that nobody renews holds as long as the CA. */
static int sign_list(struct pd_ca *ca, gnutls_x509_crl_t list)
{
    unsigned char number[8] = {0}, id[64];
    size_t bytes = sizeof number, id_bytes = sizeof id;
    time_t now = time(NULL);
    int result;
    for (unsigned i = 0; i < sizeof number; i++) {
        number[i] = (unsigned char)((uint64_t)now >> (8 * (sizeof number - 1 - i)));
    }
    result = gnutls_x509_crl_set_version(list, 2);
    result = result < 0 ? result : gnutls_x509_crl_set_this_update(list, now - PD_CA_BACK_S);
    result =
        result < 0
            ? result
            : gnutls_x509_crl_set_next_update(list, gnutls_x509_crt_get_expiration_time(ca->crt));
    result = result < 0 ? result : gnutls_x509_crl_set_number(list, number, bytes);
    result = result < 0 ? result : gnutls_x509_crt_get_subject_key_id(ca->crt, id, &id_bytes, NULL);
    result = result < 0 ? result : gnutls_x509_crl_set_authority_key_id(list, id, id_bytes);
    return result < 0 ? result
                      : gnutls_x509_crl_sign2(list, ca->crt, ca->key, GNUTLS_DIG_SHA256, 0);
}

static int write_list(struct pd_ca *ca, gnutls_x509_crl_t list, struct pd_error *error)
{
    char path[PD_CA_PATH_BYTES];
    gnutls_datum_t text;
    int result = sign_list(ca, list);
    if (result >= 0) {
        result = gnutls_x509_crl_export2(list, GNUTLS_X509_FMT_PEM, &text);
    }
    pd_cli_ca_path(ca, "crl", ".pem", path);
    if (result < 0) {
        return pd_cli_ca_fail(error, path, result);
    }
    int err = pd_cli_ca_write_file(path, 0644, &text, error);
    gnutls_free(text.data);
    return err;
}

static int read_any_crt(const char *path, gnutls_x509_crt_t *ret_crt, struct pd_error *error)
{
    gnutls_datum_t text;
    int err = pd_cli_ca_read_file(path, &text, error);
    if (err) {
        return err == -ENOENT ? pd_fail(error, err, "%.300s: %s", path, strerror(ENOENT)) : err;
    }
    int result = gnutls_x509_crt_init(ret_crt);
    if (result >= 0 &&
        (result = gnutls_x509_crt_import(*ret_crt, &text, GNUTLS_X509_FMT_PEM)) < 0) {
        gnutls_x509_crt_deinit(*ret_crt);
    }
    gnutls_free(text.data);
    return result < 0 ? pd_cli_ca_fail(error, path, result) : 0;
}

static bool is_issued(struct pd_ca *ca, gnutls_x509_crt_t crt)
{
    unsigned status = 0;
    return gnutls_x509_crt_verify(crt, &ca->crt, 1, GNUTLS_VERIFY_DISABLE_TIME_CHECKS, &status) >=
               0 &&
           !status;
}

static int put_on_list(struct pd_ca *ca, gnutls_x509_crt_t crt, bool *ret_new,
                       struct pd_error *error)
{
    gnutls_x509_crl_t list;
    int result, err = read_list(ca, &list, error);
    if (err) {
        return err;
    }
    *ret_new = gnutls_x509_crt_check_revocation(crt, &list, 1) != 1;
    result = *ret_new ? gnutls_x509_crl_set_crt(list, crt, time(NULL)) : 0;
    err = result < 0 ? pd_cli_ca_fail(error, "crl.pem", result) : write_list(ca, list, error);
    gnutls_x509_crl_deinit(list);
    return err;
}

int pd_cli_authority_revoke(struct pd_ca *ca, const char *path, bool *ret_new,
                            struct pd_error *error)
{
    gnutls_x509_crt_t crt;
    int err = read_any_crt(path, &crt, error);
    if (err) {
        return err;
    }
    err = is_issued(ca, crt)
              ? put_on_list(ca, crt, ret_new, error)
              : pd_fail(error, -PD_E_VALUE, "%.300s: this CA (%.300s) has not issued it", path,
                        ca->folder);
    gnutls_x509_crt_deinit(crt);
    return err;
}

/* ---- the same again ---- */

#define RENEWED_HOSTS_MAX 16

struct renewed {
    char role[64], name[256], hosts[RENEWED_HOSTS_MAX][256];
    const char *list[RENEWED_HOSTS_MAX + 1];
};

static int read_hosts(gnutls_x509_crt_t crt, struct renewed *renewed)
{
    for (unsigned i = 0; i < RENEWED_HOSTS_MAX; i++) {
        unsigned char text[256];
        size_t bytes = sizeof text - 1;
        int kind = gnutls_x509_crt_get_subject_alt_name(crt, i, text, &bytes, NULL);
        if (kind == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE) {
            return 0;
        }
        if (kind == GNUTLS_SAN_IPADDRESS) {
            inet_ntop(bytes == 4 ? AF_INET : AF_INET6, text, renewed->hosts[i], 256);
        } else if (kind == GNUTLS_SAN_DNSNAME) {
            snprintf(renewed->hosts[i], 256, "%.*s", (int)bytes, (char *)text);
        } else {
            return kind < 0 ? kind : GNUTLS_E_UNSUPPORTED_CERTIFICATE_TYPE;
        }
        renewed->list[i] = renewed->hosts[i];
    }
    return GNUTLS_E_UNSUPPORTED_CERTIFICATE_TYPE;
}

static int read_subject(gnutls_x509_crt_t crt, struct renewed *renewed)
{
    size_t role = sizeof renewed->role, name = sizeof renewed->name;
    int result = gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_ORGANIZATIONAL_UNIT_NAME, 0, 0,
                                               renewed->role, &role);
    if (result >= 0) {
        result = gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0,
                                               renewed->name, &name);
    }
    return result < 0 ? result : read_hosts(crt, renewed);
}

static int issue_again(struct pd_ca *ca, const char *file, gnutls_x509_crt_t crt, unsigned days,
                       struct pd_error *error)
{
    struct renewed renewed = {.role = ""};
    time_t now = time(NULL);
    int result = read_subject(crt, &renewed);
    if (result < 0) {
        return pd_cli_ca_fail(error, file, result);
    }
    return pd_cli_ca_issue(ca,
                           &(struct pd_certificate){.file = file,
                                                    .role = renewed.role,
                                                    .name = renewed.name,
                                                    .hosts = renewed.list[0] ? renewed.list : NULL,
                                                    .from = now - PD_CA_BACK_S,
                                                    .until = now + (time_t)days * 86400},
                           error);
}

int pd_cli_authority_renew(struct pd_ca *ca, const char *file, unsigned days, bool *ret_done,
                           struct pd_error *error)
{
    gnutls_x509_crl_t list;
    gnutls_x509_crt_t crt;
    int err = pd_cli_ca_read_crt(ca, file, &crt, error);
    if (err) {
        return err;
    }
    err = read_list(ca, &list, error);
    if (!err) {
        *ret_done = is_issued(ca, crt) && gnutls_x509_crt_check_revocation(crt, &list, 1) != 1;
        gnutls_x509_crl_deinit(list);
        err = *ret_done ? issue_again(ca, file, crt, days, error) : 0;
    }
    gnutls_x509_crt_deinit(crt);
    return err;
}
