/* SPDX-License-Identifier: Apache-2.0 */
/* The audit: who has changed what, where, and what became of it. */
#ifndef PD_CONTROLLER_AUDIT_AUDIT_H
#define PD_CONTROLLER_AUDIT_AUDIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* A JSON object a line, in STATE/audit/audit.jsonl, and the same in the log (the journal): a host
 * may lose one of them. At PD_AUDIT_FILE_BYTES the file becomes audit.1.jsonl, that one
 * audit.2.jsonl …; the last of PD_AUDIT_FILES goes. Times of lines only grow. What has changed
 * nothing (a program, an application, whatever was refused) stands apart, in asked.jsonl and its
 * like: who may change nothing displaces no line of what was changed, however much he asks.
 *
 * What changes something waits for room first (pd_audit_reserve): where nothing can be noted
 * nothing is changed. Reads that are noted, too, go on.
 *
 * Thread safety: any thread; one mutex. */

#define PD_AUDIT_FILES      8u
#define PD_AUDIT_FILE_BYTES (UINT64_C(16) << 20)
#define PD_AUDIT_LINE_BYTES 16384u /* at most */
#define PD_AUDIT_LIMIT      10000u /* entries of an answer */

struct pd_audit;

struct pd_audit_entry {
    const char *who;     /* name of a certificate or a token */
    const char *role;    /* its */
    const char *address; /* "" for none */
    const char *what;
    json_t *detail; /* an object; borrowed, may be NULL */
    json_t *hosts;  /* where, as asked; borrowed, may be NULL */
    const char *outcome;
    bool changes; /* something is not as it was */
};

/* Makes the folder `directory`. 0 or an error in words. */
int pd_audit_open(const char *directory, struct pd_audit **ret_audit, struct pd_error *error);
void pd_audit_close(struct pd_audit *audit); /* NULL is fine */

/* Is there room for a line? -PD_E_FULL in words. */
int pd_audit_reserve(struct pd_audit *audit, struct pd_error *error);

/* 0, or -PD_E_FULL: the log alone has it. */
int pd_audit_write(struct pd_audit *audit, const struct pd_audit_entry *entry);

/* The newest `most` of those from `from_us` up to `to_us`, oldest first: {"entries":[…]}. NULL
 * without memory. */
json_t *pd_audit_read(struct pd_audit *audit, uint64_t from_us, uint64_t to_us, size_t most);

#endif
