/* SPDX-License-Identifier: Apache-2.0 */
/* Records as NDJSON: one JSON object a line, as `pathdump tib export` writes them. */
#ifndef PD_CLI_NDJSON_H
#define PD_CLI_NDJSON_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "tib/record.h"

/* A line is what topRecords says of a record: flow_id, path (and where that is empty the mark),
 * stime_us, etime_us, bytes, pkts. All members have to be there, in any order, and no others; times
 * are below 2^53, bytes and packets below 2^63. The format stands in docs/formats/tib-export.md.
 * One thread. */

#define PD_NDJSON_LINE_BYTES 65536 /* most of a line */

struct pd_ndjson_taker {
    /* Records in the order of the lines, with their paths until it returns; `bytes` were read so
     * far. Non-zero stops. */
    int (*take)(void *context, const struct pd_tib_record *records, size_t n, uint64_t bytes);
    void *context;
};

/* Reads to the end. What stands before a line that will not do has been taken when this returns
 * -PD_E_SYNTAX with the line and the member in `error`. -EIO when `in` cannot be read; else what
 * `take` returned. Empty lines are passed over. */
int pd_cli_ndjson_read(FILE *in, const struct pd_ndjson_taker *taker, struct pd_error *error);

#endif
