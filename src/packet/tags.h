/* SPDX-License-Identifier: Apache-2.0 */
/* Link tags as one number: the mark that packets carry in VLAN tags and DSCP. */
#ifndef PD_PACKET_TAGS_H
#define PD_PACKET_TAGS_H

#include <stdbool.h>
#include <stdint.h>

/* Stages that count, store and compare marks see the number and nothing else; what is in it is
 * known to this stage, to the strippers and to the scheme (src/codec/tagging).
 *
 * From the lowest bit: number of tags (3 bits), DSCP (6), VLAN IDs in the order pushed, innermost
 * first (12 each); the rest is 0. */

#define PD_TAGS_MAX       4 /* VLAN tags that a rule-abiding or broken network may deliver */
#define PD_TAGS_LEN_MASK  UINT64_C(7)
#define PD_TAGS_DSCP_AT   3
#define PD_TAGS_DSCP_MASK (UINT64_C(63) << PD_TAGS_DSCP_AT)
#define PD_TAGS_VID_AT(i) (9 + 12 * (i))

struct pd_tags {
    uint16_t vids[PD_TAGS_MAX]; /* in the order pushed (innermost first); unused ones 0 */
    uint8_t len;
    uint8_t dscp; /* 0 unless the codec uses it */
};

/* The bits of a mark that are a scheme's: without the DSCP where it is not used. */
static inline uint64_t pd_tags_bits(bool use_dscp)
{
    return use_dscp ? UINT64_MAX : ~PD_TAGS_DSCP_MASK;
}

static inline unsigned pd_tags_len(uint64_t mark)
{
    return (unsigned)(mark & PD_TAGS_LEN_MASK);
}

static inline uint8_t pd_tags_dscp(uint64_t mark)
{
    return (uint8_t)((mark & PD_TAGS_DSCP_MASK) >> PD_TAGS_DSCP_AT);
}

static inline uint16_t pd_tags_vid(uint64_t mark, unsigned i)
{
    return mark >> PD_TAGS_VID_AT(i) & 0xfff;
}

/* There is room for one more. */
static inline uint64_t pd_tags_push(uint64_t mark, uint16_t vid)
{
    return (mark | (uint64_t)vid << PD_TAGS_VID_AT(pd_tags_len(mark))) + 1;
}

static inline uint64_t pd_tags_set_dscp(uint64_t mark, uint8_t dscp)
{
    return (mark & ~PD_TAGS_DSCP_MASK) | (uint64_t)(dscp & 63) << PD_TAGS_DSCP_AT;
}

static inline uint64_t pd_tags_pack(const struct pd_tags *tags)
{
    uint64_t mark = pd_tags_set_dscp(0, tags->dscp);
    for (unsigned i = 0; i < tags->len && i < PD_TAGS_MAX; i++) {
        mark = pd_tags_push(mark, tags->vids[i] & 0xfff);
    }
    return mark;
}

static inline struct pd_tags pd_tags_unpack(uint64_t mark)
{
    struct pd_tags tags = {.len = (uint8_t)pd_tags_len(mark), .dscp = pd_tags_dscp(mark)};
    if (tags.len > PD_TAGS_MAX) {
        tags.len = PD_TAGS_MAX;
    }
    for (unsigned i = 0; i < tags.len; i++) {
        tags.vids[i] = pd_tags_vid(mark, i);
    }
    return tags;
}

#endif
