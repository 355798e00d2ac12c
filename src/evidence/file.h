/* SPDX-License-Identifier: Apache-2.0 */
/* The file form of evidence: NDJSON, a row a line. */
#ifndef PD_EVIDENCE_FILE_H
#define PD_EVIDENCE_FILE_H

#include <stdio.h>

#include "base/error.h"
#include "evidence/evidence.h"

/* docs/formats/evidence.md. Rows whose lines carry the same time (`t_s`), one behind the other, are
 * one period; a file without times is one. Unknown members are left alone, empty lines too.
 *
 * One thread for each call. Memory does not grow with the file: rows are handed on in parts of
 * PD_EVIDENCE_PART. */

#define PD_EVIDENCE_PART       8192u
#define PD_EVIDENCE_LINE_BYTES (1u << 20) /* of one line */

/* Reads to the end; `name` stands for the file in errors: "FILE:LINE: …". 0; a negative error in
 * words for the first line that is no evidence; what the sink returned. */
int pd_evidence_read(FILE *in, const char *name, const struct pd_evidence_sink *sink,
                     struct pd_error *error);

/* Writes the rows of a period, with its end as their time where that is known. 0 or -errno. */
int pd_evidence_write(FILE *out, const struct pd_evidence_period *period);

#endif
