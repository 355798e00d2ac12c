/* SPDX-License-Identifier: Apache-2.0 */
/* Meters that a BPF program counts in: maps that are pinned in a folder. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "agent/meters/driver.h"
#include "base/clock.h"
#include "base/grow.h"
#include "meter/hashpipe.h"
#include "meter/kernel.h"
#include "meter/meter.h"

_Static_assert(sizeof(struct pd_meter_kernel_flow) == sizeof(struct pd_flow_id) &&
                   offsetof(struct pd_meter_kernel_flow, src_port) ==
                       offsetof(struct pd_flow_id, src_port) &&
                   offsetof(struct pd_meter_kernel_flow, ip_version) ==
                       offsetof(struct pd_flow_id, ip_version),
               "flow IDs are the same in the kernel");
_Static_assert(PD_METER_KERNEL_ROWS == PD_METER_ROWS_MAX &&
                   PD_METER_KERNEL_STAGES == PD_METER_PIPE_STAGES &&
                   PD_METER_KERNEL_SLOTS == PD_METER_PIPE_SLOTS,
               "meters are the same in the kernel");

_Static_assert(sizeof(struct pd_meter_kernel_settings) == 24 &&
                   sizeof(struct pd_meter_kernel_bucket) == 72 &&
                   offsetof(struct pd_meter_kernel_bucket, flow) == 32 &&
                   sizeof(struct pd_meter_kernel_slot) == 80 &&
                   offsetof(struct pd_meter_kernel_slot, flow) == 40 &&
                   sizeof(struct pd_meter_kernel_stray) == 48 && pd_meter_kernel_counters_len == 9,
               "layout 1, docs/formats/meters.md");

enum map { SETTINGS, USM, DSM, USM_RULES, DSM_RULES, STRAYS, PIPE, COUNTS, MAPS };

/* What each has to be: a folder of another program, or of another release, is refused. */
static const struct {
    const char *name;
    uint32_t key_bytes, value_bytes, entries;
} shapes[MAPS] = {
    [SETTINGS] = {PD_METER_KERNEL_SETTINGS, 4, sizeof(struct pd_meter_kernel_settings), 1},
    [USM] = {PD_METER_KERNEL_USM, 4, sizeof(struct pd_meter_kernel_bucket),
             2 * PD_METER_KERNEL_BUCKETS},
    [DSM] = {PD_METER_KERNEL_DSM, 4, sizeof(struct pd_meter_kernel_bucket),
             2 * PD_METER_KERNEL_BUCKETS},
    [USM_RULES] = {PD_METER_KERNEL_USMRULES, sizeof(struct pd_meter_kernel_flow), 4,
                   PD_METER_KERNEL_RULES},
    [DSM_RULES] = {PD_METER_KERNEL_DSMRULES, sizeof(struct pd_meter_kernel_flow), 4,
                   PD_METER_KERNEL_RULES},
    [STRAYS] = {PD_METER_KERNEL_STRAYMAP, sizeof(struct pd_meter_kernel_stray), 8,
                PD_METER_KERNEL_STRAYS},
    [PIPE] = {PD_METER_KERNEL_PIPEMAP, 4, sizeof(struct pd_meter_kernel_slot),
              2 * PD_METER_KERNEL_PIPE},
    [COUNTS] = {PD_METER_KERNEL_COUNTS, 4, 8, pd_meter_kernel_counters_len},
};

struct tc_driver {
    struct pd_agent_meter_driver driver;
    int maps[MAPS]; /* file descriptors; -1: not open */
    struct pd_meter_kernel_bucket buckets[PD_METER_KERNEL_BUCKETS];
    struct pd_meter_kernel_slot slots[2 * PD_METER_KERNEL_PIPE];
    uint32_t keys[PD_METER_KERNEL_BUCKETS];
};

static int fail(struct pd_error *error, int err, const char *what)
{
    return pd_fail(error, err, "meters: tc: %s: %s", what, strerror(-err));
}

