/* SPDX-License-Identifier: Apache-2.0 */
/* One packet of a switch: known or new, traced, compared, and sent on without its tags. */
#include <string.h>

#include "apps/loop/loop.h"
#include "base/clock.h"
#include "base/hash.h"

#define CONTENT_BYTES 2048 /* of the IP packet, are compared */

/* What is in a packet that is taken, beside the frame. */
struct taken {
    const struct pd_app_packet *from;
    struct pd_packet parsed;
    struct pd_tagging_set set;
    uint64_t content, now_us;
    uint8_t ttl;
};

/* ---- reading */

static size_t ttl_offset(const struct pd_packet *parsed)
{
    return parsed->ip_offset + (parsed->flow.ip_version == 6 ? 7u : 8u);
}

/* Hash of the IP packet without TTL, DSCP, ECN and the header's checksum. Packets of one flow
 * differ in the IP ID, in TCP's numbers or in their content; twins that differ in nothing are told
 * apart by their TTL (see is_back). */
static uint64_t hash_content(const struct pd_app_packet *packet, const struct pd_packet *parsed)
{
    uint8_t copy[CONTENT_BYTES] = {0};
    size_t bytes = packet->bytes - parsed->ip_offset;

    bytes = bytes < parsed->ip_bytes ? bytes : parsed->ip_bytes;
    bytes = bytes < CONTENT_BYTES ? bytes : CONTENT_BYTES;
    memcpy(copy, packet->data + parsed->ip_offset, bytes);
    if (parsed->flow.ip_version == 6) {
        copy[0] &= 0xf0;
        copy[1] &= 0x0f;
        copy[7] = 0;
    } else {
        copy[1] = copy[8] = copy[10] = copy[11] = 0;
    }
    return pd_hash_mix(pd_hash(copy, (bytes + 3) / 4 * 4) ^ parsed->ip_bytes);
}

/* The switch behind a port; PD_NONE: a host, or nobody knows. */
static uint32_t neighbour_at(const struct pd_topology *topology, uint32_t sw, uint32_t port)
{
    const struct pd_switch *entry = &topology->switches[sw];

    for (uint32_t i = 0; port && i < entry->switch_neighbours; i++) {
        if (entry->neighbours[i].port == port) {
            return entry->neighbours[i].node;
        }
    }
    return PD_NONE;
}

static bool read_packet(struct loop_state *state, const struct pd_app_packet *packet,
                        struct taken *taken)
{
    const struct pd_codec *codec = state->codec;
    struct pd_packet *parsed = &taken->parsed;
    uint32_t at = pd_topology_switch(state->topology, packet->switch_id);

    if (at == PD_NONE) {
        state->counters.unknown_switches++;
        return false;
    }
    if (pd_packet_parse(packet->data, packet->bytes, packet->bytes, parsed) != PD_PACKET_OK) {
        state->counters.unreadable++;
        return false;
    }
    if (pd_tags_len(parsed->mark) < pd_tagging_punts_from(codec)) {
        state->counters.others++;
        return false;
    }
    taken->set = (struct pd_tagging_set){
        .at = at, .from = neighbour_at(state->topology, at, packet->in_port)};
    taken->set.mark = parsed->mark & codec->mark_bits;
    taken->content = hash_content(packet, parsed);
    taken->ttl = packet->data[ttl_offset(parsed)];
    return true;
}

/* ---- packets under way */

static bool is_same(const struct loop_packet *packet, const struct taken *taken)
{
    return packet->visits_len && packet->content == taken->content &&
           pd_flow_id_equal(&packet->flow, &taken->parsed.flow);
}

static struct loop_packet *find(struct loop_state *state, const struct taken *taken)
{
    struct loop_packet *bucket = state->packets[taken->content % LOOP_BUCKETS];

    for (unsigned way = 0; way < LOOP_WAYS; way++) {
        if (is_same(&bucket[way], taken)) {
            return &bucket[way];
        }
    }
    return NULL;
}

static uint64_t last_ns(const struct loop_packet *packet)
{
    return packet->visits_len ? packet->visits[packet->visits_len - 1].at_ns : 0;
}

/* A free place, or that of the packet that is away for the longest time. */
static struct loop_packet *make_room(struct loop_state *state, const struct taken *taken)
{
    struct loop_packet *bucket = state->packets[taken->content % LOOP_BUCKETS], *oldest = bucket;

