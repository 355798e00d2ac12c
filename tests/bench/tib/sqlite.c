/* SPDX-License-Identifier: Apache-2.0 */
/* No SQLite on this machine. */
#include "bench.h"

void sqlite_bench(const struct data *data, const char *directory)
{
    (void)data;
    (void)directory;
    die("built without SQLite: tools/deps bench");
}
