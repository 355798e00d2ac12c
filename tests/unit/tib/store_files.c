/* SPDX-License-Identifier: Apache-2.0 */
/* Directories with stores of the LMDB backend. */
#include "store_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

void store_make(char *ret_location, size_t size_bytes)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(ret_location, size_bytes, "%s/pd-tib-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(ret_location));
}

const char *store_file(const char *location, const char *name)
{
    static char names[4][512];
    static unsigned next;
    char *at = names[next++ % 4];
    snprintf(at, sizeof names[0], "%s/%s", location, name);
    return at;
}

void store_wipe(const char *location)
{
    static const char *const files[] = {"data.mdb", "lock.mdb", "writer.lock", "new.mdb",
                                        "compact.mdb"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        unlink(store_file(location, files[i]));
    }
    assert_int_equal(rmdir(location), 0);
}
