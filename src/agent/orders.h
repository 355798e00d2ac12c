/* SPDX-License-Identifier: Apache-2.0 */
/* Orders that come with questions: which are good here, and each of them once. */
#ifndef PD_AGENT_ORDERS_H
#define PD_AGENT_ORDERS_H

#include <jansson.h>

#include "fleet/order.h"
#include "http/credentials.h"
#include "http/server.h"

/* Where credentials are needed nobody is believed what the controller has asked, not even the
 * controller's own role: other agents get an answer, and anybody has this host ask others, only
 * with an order (fleet/order.h). It has to be handed over by one of those who stand above this host
 * in it, and each of these may do so once: the parent, and who asks instead of it when it is dead.
 * Nonces are kept until the order is over, in memory: orders that were made before this process
 * began are refused, since it may have used them.
 *
 * Thread safety: any thread; one mutex, held for look-ups alone. */

#define PD_AGENT_ORDERS_KEPT 65536u /* nonces */

struct pd_agent_orders;

/* `credentials` may be NULL, and must outlive it. `host`: this one's ID; 0: not told. */
int pd_agent_orders_new(struct pd_credentials *credentials, uint32_t host,
                        struct pd_agent_orders **ret_orders);
void pd_agent_orders_free(struct pd_agent_orders *orders); /* NULL is fine */

/* Does such a question need one? NULL: never. */
bool pd_agent_orders_needed(const struct pd_agent_orders *orders,
                            const struct pd_http_request *request, bool has_children);

/* That of the request, for this body and the hosts below. -PD_E_FORBIDDEN in words, said in the log
 * too; -PD_E_BUSY: more are under way than can be remembered; -ENOMEM. */
int pd_agent_orders_take(struct pd_agent_orders *orders, const struct pd_http_request *request,
                         const json_t *body, const struct pd_forest *below,
                         struct pd_fleet_order *ret_order, struct pd_error *error);

#endif
