/* SPDX-License-Identifier: Apache-2.0 */
/* Worker processes: how one is found, started and ended. */
#include "program/workers.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "pathdump-program"

struct pd_program_workers {
    char path[PATH_MAX];
    pthread_mutex_t lock; /* of all below */
    struct pd_worker idle[PD_WORKERS_IDLE_MAX];
    unsigned idle_len;
    uint64_t started;
};

/* Beside the program that runs, as in a build folder; else where it was installed. */
static void find(char path[PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - sizeof PROGRAM);
    char *slash = len > 0 ? memrchr(path, '/', (size_t)len) : NULL;
    if (slash) {
        strcpy(slash + 1, PROGRAM);
        if (!access(path, X_OK)) {
            return;
        }
    }
    snprintf(path, PATH_MAX, "%s/%s", PD_LIBEXEC_DIR, PROGRAM);
}

int pd_program_workers_new(const char *path, struct pd_program_workers **ret_workers)
{
    struct pd_program_workers *workers = calloc(1, sizeof *workers);
    if (!workers) {
        return -ENOMEM;
    }
    if (path) {
        snprintf(workers->path, sizeof workers->path, "%s", path);
    } else {
        find(workers->path);
    }
    pthread_mutex_init(&workers->lock, NULL);
    *ret_workers = workers;
    return 0;
}

void pd_program_workers_free(struct pd_program_workers *workers)
{
    for (unsigned i = 0; i < workers->idle_len; i++) {
        pd_program_workers_end(&workers->idle[i]);
    }
    pthread_mutex_destroy(&workers->lock);
    free(workers);
}

/* The socket becomes its standard input; it gets no other descriptor, no environment, and no signal
 * mask of ours. */
static int spawn(const char *path, int fd, pid_t *ret_pid)
{
    char *const words[] = {(char *)PROGRAM, NULL}, *const environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int err = posix_spawn_file_actions_init(&actions);
    if (err) {
        return -err;
    }
    err = posix_spawnattr_init(&attributes);
    if (err) {
        posix_spawn_file_actions_destroy(&actions);
        return -err;
    }
    err = posix_spawn_file_actions_adddup2(&actions, fd, 0);
    err = err ? err : posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
    err = err ? err : posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    err = err ? err : posix_spawnattr_setsigmask(&attributes, &none);
    err = err ? err : posix_spawnattr_setsigdefault(&attributes, &all);
    err =
        err ? err
            : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    err = err ? err : posix_spawn(ret_pid, path, &actions, &attributes, words, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -err;
}

static int start(struct pd_program_workers *workers, struct pd_worker *ret_worker,
                 struct pd_error *error)
{
    int ends[2];
    pid_t pid;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        return pd_fail(error, -errno, "program: %s", strerror(errno));
    }
    int err = spawn(workers->path, ends[1], &pid);
    close(ends[1]);
    if (err) {
        close(ends[0]);
        return pd_fail(error, err == -ENOENT ? -PD_E_UNSUPPORTED : err,
                       "%.300s cannot be started: %s", workers->path, strerror(-err));
    }
    *ret_worker = (struct pd_worker){pid, ends[0]};
    pthread_mutex_lock(&workers->lock);
    workers->started++;
    pthread_mutex_unlock(&workers->lock);
    return 0;
}

int pd_program_workers_take(struct pd_program_workers *workers, struct pd_worker *ret_worker,
                            bool *ret_fresh, struct pd_error *error)
{
    pthread_mutex_lock(&workers->lock);
    *ret_fresh = workers->idle_len == 0;
    if (!*ret_fresh) {
        *ret_worker = workers->idle[--workers->idle_len];
    }
    pthread_mutex_unlock(&workers->lock);
    return *ret_fresh ? start(workers, ret_worker, error) : 0;
}

void pd_program_workers_give(struct pd_program_workers *workers, struct pd_worker *worker)
{
    pthread_mutex_lock(&workers->lock);
    bool room = workers->idle_len < PD_WORKERS_IDLE_MAX;
    if (room) {
        workers->idle[workers->idle_len++] = *worker;
    }
    pthread_mutex_unlock(&workers->lock);
    if (!room) {
        pd_program_workers_end(worker);
    }
}

void pd_program_workers_end(struct pd_worker *worker)
{
    close(worker->fd);
    kill(worker->pid, SIGKILL);
    while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    worker->fd = -1;
}

uint64_t pd_program_workers_started(struct pd_program_workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    uint64_t started = workers->started;
    pthread_mutex_unlock(&workers->lock);
    return started;
}
