/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a pipeline share. */
#ifndef PD_SWX_PIPELINE_PRIVATE_H
#define PD_SWX_PIPELINE_PRIVATE_H

#include "swx/pipeline.h"
#include "swx/reasons.h"

struct rte_swx_pipeline;
struct rte_swx_ctl_pipeline;
struct rte_swx_ctl_table_info;

struct in_port {
    struct pd_swx_frame *first, *last;
};
struct out_port {
    struct pd_swx_pipeline *pipeline;
    uint32_t number;
};

struct pd_swx_pipeline {
    struct rte_swx_pipeline *swx;
    struct rte_swx_ctl_pipeline *ctl;
    struct in_port in[PD_SWX_PORT_MAX + 1];
    struct out_port out[PD_SWX_PORTS_LEN];
    uint32_t in_len;
    pd_swx_sink *sink;
    void *context;
    uint32_t inside;      /* frames that have gone in and not come out */
    uint64_t dropped;     /* by SWX itself */
    uint64_t clones_lost; /* mirrors for which there was no buffer */
    struct rte_swx_ctl_table_info *tables;
    uint32_t tables_len, actions_len, arrays_len;
    uint64_t *actions; /* scratch of table statistics */
};

/* Reads what the program has: tables, actions, arrays. 0 or -ENOMEM. */
int pd_swx_pipeline_look(struct pd_swx_pipeline *pipeline);

#endif
