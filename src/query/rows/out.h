/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of answers, written piece by piece through a buffer into the caller's sink. */
#ifndef PD_ROWS_OUT_H
#define PD_ROWS_OUT_H

#include "base/flow_id.h"
#include "base/path.h"
#include "query/query.h"

/* Answers are made of integers, booleans, addresses and fixed keys; nothing in them needs escaping,
 * so they are written without a tree in between (measured in docs/decisions/questions.md).
 * The first error of the sink sticks: the rest is dropped and pd_rows_out_end returns it. One
 * thread. */

#define PD_ROWS_OUT_BYTES 16384 /* bytes of a piece */

struct pd_rows_out {
    const struct pd_query_sink *sink;
    size_t len; /* bytes in the buffer */
    int error;
    enum pd_query_form form;
    bool in_object; /* a member of the object was written */
    uint64_t rows;  /* of the list, since the last pass */
    char buffer[PD_ROWS_OUT_BYTES];
};

void pd_rows_out_begin(struct pd_rows_out *out, enum pd_query_form form,
                       const struct pd_query_sink *sink);
void pd_rows_out_text(struct pd_rows_out *out, const char *json); /* as it is */

/* The object, and the one list that its rows come in: in it in JSON, before it otherwise. A row is
 * written behind pd_rows_out_row, the value of a member behind pd_rows_out_key. Callers that use
 * neither of them write what they like. */
void pd_rows_out_list(struct pd_rows_out *out, const char *key);
void pd_rows_out_row(struct pd_rows_out *out);
void pd_rows_out_list_end(struct pd_rows_out *out);
int pd_rows_out_pass(struct pd_rows_out *out);       /* rows so far to the sink; its first error */
void pd_rows_out_separator(struct pd_rows_out *out); /* of members: the caller writes the key */
void pd_rows_out_key(struct pd_rows_out *out, const char *key);

void pd_rows_out_member(struct pd_rows_out *out, const char *json_key, uint64_t number);
void pd_rows_out_bool(struct pd_rows_out *out, bool value);
void pd_rows_out_addr(struct pd_rows_out *out, const struct pd_addr *addr, uint8_t ip_version);
void pd_rows_out_flow_id(struct pd_rows_out *out, const struct pd_flow_id *flow);

/* [1,9,17,11,3]; [] when infeasible. */
void pd_rows_out_switches(struct pd_rows_out *out, const struct pd_path *path);

/* "tags":[9,9], and what else is not 0: a mark in its scheme's words. */
void pd_rows_out_mark(struct pd_rows_out *out, const struct pd_mark *mark);

/* "path":[…] and what else is known of the way; that it is infeasible shows by its mark. */
void pd_rows_out_path(struct pd_rows_out *out, const struct pd_tib_record *record);

/* {"flow_id":…,"path":…,"stime_us":…,"etime_us":…,"bytes":…,"pkts":…}, with all else that differs
 * from an exact path from tags: a row of getFlows and topRecords, a line of an export. */
void pd_rows_out_record(struct pd_rows_out *out, const struct pd_tib_record *record);

/* Ends the object, if there is one, and passes on what is left. 0 or the sink's first error. */
int pd_rows_out_end(struct pd_rows_out *out);

#endif
