/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a CA's folder: what certificate.c and revocation.c share. */
#ifndef PD_CLI_CA_FOLDER_H
#define PD_CLI_CA_FOLDER_H

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <sys/types.h>

#include "base/error.h"

#define PD_CA_PATH_BYTES 4096

struct pd_ca {
    char folder[PD_CA_PATH_BYTES - 300];
    gnutls_x509_crt_t crt;
    gnutls_x509_privkey_t key;
};

/* What GnuTLS said, in words. */
int pd_cli_ca_fail(struct pd_error *error, const char *what, int result);

void pd_cli_ca_path(const struct pd_ca *ca, const char *file, const char *suffix,
                    char path[PD_CA_PATH_BYTES]);

/* Whole, or as it was. */
int pd_cli_ca_write_file(const char *path, mode_t mode, const gnutls_datum_t *text,
                         struct pd_error *error);
/* -ENOENT without words when there is none. */
int pd_cli_ca_read_file(const char *path, gnutls_datum_t *ret_text, struct pd_error *error);

/* NAME.key and NAME.pem. */
int pd_cli_ca_write_key(struct pd_ca *ca, const char *file, gnutls_x509_privkey_t key,
                        struct pd_error *error);
int pd_cli_ca_write_crt(struct pd_ca *ca, const char *file, gnutls_x509_crt_t crt,
                        struct pd_error *error);
int pd_cli_ca_read_crt(struct pd_ca *ca, const char *file, gnutls_x509_crt_t *ret_crt,
                       struct pd_error *error);
int pd_cli_ca_read_key(struct pd_ca *ca, const char *file, gnutls_x509_privkey_t *ret_key,
                       struct pd_error *error);

#endif
