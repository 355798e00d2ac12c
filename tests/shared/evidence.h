/* SPDX-License-Identifier: Apache-2.0 */
/* Ways of evidence as the paths that tests compare. */
#ifndef PD_TESTS_SHARED_EVIDENCE_H
#define PD_TESTS_SHARED_EVIDENCE_H

#include <string.h>

#include "base/path.h"
#include "evidence/evidence.h"

static inline struct pd_path path_of(const struct pd_evidence_way *way)
{
    struct pd_path path = {.len = (uint16_t)way->nodes_len};
    memcpy(path.switches, way->nodes, way->nodes_len * sizeof *path.switches);
    return path;
}

#endif
