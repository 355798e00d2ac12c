/* SPDX-License-Identifier: Apache-2.0 */
/* Flows as localisers want them, asked of all hosts. */
#include "controller/apps/private.h"

int pd_apps_observe(void *world, uint64_t from_us, uint64_t to_us,
                    int (*visit)(void *visitor, const struct pd_observation *flows,
                                 size_t flows_len),
                    void *visitor, struct pd_report *report, struct pd_error *error)
{
    (void)world;
    (void)from_us;
    (void)to_us;
    (void)visit;
    (void)visitor;
    (void)report;
    return pd_fail(error, -PD_E_UNSUPPORTED, "this controller does not observe flows yet");
}
