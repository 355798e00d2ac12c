/* SPDX-License-Identifier: Apache-2.0 */
/* Paths with their claims in JSON: "path", the mark's members, "origin", "state", "candidates". */
#ifndef PD_QUERY_WAY_H
#define PD_QUERY_WAY_H

#include <jansson.h>

#include "base/claim.h"

/* docs/formats/tib-export.md says what the members are. Thread safety: works on the caller's
 * memory. */

/* Names of all members that can belong to a way, NULL-terminated. */
extern const char *const pd_way_members[];

/* A list of at most PD_PATH_MAX switch IDs. NULL, or what is expected. */
const char *pd_way_read_switches(const json_t *array, struct pd_path *ret_path);

/* Reads the members of `object`. Returns NULL, or what is expected of the member that is wrong,
 * whose name is in *ret_member. ret_claim->path is ret_path; both are undefined then. */
const char *pd_way_read(const json_t *object, struct pd_path *ret_path, struct pd_claim *ret_claim,
                        const char **ret_member);

/* Members of the mark: "tags" and "dscp" of link tags, else "mark". False without memory. */
bool pd_way_put_mark(json_t *object, const struct pd_mark *mark);

/* Its fields as words, as "tags 9,14 dscp 3"; "no tags" of no mark. Returns `text`. */
#define PD_WAY_MARK_TEXT_BYTES 128
const char *pd_way_mark_text(const struct pd_mark *mark, char text[PD_WAY_MARK_TEXT_BYTES]);

#endif
