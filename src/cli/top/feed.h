/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps asking in the background for what `pathdump top` shows. */
#ifndef PD_CLI_TOP_FEED_H
#define PD_CLI_TOP_FEED_H

#include "cli/top/snapshot.h"

/* A thread takes a snapshot every period, and sooner when another table is wanted or an event came;
 * a second one listens to the controller's events. The screen's thread picks the newest snapshot
 * up. The lock guards all that the three share; nobody asks or draws while holding it. */

struct pd_top_feed;

/* `source` lives as long as the feed, but for its `stop`. */
int pd_top_feed_start(const struct pd_top_source *source, const struct pd_top_table *table,
                      uint64_t period_ms, struct pd_top_feed **ret_feed, struct pd_error *error);

/* Ends both threads; what they wait for may take a second. */
void pd_top_feed_stop(struct pd_top_feed *feed);

/* Becomes readable when there is news; read it empty with pd_top_feed_take. */
int pd_top_feed_fd(const struct pd_top_feed *feed);

/* The newest snapshot, if there is one that was not taken yet, which is the caller's: true. The
 * words of what went wrong since are in `ret_error`, "" when nothing did. */
bool pd_top_feed_take(struct pd_top_feed *feed, struct pd_top_snapshot *ret,
                      struct pd_error *ret_error);

/* Shows another table from now on; with `link` the flows over it ("9-17"). */
void pd_top_feed_want(struct pd_top_feed *feed, const struct pd_top_table *table, const char *link);

#endif
