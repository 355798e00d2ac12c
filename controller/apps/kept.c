/* SPDX-License-Identifier: Apache-2.0 */
/* States of runs by hand, for the next run that asks the same within seconds. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "controller/apps/private.h"

/* Whoever asks again and again learns more each time, as a watch does: the run goes on from where
 * the last one stopped. A state is with one run or in the list, never both; of two runs at once
 * one begins anew. */

enum { KEPT_MAX = 8 };

struct pd_apps_kept {
    pthread_mutex_t lock; /* of the list */
    struct pd_apps_hand *items[KEPT_MAX];
};

int pd_apps_kept_open(struct pd_apps_kept **ret_kept)
{
    struct pd_apps_kept *kept = calloc(1, sizeof *kept);

    if (!kept) {
        return -ENOMEM;
    }
    pthread_mutex_init(&kept->lock, NULL);
    *ret_kept = kept;
    return 0;
}

void pd_apps_hand_free(struct pd_apps_hand *hand)
{
    if (hand && hand->opened && hand->ops->close) {
        hand->ops->close(hand->state);
    }
    if (hand) {
        json_decref(hand->args);
        pd_apps_world_close(hand->world);
    }
    free(hand);
}

void pd_apps_kept_close(struct pd_apps_kept *kept)
{
    for (size_t i = 0; kept && i < KEPT_MAX; i++) {
        pd_apps_hand_free(kept->items[i]);
    }
    if (kept) {
        pthread_mutex_destroy(&kept->lock);
    }
    free(kept);
}

static bool is_stale(const struct pd_apps_hand *hand)
{
    uint64_t age_ns = pd_clock_monotonic_ns() - hand->ended_ns;

    return (double)age_ns > hand->ops->keep_s * 1e9 || !pd_apps_world_holds(hand->world);
}

/* Out of the list; what is too old goes. */
static struct pd_apps_hand *take(struct pd_apps_kept *kept, const struct pd_app_ops *ops,
                                 const json_t *args)
{
    struct pd_apps_hand *found = NULL, *stale[KEPT_MAX] = {NULL};

    pthread_mutex_lock(&kept->lock);
    for (size_t i = 0; i < KEPT_MAX; i++) {
        struct pd_apps_hand *hand = kept->items[i];

        if (hand && is_stale(hand)) {
            stale[i] = hand;
            kept->items[i] = NULL;
        } else if (hand && !found && hand->ops == ops && json_equal(hand->args, args)) {
            found = hand;
            kept->items[i] = NULL;
        }
    }
    pthread_mutex_unlock(&kept->lock);
    for (size_t i = 0; i < KEPT_MAX; i++) {
        pd_apps_hand_free(stale[i]);
    }
    return found;
}

struct pd_apps_hand *pd_apps_kept_take(struct pd_apps_kept *kept, const struct pd_app_ops *ops,
                                       const json_t *args)
{
    return ops->keep_s > 0 ? take(kept, ops, args) : NULL;
}

/* Where there is no room the one that ended first goes. */
void pd_apps_kept_put(struct pd_apps_kept *kept, struct pd_apps_hand *hand)
{
    size_t at = 0;

    if (hand->ops->keep_s <= 0) {
        pd_apps_hand_free(hand);
        return;
    }
    hand->ended_ns = pd_clock_monotonic_ns();
    pthread_mutex_lock(&kept->lock);
    for (size_t i = 0; i < KEPT_MAX && kept->items[at]; i++) {
        if (!kept->items[i] || kept->items[i]->ended_ns < kept->items[at]->ended_ns) {
            at = i;
        }
    }
    struct pd_apps_hand *oldest = kept->items[at];
    kept->items[at] = hand;
    pthread_mutex_unlock(&kept->lock);
    pd_apps_hand_free(oldest);
}
