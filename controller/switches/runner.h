/* SPDX-License-Identifier: Apache-2.0 */
/* A provider at work: in a thread of its own, so that one that hangs holds nobody up. */
#ifndef PD_CONTROLLER_SWITCHES_RUNNER_H
#define PD_CONTROLLER_SWITCHES_RUNNER_H

#include "controller/switches/provider.h"

/* Thread safety: open and close from one thread, the rest from any. What waits for a provider that
 * is slow is bounded in number and in time; a provider that does not come back from a call is left
 * behind with all that it has when it is closed. */

#define PD_SWITCH_RUNNER_PATIENCE_MS 5000u /* for open; 2 s for close */
#define PD_SWITCH_RUNNER_QUEUE       256u  /* packets that wait for it */

struct pd_switch_runner;

/* 0 also when open has not ended in time: then it is `opening` until it has. The config is copied;
 * what it points to must outlive the provider. */
int pd_switch_runner_open(const struct pd_switch_provider_ops *ops,
                          const struct pd_switch_provider_config *config,
                          struct pd_switch_runner **ret_runner, struct pd_error *error);

/* False: it was left behind, and what its config points to must stay. NULL is fine. */
bool pd_switch_runner_close(struct pd_switch_runner *runner);

const struct pd_switch_provider_ops *pd_switch_runner_ops(const struct pd_switch_runner *runner);
/* The provider itself; NULL while it is not open. */
void *pd_switch_runner_provider(struct pd_switch_runner *runner);
/* "opening", "open", "hangs": a call has not ended for a second. */
const char *pd_switch_runner_state(struct pd_switch_runner *runner);

void pd_switch_runner_status(struct pd_switch_runner *runner, uint32_t index,
                             struct pd_switch_status *ret_status);
/* 0: it was sent or waits for the provider. -PD_E_NOT_FOUND: it is not open; -PD_E_FULL. */
int pd_switch_runner_packet_out(struct pd_switch_runner *runner, uint32_t switch_id,
                                uint32_t in_port, const uint8_t *data, size_t bytes);

/* Only of providers that are prompt, or else -PD_E_UNSUPPORTED. */
int pd_switch_runner_meters(struct pd_switch_runner *runner, uint32_t switch_id,
                            int (*visit)(void *context, const struct pd_switch_meter *meter),
                            void *context);

#endif
