/* SPDX-License-Identifier: Apache-2.0 */
/* What `pathdump meters count` and `meters compare` share: a topology with its codec, and filters
 * as files have them. */
#ifndef PD_CLI_METERS_H
#define PD_CLI_METERS_H

#include <jansson.h>

#include "cli/cli.h"
#include "codec/codec.h"

struct pd_cli_meters {
    struct pd_topology *topology;
    struct pd_codec *codec;
};

/* Both work on what a failure leaves, too. */
int pd_cli_meters_open(const char *topology, struct pd_cli_meters *ret_meters,
                       struct pd_error *error);
void pd_cli_meters_close(struct pd_cli_meters *meters);

/* Reads a JSON file whose document is an object. */
int pd_cli_meters_load(const char *file, json_t **ret_document, struct pd_error *error);

#endif
