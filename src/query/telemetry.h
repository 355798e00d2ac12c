/* SPDX-License-Identifier: Apache-2.0 */
/* getTelemetry: what hops measured, by port, flow or both, as quantiles. */
#ifndef PD_QUERY_TELEMETRY_H
#define PD_QUERY_TELEMETRY_H

#include "query/question.h"
#include "telemetry/bins.h"

/* An entry of the table of questions over the further column of records that hops' measurements are
 * in (telemetry/column.h). The answer of one host or of many:
 *
 *   {"rows":[{"switch":9,"to":17,"flow_id":{…},"path":[…],"samples":812,"low":900,"high":1100,
 *             "quantiles":{"0.5":1000},"max":5100,"values":[[900,30],…]}…],
 *    "token":…, "complete":true}
 *
 * "switch" and "to" (a switch, or the host behind the last one) are absent by flow, "flow_id" and
 * "path" by port; a value of the path as a whole has no port ever. Between "low" and "high" all
 * quantiles that were asked for lie, each with a confidence of 95 %. "values" is the histogram
 * itself: [value, how often], which is what merges, so that rows of several hosts become one
 * exactly.
 *
 * Thread safety: pure functions. */

#define PD_TELEMETRY_QUESTION      "getTelemetry"
#define PD_TELEMETRY_QUANTILES_MAX 16u
#define PD_TELEMETRY_ROWS_MAX      65536u     /* of an answer; what is beyond is left out */
#define PD_TELEMETRY_ROW_BINS_MAX  (1u << 22) /* of all rows together, likewise */

extern const struct pd_question pd_query_question_telemetry;

/* ---- telemetry_rows.c: internal */

struct pd_telemetry_quantiles {
    unsigned len;
    struct {
        char text[12]; /* as it was given */
        double share;
    } all[PD_TELEMETRY_QUANTILES_MAX];
};

/* What a row is of; members that `by` leaves out are 0, and `path` is NULL. */
struct pd_telemetry_row_key {
    bool port, has_flow; /* which of these it has */
    uint32_t sw, to;     /* to: 0, it is not known */
    struct pd_flow_id flow;
    const struct pd_path *path; /* the caller's; rows have a copy of their own */
};

struct pd_telemetry_rows;

struct pd_telemetry_rows *pd_query_telemetry_rows_new(void); /* NULL without memory */
void pd_query_telemetry_rows_free(struct pd_telemetry_rows *rows);

/* 0; -PD_E_FULL: left out, and the answer will say so; -ENOMEM. */
int pd_query_telemetry_rows_add(struct pd_telemetry_rows *rows,
                                const struct pd_telemetry_row_key *key,
                                const struct pd_telemetry_bin *bins, size_t len);

/* Is it a row as rows_json writes it? */
bool pd_query_telemetry_row_valid(const json_t *row);
/* Adds one. */
int pd_query_telemetry_row_add(struct pd_telemetry_rows *rows, const json_t *row);

/* Something could not be read or had no room. */
void pd_query_telemetry_rows_damaged(struct pd_telemetry_rows *rows);

/* {"rows","complete"}, rows by switch, to and flow; NULL without memory. `quantiles`: NULL, none.
 */
json_t *pd_query_telemetry_rows_json(const struct pd_telemetry_rows *rows,
                                     const struct pd_telemetry_quantiles *quantiles);

#endif
