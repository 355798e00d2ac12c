/* SPDX-License-Identifier: Apache-2.0 */
/* A ring under a mutex with two conditions. */
#include "agent/queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/wait.h"

struct pd_queue {
    pthread_mutex_t lock; /* of everything below */
    pthread_cond_t filled;
    pthread_cond_t drained;
    size_t size; /* items that fit */
    size_t first;
    size_t len;
    struct pd_item items[];
};

struct pd_item_extra *pd_agent_item_extra_new(const uint8_t *bytes, uint32_t len)
{
    struct pd_item_extra *extra = len ? malloc(sizeof *extra + len) : NULL;

    if (extra) {
        extra->bytes_len = len;
        memcpy(extra->bytes, bytes, len);
    }
    return extra;
}

int pd_agent_queue_new(size_t len, struct pd_queue **ret_queue)
{
    /* Not zeroed: an idle queue then takes no memory but its head. */
    struct pd_queue *queue = malloc(sizeof *queue + len * sizeof queue->items[0]);

    if (!queue) {
        return -ENOMEM;
    }
    memset(queue, 0, sizeof *queue);
    queue->size = len;
    pthread_mutex_init(&queue->lock, NULL);
    pd_wait_init(&queue->filled);
    pd_wait_init(&queue->drained);
    *ret_queue = queue;
    return 0;
}

void pd_agent_queue_free(struct pd_queue *queue)
{
    if (!queue) {
        return;
    }
    pthread_cond_destroy(&queue->drained);
    pthread_cond_destroy(&queue->filled);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

unsigned pd_agent_queue_push(struct pd_queue *queue, const struct pd_item *items, size_t n)
{
    unsigned waits = 0;

    pthread_mutex_lock(&queue->lock);
    for (size_t i = 0; i < n; i++) {
        while (queue->len == queue->size) {
            waits++;
            pthread_cond_signal(&queue->filled);
            pthread_cond_wait(&queue->drained, &queue->lock);
        }
        queue->items[(queue->first + queue->len) % queue->size] = items[i];
        queue->len++;
    }
    pthread_cond_signal(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
    return waits;
}

size_t pd_agent_queue_pop(struct pd_queue *queue, struct pd_item *ret_items, size_t max,
                          uint64_t deadline_ns)
{
    size_t n = 0;

    pthread_mutex_lock(&queue->lock);
    while (!queue->len) {
        if (!pd_wait_until(&queue->filled, &queue->lock, deadline_ns)) {
            break;
        }
    }
    for (; n < max && queue->len; n++) {
        ret_items[n] = queue->items[queue->first];
        queue->first = (queue->first + 1) % queue->size;
        queue->len--;
    }
    if (n) {
        pthread_cond_broadcast(&queue->drained);
    }
    pthread_mutex_unlock(&queue->lock);
    return n;
}

size_t pd_agent_queue_len(struct pd_queue *queue)
{
    size_t len;

    pthread_mutex_lock(&queue->lock);
    len = queue->len;
    pthread_mutex_unlock(&queue->lock);
    return len;
}
