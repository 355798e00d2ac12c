/* SPDX-License-Identifier: Apache-2.0 */
/* A switch's table entries for path filters. */
#ifndef PD_CODEC_PATH_BLOOM_ROWS_H
#define PD_CODEC_PATH_BLOOM_ROWS_H

#include "codec/path_bloom/path_bloom.h"

/* As pd_codec_ops.rows. */
int pd_path_bloom_rows(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth,
                       struct pd_codec_rows *rows);

#endif
