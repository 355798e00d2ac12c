/* SPDX-License-Identifier: Apache-2.0 */
/* The schemes whose marks are known here, by number. */
#ifndef PD_CODEC_MARKS_H
#define PD_CODEC_MARKS_H

#include "base/mark.h"

extern const struct pd_mark_scheme *const pd_codec_schemes[]; /* NULL-terminated */

/* NULL when the number is of no scheme that is known. */
const struct pd_mark_scheme *pd_codec_scheme(uint8_t number);

/* No mark, or one that its scheme could have left: what a file or another process tells. 0,
 * -PD_E_UNSUPPORTED (unknown scheme) or -PD_E_VALUE. */
int pd_codec_mark_check(const struct pd_mark *mark);

/* The mark in its scheme's words, at most PD_MARK_FIELDS_MAX fields; none for no mark and for
 * schemes that are not known. */
size_t pd_codec_mark_fields(const struct pd_mark *mark, struct pd_mark_field *ret_fields);

#endif
