/* SPDX-License-Identifier: Apache-2.0 */
/* Path trees: the paths of several senders joined at their receiver, drawn as text. */
#ifndef PD_APPS_TREE_H
#define PD_APPS_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "base/path.h"

/* Paper 000, section 4.6 and figure 10(b): how traffic comes together on its way to one host.
 *
 *     10.1.1.2
 *     └─ 1: 3 flows, 24 MB
 *        ├─ 9: 2 flows, 23 MB
 *        │  ├─ 2: 1 flows, 11 MB
 *        │  │  └─ 10.1.2.2: 4.4 Mb/s
 *        …
 *        └─ 10.1.1.3: 0.4 Mb/s
 *
 * Thread safety: pure. */

#define PD_APP_TREE_LINES_MAX 2000

/* One sender and its way. */
struct pd_app_branch {
    struct pd_path path; /* at least one switch */
    uint64_t flows, bytes;
    char words[160]; /* of the leaf */
};

/* `root`: what stands on top. Sorts the branches. The text is the caller's; NULL without memory. */
char *pd_app_tree(const char *root, struct pd_app_branch *branches, size_t len);

#endif
