/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of evidence that went the same way, counted together. */
#ifndef PD_LOCALISE_GROUPS_H
#define PD_LOCALISE_GROUPS_H

#include <stddef.h>
#include <stdint.h>

/* What localisers keep of rows: lists of members (links, or switches), each with a weight, and for
 * each different list how many rows had it, what they sent and what they lost. So memory grows with
 * the number of different ways and not with that of rows.
 *
 * Internal to localise/. One thread. Zeroed memory is empty. */

struct pd_localise_member {
    uint32_t id;
    uint32_t tag; /* the owner's */
    double weight;
};

struct pd_localise_group {
    uint64_t hash;
    uint32_t first; /* of its members */
    uint32_t len;
    double count; /* rows */
    double sent, lost;
    /* Σ lost², Σ lost·sent, Σ sent² of the rows: whether losses come in bursts. */
    double squares, products, sent_squares;
};

struct pd_localise_groups {
    struct pd_localise_group *groups; /* in the order of arrival */
    size_t len, room;
    struct pd_localise_member *members;
    size_t members_len, members_room;
    uint32_t *slots; /* number + 1 of a group, by hash */
    size_t slots_len;
};

void pd_localise_groups_done(struct pd_localise_groups *groups);

/* Adds one row. 0 with the group's number in *ret_number (may be NULL), -ENOMEM, or -PD_E_FULL at
 * PD_LOCALISE_SIGNATURES_MAX. */
int pd_localise_groups_add(struct pd_localise_groups *groups,
                           const struct pd_localise_member *members, size_t len, double sent,
                           double lost, uint32_t *ret_number);

/* Keeps that share of everything; what has lost less than `least` then goes. */
void pd_localise_groups_fade(struct pd_localise_groups *groups, double keep, double least);

/* Which groups have a member: starts[id] … starts[id + 1] of `groups`. */
struct pd_localise_index {
    uint32_t *starts;
    uint32_t *groups;
};

/* IDs of members are below `ids_len`. 0 or -ENOMEM. */
int pd_localise_index_init(const struct pd_localise_groups *groups, uint32_t ids_len,
                           struct pd_localise_index *ret_index);
void pd_localise_index_done(struct pd_localise_index *index); /* works on zeroed memory */

#endif
