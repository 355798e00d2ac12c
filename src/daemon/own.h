/* SPDX-License-Identifier: Apache-2.0 */
/* One table of options out of many: a daemon's rows and those that kinds and parts bring. */
#ifndef PD_DAEMON_OWN_H
#define PD_DAEMON_OWN_H

#include "daemon/settings.h"

/* A kind of intake, a part, … has options that only it knows: a table of rows whose offsets lie in
 * a struct of its own. The daemon's settings have room for these structs behind its own members
 * (`own`, of `own_bytes` at offset `own_at`), so that settings stay plain data, which is loaded,
 * copied and compared as one.
 *
 *     pd_daemon_options_own(&joined, live_rows, sizeof(struct live_options));
 *     const struct live_options *live = pd_daemon_options_own_of(&joined, settings, live_rows);
 *
 * Rows of kinds and parts have no CALLBACK. Thread safety: joined once, before other threads. */

#define PD_OPTIONS_OWN_MAX   32u
#define PD_OPTIONS_OWN_BYTES 1024u /* of all of them */

struct pd_options_joined {
    size_t own_at; /* offset in the daemon's settings */
    struct pd_option table[PD_DAEMON_OPTIONS_MAX];
    unsigned len;
    size_t own_bytes; /* in use */
    struct {
        const struct pd_option *rows;
        size_t offset;
    } own[PD_OPTIONS_OWN_MAX];
    unsigned own_len;
};

/* The daemon's own rows, up to the empty one. More than there is room for is a mistake in the
 * program: it ends. */
void pd_daemon_options_rows(struct pd_options_joined *joined, const struct pd_option *rows);

/* Rows of a kind or a part, with its struct's size; `rows` NULL: it has none. */
void pd_daemon_options_own(struct pd_options_joined *joined, const struct pd_option *rows,
                           size_t bytes);

/* Its struct in these settings; NULL: it has no rows. */
const void *pd_daemon_options_own_of(const struct pd_options_joined *joined, const void *settings,
                                     const struct pd_option *rows);

#endif
