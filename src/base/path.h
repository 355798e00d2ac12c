/* SPDX-License-Identifier: Apache-2.0 */
/* Paths (lists of switch IDs) and links with wildcards: what tags are decoded into and what queries
 * ask for. */
#ifndef PD_BASE_PATH_H
#define PD_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PD_PATH_MAX 128 /* switches of a path */

/* A path, first switch to last; [tor] for a flow inside one rack, empty where none is known. A
 * switch may stand in it several times. Switch IDs are >= 1; 0 is a gap, in claims that are
 * partial. Elements behind `len` mean nothing: in the table of paths (pd_path_intern) there is no
 * memory for them, so a path is copied with pd_path_copy and compared with pd_path_equal. */
struct pd_path {
    uint32_t len;
    uint32_t switches[PD_PATH_MAX];
};

/* ⟨from, to⟩: an ordered pair of adjacent switches; 0 is the wildcard `*`. {0, 0} matches every
 * path, also those without a link; anything else matches paths that have such a link. */
struct pd_link_match {
    uint32_t from;
    uint32_t to;
};

bool pd_path_equal(const struct pd_path *a, const struct pd_path *b);
uint64_t pd_path_hash(const struct pd_path *path);
void pd_path_copy(struct pd_path *to, const struct pd_path *from);

/* <0, 0, >0: as lists of switch IDs, the shorter first where one begins the other. */
int pd_path_compare(const struct pd_path *a, const struct pd_path *b);

#define PD_PATH_BYTES(len) (offsetof(struct pd_path, switches) + (len) * sizeof(uint32_t))

/* ---- the table of paths: each path once in a process ---- */

/* Paths that are kept get a number, from 0 in the order of arrival, and stay until the process
 * ends, so that a pointer or a number stands for them everywhere. The table is bounded, since paths
 * are also what others tell; what comes from one answer or one packet is not put there.
 *
 * Thread safety: all functions may be called from any thread; pd_path_at takes no lock. */

#define PD_PATHS_KEPT_MAX (1u << 22)

struct pd_path_counters {
    uint64_t kept;
    uint64_t refused; /* attempts to keep one more than there is room for */
};

/* The kept path that equals this one. -PD_E_VALUE (too long), -PD_E_FULL (counted), -ENOMEM. */
int pd_path_intern(const struct pd_path *path, const struct pd_path **ret_path,
                   uint32_t *ret_number);
/* NULL when the number has not been given. */
const struct pd_path *pd_path_at(uint32_t number);
struct pd_path_counters pd_path_counters(void);

extern const struct pd_path pd_path_empty;

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
