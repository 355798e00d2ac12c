/* SPDX-License-Identifier: Apache-2.0 */
/* Directories with stores of the LMDB backend, for tests that spoil files, kill writers or fill
 * disks. */
#ifndef PD_TESTS_TIB_STORE_FILES_H
#define PD_TESTS_TIB_STORE_FILES_H

#include <stddef.h>

/* Makes an empty directory under TMPDIR (or /tmp). Fails the test when that is not possible. */
void store_make(char *ret_location, size_t size_bytes);

/* Removes what the backend left, and the directory, which must hold nothing else. */
void store_wipe(const char *location);

/* "location/name" in static storage; two of the four buffers are good at any time. */
const char *store_file(const char *location, const char *name);

#endif
