/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping a region, emptying its ring, and walking its tables so that each record counts once. */
#include "intake/ovs/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/grow.h"

#define REGION_BYTES_MAX (UINT64_C(1) << 40)

/* ---- mapping --------------------------------------------------------------------------------- */

/* A descriptor that could shrink under us would kill us (SIGBUS): it has to be sealed. */
static int map_sealed(int fd, size_t bytes_min, int protection, void **ret_map, size_t *ret_bytes)
{
    const int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    const int seals = fcntl(fd, F_GET_SEALS);
    struct stat about;
    void *map;

    if (seals < 0 || (seals & wanted) != wanted) {
        return -EPROTO;
    }
    if (fstat(fd, &about) < 0) {
        return -errno;
    }
    if (about.st_size < (off_t)bytes_min || (uint64_t)about.st_size > REGION_BYTES_MAX) {
        return -EPROTO;
    }
    map = mmap(NULL, (size_t)about.st_size, protection, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (map == MAP_FAILED) {
        return -errno;
    }
    *ret_map = map;
    *ret_bytes = (size_t)about.st_size;
    return 0;
}

static int view(struct pd_source *source, struct pd_error *error)
{
    const int r = pd_trajectory_view_init(&source->view, source->map, source->bytes);

    if (r == -EPROTONOSUPPORT) {
        return pd_fail(error, -PD_E_VERSION,
                       "the switch's shared memory has version %u, this agent reads version %u",
                       ((const struct pd_region *)source->map)->version, PD_REGION_VERSION);
    }
    return r < 0 ? pd_fail(error, -PD_E_CORRUPT, "the switch's shared memory is not well-formed")
                 : 0;
}

/* Goes on behind what is stored: the TIB knows best, the index page may lag behind it. */
static void resume(struct pd_source *source,
                   int (*stored)(void *context, uint64_t key, uint64_t *ret_position),
                   void *stored_context)
{
    const uint64_t written = pd_trajectory_view_written(&source->view);
    uint64_t at = __atomic_load_n(&source->index->read, __ATOMIC_RELAXED), known;

    if (written - at > source->view.ring_slots) {
        at = written > source->view.ring_slots ? written - source->view.ring_slots : 0;
    }
    if (stored && stored(stored_context, source->key, &known) == 0 &&
        written - known <= written - at) {
        at = known;
    }
    source->read = source->told = at;
    pd_ovs_source_committed(source, at);
}

int pd_ovs_source_open(struct pd_source *source, int region_fd, int index_fd, uint64_t instance_id,
                       int (*stored)(void *context, uint64_t key, uint64_t *ret_position),
                       void *stored_context, struct pd_error *error)
{
    void *index = NULL;
    size_t index_bytes;
    int r;

    memset(source, 0, sizeof(*source));
    r = map_sealed(region_fd, PD_REGION_HEADER_BYTES, PROT_READ, &source->map, &source->bytes);
    if (r == 0) {
        r = map_sealed(index_fd, PD_INDEX_BYTES, PROT_READ | PROT_WRITE, &index, &index_bytes);
        source->index = index;
    }
    if (r < 0) {
        pd_fail(error, r, "the switch's shared memory cannot be mapped: %s", strerror(-r));
    } else {
        r = view(source, error);
    }
    if (r < 0) {
        pd_ovs_source_close(source);
        return r;
    }
    source->region_id = source->view.region->region_id;
    source->key = instance_id ^ source->region_id * UINT64_C(0x9e3779b97f4a7c15);
    resume(source, stored, stored_context);
    return 0;
}

void pd_ovs_source_close(struct pd_source *source)
{
    if (source->map) {
        munmap(source->map, source->bytes);
    }
    if (source->index) {
        munmap(source->index, PD_INDEX_BYTES);
    }
    source->map = NULL;
    source->index = NULL;
    source->view.region = NULL;
}

uint64_t pd_ovs_source_unstored(const struct pd_source *source)
{
    /* The index first: it never passes what was written before. */
    const uint64_t stored = __atomic_load_n(&source->index->read, __ATOMIC_ACQUIRE);

    return pd_trajectory_view_written(&source->view) - stored;
}

void pd_ovs_source_committed(struct pd_source *source, uint64_t position)
{
    if (source->index) {
        /* Pairs with pd_trajectory_event_ring_used. */
        __atomic_store_n(&source->index->read, position, __ATOMIC_RELEASE);
    }
}

/* ---- lists of records ------------------------------------------------------------------------ */

struct pd_records {
    struct pd_trajectory_record *items;
    size_t len, room;
    int error;
};

static void keep(void *context, const struct pd_trajectory_record *record)
{
    struct pd_records *records = context;

    if (PD_GROW(records->items, records->room, records->len + 1)) {
        records->error = -ENOMEM;
        return;
    }
    records->items[records->len++] = *record;
}

/* By what makes a record one: key and first time. */
static int compare_identity(const void *a, const void *b)
{
    const struct pd_trajectory_record *x = a, *y = b;
    const int order = memcmp(x, y, offsetof(struct pd_trajectory_record, tcp_flags));

    return order ? order : (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

/* The same record, seen twice: the later one has more packets. */
static int compare(const void *a, const void *b)
{
    const struct pd_trajectory_record *x = a, *y = b;
    const int order = compare_identity(a, b);

    return order ? order : (x->pkts < y->pkts) - (x->pkts > y->pkts);
}

/* Sorts, and leaves out what was seen twice and what is in `gone`. */
static void settle(struct pd_records *records, struct pd_records *gone)
{
    size_t len = 0, g = 0;

    if (records->len) {
        qsort(records->items, records->len, sizeof(*records->items), compare);
    }
    if (gone->len) {
        qsort(gone->items, gone->len, sizeof(*gone->items), compare);
    }
    for (size_t i = 0; i < records->len; i++) {
        const struct pd_trajectory_record *record = &records->items[i];

        while (g < gone->len && compare_identity(&gone->items[g], record) < 0) {
            g++;
        }
        if ((g < gone->len && compare_identity(&gone->items[g], record) == 0) ||
            (len && compare_identity(&records->items[len - 1], record) == 0)) {
            continue;
        }
        records->items[len++] = *record;
    }
    records->len = len;
}

/* ---- records out ----------------------------------------------------------------------------- */

/* The switch's memory is input like any other: no number may lead astray. */
static struct pd_trajectory_record checked(const struct pd_source_sink *sink,
                                           const struct pd_trajectory_record *record)
{
    struct pd_trajectory_record moved = *record;

    if (moved.eviction >= PD_EVICTION_COUNT) {
        moved.eviction = PD_EVICTION_NONE;
    }
    moved.first_ns += (uint64_t)sink->wall_ahead_ns;
    moved.last_ns += (uint64_t)sink->wall_ahead_ns;
    return moved;
}

static void give(const struct pd_source_sink *sink, const struct pd_event *event)
{
    const struct pd_trajectory_record record = checked(sink, &event->record);

    if (event->kind == PD_EVENT_EVICTED) {
        sink->sink->evicted(sink->sink->context, &record);
    } else if (event->kind == PD_EVENT_NEW_FLOW && sink->sink->new_flow) {
        sink->sink->new_flow(sink->sink->context, &record);
    }
}

size_t pd_ovs_source_drain(struct pd_source *source, const struct pd_source_sink *sink, size_t max,
                           struct pd_records *seen)
{
    const uint64_t written = pd_trajectory_view_written(&source->view);
    size_t n = 0;

    if (written - source->read > source->view.ring_slots) {
        return 0; /* a switch that lies */
    }
    while (source->read != written && n < max) {
        struct pd_event event;

        pd_trajectory_view_event(&source->view, source->read, &event);
        source->read++; /* before the sink: it may ask for the position */
        n++;
        if (seen && event.kind == PD_EVENT_EVICTED) {
            keep(seen, &event.record);
        }
        give(sink, &event);
    }
    return n;
}

int pd_ovs_source_walk(struct pd_source *source, const struct pd_source_sink *sink,
                       void (*visit)(void *context, const struct pd_trajectory_record *record),
                       void *context)
{
    struct pd_records live = {0}, gone = {0};
    int r;

    pd_ovs_source_drain(source, sink, SIZE_MAX, NULL);
    (void)pd_trajectory_view_walk(&source->view, keep, &live);
    pd_ovs_source_drain(source, sink, SIZE_MAX, &gone);
    settle(&live, &gone);
    for (size_t i = 0; i < live.len; i++) {
        const struct pd_trajectory_record record = checked(sink, &live.items[i]);

        visit(context, &record);
    }
    r = live.error ? live.error : gone.error;
    free(live.items);
    free(gone.items);
    return r;
}

int pd_ovs_source_bury(struct pd_source *source, const struct pd_source_sink *sink,
                       uint64_t *ret_torn)
{
    struct pd_records live = {0}, gone = {0};
    const uint64_t written = pd_trajectory_view_written(&source->view);
    struct pd_event last = {0};
    int r;

    pd_ovs_source_drain(source, sink, SIZE_MAX, NULL);
    *ret_torn = pd_trajectory_view_walk(&source->view, keep, &live).torn;
    if (written > 0) {
        /* It may have died between writing this event and emptying the slot. */
        pd_trajectory_view_event(&source->view, written - 1, &last);
        if (last.kind == PD_EVENT_EVICTED) {
            keep(&gone, &last.record);
        }
    }
    settle(&live, &gone);
    for (size_t i = 0; i < live.len; i++) {
        struct pd_event event = {.kind = PD_EVENT_EVICTED, .record = live.items[i]};

        event.record.eviction = PD_EVICTION_FLUSH;
        source->untold = true;
        give(sink, &event);
    }
    r = live.error ? live.error : gone.error;
    free(live.items);
    free(gone.items);
    return r;
}
