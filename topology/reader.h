/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the reader: read.c, read_nodes.c, read_codecs.c. */
#ifndef PD_TOPOLOGY_READER_H
#define PD_TOPOLOGY_READER_H

#include <jansson.h>
#include <stdbool.h>

#include "topology/draft.h"

/* Internal to topology/. Each reads one element into the draft; a value of a wrong type or range is
 * a finding, and the return value 0. -ENOMEM. Belongs to one thread. */

struct pd_reader {
    struct pd_draft draft;
    struct pd_findings *findings;
};

#define PD_READER_TEXT_BYTES 48

/* Text from the file, safe to print: cut, control characters and bytes outside ASCII replaced. */
const char *pd_topology_reader_safe(const char *text, char buffer[PD_READER_TEXT_BYTES]);
/* A string of at most PD_NAME_MAX bytes without control characters. */
bool pd_topology_reader_is_name(const json_t *value);
/* Stores an optional name; `key` is its place in the file. */
int pd_topology_reader_name(struct pd_reader *reader, json_t *value, const char *key,
                            uint32_t *ret_offset);

int pd_topology_reader_node(struct pd_reader *reader, json_t *node, size_t nth);
int pd_topology_reader_link(struct pd_reader *reader, json_t *link, size_t nth);
/* "codec" and "codec_options". */
int pd_topology_reader_codecs(struct pd_reader *reader, json_t *root);

#endif