/* ---- life ---- */

static void close_tc(struct pd_agent_meter_driver *driver)
{
    struct tc_driver *tc = (struct tc_driver *)driver;

    for (unsigned m = 0; m < MAPS; m++) {
        if (tc->maps[m] >= 0) {
            close(tc->maps[m]);
        }
    }
    free(tc);
}

static int open_map(struct tc_driver *tc, unsigned map, const char *folder, struct pd_error *error)
{
    struct bpf_map_info info = {.type = 0};
    uint32_t bytes = sizeof info;
    char path[4096];

    if (snprintf(path, sizeof path, "%s/%s", folder, shapes[map].name) >= (int)sizeof path) {
        return fail(error, -ENAMETOOLONG, "--meters");
    }
    tc->maps[map] = bpf_obj_get(path);
    if (tc->maps[map] < 0) {
        return fail(error, -errno, path);
    }
    if (bpf_obj_get_info_by_fd(tc->maps[map], &info, &bytes) < 0) {
        return fail(error, -errno, path);
    }
    return info.key_size == shapes[map].key_bytes && info.value_size == shapes[map].value_bytes &&
                   info.max_entries == shapes[map].entries
               ? 0
               : pd_fail(error, -PD_E_VERSION, "meters: tc: %.300s is no map of this release",
                         path);
}

static int open_tc(const char *where, uint32_t monitor, struct pd_agent_meter_driver **ret_driver,
                   struct pd_error *error)
{
    struct tc_driver *tc = calloc(1, sizeof *tc);
    struct pd_meter_kernel_settings settings = {.layout = 0};
    const uint32_t zero = 0;
    int err = tc ? 0 : fail(error, -ENOMEM, where);

    (void)monitor;
    for (unsigned m = 0; tc && m < MAPS; m++) {
        tc->maps[m] = -1;
    }
    for (unsigned m = 0; m < MAPS && !err; m++) {
        err = open_map(tc, m, where, error);
    }
    if (!err && bpf_map_lookup_elem(tc->maps[SETTINGS], &zero, &settings) < 0) {
        err = fail(error, -errno, where);
    }
    if (!err && settings.layout != PD_METER_KERNEL_LAYOUT) {
        err = pd_fail(error, -PD_E_VERSION, "meters: tc: %.300s: layout %u, not %u", where,
                      settings.layout, PD_METER_KERNEL_LAYOUT);
    }
    if (err) {
        if (tc) {
            close_tc(&tc->driver);
        }
        return err;
    }
    tc->driver.epoch_ns = settings.epoch_ns;
    *ret_driver = &tc->driver;
    return 0;
}

/* ---- rules ---- */

/* The kernel's programs can read TAI, which runs whole seconds ahead of Unix time. */
static int64_t tai_ahead_ns(void)
{
    const int64_t second = (int64_t)PD_NS_PER_S;
    struct timespec unix_time, tai;

    clock_gettime(CLOCK_REALTIME, &unix_time);
    clock_gettime(CLOCK_TAI, &tai);
    const int64_t ahead_ns =
        ((int64_t)tai.tv_sec - unix_time.tv_sec) * second + tai.tv_nsec - unix_time.tv_nsec;
    return (ahead_ns + second / 2) / second * second;
}

static int put_settings(struct tc_driver *tc, uint64_t epoch_ns)
{
    const struct pd_meter_kernel_settings settings = {
        .layout = PD_METER_KERNEL_LAYOUT, .epoch_ns = epoch_ns, .tai_ahead_ns = tai_ahead_ns()};
    const uint32_t zero = 0;

    if (bpf_map_update_elem(tc->maps[SETTINGS], &zero, &settings, BPF_ANY) < 0) {
        return -errno;
    }
    tc->driver.epoch_ns = epoch_ns;
    return 0;
}

static int by_flow(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct pd_flow_id));
}

