/* SPDX-License-Identifier: Apache-2.0 */
/* Records that tell their own number. */
#include "numbered.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

#define BATCH 50u

void numbered_record(uint64_t number, struct pd_path *path, struct pd_tib_record *ret_record)
{
    uint64_t state = number;
    uint64_t a = pd_splitmix64(&state), b = pd_splitmix64(&state), c = pd_splitmix64(&state);
    memset(path, 0, sizeof *path);
    path->len = 5;
    for (unsigned i = 0; i < 5; i++) {
        path->switches[i] = 10 * i + 1 + (uint32_t)(a >> 8 * i & 3);
    }
    struct pd_tib_record record = {
        .flow = {.ip_version = a >> 63 ? 6 : 4, .protocol = 6},
        .path = path,
        .stime_us = UINT64_C(1790000000000000) + number * 100,
        .bytes = c >> 20,
        .pkts = number,
    };
    memcpy(record.flow.src.bytes, &b, record.flow.ip_version == 6 ? 8 : 4);
    memcpy(record.flow.dst.bytes, &c, 2);
    record.flow.src_port = (uint16_t)(b >> 48);
    record.etime_us = record.stime_us + (c & 0xffffff);
    *ret_record = record;
}

int numbered_append(struct pd_tib *tib, uint64_t first, uint64_t end)
{
    struct pd_tib_record records[BATCH];
    struct pd_path paths[BATCH];
    int err = 0;
    while (first < end) {
        size_t len = end - first < BATCH ? end - first : BATCH;
        for (size_t i = 0; i < len; i++) {
            numbered_record(first + i, &paths[i], &records[i]);
        }
        int failed = pd_tib_append(tib, records, len);
        err = err ? err : failed;
        first += len;
    }
    return err;
}

struct coverage {
    uint8_t *seen;
    uint64_t room, len, first, end;
    const char *wrong;
};

static void coverage_add(struct coverage *coverage, const struct pd_tib_record *record)
{
    struct pd_tib_record wanted;
    struct pd_path path;
    uint64_t number = record->pkts;
    numbered_record(number, &path, &wanted);
    if (!pd_path_equal(&path, record->path) || !pd_flow_id_equal(&wanted.flow, &record->flow) ||
        wanted.stime_us != record->stime_us || wanted.etime_us != record->etime_us ||
        wanted.bytes != record->bytes || number >= coverage->room) {
        coverage->wrong = "a record is torn";
        return;
    }
    if (coverage->seen[number]++) {
        coverage->wrong = "a record is there twice";
    }
    coverage->first = number < coverage->first ? number : coverage->first;
    coverage->end = number >= coverage->end ? number + 1 : coverage->end;
    coverage->len++;
}

static int coverage_visit(void *context, const struct pd_tib_record *records, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        coverage_add(context, &records[i]);
    }
    return 0;
}

int numbered_range(struct pd_tib *tib, uint64_t *ret_first, uint64_t *ret_end)
{
    struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    struct pd_tib_snapshot *snapshot;
    struct coverage coverage = {.room = 1 << 24, .first = UINT64_MAX};
    coverage.seen = calloc(coverage.room, 1);
    int err = coverage.seen ? pd_tib_snapshot(tib, &snapshot) : -1;
    if (!err) {
        err = pd_tib_scan(snapshot, &all, coverage_visit, &coverage);
        if (pd_tib_snapshot_damaged(snapshot)) {
            coverage.wrong = "a part is damaged";
        }
        pd_tib_release(snapshot);
    }
    free(coverage.seen);
    if (!coverage.len) {
        coverage.first = 0;
    }
    if (!coverage.wrong && coverage.len != coverage.end - coverage.first) {
        coverage.wrong = "a record in the middle is missing";
    }
    if (err || coverage.wrong) {
        fprintf(stderr, "numbered_range: error %d, %s; %llu records from %llu to %llu\n", err,
                coverage.wrong ? coverage.wrong : "", (unsigned long long)coverage.len,
                (unsigned long long)coverage.first, (unsigned long long)coverage.end);
        return -1;
    }
    *ret_first = coverage.first;
    *ret_end = coverage.end;
    return 0;
}

void numbered_make(char *ret_place, size_t size_bytes)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(ret_place, size_bytes, "%s/pd-tib-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(ret_place)) {
        perror(ret_place);
        exit(1);
    }
}

void numbered_wipe(const char *place)
{
    static const char *const files[] = {"data.mdb", "lock.mdb", "writer.lock", "new.mdb",
                                        "compact.mdb"};
    char name[512];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(name, sizeof name, "%s/%s", place, files[i]);
        unlink(name);
    }
    rmdir(place);
}
