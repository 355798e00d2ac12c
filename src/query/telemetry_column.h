/* SPDX-License-Identifier: Apache-2.0 */
/* The further column of hops' measurements in the JSON of records. */
#ifndef PD_QUERY_TELEMETRY_COLUMN_H
#define PD_QUERY_TELEMETRY_COLUMN_H

#include <jansson.h>

#include "query/rows/out.h"

/* "telemetry":[{"name":"latency","hop":2,"switch":9,"to":17,"values":[[900,30],…]},…], a member of
 * exported records (docs/formats/tib-export.md). A value of the path as a whole has no "hop",
 * "switch" and "to".
 *
 * Thread safety: pure functions. */

/* Writes ,"telemetry":[…] of a column (telemetry/column.h). False, and nothing is written: it is
 * damaged, or not of this path. */
bool pd_query_rows_out_telemetry(struct pd_rows_out *out, const struct pd_path *path,
                                 const uint8_t *bytes, size_t len);

/* The column of such a list, at most PD_TELEMETRY_COLUMN_BYTES_MAX. -PD_E_VALUE: it is none. */
int pd_query_telemetry_column_read(const json_t *list, const struct pd_path *path,
                                   uint8_t *ret_bytes, size_t *ret_len);

#endif
