/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials: the files by which a process knows others, and is known to them. */
#ifndef PD_HTTP_CREDENTIALS_H
#define PD_HTTP_CREDENTIALS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/options.h"

/* One set of files serves both directions: a daemon shows its certificate to those who ask it and,
 * as a client certificate, to those whom it asks; the CA is what others' certificates must come
 * from, either way.
 *
 *   cert, key   PEM; the chain, leaf first. With them a server speaks TLS.
 *   ca          PEM; one or more. Without it a server asks for no certificates, and a client trusts
 *               what the system trusts.
 *   crl         PEM; lists of what the CA has revoked. Clients and servers that are on them are
 *               strangers, also those of connections that are open when a list is read anew.
 *   tokens      who may come with a bearer token (http/tokens.h).
 *   token_out   a file with the one token that is shown to others.
 *
 * Secrets come from files alone, never from arguments, and no function here puts one into an error.
 * The key and the files of tokens must not be accessible to others (mode 0640 at most). What is
 * held can be read anew; who uses the old set keeps it until he is done.
 *
 * Thread safety: pd_http_credentials_hold may be called from any thread; a set is immutable. */

struct pd_credentials_files {
    const char *cert, *key, *ca, *crl, *tokens, *token_out; /* each may be NULL */
};

/* Rows of a daemon's table of options; `at(member)` is the offset of a member of its struct
 * pd_credentials_files. */
#define PD_CREDENTIALS_OPTIONS(section, at)                                                          \
    {section,                                                                                        \
     "tls-cert",                                                                                     \
     PD_OPTION_STRING,                                                                               \
     at(cert),                                                                                       \
     0,                                                                                              \
     0,                                                                                              \
     "FILE",                                                                                         \
     NULL,                                                                                           \
     "certificate (PEM) that is shown to clients and to servers; needs --tls-key",                   \
     NULL},                                                                                          \
        {section, "tls-key", PD_OPTION_STRING,                                                       \
         at(key), 0,         0,                                                                      \
         "FILE",  NULL,      "its private key (PEM), which others must not be able to read",         \
         NULL},                                                                                      \
        {section, "tls-ca", PD_OPTION_STRING,                                                        \
         at(ca),  0,        0,                                                                       \
         "FILE",  NULL,     "certificates (PEM) of the CA that others' certificates must come from", \
         NULL},                                                                                      \
        {section, "tls-crl", PD_OPTION_STRING,                                                       \
         at(crl), 0,         0,                                                                      \
         "FILE",  NULL,      "certificates that the CA has revoked (CRL, PEM); read anew on SIGHUP", \
         NULL},                                                                                      \
        {section,                                                                                    \
         "token-file",                                                                               \
         PD_OPTION_STRING,                                                                           \
         at(tokens),                                                                                 \
         0,                                                                                          \
         0,                                                                                          \
         "FILE",                                                                                     \
         NULL,                                                                                       \
         "bearer tokens that clients may come with, a line each: ROLE NAME TOKEN or ROLE NAME "      \
         "sha256:HEX",                                                                               \
         NULL},                                                                                      \
    {                                                                                                \
        section, "token-out", PD_OPTION_STRING, at(token_out), 0, 0, "FILE", NULL,                   \
            "file with the bearer token that is shown to servers", NULL                              \
    }

struct pd_credentials;     /* what a process has, now and after each reload */
struct pd_credentials_set; /* of one moment */

/* Reads all files. -PD_E_VALUE, -PD_E_SYNTAX or -errno with the file's name; nothing secret in the
 * words. */
int pd_http_credentials_new(const struct pd_credentials_files *files,
                            struct pd_credentials **ret_credentials, struct pd_error *error);

/* Reads them anew. Certificates, keys, CA and tokens may change so; whether TLS is spoken at all
 * may not (-PD_E_UNSUPPORTED). What was read waits until it is put in force, or dropped. */
int pd_http_credentials_read(struct pd_credentials *credentials,
                             const struct pd_credentials_files *files,
                             struct pd_credentials_set **ret_set, struct pd_error *error);
void pd_http_credentials_put(struct pd_credentials *credentials, struct pd_credentials_set *set);

void pd_http_credentials_free(struct pd_credentials *credentials); /* NULL is fine */

/* May a server listen at this address with these? Beyond loopback only with TLS; and with TLS
 * somebody must be able to come in. */
int pd_http_credentials_check_listen(const struct pd_credentials_files *files, const char *listen,
                                     struct pd_error *error);

/* The set in force; NULL of NULL. Let it go with pd_http_credentials_drop. */
struct pd_credentials_set *pd_http_credentials_hold(struct pd_credentials *credentials);
void pd_http_credentials_drop(struct pd_credentials_set *set); /* NULL is fine */

/* Has a set nothing to know clients by? NULL has not. */
bool pd_http_credentials_open(const struct pd_credentials_set *set);

/* Do servers speak TLS with these? */
bool pd_http_credentials_tls(struct pd_credentials *credentials);

#endif
