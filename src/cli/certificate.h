/* SPDX-License-Identifier: Apache-2.0 */
/* A test CA in a folder, and the certificates that it issues. */
#ifndef PD_CLI_CERTIFICATE_H
#define PD_CLI_CERTIFICATE_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/error.h"

/* ECDSA P-256 throughout. The folder holds ca.pem and ca.key, and NAME.pem and NAME.key of each
 * certificate; keys are made with mode 0600 and appear whole, under their names, or not at all.
 * What the fields of a certificate mean to this project is said in http/tls.h.
 *
 * Thread safety: each struct pd_ca belongs to one thread. */

#define PD_CA_BACK_S 3600 /* before now: what is made holds on machines whose clocks are behind */

struct pd_ca;

struct pd_certificate {
    const char *file; /* in the folder, without ".pem" */
    const char *role; /* OU */
    const char *name; /* CN */
    const char *const *
        /* DNS names and addresses that a server is reached at; NULL-terminated. NULL: it is for a
           client alone */
        hosts;
    time_t from, until;
};

/* Opens the folder's CA, or makes folder and CA when there are none, valid until `until`. */
int pd_cli_ca_open(const char *folder, time_t until, struct pd_ca **ret_ca, bool *ret_made,
                   struct pd_error *error);
void pd_cli_ca_free(struct pd_ca *ca); /* NULL is fine */

/* Makes a key and a certificate, which replace what is there. None outlives the CA. */
int pd_cli_ca_issue(struct pd_ca *ca, const struct pd_certificate *wanted, struct pd_error *error);

/* Is there such a certificate already, with its key, from this CA, and good until `until` at least?
 * NULL; or why it has to be made (static). */
const char *pd_cli_ca_lacks(struct pd_ca *ca, const struct pd_certificate *wanted, time_t until);

/* Opens a CA that is there; -ENOENT in words otherwise. */
int pd_cli_ca_open_existing(const char *folder, struct pd_ca **ret_ca, struct pd_error *error);

/* Puts the certificate of a file, any that this CA has issued, on the list crl.pem of the folder,
 * which is signed anew and made when there is none. *ret_new: it was not there before. */
int pd_cli_authority_revoke(struct pd_ca *ca, const char *path, bool *ret_new,
                            struct pd_error *error);

/* Makes key and certificate NAME.pem of the folder anew, for the same role, name and hosts, and
 * good for `days` from now on; *ret_done false: it is none of this CA, or revoked. */
int pd_cli_authority_renew(struct pd_ca *ca, const char *file, unsigned days, bool *ret_done,
                           struct pd_error *error);

/* May it stand in a certificate as a DNS name? */
bool pd_cli_certificate_is_dns_name(const char *text);

#endif
