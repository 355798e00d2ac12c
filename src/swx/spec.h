/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled programs for DPDK's SWX pipeline: the only place that reads them. */
#ifndef PD_SWX_SPEC_H
#define PD_SWX_SPEC_H

#include "base/error.h"

struct rte_swx_pipeline;

/* Reads the file into a pipeline that has its ports already. DPDK 22.11 has three functions for
 * that in its static library and in no header: spec.c declares them, and CMake checks that they are
 * there. -PD_E_SYNTAX with file and line, -PD_E_VALUE where SWX would compute wrongly what the file
 * says (metadata of more than 256 bytes), -PD_E_VERSION for statements that this DPDK does not
 * know, -PD_E_LIMIT or -errno. */
int pd_swx_spec_load(struct rte_swx_pipeline *pipeline, const char *file, struct pd_error *error);

#endif
