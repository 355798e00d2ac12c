/* SPDX-License-Identifier: Apache-2.0 */
/* Names of reasons. */
#include "swx/reasons.h"

#include <stdio.h>

const char *pd_swx_reason_id(unsigned reason, char room[16])
{
    static const char *const names[PD_SWX_REASON_COUNT] = {
#define X(name, number, id) [(number)-PD_SWX_FATES] = (id),
        PD_SWX_REASONS(X)
#undef X
    };
    const unsigned nth = reason - PD_SWX_FATES;
    if (nth < PD_SWX_REASON_COUNT && names[nth]) {
        return names[nth];
    }
    snprintf(room, 16, "reason_%u", reason & 0xffff);
    return room;
}