    for (unsigned way = 0; way < LOOP_WAYS; way++) {
        if (last_ns(&bucket[way]) < last_ns(oldest)) {
            oldest = &bucket[way];
        }
    }
    if (oldest->visits_len) {
        state->counters.crowded_out += taken->from->received_ns - last_ns(oldest) < LOOP_AGE_NS;
        pd_loop_forget(state, oldest, false);
    }
    return oldest;
}

static void begin(struct loop_state *state, struct loop_packet *packet, const struct taken *taken)
{
    const struct pd_flow_id *flow = &taken->parsed.flow;

    packet->flow = *flow;
    packet->content = taken->content;
    packet->src_tor = pd_topology_tor_of(state->topology, &flow->src, flow->ip_version);
    packet->dst_tor = pd_topology_tor_of(state->topology, &flow->dst, flow->ip_version);
    packet->visits_len = 0;
    packet->trail.len = 0;
    packet->told = false;
}

/* The walk of the first visit. Where hosts hang at several switches, or racks share a prefix, it is
 * that of the first two that have one; without any they stay what they are. */
static int trace_first(const struct loop_state *state, struct loop_packet *packet,
                       const struct taken *taken)
{
    const struct pd_flow_id *flow = &packet->flow;
    uint32_t src[PD_HOMES_MAX], dst[PD_HOMES_MAX];
    uint32_t src_len = pd_topology_tors_of(state->topology, &flow->src, flow->ip_version, src);
    uint32_t dst_len = pd_topology_tors_of(state->topology, &flow->dst, flow->ip_version, dst);
    int failed = pd_tagging_trace(state->codec, packet->src_tor, packet->dst_tor, NULL, &taken->set,
                                  &packet->trail);

    for (uint32_t i = 0; failed == -PD_E_INFEASIBLE && i < src_len * dst_len; i++) {
        uint32_t from = src[i / dst_len], to = dst[i % dst_len];

        packet->trail.len = 0;
        failed = pd_tagging_trace(state->codec, from, to, NULL, &taken->set, &packet->trail);
        if (failed != -PD_E_INFEASIBLE) {
            packet->src_tor = from;
            packet->dst_tor = to;
        }
    }
    return failed;
}

/* Adds the walk of this visit to the trail. Where the trail so far cannot go on with these tags,
 * nothing that was before counts. */
static void visit(struct loop_state *state, struct loop_packet *packet, const struct taken *taken)
{
    struct loop_visit *last = packet->visits_len ? &packet->visits[packet->visits_len - 1] : NULL;
    uint32_t before = packet->trail.len;
    int failed = last ? pd_tagging_trace(state->codec, packet->src_tor, packet->dst_tor, &last->set,
                                         &taken->set, &packet->trail)
                      : trace_first(state, packet, taken);

    if (failed) {
        state->counters.infeasible += failed == -PD_E_INFEASIBLE;
        packet->trail.len = 0;
    }
    if (!before || failed) {
        packet->first_len = packet->trail.len;
    }
    packet->visits[packet->visits_len++] =
        (struct loop_visit){taken->set, taken->from->received_ns, taken->now_us, .fits = !failed};
}

/* Whether it is the packet that was sent on, and not a twin of it: each time the TTL goes down by
 * one, so that a twin, which is as old as the first one was, has a larger one; and its first tag is
 * that of the link by which it came here. */
static bool is_back(const struct loop_state *state, const struct loop_packet *packet,
                    const struct taken *taken)
{
    const struct pd_tagging_set *last = &packet->visits[packet->visits_len - 1].set;
    struct pd_tagging_trail trail = {0};

    return taken->from->received_ns - last_ns(packet) < LOOP_AGE_NS && taken->ttl <= packet->ttl &&
           packet->visits_len <= LOOP_ROUNDS_MAX && last->from != PD_NONE &&
           pd_tagging_trace(state->codec, packet->src_tor, packet->dst_tor, last, &taken->set,
                            &trail) != -PD_E_INFEASIBLE;
}

/* ---- sending on */

/* Pays for one packet from a bucket that fills with time and holds those of a tenth of a second. */
static bool may_send(struct loop_state *state, uint64_t now_ns)
{
    uint64_t price_ns = PD_NS_PER_S / LOOP_PER_S, most_ns = PD_NS_PER_S / 10;
    uint64_t passed_ns = now_ns > state->credited_ns ? now_ns - state->credited_ns : 0;

    state->credit_ns = passed_ns < most_ns ? state->credit_ns + passed_ns : most_ns;
    state->credit_ns = state->credit_ns < most_ns ? state->credit_ns : most_ns;
    state->credited_ns = now_ns;
    if (state->credit_ns < price_ns) {
        return false;
    }
    state->credit_ns -= price_ns;
    return true;
}

