/* SPDX-License-Identifier: Apache-2.0 */
/* Paths (lists of switch IDs) and links with wildcards: what tags are decoded into and what queries
 * ask for. */
#ifndef PD_BASE_PATH_H
#define PD_BASE_PATH_H

#include <stdbool.h>
#include <stdint.h>

#define PD_PATH_MAX     32 /* switches of a path */
#define PD_RAW_TAGS_MAX 4  /* link tags that are kept of an infeasible trajectory */

/* A path, first switch to last; [tor] for a flow inside one rack. Where the tags on the packet fit
 * no path of the topology (an infeasible trajectory) there are no switches and the raw tags are
 * kept instead. Switch IDs are >= 1. Unused elements are zero, so that paths can be compared and
 * hashed as bytes. */
struct pd_path {
    uint16_t len;                   /* switches; 0: infeasible */
    uint8_t tags_len;               /* raw link tags, only when len is 0 */
    uint8_t dscp;                   /* raw DSCP of the codec, only when len is 0 */
    uint16_t tags[PD_RAW_TAGS_MAX]; /* in the order pushed */
    uint32_t switches[PD_PATH_MAX];
};
_Static_assert(sizeof(struct pd_path) == 12 + 4 * PD_PATH_MAX, "paths are compared as bytes");

/* ⟨from, to⟩: an ordered pair of adjacent switches; 0 is the wildcard `*`. {0, 0} matches every
 * path, also those without a link; anything else matches paths that have such a link. */
struct pd_link_match {
    uint32_t from;
    uint32_t to;
};

bool pd_path_equal(const struct pd_path *a, const struct pd_path *b);
uint64_t pd_path_hash(const struct pd_path *path);
bool pd_path_crosses(const struct pd_path *path, struct pd_link_match link);

/* Reads "1,9,17,11,3" (1 to PD_PATH_MAX IDs). Returns 0 or -PD_E_VALUE. */
int pd_path_parse(const char *text, struct pd_path *ret_path);

/* Reads "17,18" (1 to `most` IDs) into `switches`, which a failure may leave half filled. Returns 0
 * or -PD_E_VALUE. */
int pd_switches_parse(const char *text, uint32_t *switches, uint32_t most, uint32_t *ret_len);

/* Reads "9-17", "*-17", "9-*", "*-*". Returns 0 or -PD_E_VALUE. */
int pd_link_parse(const char *text, struct pd_link_match *ret_link);

#define PD_LINK_TEXT_BYTES 22 /* two IDs of ten digits, the dash, the final NUL */

/* Writes the text that pd_link_parse reads and returns it. */
const char *pd_link_format(struct pd_link_match link, char text[PD_LINK_TEXT_BYTES]);

#endif
