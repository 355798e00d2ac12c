/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: bytes as an LMDB file, for the check that stands before liblmdb. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tib/lmdb/pages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct pd_error error;
    int fd = memfd_create("lmdb_pages", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size_bytes) != (ssize_t)size_bytes) {
        abort();
    }
    pd_lmdb_pages_check_meta(fd, &error);
    for (uint64_t txn_id = 0; txn_id < 8; txn_id++) {
        pd_lmdb_pages_check(fd, txn_id, &error);
    }
    for (unsigned page = 0; page < 2; page++) {
        uint8_t value[64];
        size_t value_bytes = sizeof value;
        uint64_t txn_id;
        pd_lmdb_pages_value(fd, page, "meta", "store", value, &value_bytes, &txn_id);
    }
    close(fd);
    return 0;
}
