/* SPDX-License-Identifier: Apache-2.0 */
/* A CA for tests, in a folder of its own, and the credentials of those whom it knows. */
#ifndef PD_TESTS_AUTHORITY_H
#define PD_TESTS_AUTHORITY_H

#include "http/credentials.h"

struct authority {
    char folder[64];
};

void authority_open(struct authority *authority);
void authority_close(struct authority *authority);

/* Makes a certificate and its key, anew where there is one; a server's too where it says so. */
void authority_issue(struct authority *authority, const char *name, const char *role, bool server);

/* What a process has that was given these files. */
struct pd_credentials *authority_credentials(const struct authority *authority, const char *name);

#endif
