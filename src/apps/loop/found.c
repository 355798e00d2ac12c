/* SPDX-License-Identifier: Apache-2.0 */
/* What was found: loops, each once, and flows on long paths. */
#include <string.h>

#include "apps/loop/loop.h"
#include "base/clock.h"

/* ---- long paths */

static struct loop_long *long_of(struct loop_state *state, const struct pd_flow_id *flow)
{
    for (uint32_t i = 0; i < state->longs_len; i++) {
        if (pd_flow_id_equal(&state->longs[i].flow, flow)) {
            return &state->longs[i];
        }
    }
    if (state->longs_len == LOOP_LONG_MAX) {
        state->longs_left++;
        return NULL;
    }
    state->longs[state->longs_len] = (struct loop_long){.flow = *flow};
    return &state->longs[state->longs_len++];
}

static uint32_t id_of(const struct loop_state *state, uint32_t sw)
{
    return sw == PD_NONE ? 0 : state->topology->switches[sw].id;
}

void pd_loop_forget(struct loop_state *state, struct loop_packet *packet, bool undecided)
{
    const struct loop_visit *visit = &packet->visits[0];
    struct loop_long *entry = packet->visits_len ? long_of(state, &packet->flow) : NULL;

    if (entry) {
        entry->packets++;
        entry->undecided |= undecided;
        entry->told |= packet->told;
        entry->last_us = packet->visits[packet->visits_len - 1].at_us;
        entry->mark = visit->set.mark;
        entry->last =
            (struct loop_link){id_of(state, visit->set.from), id_of(state, visit->set.at)};
    }
    packet->visits_len = 0;
}

void pd_loop_expire(struct loop_state *state, uint64_t now_ns)
{
    for (uint32_t i = 0; i < LOOP_BUCKETS * LOOP_WAYS; i++) {
        struct loop_packet *packet = &state->packets[i / LOOP_WAYS][i % LOOP_WAYS];
        uint64_t last = packet->visits_len ? packet->visits[packet->visits_len - 1].at_ns : now_ns;

        if (now_ns > last && now_ns - last >= LOOP_AGE_NS) {
            pd_loop_forget(state, packet, false);
        }
    }
}

/* ---- loops */

static bool same_link(const struct loop_link *a, const struct loop_link *b)
{
    return a->from == b->from && a->to == b->to;
}

/* The loop's links by IDs, from the smallest one on, so that it looks the same wherever a packet
 * entered it. */
static void write_links(const struct loop_state *state, const struct loop_packet *packet,
                        uint32_t first, uint32_t second, struct loop_found *found)
{
    uint32_t smallest = 0;

    found->len = second - first;
    for (uint32_t i = 0; i < found->len; i++) {
        if (id_of(state, packet->trail.steps[first + i].from) <
            id_of(state, packet->trail.steps[first + smallest].from)) {
            smallest = i;
        }
    }
    for (uint32_t i = 0; i < found->len; i++) {
        const struct pd_tagging_hop *step =
            &packet->trail.steps[first + (smallest + i) % found->len];

        found->links[i] = (struct loop_link){id_of(state, step->from), id_of(state, step->to)};
    }
    found->repeated = (struct loop_link){id_of(state, packet->trail.steps[second].from),
                                         id_of(state, packet->trail.steps[second].to)};
}

static void write_proof(const struct loop_state *state, const struct loop_packet *packet,
                        struct loop_found *found)
{
    found->proof = *packet;
    for (uint32_t i = 0; i < packet->visits_len; i++) {
        found->proof_ids[i][0] = id_of(state, packet->visits[i].set.from);
        found->proof_ids[i][1] = id_of(state, packet->visits[i].set.at);
    }
}

static bool same_loop(const struct loop_found *a, const struct loop_found *b)
{
    return a->len == b->len && !memcmp(a->links, b->links, a->len * sizeof *a->links);
}

static void add_flow(struct loop_found *found, const struct pd_flow_id *flow)
{
    for (uint32_t i = 0; i < found->flows_len; i++) {
        if (pd_flow_id_equal(&found->flows[i], flow)) {
            return;
        }
    }
    if (found->flows_len < LOOP_FLOWS_MAX) {
        found->flows[found->flows_len++] = *flow;
    } else {
        found->flows_left++;
    }
}

/* The same loop from before, a free place, or that of the loop that was seen longest ago. */
static struct loop_found *place_of(struct loop_state *state, const struct loop_found *fresh,
                                   bool *ret_new)
{
    struct loop_found *oldest = state->found;

    *ret_new = false;
    for (uint32_t i = 0; i < state->found_len; i++) {
        if (same_loop(&state->found[i], fresh)) {
            return &state->found[i];
        }
        if (state->found[i].last_ns < oldest->last_ns) {
            oldest = &state->found[i];
        }
    }
    *ret_new = true;
    if (state->found_len < LOOP_FOUND_MAX) {
        oldest = &state->found[state->found_len++];
    }
    *oldest = *fresh;
    return oldest;
}

bool pd_loop_note(struct loop_state *state, const struct loop_packet *packet, uint32_t first,
                  uint32_t second)
{
    const struct loop_visit *last = &packet->visits[packet->visits_len - 1];
    struct loop_found fresh = {0}, *found;
    bool is_new;

    write_links(state, packet, first, second, &fresh);
    write_proof(state, packet, &fresh);
    found = place_of(state, &fresh, &is_new);
    if (!is_new) {
        is_new = last->at_ns - found->last_ns >= LOOP_AGE_NS; /* it was gone, and has come again */
        write_proof(state, packet, found);
    }
    add_flow(found, &packet->flow);
    found->packets++;
    found->last_ns = last->at_ns;
    found->last_us = last->at_us;
    return is_new;
}

struct loop_found *pd_loop_known(struct loop_state *state, const struct pd_flow_id *flow,
                                 const struct pd_tagging_set *set, uint64_t now_ns)
{
    struct loop_link link = {id_of(state, set->from), id_of(state, set->at)};

    for (uint32_t i = 0; i < state->found_len; i++) {
        struct loop_found *found = &state->found[i];
        bool crosses = false, has = false;

        if (now_ns - found->proof.visits[found->proof.visits_len - 1].at_ns >= LOOP_AGE_NS) {
            continue; /* proven too long ago: it may be repaired, and is proven again */
        }
        for (uint32_t k = 0; k < found->len && !crosses; k++) {
            crosses = same_link(&found->links[k], &link);
        }
        for (uint32_t k = 0; k < found->flows_len && crosses && !has; k++) {
            has = pd_flow_id_equal(&found->flows[k], flow);
        }
        if (has) {
            return found;
        }
    }
    return NULL;
}
