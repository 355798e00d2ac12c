/* SPDX-License-Identifier: Apache-2.0 */
/* The list of schemes that leave marks: a new one adds a line here. */
#include "codec/marks.h"

#include "base/error.h"
#include "codec/path_bloom/mark.h"
#include "codec/tagging/mark.h"

const struct pd_mark_scheme *const pd_codec_schemes[] = {&pd_tagging_scheme, &pd_path_bloom_scheme,
                                                         NULL};

const struct pd_mark_scheme *pd_codec_scheme(uint8_t number)
{
    for (size_t i = 0; pd_codec_schemes[i]; i++) {
        if (pd_codec_schemes[i]->number == number) {
            return pd_codec_schemes[i];
        }
    }
    return NULL;
}

static bool rest_is_zero(const struct pd_mark *mark)
{
    bool zero = mark->len <= PD_MARK_BYTES;

    for (unsigned i = mark->len; i < PD_MARK_BYTES; i++) {
        zero &= !mark->bytes[i];
    }
    return zero;
}

int pd_codec_mark_check(const struct pd_mark *mark)
{
    const struct pd_mark_scheme *scheme = pd_codec_scheme(mark->scheme);

    if (!rest_is_zero(mark)) {
        return -PD_E_VALUE;
    }
    if (mark->scheme == PD_MARK_NONE) {
        return mark->len ? -PD_E_VALUE : 0;
    }
    if (!scheme) {
        return -PD_E_UNSUPPORTED;
    }
    return scheme->valid(mark) ? 0 : -PD_E_VALUE;
}

size_t pd_codec_mark_fields(const struct pd_mark *mark, struct pd_mark_field *ret_fields)
{
    const struct pd_mark_scheme *scheme = pd_codec_scheme(mark->scheme);

    return scheme && !pd_codec_mark_check(mark) ? scheme->fields(mark, ret_fields) : 0;
}
