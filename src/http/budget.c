/* SPDX-License-Identifier: Apache-2.0 */
/* A sum under a lock, and the disk's word. */
#include "http/budget.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "http/answer.h"

#define DISK_SHARE 20

struct pd_http_budget {
    uint64_t bytes;
    pthread_mutex_t mutex; /* over what follows */
    uint64_t taken, disk_bytes, looked_ns;
};

struct pd_http_budget *pd_http_budget_new(uint64_t bytes)
{
    struct pd_http_budget *budget = calloc(1, sizeof *budget);

    if (budget) {
        budget->bytes = bytes;
        pthread_mutex_init(&budget->mutex, NULL);
    }
    return budget;
}

void pd_http_budget_free(struct pd_http_budget *budget)
{
    if (budget) {
        pthread_mutex_destroy(&budget->mutex);
        free(budget);
    }
}

/* What is taken already would be free without us. */
static void look_at_disk(struct pd_http_budget *budget)
{
    uint64_t now_ns = pd_clock_monotonic_ns();
    struct statvfs disk;

    if (budget->looked_ns && now_ns - budget->looked_ns < PD_NS_PER_S) {
        return;
    }
    budget->looked_ns = now_ns;
    budget->disk_bytes =
        statvfs(pd_http_answer_folder(), &disk)
            ? 0
            : ((uint64_t)disk.f_bavail * disk.f_frsize + budget->taken) / DISK_SHARE;
}

bool pd_http_budget_take(struct pd_http_budget *budget, uint64_t bytes, bool on_disk)
{
    bool room;

    pthread_mutex_lock(&budget->mutex);
    look_at_disk(budget);
    room = budget->taken + bytes <= budget->bytes &&
           (!on_disk || budget->taken + bytes <= budget->disk_bytes);
    budget->taken += room ? bytes : 0;
    pthread_mutex_unlock(&budget->mutex);
    return room;
}

void pd_http_budget_give(struct pd_http_budget *budget, uint64_t bytes)
{
    pthread_mutex_lock(&budget->mutex);
    budget->taken -= bytes;
    pthread_mutex_unlock(&budget->mutex);
}

uint64_t pd_http_budget_taken(struct pd_http_budget *budget)
{
    pthread_mutex_lock(&budget->mutex);
    uint64_t taken = budget->taken;
    pthread_mutex_unlock(&budget->mutex);
    return taken;
}
