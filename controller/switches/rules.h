/* SPDX-License-Identifier: Apache-2.0 */
/* What a switch should have and what it has: the codec's rules against the flows that it lists. */
#ifndef PD_CONTROLLER_SWITCHES_RULES_H
#define PD_CONTROLLER_SWITCHES_RULES_H

#include "codec/codec.h"
#include "controller/switches/flow.h"

/* Flows are taken in one by one as the switch lists them and not kept, so that a switch with a
 * million flows of somebody else's costs no memory. Ours are told by the cookie. A flow of somebody
 * else's is never touched: where it has the match and priority of a rule and does the same, the
 * rule counts as there; where it does something else, the rule is blocked, since adding it would
 * replace that flow.
 *
 *     pd_switch_rules_new(codec, sw, PD_DEPTH_PCP, &rules, &error);
 *     pd_switch_rules_begin(rules);
 *     while (…) pd_switch_rules_see(rules, &flow);
 *     if (pd_switch_rules_count(rules, &differences)) pd_switch_rules_repair(rules, xid, &buffer);
 *
 * Internal to controller/switches/. Thread safety: one thread at a time. */

#define PD_OF_SURPLUS_BYTES_MAX (1 << 20) /* of deletions; more wait for the next round */

struct pd_of_rules;

struct pd_of_differences {
    uint32_t rules;     /* that the switch should have */
    uint32_t missing;   /* it has no such flow */
    uint32_t differing; /* our flow does something else, or would time out */
    uint32_t surplus;   /* flows of ours that are no rule */
    uint32_t blocked;   /* somebody else's flow is in the way; not repaired */
    uint64_t foreign;   /* flows of others in this table */
    /* a row of the edge is not there, somebody else's flow stands before it, or OpenFlow cannot
     * tell hosts' tags from tenants' */
    bool edge_open;
};

int pd_switch_rules_new(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth,
                        struct pd_of_rules **ret_rules, struct pd_error *error);
void pd_switch_rules_free(struct pd_of_rules *rules); /* NULL is fine */

void pd_switch_rules_begin(struct pd_of_rules *rules); /* forgets what was seen */
/* One flow that the switch has; those of other tables are passed over. 0 or -ENOMEM. */
int pd_switch_rules_see(struct pd_of_rules *rules, const struct pd_of_flow *flow);

/* Returns how many flows a repair would change. */
uint32_t pd_switch_rules_count(const struct pd_of_rules *rules,
                               struct pd_of_differences *ret_differences);
/* Adds the messages that repair, additions first, in the order of the rows: while they arrive, a
 * packet meets either its rule or a rule of lower priority that is not there yet. */
void pd_switch_rules_repair(const struct pd_of_rules *rules, uint32_t xid,
                            struct of_buffer *buffer);
/* The same for people: "add FLOW", "replace FLOW", "delete FLOW", "blocked FLOW", a line each; the
 * caller frees. 0 or -ENOMEM. */
int pd_switch_rules_changes(const struct pd_of_rules *rules, char **ret_text);

#endif
