/* SPDX-License-Identifier: Apache-2.0 */
/* The table of lists of hops: one array of words, one of where lists begin, one by hash. */
#include "telemetry/hop_lists.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"

enum { LIST_WORDS = PD_TELEMETRY_HOPS_MAX + 1, SLOTS_MIN = 1024 };

/* Word 0 of a list: length, kind and whether it is cut; then the IDs. Number n is list n - 2. */
struct table {
    pthread_mutex_t lock;
    uint32_t *words;
    size_t words_len, words_room;
    uint32_t *firsts;
    uint32_t lists_len, lists_room;
    uint32_t *slots; /* number of a list, by hash; 0: free */
    uint32_t slots_len;
};

static struct table table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t bytes_of(uint32_t words)
{
    return words * sizeof(uint32_t);
}

static uint32_t list_words(const uint32_t *list)
{
    return (list[0] & 0xff) + 1;
}

static uint64_t hash_of(const uint32_t *list)
{
    return pd_hash(list, bytes_of(list_words(list)));
}

static const uint32_t *list_at(uint32_t number)
{
    return table.words + table.firsts[number - 2];
}

/* The slot that has the list, or a free one. */
static uint32_t *find_slot(const uint32_t *list)
{
    uint32_t at = (uint32_t)hash_of(list) & (table.slots_len - 1);
    while (table.slots[at]) {
        const uint32_t *other = list_at(table.slots[at]);
        if (other[0] == list[0] && !memcmp(other, list, bytes_of(list_words(list)))) {
            break;
        }
        at = (at + 1) & (table.slots_len - 1);
    }
    return &table.slots[at];
}

static bool grow_slots(void)
{
    uint32_t len = table.slots_len ? table.slots_len * 2 : SLOTS_MIN;
    uint32_t *slots = calloc(len, sizeof *slots);
    if (!slots) {
        return false;
    }
    free(table.slots);
    table.slots = slots;
    table.slots_len = len;
    for (uint32_t n = 0; n < table.lists_len; n++) {
        *find_slot(list_at(n + 2)) = n + 2;
    }
    return true;
}

/* Slots are at most half full. */
static bool has_room(uint32_t words)
{
    size_t bytes = (table.words_len + words) * sizeof *table.words +
                   (size_t)table.lists_len * sizeof *table.firsts +
                   (size_t)table.slots_len * sizeof *table.slots;
    return bytes <= PD_HOP_LISTS_BYTES_MAX &&
           (table.lists_len * 2 < table.slots_len || grow_slots()) &&
           !PD_GROW(table.firsts, table.lists_room, table.lists_len + 1) &&
           !PD_GROW(table.words, table.words_room, table.words_len + words);
}

static uint32_t number_of(const uint32_t *list)
{
    uint32_t words = list_words(list), *slot = table.slots ? find_slot(list) : NULL;
    uint32_t known = slot ? *slot : 0;
    if (known) {
        return known;
    }
    if (!has_room(words)) {
        return PD_HOP_LISTS_FULL;
    }
    memcpy(table.words + table.words_len, list, bytes_of(words));
    table.firsts[table.lists_len] = (uint32_t)table.words_len;
    table.words_len += words;
    slot = find_slot(list);
    *slot = table.lists_len++ + 2;
    return *slot;
}

uint64_t pd_telemetry_hop_lists_read(const uint8_t *frame, size_t captured,
                                     const struct pd_packet *packet)
{
    struct pd_telemetry found;

    if (!packet->options_offset && packet->flow.dst_port != PD_TELEMETRY_PORT &&
        pd_tags_dscp(packet->mark) != PD_TELEMETRY_DSCP) {
        return 0;
    }
    return pd_telemetry_read(frame, captured, packet, PD_TELEMETRY_DSCP, &found)
               ? 0
               : pd_telemetry_hop_lists_mark(&found);
}

uint64_t pd_telemetry_hop_lists_mark(const struct pd_telemetry *telemetry)
{
    uint32_t list[LIST_WORDS];
    list[0] = telemetry->hops_len | (uint32_t)telemetry->kind << 8 | (uint32_t)telemetry->cut << 16;
    for (uint32_t n = 0; n < telemetry->hops_len; n++) {
        const struct pd_telemetry_hop *hop = &telemetry->hops[n];
        list[n + 1] = hop->known & PD_TELEMETRY_NODE ? hop->node : 0;
    }
    pthread_mutex_lock(&table.lock);
    uint64_t number = number_of(list);
    pthread_mutex_unlock(&table.lock);
    return number << PD_HOP_LISTS_SHIFT;
}

static void copy_list(const uint32_t *list, struct pd_hop_list *ret_list)
{
    ret_list->len = list[0] & 0xff;
    ret_list->kind = list[0] >> 8 & 0xff;
    ret_list->cut = list[0] >> 16 & 1;
    memcpy(ret_list->nodes, list + 1, bytes_of(ret_list->len));
}

int pd_telemetry_hop_lists_find(uint64_t mark, struct pd_hop_list *ret_list)
{
    uint64_t number = mark >> PD_HOP_LISTS_SHIFT;
    if (number <= PD_HOP_LISTS_FULL) {
        return number ? -PD_E_LIMIT : -PD_E_NOT_FOUND;
    }
    pthread_mutex_lock(&table.lock);
    bool found = number - 2 < table.lists_len;
    if (found) {
        copy_list(list_at((uint32_t)number), ret_list);
    }
    pthread_mutex_unlock(&table.lock);
    return found ? 0 : -PD_E_VALUE;
}
