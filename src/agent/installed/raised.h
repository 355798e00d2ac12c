/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded memory of the violations that were raised already. */
#ifndef PD_AGENT_INSTALLED_RAISED_H
#define PD_AGENT_INSTALLED_RAISED_H

#include <stdbool.h>
#include <stdint.h>

#include "tib/record.h"

/* Each violation ⟨flow ID, path or mark, rule⟩ of an installed query raises one alarm, and the flow
 * goes on for hours, in slices. So what was raised is remembered, as 64 bits each, under a secret
 * so that nobody can choose a flow that hides behind another one. The oldest of a few are forgotten
 * when there are too many: then an alarm comes once more, never once too few.
 *
 * Thread safety: one thread. */

#define PD_RAISED_MAX 8192 /* violations; 64 KiB */

struct pd_raised;

int pd_installed_raised_new(
    struct pd_raised **ret_raised); /* 0, -ENOMEM or what getrandom fails with */
void pd_installed_raised_free(struct pd_raised *raised); /* NULL is fine */

/* Whether it is new; it is remembered from now on. */
bool pd_installed_raised_add(struct pd_raised *raised, const struct pd_tib_record *record,
                             const char *rule);

#endif
