/* SPDX-License-Identifier: Apache-2.0 */
/* Paths with their claims in JSON: "path", the mark's members, "origin", "state", "candidates". */
#ifndef PD_QUERY_WAY_H
#define PD_QUERY_WAY_H

#include <jansson.h>

#include "base/claim.h"

/* docs/formats/tib-export.md says what the members are. Thread safety: works on the caller's
 * memory. */

/* Whether a way can have a member of this name. */
bool pd_query_way_has(const char *member);

/* A list of at most PD_PATH_MAX switch IDs. NULL, or what is expected. */
const char *pd_query_way_read_switches(const json_t *array, struct pd_path *ret_path);

/* Reads the members of `object`. Returns NULL, or what is expected of the member that is wrong,
 * whose name is in *ret_member. ret_claim->path is ret_path; both are undefined then. */
const char *pd_query_way_read(const json_t *object, struct pd_path *ret_path,
                              struct pd_claim *ret_claim, const char **ret_member);

/* Members of the mark, in the words of its scheme; those of link tags are there in any case. False
 * without memory. */
bool pd_query_way_put_mark(json_t *object, const struct pd_mark *mark);

/* Its fields as words, as "tags 9,14"; "no tags" of no mark. Returns `text`. */
#define PD_WAY_MARK_TEXT_BYTES 128
const char *pd_query_way_mark_text(const struct pd_mark *mark, char text[PD_WAY_MARK_TEXT_BYTES]);

#endif
