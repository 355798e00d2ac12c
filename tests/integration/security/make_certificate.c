/* SPDX-License-Identifier: Apache-2.0 */
/* A certificate from the CA in a folder with any times, role and name: what `pathdump ca` would
 * never make. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/certificate.h"

/* FOLDER FILE ROLE NAME FROM_S UNTIL_S [HOST …]; times relative to now. With a new folder: another
 * CA. */
int main(int argc, char **argv)
{
    struct pd_error error = {0};
    struct pd_ca *ca;
    bool made;
    time_t now = time(NULL);

    if (argc < 7) {
        return 2;
    }
    if (!pd_cli_ca_open(argv[1], now + 864000, &ca, &made, &error)) {
        struct pd_certificate wanted = {
            .file = argv[2],
            .role = argv[3],
            .name = argv[4],
            .hosts = argc > 7 ? (const char *const *)(argv + 7) : NULL,
            .from = now + atol(argv[5]),
            .until = now + atol(argv[6]),
        };
        if (!pd_cli_ca_issue(ca, &wanted, &error)) {
            pd_cli_ca_free(ca);
            return 0;
        }
        pd_cli_ca_free(ca);
    }
    fprintf(stderr, "%s\n", error.text);
    return 1;
}
