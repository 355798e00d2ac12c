/* SPDX-License-Identifier: Apache-2.0 */
/* The mark of path filters: as bytes, and in words. */
#ifndef PD_CODEC_PATH_BLOOM_MARK_H
#define PD_CODEC_PATH_BLOOM_MARK_H

#include "base/mark.h"

/* Five bytes (docs/formats/path-filter.md): the filter, highest byte first; 1 where the frame had
 * another number of tags than switches write, else 0. */

#define PD_BLOOM_SCHEME 2 /* number of the scheme */

extern const struct pd_mark_scheme pd_path_bloom_scheme;

/* The mark of a number of packet/filter.h; no mark of 0. */
struct pd_mark pd_path_bloom_mark(uint64_t filter);

#endif
