/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that went the same way: a hash table of lists, and its inverse. */
#include "localise/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "localise/localise.h"

void pd_localise_groups_done(struct pd_localise_groups *groups)
{
    free(groups->groups);
    free(groups->members);
    free(groups->slots);
    *groups = (struct pd_localise_groups){0};
}

static bool is_same(const struct pd_localise_groups *groups, const struct pd_localise_group *group,
                    const struct pd_localise_member *members, size_t len)
{
    const struct pd_localise_member *own = groups->members + group->first;
    return group->len == len && !memcmp(own, members, len * sizeof *members);
}

static size_t find_slot(const struct pd_localise_groups *groups, uint64_t hash,
                        const struct pd_localise_member *members, size_t len)
{
    size_t mask = groups->slots_len - 1, at = hash & mask;
    for (; groups->slots[at]; at = (at + 1) & mask) {
        const struct pd_localise_group *there = &groups->groups[groups->slots[at] - 1];
        if (there->hash == hash && is_same(groups, there, members, len)) {
            break;
        }
    }
    return at;
}

/* The slots are empty. */
static void fill_slots(struct pd_localise_groups *groups)
{
    size_t mask = groups->slots_len - 1;
    for (size_t i = 0; i < groups->len; i++) {
        size_t at = groups->groups[i].hash & mask;
        while (groups->slots[at]) {
            at = (at + 1) & mask;
        }
        groups->slots[at] = (uint32_t)i + 1;
    }
}

static int grow(struct pd_localise_groups *groups)
{
    size_t room = groups->room;
    if (groups->len >= PD_LOCALISE_SIGNATURES_MAX) {
        return -PD_E_FULL;
    }
    if (PD_GROW(groups->groups, room, room ? room + 1 : 256)) {
        return -ENOMEM;
    }
    uint32_t *slots = calloc(2 * room, sizeof *slots);
    if (!slots) {
        return -ENOMEM;
    }
    free(groups->slots);
    groups->slots = slots;
    groups->slots_len = 2 * room;
    groups->room = room;
    fill_slots(groups);
    return 0;
}

static int reserve_members(struct pd_localise_groups *groups, size_t len)
{
    if (groups->members_len + len > UINT32_MAX / 2) {
        return -PD_E_FULL;
    }
    return PD_GROW(groups->members, groups->members_room, groups->members_len + len);
}

int pd_localise_groups_add(struct pd_localise_groups *groups,
                           const struct pd_localise_member *members, size_t len, double sent,
                           double lost, uint32_t *ret_number)
{
    uint64_t hash = pd_hash(members, len * sizeof *members);
    int err = groups->len == groups->room ? grow(groups) : 0;
    err = err ? err : reserve_members(groups, len);
    if (err) {
        return err;
    }
    size_t slot = find_slot(groups, hash, members, len);
    if (!groups->slots[slot]) {
        groups->groups[groups->len++] = (struct pd_localise_group){
            .hash = hash, .first = (uint32_t)groups->members_len, .len = (uint32_t)len};
        groups->slots[slot] = (uint32_t)groups->len;
        if (len) {
            memcpy(groups->members + groups->members_len, members, len * sizeof *members);
        }
        groups->members_len += len;
    }
    struct pd_localise_group *group = &groups->groups[groups->slots[slot] - 1];
    group->count++;
    group->sent += sent;
    group->lost += lost;
    group->squares += lost * lost;
    group->products += lost * sent;
    group->sent_squares += sent * sent;
    if (ret_number) {
        *ret_number = groups->slots[slot] - 1;
    }
    return 0;
}

void pd_localise_groups_fade(struct pd_localise_groups *groups, double keep, double least)
{
    size_t len = 0, members_len = 0;
    for (size_t i = 0; i < groups->len; i++) {
        struct pd_localise_group group = groups->groups[i];
        if (group.lost * keep < least) {
            continue;
        }
        memmove(groups->members + members_len, groups->members + group.first,
                group.len * sizeof *groups->members);
        group.first = (uint32_t)members_len;
        group.count *= keep;
        group.sent *= keep;
        group.lost *= keep;
        group.squares *= keep;
        group.products *= keep;
        group.sent_squares *= keep;
        members_len += group.len;
        groups->groups[len++] = group;
    }
    groups->len = len;
    groups->members_len = members_len;
    if (groups->slots) {
        memset(groups->slots, 0, groups->slots_len * sizeof *groups->slots);
        fill_slots(groups);
    }
}

/* ---- the inverse ---- */

void pd_localise_index_done(struct pd_localise_index *index)
{
    free(index->starts);
    free(index->groups);
    *index = (struct pd_localise_index){0};
}

int pd_localise_index_init(const struct pd_localise_groups *groups, uint32_t ids_len,
                           struct pd_localise_index *ret_index)
{
    struct pd_localise_index index = {.starts = calloc((size_t)ids_len + 2, sizeof *index.starts),
                                      .groups =
                                          calloc(groups->members_len + 1, sizeof *index.groups)};
    if (!index.starts || !index.groups) {
        pd_localise_index_done(&index);
        return -ENOMEM;
    }
    for (size_t i = 0; i < groups->members_len; i++) {
        index.starts[groups->members[i].id + 2]++;
    }
    for (uint32_t id = 2; id <= ids_len + 1; id++) {
        index.starts[id] += index.starts[id - 1];
    }
    for (uint32_t g = 0; g < groups->len; g++) {
        const struct pd_localise_group *group = &groups->groups[g];
        for (uint32_t i = 0; i < group->len; i++) {
            index.groups[index.starts[groups->members[group->first + i].id + 1]++] = g;
        }
    }
    *ret_index = index;
    return 0;
}
