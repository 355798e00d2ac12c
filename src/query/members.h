/* SPDX-License-Identifier: Apache-2.0 */
/* Members of JSON objects that others sent, checked: numbers, texts, flow IDs, paths; and how flow
 * IDs and paths are written. */
#ifndef PD_QUERY_MEMBERS_H
#define PD_QUERY_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/flow_id.h"
#include "base/path.h"

/* What is read may be anything, also NULL. Errors are -PD_E_VALUE, their words begin with the
 * member's name: "flow_id: expects …".
 *
 * Thread safety: pure functions. */

int pd_query_member_number(const json_t *object, const char *member, uint64_t least, uint64_t most,
                           uint64_t *ret_number, struct pd_error *error);

/* Words without a NUL in them, so that they end where they seem to; less than `size` bytes. */
int pd_query_member_text(const json_t *object, const char *member, char *ret_text, size_t size,
                         struct pd_error *error);

/* {"src_ip","dst_ip","src_port","dst_port","protocol"}, and nothing else. Both addresses are of one
 * family. */
int pd_query_flow_id_read(const json_t *object, struct pd_flow_id *ret_flow,
                          struct pd_error *error);
json_t *pd_query_flow_id_json(const struct pd_flow_id *flow); /* NULL without memory */

/* The same as the first five of a list: [SRC,DST,SRC_PORT,DST_PORT,PROTOCOL,…]. */
#define PD_FLOW_ROW_LEN 5
bool pd_query_flow_row_read(const json_t *row, struct pd_flow_id *ret_flow);
json_t *pd_query_flow_row_json(const struct pd_flow_id *flow); /* NULL without memory */
/* An element that is a number from 0 to 2^53 - 1. False: it is not. */
bool pd_query_row_number(const json_t *row, size_t at, uint64_t *ret_number);

/* A list of 1 to PD_PATH_MAX switch IDs; `member` is the subject of the words. */
int pd_query_path_read(const json_t *array, const char *member, struct pd_path *ret_path,
                       struct pd_error *error);
json_t *pd_query_path_json(const struct pd_path *path); /* NULL without memory */

/* A parameter that is a whole number up to `most`, as JSON (2300 and 2300.0 are one number) or as
 * its digits. -PD_E_VALUE. */
int pd_query_json_number(const json_t *value, uint64_t most, uint64_t *ret_number);

#endif