/* Those that are there and are not wanted go. */
static int remove_rules(int map, const struct pd_flow_id *sorted, size_t len)
{
    struct pd_flow_id *gone = NULL, flow;
    const void *before = NULL;
    size_t gone_len = 0, room = 0;
    int err = 0;

    while (!err && gone_len < PD_METER_KERNEL_RULES && !bpf_map_get_next_key(map, before, &flow)) {
        if (!bsearch(&flow, sorted, len, sizeof flow, by_flow)) {
            err = PD_GROW(gone, room, gone_len + 1);
            if (!err) {
                gone[gone_len++] = flow;
            }
        }
        before = &flow;
    }
    for (size_t i = 0; i < gone_len && !err; i++) {
        err = bpf_map_delete_elem(map, &gone[i]) < 0 && errno != ENOENT ? -errno : 0;
    }
    free(gone);
    return err;
}

static int put_rules(struct pd_agent_meter_driver *driver, bool down,
                     const struct pd_flow_id *flows, size_t len, uint64_t epoch_ns,
                     struct pd_error *error)
{
    struct tc_driver *tc = (struct tc_driver *)driver;
    const int map = tc->maps[down ? DSM_RULES : USM_RULES];
    struct pd_flow_id *sorted = calloc(len + 1, sizeof *sorted);
    const uint32_t one = 1;
    int err = sorted ? 0 : -ENOMEM;

    if (!err) {
        memcpy(sorted, flows, len * sizeof *sorted);
        qsort(sorted, len, sizeof *sorted, by_flow);
        err = remove_rules(map, sorted, len);
    }
    for (size_t i = 0; i < len && !err; i++) {
        err = bpf_map_update_elem(map, &sorted[i], &one, BPF_ANY) < 0 ? -errno : 0;
    }
    err = err ? err : put_settings(tc, epoch_ns);
    free(sorted);
    return err ? fail(error, err, "rules") : 0;
}

/* ---- reading ---- */

/* `len` entries of an array from `first` on. */
static int read_array(struct tc_driver *tc, int map, uint32_t first, uint32_t len, void *values)
{
    LIBBPF_OPTS(bpf_map_batch_opts, options);
    uint32_t before = first - 1, next, count = len;

    if (bpf_map_lookup_batch(map, first ? &before : NULL, &next, tc->keys, values, &count,
                             &options) < 0 &&
        errno != ENOENT) {
        return -errno;
    }
    return count == len ? 0 : -EIO;
}

static int read_buckets(struct tc_driver *tc, bool down, uint64_t epoch,
                        struct pd_agent_meter_reading *reading)
{
    const uint32_t first = (epoch & 1) * PD_METER_KERNEL_BUCKETS;
    int err =
        read_array(tc, tc->maps[down ? DSM : USM], first, PD_METER_KERNEL_BUCKETS, tc->buckets);

    for (uint32_t i = 0; i < PD_METER_KERNEL_BUCKETS && !err; i++) {
        const struct pd_meter_kernel_bucket *of = &tc->buckets[i];
        struct pd_agent_meter_bucket bucket = {.filter = of->filter,
                                               .pkts = of->pkts,
                                               .place = i % PD_METER_KERNEL_WIDTH,
                                               .row = (uint8_t)(i / PD_METER_KERNEL_WIDTH),
                                               .dirty = of->dirty};
        if (of->epoch != epoch + 1) {
            continue;
        }
        memcpy(&bucket.flow, &of->flow, sizeof bucket.flow);
        err = pd_agent_meter_reading_bucket(reading, down, &bucket);
    }
    return err;
}

static int read_largest(struct tc_driver *tc, uint64_t epoch,
                        struct pd_agent_meter_reading *reading)
{
    int err = read_array(tc, tc->maps[PIPE], 0, 2 * PD_METER_KERNEL_PIPE, tc->slots);

