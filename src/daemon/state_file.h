/* SPDX-License-Identifier: Apache-2.0 */
/* A small JSON document on disk that is replaced as a whole: what a daemon knows over a restart. */
#ifndef PD_DAEMON_STATE_FILE_H
#define PD_DAEMON_STATE_FILE_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"

/* Written beside itself as FILE.new, brought to the disk, and renamed: whoever reads sees the old
 * or the new one, also after a kill or a power cut. Thread safety: one writer of a file at a time.
 */

/* An object. *ret_document is NULL when there is no file. What is too large, or no JSON object, or
 * of another version than `version` (its member "version") is moved to FILE.damaged for people to
 * look at, and is a -PD_E_CORRUPT with words; -errno or -ENOMEM leave it where it is. */
int pd_daemon_state_read(const char *file, int version, size_t max_bytes, json_t **ret_document,
                         struct pd_error *error);

/* Durable when it returns 0; else -ENOMEM or -errno with words, and the file is as it was. Readable
 * by its owner alone. */
int pd_daemon_state_write(const char *file, const json_t *document, struct pd_error *error);

#endif
