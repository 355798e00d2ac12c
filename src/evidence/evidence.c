/* SPDX-License-Identifier: Apache-2.0 */
/* The table of origins of evidence. */
#include "evidence/evidence.h"

#include <string.h>

static const char *const origins[] = {
#define X(id, name, text) [PD_EVIDENCE_FROM_##id] = name,
    PD_EVIDENCE_ORIGINS(X)
#undef X
};

const char *pd_evidence_origin_name(enum pd_evidence_origin origin)
{
    return origins[origin < PD_EVIDENCE_ORIGIN_COUNT ? origin : PD_EVIDENCE_FROM_OTHER];
}

enum pd_evidence_origin pd_evidence_origin_find(const char *name)
{
    for (unsigned i = 0; i < PD_EVIDENCE_ORIGIN_COUNT; i++) {
        if (!strcmp(name, origins[i])) {
            return (enum pd_evidence_origin)i;
        }
    }
    return PD_EVIDENCE_FROM_OTHER;
}