    for (uint32_t i = 0; i < 2 * PD_METER_KERNEL_PIPE && !err; i++) {
        const struct pd_meter_kernel_slot *slot = &tc->slots[i];
        struct pd_agent_meter_flow flow = {.filter = slot->filter, .pkts = slot->pkts};

        if (slot->epoch == epoch + 1 && slot->pkts) {
            memcpy(&flow.flow, &slot->flow, sizeof flow.flow);
            err = pd_agent_meter_reading_large(reading, &flow);
        }
    }
    return err;
}

/* Those of older epochs are in the way, and go. */
static int read_strays(struct tc_driver *tc, uint64_t epoch, struct pd_agent_meter_reading *reading)
{
    struct pd_meter_kernel_stray stray, *old = NULL;
    const void *before = NULL;
    size_t old_len = 0, room = 0;
    uint32_t looked = 0;
    int err = 0;

    while (!err && looked++ < 2 * PD_METER_KERNEL_STRAYS &&
           !bpf_map_get_next_key(tc->maps[STRAYS], before, &stray)) {
        struct pd_agent_meter_flow flow = {.pkts = 0};

        before = &stray;
        if (stray.epoch < epoch) {
            err = PD_GROW(old, room, old_len + 1);
            if (!err) {
                old[old_len++] = stray;
            }
        } else if (stray.epoch == epoch &&
                   !bpf_map_lookup_elem(tc->maps[STRAYS], &stray, &flow.pkts)) {
            memcpy(&flow.flow, &stray.flow, sizeof flow.flow);
            err = pd_agent_meter_reading_stray(reading, &flow);
        }
    }
    for (size_t i = 0; i < old_len; i++) {
        bpf_map_delete_elem(tc->maps[STRAYS], &old[i]);
    }
    free(old);
    return err;
}

static uint64_t count_of(const struct tc_driver *tc, enum pd_meter_kernel_counter which)
{
    const uint32_t key = which;
    uint64_t value = 0;

    bpf_map_lookup_elem(tc->maps[COUNTS], &key, &value);
    return value;
}

static int read_tc(struct pd_agent_meter_driver *driver, uint64_t epoch,
                   struct pd_agent_meter_reading *reading, struct pd_error *error)
{
    struct tc_driver *tc = (struct tc_driver *)driver;
    int err = read_buckets(tc, false, epoch, reading);

    reading->rows = PD_METER_KERNEL_ROWS;
    reading->width = PD_METER_KERNEL_WIDTH;
    err = err ? err : read_buckets(tc, true, epoch, reading);
    err = err ? err : read_largest(tc, epoch, reading);
    err = err ? err : read_strays(tc, epoch, reading);
    if (!err && count_of(tc, pd_meter_kernel_strays_epoch) > epoch) {
        return pd_fail(error, -PD_E_FULL,
                       "meters: tc: more flows without a rule came than there is room for");
    }
    return err ? fail(error, err, "reading") : 0;
}

static int counts_tc(struct pd_agent_meter_driver *driver, struct pd_agent_meter_counts *ret_counts)
{
    const struct tc_driver *tc = (const struct tc_driver *)driver;

    *ret_counts = (struct pd_agent_meter_counts){
        .sent = count_of(tc, pd_meter_kernel_sent),
        .received = count_of(tc, pd_meter_kernel_received),
        .late = count_of(tc, pd_meter_kernel_late),
        .strays = count_of(tc, pd_meter_kernel_strays),
        .other = count_of(tc, pd_meter_kernel_other),
    };
    return 0;
}

extern const struct pd_agent_meter_driver_ops pd_agent_meters_tc;
const struct pd_agent_meter_driver_ops pd_agent_meters_tc = {
    .kind = "tc",
    .argument = "FOLDER",
    .rules_max = PD_METER_KERNEL_RULES,
    .open = open_tc,
    .close = close_tc,
    .rules = put_rules,
    .read = read_tc,
    .counts = counts_tc,
};
