/* SPDX-License-Identifier: Apache-2.0 */
/* The flows of a capture file as their digests tell them: read by one file, printed by another. */
#ifndef PD_CLI_PINT_DECODE_H
#define PD_CLI_PINT_DECODE_H

#include "cli/pint.h"
#include "codec/pint/flow.h"
#include "telemetry/histogram.h"

/* One thread. */

/* What the hops of one record measured, for each query of the plan and each hop number. */
struct pd_cli_pint_measured {
    struct pd_telemetry_histogram *histograms; /* query * (hops + 1) + hop; hop 0: of the packet */
    size_t len;
    uint32_t hops;
};

struct pd_cli_pint_flow {
    struct pd_flow_id id;
    struct pd_pint_flow *state;
    struct pd_cli_pint_measured measured[PD_PINT_RECORDS_MAX];
};

struct pd_cli_pint_decoder {
    struct pd_cli_pint pint;
    struct pd_pint_receiver *receiver;
    struct pd_cli_pint_flow **flows; /* as they came */
    uint32_t flows_len, flows_room;
    uint32_t *table; /* by hash: index + 1 */
    uint32_t table_mask;
    uint64_t without_digest, flows_full;
    int err; /* the first one */
};

/* Ends the flows and prints them, as lines or as JSON; nothing before all of it is there. */
int pd_cli_pint_print(struct pd_cli_pint_decoder *decoder, bool json, struct pd_error *error);

#endif
