/* SPDX-License-Identifier: Apache-2.0 */
/* Stores of version 2: read as they are, converted beside the writer's work, whole whenever that is
 * interrupted; stores of a newer version are refused and left alone. */
#include <endian.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "codec/tagging/mark.h"
#include "records.h"
#include "store_files.h"
#include "tib/lmdb/store.h"

#define RECORDS 6000u
#define PATHS   4000u
#define KILLS   20u

static struct random rnd;
static struct list oracle;
static char place[256];

/* ---- a store of version 2: each path in a block of its own ---- */

static void make_path(unsigned i, struct pd_path *path, struct pd_claim *claim)
{
    *claim = (struct pd_claim){.path = path};
    if (i % 5 == 0) {
        path->len = 0;
        claim->state = PD_CLAIM_INFEASIBLE;
        claim->mark =
            pd_tagging_mark((uint16_t[]){(uint16_t)(i % 4096), 9}, i % 3, (uint8_t)(i % 7));
        return;
    }
    path->len = 2 + i % 31;
    for (unsigned j = 0; j < path->len; j++) {
        path->switches[j] = 1 + (i + j) % (i % 2 ? 60000 : 100000);
    }
}

static void fill(void)
{
    struct pd_tib *tib;
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, &(struct pd_tib_config){0}, &tib, NULL), 0);
    for (unsigned i = 0; i < RECORDS; i++) {
        struct pd_path path;
        struct pd_claim claim;
        struct pd_tib_record record = {.flow = {.ip_version = 4, .src_port = (uint16_t)i},
                                       .path = &path,
                                       .stime_us = 1000 + i,
                                       .etime_us = 2000 + i,
                                       .bytes = random_below(&rnd, 100000),
                                       .pkts = 1};
        make_path((unsigned)random_below(&rnd, PATHS), &path, &claim);
        record.claim = pd_tib_claim_kept(&claim);
        list_add(&oracle, &record);
        assert_int_equal(pd_tib_append(tib, &record, 1), 0);
        if (i % 1000 == 999) {
            assert_int_equal(pd_tib_commit(tib), 0);
        }
    }
    pd_tib_close(tib);
}

static size_t put_old(uint8_t *at, uint32_t id, const struct pd_claim *claim)
{
    uint8_t *begin = at;
    uint32_t one = htole32(1);
    memset(at, 0, 16);
    memcpy(at + 8, &one, 4);
    at[12] = 4; /* bytes of a switch ID */
    at += 16;
    *at++ = (uint8_t)claim->path->len;
    for (unsigned i = 0; i < claim->path->len; i++, at += 4) {
        uint32_t node = htole32(claim->path->switches[i]);
        memcpy(at, &node, 4);
    }
    if (!claim->path->len) {
        uint16_t vids[PD_TAGGING_TAGS_MAX];
        uint8_t dscp;
        unsigned len = pd_tagging_mark_read(&claim->mark, vids, &dscp);
        *at++ = (uint8_t)len;
        *at++ = dscp;
        for (unsigned i = 0; i < len; i++) {
            *at++ = (uint8_t)vids[i];
            *at++ = (uint8_t)(vids[i] >> 8);
        }
    }
    uint64_t hash = htole64(XXH3_64bits_withSeed(begin + 8, (size_t)(at - begin) - 8, id));
    memcpy(begin, &hash, sizeof hash);
    return (size_t)(at - begin);
}

/* Puts the store record with another version; the transaction's number stays its own. */
static void put_version(MDB_txn *txn, MDB_dbi db, uint32_t version)
{
    struct pd_store_meta meta;
    MDB_val key = {5, (void *)"store"}, value;
    assert_int_equal(mdb_get(txn, db, &key, &value), 0);
    memcpy(&meta, value.mv_data, sizeof meta);
    meta.version = htole32(version);
    meta.txn_id = htole64(mdb_txn_id(txn));
    meta.xxh3 = htole64(XXH3_64bits((uint8_t *)&meta + 8, sizeof meta - 8));
    value = (MDB_val){sizeof meta, &meta};
    assert_int_equal(mdb_put(txn, db, &key, &value, 0), 0);
}

static void age(uint32_t version)
{
    struct pd_tib *tib;
    MDB_txn *txn;
    uint8_t bytes[512];
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, &(struct pd_tib_config){0}, &tib, NULL), 0);
    struct pd_store *store = (struct pd_store *)tib;
    assert_int_equal(mdb_txn_begin(store->env, NULL, 0, &txn), 0);
    if (version == PD_STORE_VERSION_OLD) {
        assert_int_equal(mdb_drop(txn, store->path_db, 0), 0);
        for (uint32_t id = 0; id < pd_paths_len(store->paths); id++) {
            struct pd_tib_record way = {.path = pd_paths_get(store->paths, id),
                                        .claim = pd_paths_claim(store->paths, id)};
            const struct pd_claim claim = pd_tib_claim(&way);
            struct pd_store_key number;
            MDB_val key = pd_store_key_val(&number, id),
                    value = {put_old(bytes, id, &claim), bytes};
            assert_int_equal(mdb_put(txn, store->path_db, &key, &value, 0), 0);
        }
    }
    put_version(txn, store->meta_db, version);
    assert_int_equal(mdb_txn_commit(txn), 0);
    pd_tib_close(tib);
}

