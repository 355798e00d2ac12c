/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of a selection, and the threads that take them. */
#include "tib/lmdb/crew.h"

#include <pthread.h>
#include <sched.h>

uint64_t pd_lmdb_crew_rows = UINT64_C(1) << 20;

static unsigned size_for(uint64_t rows)
{
    cpu_set_t processors;
    uint64_t size = rows / pd_lmdb_crew_rows;
    if (sched_getaffinity(0, sizeof processors, &processors)) {
        return 1;
    }
    unsigned most = (unsigned)CPU_COUNT(&processors);
    most = most < PD_CREW_MAX ? most : PD_CREW_MAX;
    return size < 1 ? 1 : size < most ? (unsigned)size : most;
}

void pd_lmdb_crew_init(struct pd_crew *crew, const struct pd_select *select)
{
    const struct pd_lmdb_view *view = select->snapshot->view;
    uint64_t rows = 0;
    unsigned member = 0;
    crew->size = size_for(select->rows);
    crew->first[0] = 0;
    for (size_t i = 0; i < select->chunks_len; i++) {
        while (member + 1 < crew->size && rows * crew->size >= select->rows * (member + 1)) {
            crew->first[++member] = i;
        }
        rows += view->ranges[select->chunks[i]].rows;
    }
    while (member < crew->size) {
        crew->first[++member] = select->chunks_len;
    }
}

struct job {
    int (*work)(void *context, unsigned member);
    void *context;
    unsigned member;
    int err;
    pthread_t thread;
    bool started;
};

static void *work_alone(void *argument)
{
    struct job *job = argument;
    job->err = job->work(job->context, job->member);
    return NULL;
}

int pd_lmdb_crew_run(const struct pd_crew *crew, int (*work)(void *context, unsigned member),
                     void *context)
{
    struct job jobs[PD_CREW_MAX];
    int err = 0;
    for (unsigned i = 0; i < crew->size; i++) {
        jobs[i] = (struct job){.work = work, .context = context, .member = i};
        jobs[i].started = i && !pthread_create(&jobs[i].thread, NULL, work_alone, &jobs[i]);
    }
    for (unsigned i = 0; i < crew->size; i++) {
        if (jobs[i].started) {
            pthread_join(jobs[i].thread, NULL);
        } else {
            work_alone(
                &jobs[i]); /* the caller's share, and those that no thread could be had for */
        }
        err = err ? err : jobs[i].err;
    }
    return err;
}
