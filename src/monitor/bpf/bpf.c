/* SPDX-License-Identifier: Apache-2.0 */
/* The source that is told: loads monitor.bpf.c and reads its ring. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel/kernel.h"
#include "monitor/bpf/bpf.h"
#include "monitor/source.h"

#define PROGRAMS   3
#define RING_BYTES (1U << 18) /* 2,340 events; mapped twice, all of it resident */
#define EVENTS_MAX 4096       /* handed on in one go */

struct source {
    int links
        /* the kernel takes the programs off when these close, however this process ends */
        [PROGRAMS];
    int events_fd, lost_fd;
    struct ring_buffer *ring;
    struct pd_flow_labels labels;
    uint64_t lost; /* known so far */

    /* While `work` runs. */
    void (*take)(void *context, const struct pd_monitor_reading *reading);
    void *taker;
    struct pd_monitor_told told;
};

PD_KERNEL_OBJECT(monitor_object, PD_MONITOR_OBJECT);

static int fail(struct pd_error *error, int r, const char *what)
{
    return pd_kernel_fail(error, r, what, "CAP_BPF and CAP_PERFMON");
}

/* ---- loading ---- */

static int own_namespace(uint32_t *ret_inode)
{
    struct stat stat_of_it;

    if (stat("/proc/thread-self/ns/net", &stat_of_it) < 0) {
        return -errno;
    }
    *ret_inode = (uint32_t)stat_of_it.st_ino;
    return 0;
}

/* The namespace is the programs' only constant. */
static int configure(struct bpf_object *object, uint32_t ring_bytes)
{
    struct bpf_map *events = bpf_object__find_map_by_name(object, "events");
    uint32_t inode;
    int r = own_namespace(&inode);

    if (r < 0) {
        return r;
    }
    if (!events) {
        return -EINVAL;
    }
    r = bpf_map__set_max_entries(events, ring_bytes ? ring_bytes : RING_BYTES);
    return r < 0 ? r : pd_kernel_constants(object, &inode, sizeof inode);
}

static int duplicate(const struct bpf_object *object, const char *map, int *ret_fd)
{
    int fd = dup(bpf_map__fd(bpf_object__find_map_by_name(object, map)));

    if (fd < 0) {
        return -errno;
    }
    *ret_fd = fd;
    return 0;
}

static int attach(struct source *source, const struct bpf_object *object)
{
    struct bpf_program *program;
    size_t at = 0;

    bpf_object__for_each_program(program, object)
    {
        int fd = at < PROGRAMS ? bpf_raw_tracepoint_open(NULL, bpf_program__fd(program)) : -E2BIG;
        if (fd < 0) {
            return fd;
        }
        source->links[at++] = fd;
    }
    return 0;
}

static int take_piece(void *context, void *bytes, size_t len)
{
    struct source *source = context;
    struct pd_monitor_reading reading;

    if (pd_monitor_event_read(bytes, len, &source->labels, &reading)) {
        source->told.events++;
        source->take(source->taker, &reading);
    } else {
        source->told.refused++;
    }
    return source->told.events + source->told.refused >= EVENTS_MAX ? -EAGAIN : 0;
}

/* What libbpf keeps to load with is large: it goes when the kernel has everything. */
static int load(struct source *source, struct bpf_object *object, struct pd_error *error)
{
    int r = bpf_object__load(object);

    if (r < 0) {
        return fail(error, r, "cannot load the BPF programs");
    }
    r = duplicate(object, "events", &source->events_fd);
    if (!r) {
        r = duplicate(object, "lost", &source->lost_fd);
    }
    if (r < 0) {
        return fail(error, r, "cannot keep the BPF maps");
    }
    source->ring = ring_buffer__new(source->events_fd, take_piece, source, NULL);
    if (!source->ring) {
        return fail(error, -errno, "cannot map the ring of events");
    }
    r = attach(source, object);
    return r < 0 ? fail(error, r, "cannot attach the BPF programs") : 0;
}

static void close_fd(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

static void close_source(void *context)
{
    struct source *source = context;

    if (!source) {
        return;
    }
    for (size_t i = 0; i < PROGRAMS; i++) {
        close_fd(source->links[i]);
    }
    ring_buffer__free(source->ring);
    close_fd(source->events_fd);
    close_fd(source->lost_fd);
    free(source);
}

/* A setting of this network namespace. */
static int read_setting(const char *file, int fallback)
{
    FILE *stream = fopen(file, "re");
    int value;

    if (!stream) {
        return fallback;
    }
    if (fscanf(stream, "%d", &value) != 1) {
        value = fallback;
    }
    fclose(stream);
    return value;
}

/* 0: never; 1: unless a socket does not want it; 2: only where it wants it; 3: always. */
static void read_labels(struct pd_flow_labels *ret_labels)
{
    int automatic = read_setting("/proc/sys/net/ipv6/auto_flowlabels", 1);

    ret_labels->automatic = automatic == 1 || automatic == 3;
    ret_labels->stateless = read_setting("/proc/sys/net/ipv6/flowlabel_state_ranges", 0) != 0;
}

static int open_source(const struct pd_monitor_config *config, void **ret_source,
                       struct pd_error *error)
{
    struct source *source = calloc(1, sizeof *source);
    struct bpf_object *object;
    int r;

    if (!source) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    source->events_fd = source->lost_fd = -1;
    memset(source->links, 0xff, sizeof source->links);
    r = pd_kernel_open(monitor_object, monitor_object_end, &object);
    if (r < 0) {
        r = fail(error, r, "cannot read the BPF programs");
    } else {
        r = configure(object, config->ring_bytes);
        r = r < 0 ? fail(error, r, "cannot set up the BPF programs") : load(source, object, error);
        bpf_object__close(object);
    }
    if (r < 0) {
        close_source(source);
        return r;
    }
    read_labels(&source->labels);
    *ret_source = source;
    return 0;
}

/* ---- at work ---- */

static int ring_fd(const void *source)
{
    return ring_buffer__epoll_fd(((const struct source *)source)->ring);
}

/* What was lost is looked at after the ring was emptied: then a dump that follows is newer than the
 * loss. */
static uint64_t count_lost(struct source *source)
{
    const uint32_t first = 0;
    uint64_t lost = source->lost, fresh;

    (void)bpf_map_lookup_elem(source->lost_fd, &first, &lost);
    fresh = lost - source->lost;
    source->lost = lost;
    return fresh;
}

static void work(void *context, void (*take)(void *context, const struct pd_monitor_reading *),
                 void *taker, struct pd_monitor_told *ret_told)
{
    struct source *source = context;

    source->take = take;
    source->taker = taker;
    source->told = (struct pd_monitor_told){0};
    (void)ring_buffer__consume(source->ring);
    source->told.lost = count_lost(source);
    source->told.dump = source->told.lost > 0;
    *ret_told = source->told;
}

const struct pd_monitor_source_ops pd_monitor_bpf = {PD_MONITOR_BPF, open_source, ring_fd, work,
                                                     close_source};
