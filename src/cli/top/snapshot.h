/* SPDX-License-Identifier: Apache-2.0 */
/* What `pathdump top` shows, as it was at one moment. */
#ifndef PD_CLI_TOP_SNAPSHOT_H
#define PD_CLI_TOP_SNAPSHOT_H

#include "cli/top/table.h"

/* Thread safety: works on the caller's memory; asking blocks until `stop`. */

struct pd_top_source {
    const struct pd_cli_server *server;
    bool agent;                 /* the server is one host's */
    const atomic_bool *stop;    /* asking ends early; NULL: never */
    struct pd_cli_names *names; /* of switches in rows; NULL: their IDs */
};

#define PD_TOP_WINDOW_S 10 /* rates are over the last so long */

struct pd_top_snapshot {
    const struct pd_top_table *table;
    json_t *rows; /* of the table */
    /* {"at_us","hosts":{"all","up","missing"},"alarms_minute","bps","hottest","hottest_bps"} */
    json_t *header;
};

/* Asks for the table and what stands above it. 0 or a failure with words; *ret is the caller's. */
int pd_top_snapshot_take(const struct pd_top_source *source, const struct pd_top_table *table,
                         struct pd_top_snapshot *ret, struct pd_error *error);
void pd_top_snapshot_done(struct pd_top_snapshot *snapshot);

/* One line of the header. */
#define PD_TOP_HEADER_BYTES 200
const char *pd_top_header_text(const json_t *header, char text[PD_TOP_HEADER_BYTES]);

/* The largest records over this link ("9-17") of the window: rows of the table of flows. */
int pd_top_flows_over(const struct pd_top_source *source, const char *link, json_t **ret_rows,
                      struct pd_error *error);

#endif
