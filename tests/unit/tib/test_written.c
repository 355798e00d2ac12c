/* SPDX-License-Identifier: Apache-2.0 */
/* Who verifies a chunk that this process wrote: the writer, where somebody asks; a reader that
 * comes before takes it by its checksum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "records.h"
#include "store_files.h"
#include "tib/lmdb/store.h"

#define FAR_FUTURE_US UINT64_C(2000000000000000) /* later than any record */
#define ROWS          300u

static struct random rnd;
static struct pool pool;
static char place[256];
static struct pd_tib *tib;
static struct pd_store *store;

static int setup(void **state)
{
    (void)state;
    struct pd_tib_config config = {.cold_after_s = 60};
    store_make(place, sizeof place);
    assert_int_equal(pd_tib_open(place, PD_TIB_WRITE, &config, &tib, NULL), 0);
    store = (struct pd_store *)tib;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pd_tib_close(tib);
    store_wipe(place);
    return 0;
}

static void append(void)
{
    for (unsigned i = 0; i < ROWS; i++) {
        struct pd_tib_record record = pool_record(&pool, &rnd);
        assert_int_equal(pd_tib_append(tib, &record, 1), 0);
    }
    assert_int_equal(pd_tib_commit(tib), 0);
}

static void ask(void)
{
    struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    struct pd_tib_snapshot *snapshot;
    struct list found = {0};
    assert_int_equal(pd_tib_snapshot(tib, &snapshot), 0);
    assert_int_equal(list_scan(snapshot, &all, &found), 0);
    assert_int_equal(pd_tib_snapshot_damaged(snapshot), 0);
    pd_tib_release(snapshot);
    list_clear(&found);
}

/* The last chunk of a database, with the snapshot that it is read in. */
struct last {
    struct pd_tib_snapshot *snapshot;
    uint64_t number;
    MDB_val key, value;
};

static void last_open(MDB_dbi db, struct last *ret_last)
{
    MDB_cursor *cursor;
    assert_int_equal(pd_tib_snapshot(tib, &ret_last->snapshot), 0);
    MDB_txn *txn = ((struct pd_store_snapshot *)ret_last->snapshot)->txn;
    assert_int_equal(mdb_cursor_open(txn, db, &cursor), 0);
    assert_int_equal(mdb_cursor_get(cursor, &ret_last->key, &ret_last->value, MDB_LAST), 0);
    mdb_cursor_close(cursor);
    assert_true(pd_store_key_number(&ret_last->key, &ret_last->number));
}

static bool is_known(const struct last *last)
{
    struct pd_directory_entry entry;
    return pd_lmdb_directory_find(store->directory, last->number, last->value.mv_data,
                                  last->value.mv_size, &entry) &&
           !entry.error;
}

static bool last_is_known(MDB_dbi db)
{
    struct last last;
    last_open(db, &last);
    bool known = is_known(&last);
    uint64_t xxh3;
    assert_false(pd_lmdb_directory_find_written(store->directory, last.number, last.value.mv_size,
                                                &xxh3)); /* for the time of a commit only */
    pd_tib_release(last.snapshot);
    return known;
}

static void test_nobody_asks(void **state)
{
    (void)state;
    append();
    assert_false(last_is_known(store->tail_db));
    ask();
    assert_true(last_is_known(store->tail_db));
}

static void test_somebody_asks(void **state)
{
    (void)state;
    append();
    ask();
    append();
    assert_true(last_is_known(store->tail_db));
    assert_int_equal(pd_lmdb_store_seal_tail(store), 0);
    assert_true(last_is_known(store->segment_db));
    assert_int_equal(pd_lmdb_store_pack(store, FAR_FUTURE_US), 0);
    assert_true(last_is_known(store->segment_db));
    assert_int_equal(store->counters.segments_packed, 1);
    ask();
}

static void test_before_it_is_read_back(void **state)
{
    (void)state;
    struct last last;
    struct pd_chunk chunk;
    append();
    last_open(store->tail_db, &last);
    assert_int_equal(
        pd_lmdb_chunk_open(last.value.mv_data, last.value.mv_size, last.number, &chunk), 0);
    struct pd_directory_written written = {last.number, last.value.mv_size, chunk.header.xxh3};
    pd_lmdb_directory_write(store->directory, &written);
    assert_int_equal(pd_lmdb_store_chunk(store, &last.key, &last.value, &chunk), 0);
    assert_false(is_known(&last)); /* taken by its checksum, not verified */

    pd_lmdb_directory_forget_written(store->directory);
    written.xxh3++; /* another chunk under the same number: nothing to go by */
    pd_lmdb_directory_write(store->directory, &written);
    assert_int_equal(pd_lmdb_store_chunk(store, &last.key, &last.value, &chunk), 0);
    assert_true(is_known(&last));
    pd_lmdb_directory_forget_written(store->directory);
    pd_tib_release(last.snapshot);
}

/* What comes back is not what was written: the view that took it in good faith goes. */
static void test_read_back_damaged(void **state)
{
    (void)state;
    struct last last;
    append();
    ask();
    last_open(store->tail_db, &last);
    store->writer.written[0] = (struct pd_store_written){store->tail_db, last.number + 1};
    store->writer.written_len = 1; /* one that is not there */
    pd_tib_release(last.snapshot);
    assert_non_null(store->view);
    pd_lmdb_store_written_settle(store, true);
    assert_null(store->view);
    assert_int_equal(store->writer.written_len, 0);
    ask();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nobody_asks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_somebody_asks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_before_it_is_read_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_read_back_damaged, setup, teardown),
    };
    pd_lmdb_written_asked_within_ns = UINT64_MAX; /* however slow the machine is */
    rnd.state = test_seed();
    pool_init(&pool, &rnd);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
