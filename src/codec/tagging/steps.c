/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves the rule tables of all switches into the outcome of each step. */
#include "codec/tagging/steps.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "topology/links.h"

void pd_tagging_steps_free(struct pd_steps *steps)
{
    if (!steps) {
        return;
    }
    free(steps->steps);
    free(steps->pods);
    free(steps);
}

/* Whether the rule's conditions hold in a case. */
static bool applies(const struct pd_rule *rule, unsigned which)
{
    return !(rule->src_inside && !(which & PD_STEP_SRC_INSIDE)) &&
           !(rule->dst_inside && !(which & PD_STEP_DST_INSIDE)) &&
           !(rule->dscp_zero && which & PD_STEP_DSCP_SET);
}

static void put_outcomes(const struct pd_rule *rule, unsigned room, struct pd_step *step)
{
    assert(rule->value <= 4094 && room <= 3);
    for (unsigned which = 0; which < PD_STEP_CASES; which++) {
        if (applies(rule, which)) {
            step->outcomes[which] = (uint16_t)(room << 14 | rule->action << 12 | rule->value);
        }
    }
}

/* A tag in the file is what the switches are known to push. */
static int check_link_tag(const struct pd_topology *topology, uint32_t sw,
                          const struct pd_neighbour *from, const struct pd_rule *rule,
                          struct pd_error *error)
{
    if (rule->action != PD_TAG_PUSH_VLAN || rule->ingress != from->node || !from->link_tag ||
        from->link_tag == rule->value) {
        return 0;
    }
    return pd_fail(error, -PD_E_TOPOLOGY,
                   "the link between %u and %u has the tag %u in the topology, the codec needs %u",
                   topology->switches[from->node].id, topology->switches[sw].id, from->link_tag,
                   rule->value);
}

/* The first match acts: so the last rule is written first, and those before it write over it. */
static int resolve_switch(const struct pd_tagging *tagging, uint32_t sw,
                          const struct pd_rule *rules, size_t len, struct pd_steps *steps,
                          struct pd_error *error)
{
    const struct pd_topology *topology = tagging->head.topology;
    const struct pd_switch *entry = &topology->switches[sw];
    for (uint32_t i = 0; i < entry->switch_neighbours; i++) {
        const struct pd_neighbour *from = &entry->neighbours[i];
        struct pd_step *step = &steps->steps[pd_links_reverse(from->link)];
        for (size_t r = len; r-- > 0;) {
            int failed = check_link_tag(topology, sw, from, &rules[r], error);
            if (failed) {
                return failed;
            }
            if (rules[r].ingress == PD_NONE || rules[r].ingress == from->node) {
                unsigned room = pd_tagging_room(tagging, &rules[r]);
                if (rules[r].action == PD_TAG_PUSH_VLAN && room < steps->least_room) {
                    steps->least_room = room;
                }
                put_outcomes(&rules[r], room, step);
            }
        }
    }
    return 0;
}

static int allocate(const struct pd_topology *topology, struct pd_steps *steps)
{
    steps->pods = malloc(topology->switches_len * sizeof *steps->pods);
    steps->steps = calloc(2 * (size_t)topology->fabric_links_len + 1, sizeof *steps->steps);
    if (!steps->steps || !steps->pods) {
        return -ENOMEM;
    }
    for (uint32_t sw = 0; sw < topology->switches_len; sw++) {
        steps->pods[sw] = (uint16_t)topology->switches[sw].pod;
    }
    return 0;
}

int pd_tagging_steps_new(const struct pd_tagging *tagging, struct pd_steps **ret_steps,
                         struct pd_error *error)
{
    const struct pd_topology *topology = tagging->head.topology;
    struct pd_steps *steps = calloc(1, sizeof *steps);
    int err = steps ? allocate(topology, steps) : -ENOMEM;
    if (!err) {
        steps->least_room = tagging->ops->max_vlans;
    }
    for (uint32_t sw = 0; sw < topology->switches_len && !err; sw++) {
        struct pd_rule *rules;
        size_t len;
        err = pd_tagging_rules(tagging, sw, &rules, &len);
        if (err) {
            break;
        }
        err = resolve_switch(tagging, sw, rules, len, steps, error);
        free(rules);
    }
    if (err) {
        pd_tagging_steps_free(steps);
        return err == -ENOMEM ? pd_fail(error, err, "codec: no memory") : err;
    }
    *ret_steps = steps;
    return 0;
}

struct pd_tag_step pd_tagging_step(const struct pd_tagging *tagging, uint32_t from, uint32_t rank,
                                   uint32_t src_tor, uint32_t dst_tor, bool dscp_set)
{
    const struct pd_steps *steps = tagging->steps;
    const struct pd_neighbour *to = &tagging->head.topology->switches[from].neighbours[rank];
    uint16_t pod = steps->pods[to->node];
    unsigned which = dscp_set ? PD_STEP_DSCP_SET : 0;
    if (pod && src_tor != PD_NONE && steps->pods[src_tor] == pod) {
        which |= PD_STEP_SRC_INSIDE;
    }
    if (pod && dst_tor != PD_NONE && steps->pods[dst_tor] == pod) {
        which |= PD_STEP_DST_INSIDE;
    }
    uint16_t outcome = steps->steps[to->link].outcomes[which];
    return (struct pd_tag_step){(enum pd_tag_action)(outcome >> 12 & 3), outcome & 0xfff,
                                (uint8_t)(outcome >> 14)};
}
