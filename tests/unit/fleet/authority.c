/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates as `pathdump ca` makes them. */
#include "authority.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/certificate.h"
#include "tests/shared/folder.h"

#define DAY_S 86400

void authority_open(struct authority *authority)
{
    char base[] = "/tmp/pathdump-authority-XXXXXX";

    assert_non_null(mkdtemp(base));
    snprintf(authority->folder, sizeof authority->folder, "%s/ca", base);
}

void authority_close(struct authority *authority)
{
    *strrchr(authority->folder, '/') = '\0';
    folder_remove(authority->folder);
}

void authority_issue(struct authority *authority, const char *name, const char *role, bool server)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", NULL};
    struct pd_certificate wanted = {.file = name,
                                    .role = role,
                                    .name = name,
                                    .hosts = server ? hosts : NULL,
                                    .from = time(NULL) - 60,
                                    .until = time(NULL) + DAY_S};
    struct pd_error error = {0};
    struct pd_ca *ca;
    bool made;

    assert_int_equal(pd_cli_ca_open(authority->folder, time(NULL) + 2 * DAY_S, &ca, &made, &error),
                     0);
    assert_int_equal(pd_cli_ca_issue(ca, &wanted, &error), 0);
    pd_cli_ca_free(ca);
}

struct pd_credentials *authority_credentials(const struct authority *authority, const char *name)
{
    char cert[128], key[128], ca[128];
    const struct pd_credentials_files files = {.cert = cert, .key = key, .ca = ca};
    struct pd_credentials *credentials;
    struct pd_error error = {0};

    snprintf(cert, sizeof cert, "%s/%s.pem", authority->folder, name);
    snprintf(key, sizeof key, "%s/%s.key", authority->folder, name);
    snprintf(ca, sizeof ca, "%s/ca.pem", authority->folder);
    assert_int_equal(pd_http_credentials_new(&files, &credentials, &error), 0);
    return credentials;
}
