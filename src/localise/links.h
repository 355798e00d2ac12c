/* SPDX-License-Identifier: Apache-2.0 */
/* Dense numbers for directed links: what localisers keep per link stands in arrays. */
#ifndef PD_LOCALISE_LINKS_H
#define PD_LOCALISE_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Internal to localise/. An open-addressing table key → 0, 1, 2, … in the order of first
 * appearance. A key is a pair of switch IDs, or a switch and (hashed to 31 bits) the address of a
 * host below it: its access link. Belongs to one thread. */

#define PD_ACCESS_UP   (UINT64_C(1) << 63) /* host → switch */
#define PD_ACCESS_DOWN (UINT64_C(3) << 62) /* switch → host */

struct pd_links {
    uint64_t *keys;  /* by number */
    uint32_t *slots; /* number + 1, 0: empty */
    size_t len, room, slots_len;
};

static inline uint64_t pd_link_key(uint32_t from, uint32_t to)
{
    return (uint64_t)(from & 0x7fffffff) << 32 | to;
}

static inline bool pd_link_is_access(uint64_t key)
{
    return key >> 63;
}

/* The number of the link, given one if it is new. -ENOMEM, or -PD_E_FULL at PD_LOCALISE_LINKS_MAX.
 */
int pd_links_add(struct pd_links *links, uint64_t key, uint32_t *ret_number);
void pd_links_done(struct pd_links *links); /* works on zeroed memory */

#endif