/* RFC 1141: the TTL is the upper half of its word, so the checksum grows by 0x0100. */
static void lower_ttl(uint8_t *frame, const struct pd_packet *parsed)
{
    uint8_t *ip = frame + parsed->ip_offset;

    frame[ttl_offset(parsed)]--;
    if (parsed->flow.ip_version == 6) {
        return;
    }
    uint32_t sum = ((uint32_t)ip[10] << 8 | ip[11]) + 0x0100;
    sum += sum >> 16;
    ip[10] = (uint8_t)(sum >> 8);
    ip[11] = (uint8_t)sum;
}

static bool send_stripped(const struct loop_state *state, const struct pd_app_world *world,
                          const struct taken *taken)
{
    const struct pd_app_packet *packet = taken->from;
    uint8_t frame[LOOP_FRAME_BYTES];
    size_t stripped;

    if (packet->bytes > sizeof frame || taken->set.from == PD_NONE || !world->ops->packet_out) {
        return false;
    }
    memcpy(frame, packet->data, packet->bytes);
    lower_ttl(frame, &taken->parsed);
    stripped =
        pd_packet_strip(frame, &taken->parsed, state->codec->ops->carriers & PD_CARRIER_DSCP);
    return !world->ops->packet_out(world->context, packet->switch_id, packet->in_port,
                                   frame + stripped, packet->bytes - stripped);
}

/* Sent on, or forgotten: then it counts as one that went a long way. */
static void send_on(struct loop_state *state, const struct pd_app_world *world,
                    struct loop_packet *packet, const struct taken *taken)
{
    uint64_t *counter = &state->counters.sent_on;

    if (taken->ttl <= 1) {
        counter = &state->counters.expired;
    } else if (packet->visits_len > LOOP_ROUNDS_MAX) {
        counter = &state->counters.tired;
    } else if (!may_send(state, taken->from->received_ns)) {
        counter = &state->counters.beyond_rate;
    } else if (!send_stripped(state, world, taken)) {
        counter = &state->counters.unsendable;
    }
    ++*counter;
    packet->ttl = (uint8_t)(taken->ttl - 1);
    if (counter != &state->counters.sent_on) {
        pd_loop_forget(state, packet, packet->visits_len > 1);
    }
}

/* ---- all of it */

/* What a packet carries when it comes here may be the work of its host. What was taken off here
 * and is there again was written by switches: so a loop is proven by links that the packet crossed
 * since it came here first, by its port that time and by new tags. */
static bool has_grown(struct loop_packet *packet, uint32_t *ret_first, uint32_t *ret_second)
{
    uint32_t first, second;

    packet->told |= pd_tagging_trail_repeats(&packet->trail, 0, &first, &second);
    return packet->first_len < packet->trail.len &&
           pd_tagging_trail_repeats(&packet->trail, packet->first_len - 1, ret_first, ret_second);
}

static bool take(struct loop_state *state, const struct pd_app_world *world,
                 const struct taken *taken)
{
    uint64_t now_ns = taken->from->received_ns;
    struct loop_found *known = pd_loop_known(state, &taken->parsed.flow, &taken->set, now_ns);
    struct loop_packet *packet = find(state, taken);
    uint32_t first, second;
    bool is_new;

    if (known && !packet) { /* nothing to learn from it: it ends here */
        known->packets++;
        known->last_ns = now_ns;
        known->last_us = taken->now_us;
        state->counters.looping++;
        return false;
    }
    if (packet && !is_back(state, packet, taken)) {
        pd_loop_forget(state, packet, false);
    }
    if (!packet || !packet->visits_len) {
        packet = packet ? packet : make_room(state, taken);
        begin(state, packet, taken);
    }
    visit(state, packet, taken);
    if (!has_grown(packet, &first, &second)) {
        send_on(state, world, packet, taken);
        return false;
    }
    state->counters.looping++;
    is_new = pd_loop_note(state, packet, first, second);
    packet->visits_len = 0;
    return is_new;
}

bool pd_loop_take(struct loop_state *state, const struct pd_app_world *world,
                  const struct pd_app_packet *packet)
{
    struct taken taken = {.from = packet};

    state->counters.packets++;
    state->counters.limited += packet->limited;
    if (!read_packet(state, packet, &taken)) {
        return false;
    }
    taken.now_us = world->ops->now_us ? world->ops->now_us(world->context) : pd_clock_wall_us();
    return take(state, world, &taken);
}
