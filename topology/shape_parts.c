/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes with parts missing: what stands where, told by pod, position and name. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "topology/shape.h"

/* "NAME-3" or "NAME-2-3": up to two numbers behind the word. Returns how many. */
static int numbers_behind(const char *text, const char *word, uint32_t ret_numbers[2])
{
    size_t len = strlen(word);
    int count = 0;
    if (strncmp(text, word, len) != 0) {
        return 0;
    }
    for (text += len; *text == '-' && count < 2; count++) {
        uint64_t value = 0;
        const char *digits = ++text;
        for (; *text >= '0' && *text <= '9' && value <= UINT16_MAX; text++) {
            value = 10 * value + (uint64_t)(*text - '0');
        }
        if (text == digits || value < 1 || value > UINT16_MAX) {
            return 0;
        }
        ret_numbers[count] = (uint32_t)value;
    }
    return *text ? 0 : count;
}

struct pd_spot pd_topology_shape_spot(const struct pd_switch *sw)
{
    struct pd_spot spot = {sw->pod, sw->position};
    uint32_t numbers[2];
    int count = numbers_behind(sw->name, pd_topology_role_name(sw->role), numbers);
    if (!spot.position && count) {
        spot.position = numbers[count - 1];
    }
    if (!spot.pod && count == 2) {
        spot.pod = numbers[0];
    }
    return spot;
}

struct pd_spot *pd_topology_shape_spots(const struct pd_topology *topology, bool *ret_named)
{
    struct pd_spot *spots = calloc((size_t)topology->switches_len + 1, sizeof *spots);
    *ret_named = true;
    for (uint32_t i = 0; spots && i < topology->switches_len; i++) {
        spots[i] = pd_topology_shape_spot(&topology->switches[i]);
        *ret_named &= spots[i].position != 0;
    }
    return spots;
}

/* Gives the number to all that is reached from `from` over switches of the two roles. */
static void flood(const struct pd_topology *topology, uint32_t from, enum pd_switch_role first,
                  enum pd_switch_role second, uint32_t number, uint32_t *groups, uint32_t *queue)
{
    uint32_t head = 0, tail = 0;
    queue[tail++] = from;
    groups[from] = number;
    while (head < tail) {
        const struct pd_switch *sw = &topology->switches[queue[head++]];
        for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
            uint32_t next = sw->neighbours[i].node;
            enum pd_switch_role role = topology->switches[next].role;
            if (groups[next] == PD_NONE && (role == first || role == second)) {
                groups[next] = number;
                queue[tail++] = next;
            }
        }
    }
}

int pd_topology_shape_groups(const struct pd_topology *topology, enum pd_switch_role first,
                             enum pd_switch_role second, uint32_t *ret_groups)
{
    uint32_t *queue = malloc(((size_t)topology->switches_len + 1) * sizeof *queue), number = 0;
    if (!queue) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        ret_groups[i] = PD_NONE;
    }
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        if (topology->switches[i].role == first && ret_groups[i] == PD_NONE) {
            flood(topology, i, first, second, number++, ret_groups, queue);
        }
    }
    free(queue);
    return 0;
}

uint32_t pd_topology_shape_largest(const struct pd_topology *topology, enum pd_switch_role role,
                                   bool pods)
{
    uint32_t largest = 0;
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        if (topology->switches[i].role == role) {
            struct pd_spot spot = pd_topology_shape_spot(&topology->switches[i]);
            uint32_t value = pods ? spot.pod : spot.position;
            largest = value > largest ? value : largest;
        }
    }
    return largest;
}

uint32_t pd_topology_shape_size(const struct pd_topology *topology, const char *codec,
                                const char *key, const char *word, int nth)
{
    const struct pd_codec_choice *choice = pd_topology_codec(topology, codec);
    json_t *options = choice && *choice->options ? json_loads(choice->options, 0, NULL) : NULL;
    json_int_t given = json_integer_value(json_object_get(options, key));
    json_decref(options);
    if (given >= 1 && given <= UINT16_MAX) {
        return (uint32_t)given;
    }
    uint32_t numbers[2] = {0};
    return numbers_behind(topology->name, word, numbers) > nth ? numbers[nth] : 0;
}

bool pd_topology_shape_put(const struct pd_topology *topology, uint32_t sw, struct pd_place place,
                           uint32_t *slot, struct pd_place *places, struct pd_findings *findings)
{
    const struct pd_switch *entry = &topology->switches[sw];
    if (*slot != PD_NONE) {
        pd_topology_findings_switch(
            findings, sw, "%s %u has the place of %s %u", pd_topology_role_name(entry->role),
            entry->id, pd_topology_role_name(entry->role), topology->switches[*slot].id);
        return false;
    }
    *slot = sw;
    places[sw] = place;
    return true;
}

void pd_topology_shape_no_place(const struct pd_topology *topology, uint32_t sw,
                                struct pd_spot spot, uint32_t most, struct pd_findings *findings)
{
    const struct pd_switch *entry = &topology->switches[sw];
    if (!spot.position) {
        pd_topology_findings_switch(
            findings, sw, "%s %u has no place: no \"position\", and no name like a generator's",
            pd_topology_role_name(entry->role), entry->id);
    } else {
        pd_topology_findings_switch(findings, sw, "%s %u is number %u of pod %u, expected 1 to %u",
                                    pd_topology_role_name(entry->role), entry->id, spot.position,
                                    spot.pod, most);
    }
}
