/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow as they are filled. */
#ifndef PD_BASE_GROW_H
#define PD_BASE_GROW_H

#include <errno.h>
#include <stddef.h>

/* Room doubles, so that filling an array of n items copies each at most once in the mean.
 *
 *     if (PD_GROW(list->items, list->room, list->len + 1)) {
 *         return -ENOMEM;
 *     }
 *     list->items[list->len++] = item;
 *
 * Thread safety: works on the caller's memory. */

#define PD_GROW_LEAST 16 /* items of an array's first room */

/* The array with room for at least `need` items of `item_bytes`, more than *room, and *room items
 * that it has; NULL without memory, or where *room would have to be more than `most`: all is as it
 * was then. */
void *pd_grow(void *array, size_t *room, size_t need, size_t item_bytes, size_t most);

/* Of an item; a sizeof of what may be a pointer is taken for a mistake by clang-tidy. */
#define PD_GROW_ITEM(array) sizeof(struct { __typeof__(*(array)) item; })

/* Makes room for `need` items in `array`, a pointer, of which `room`, of any unsigned type, is how
 * many it has room for. 0 or -ENOMEM, with both as they were. */
#define PD_GROW(array, room, need)                                                            \
    ({                                                                                        \
        const size_t pd_grow_need = (need);                                                   \
        size_t pd_grow_room = (room);                                                         \
        int pd_grow_err = 0;                                                                  \
        if (pd_grow_need > pd_grow_room) {                                                    \
            void *pd_grow_array = pd_grow((array), &pd_grow_room, pd_grow_need,               \
                                          PD_GROW_ITEM(array), (size_t)(__typeof__(room))-1); \
            pd_grow_err = pd_grow_array ? 0 : -ENOMEM;                                        \
            (array) = pd_grow_array ? pd_grow_array : (void *)(array);                        \
            (room) = (__typeof__(room))pd_grow_room;                                          \
        }                                                                                     \
        pd_grow_err;                                                                          \
    })

#endif
