/* SPDX-License-Identifier: Apache-2.0 */
/* How a command that asks a server is known to it, and how it knows the server. */
#ifndef PD_CLI_ACCESS_H
#define PD_CLI_ACCESS_H

#include "http/credentials.h"

/* A member of a command's settings, and its rows in the command's table of options; then `.access =
 * &set->access` in a struct pd_cli_request. Files are read when something is asked, so none is
 * needed for a unix socket or plain HTTP on loopback. */
struct pd_cli_access {
    struct pd_credentials_files files; /* `tokens` is of no use here */
};

#define PD_CLI_ACCESS_OPTIONS(target, member)                                \
    {.name = "tls-ca",                                                       \
     .type = PD_OPTION_STRING,                                               \
     .offset = offsetof(target, member.files.ca),                            \
     .value = "FILE",                                                        \
     .help = "CA (PEM) of the server; else those the system trusts"},        \
        {.name = "tls-crl",                                                  \
         .type = PD_OPTION_STRING,                                           \
         .offset = offsetof(target, member.files.crl),                       \
         .value = "FILE",                                                    \
         .help = "certificates that the CA has revoked (CRL, PEM)"},         \
        {.name = "tls-cert",                                                 \
         .type = PD_OPTION_STRING,                                           \
         .offset = offsetof(target, member.files.cert),                      \
         .value = "FILE",                                                    \
         .help = "client certificate (PEM); needs --tls-key"},               \
        {.name = "tls-key",                                                  \
         .type = PD_OPTION_STRING,                                           \
         .offset = offsetof(target, member.files.key),                       \
         .value = "FILE",                                                    \
         .help = "its private key (PEM)"},                                   \
    {                                                                        \
        .name = "token-file", .type = PD_OPTION_STRING,                      \
        .offset = offsetof(target, member.files.token_out), .value = "FILE", \
        .help = "file with the bearer token that is shown to the server"     \
    }

#endif