static unsigned old_blocks(struct pd_tib *tib)
{
    struct pd_store *store = (struct pd_store *)tib;
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_val key, value;
    unsigned old = 0;
    assert_int_equal(mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn), 0);
    assert_int_equal(mdb_cursor_open(txn, store->path_db, &cursor), 0);
    while (!mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        old += pd_paths_block_old(value.mv_data, value.mv_size);
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    return old;
}

static void print_finding(void *context, const char *finding)
{
    (void)context;
    print_error("%s\n", finding);
}

static void assert_whole(struct pd_tib *tib)
{
    const struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    struct pd_tib_snapshot *snapshot;
    struct list found = {0};
    assert_int_equal(pd_tib_check(tib, print_finding, NULL), 0);
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    assert_int_equal(list_scan(snapshot, &all, &found), 0);
    assert_int_equal(pd_tib_snapshot_damaged(snapshot), 0);
    pd_tib_release(snapshot);
    list_assert_equal(&found, &oracle);
    list_clear(&found);
}

static struct pd_tib *open_as(enum pd_tib_mode mode)
{
    struct pd_error error = {0};
    struct pd_tib *tib;
    if (pd_tib_open(place, mode, &(struct pd_tib_config){0}, &tib, &error)) {
        fail_msg("%s", error.text);
    }
    return tib;
}

static int setup(void **state)
{
    (void)state;
    store_make(place, sizeof place);
    fill();
    age(PD_STORE_VERSION_OLD);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    store_wipe(place);
    list_clear(&oracle);
    return 0;
}

/* ---- tests ---- */

static void test_read_as_it_is(void **state)
{
    (void)state;
    struct pd_tib *tib = open_as(PD_TIB_READ);
    assert_true(old_blocks(tib) > PATHS / 2);
    assert_whole(tib);
    pd_tib_close(tib);
}

static void test_converted(void **state)
{
    struct pd_tib_stat stat;
    unsigned calls = 0;
    (void)state;
    struct pd_tib *tib = open_as(PD_TIB_WRITE);
    for (unsigned left; (left = old_blocks(tib)) > 0; calls++) {
        assert_int_equal(pd_tib_maintain(tib, 1), 0);
        assert_true(old_blocks(tib) < left);
        if (calls == 3) {
            assert_whole(tib);
        }
    }
    assert_true(calls > 3);
    assert_int_equal(pd_tib_stat(tib, &stat), 0);
    assert_int_equal(stat.converted, stat.paths);
    assert_whole(tib);
    pd_tib_close(tib);
    tib = open_as(PD_TIB_READ);
    assert_whole(tib);
    pd_tib_close(tib);
}

/* A writer that converts and is killed at any moment; the next one goes on. */
static void test_killed(void **state)
{
    (void)state;
    for (unsigned kill_at = 0; kill_at < KILLS; kill_at++) {
        pid_t child = fork();
        if (!child) {
            struct pd_tib *tib = open_as(PD_TIB_WRITE);
            while (!pd_tib_maintain(tib, 1)) {
            }
            _exit(0);
        }
        nanosleep(&(struct timespec){.tv_nsec = (long)random_below(&rnd, 40000000)}, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        struct pd_tib *tib = open_as(PD_TIB_READ);
        assert_whole(tib);
        unsigned left = old_blocks(tib);
        pd_tib_close(tib);
        if (!left) {
            age(PD_STORE_VERSION_OLD);
        }
    }
}

static uint64_t hash_of_data(void)
{
    int fd = open(store_file(place, "data.mdb"), O_RDONLY);
    struct stat stat_of;
    assert_int_equal(fstat(fd, &stat_of), 0);
    void *bytes = malloc((size_t)stat_of.st_size);
    assert_int_equal(read(fd, bytes, (size_t)stat_of.st_size), stat_of.st_size);
    uint64_t hash = XXH3_64bits(bytes, (size_t)stat_of.st_size);
    free(bytes);
    close(fd);
    return hash;
}

static void test_newer_is_refused(void **state)
{
    struct pd_error error = {0};
    struct pd_tib *tib;
    (void)state;
    age(PD_STORE_VERSION + 1);
    uint64_t before = hash_of_data();
    for (unsigned mode = PD_TIB_READ; mode <= PD_TIB_WRITE; mode++) {
        assert_int_equal(
            pd_tib_open(place, (enum pd_tib_mode)mode, &(struct pd_tib_config){0}, &tib, &error),
            -PD_E_VERSION);
        assert_non_null(strstr(error.text, place));
    }
    assert_true(hash_of_data() == before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_read_as_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(test_converted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_newer_is_refused, setup, teardown),
    };
    rnd = (struct random){test_seed()};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
