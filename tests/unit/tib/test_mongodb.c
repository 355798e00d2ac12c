/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the MongoDB backend that need no server: documents, what a spool keeps, locations
 * without passwords. */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "records.h"
#include "store_files.h"
#include "tib/mongodb/document.h"
#include "tib/mongodb/spool.h"
#include "tib/order.h"

static struct pool pool;
static struct random rnd;

/* ---- documents ---- */

/* But for what they point to. */
static void assert_same(const struct pd_tib_record *a, const struct pd_tib_record *b)
{
    struct pd_tib_record left = *a, right = *b;
    assert_int_equal(a->extra_bytes, b->extra_bytes);
    assert_true(!a->extra_bytes || !memcmp(a->extra, b->extra, a->extra_bytes));
    left.path = right.path = NULL;
    left.claim = right.claim = NULL;
    left.extra = right.extra = NULL;
    assert_memory_equal(&left, &right, sizeof left);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2000; i++) {
        struct pd_tib_record record = pool_record(&pool, &rnd);
        struct pd_mongo_id id = {(uint32_t)random_next(&rnd),
                                 (uint32_t)random_below(&rnd, PD_MONGO_WRITERS),
                                 random_below(&rnd, PD_MONGO_SEQ_MAX) + 1};
        struct pd_mongo_row row;
        bson_t document = BSON_INITIALIZER;
        pd_mongodb_document(&record, id, i % 2 ? record.etime_us : 0, &document);
        assert_int_equal(pd_mongodb_row(&document, &row), 0);
        assert_int_equal(row.id.host, id.host);
        assert_int_equal(row.id.writer, id.writer);
        assert_int_equal(row.id.seq, id.seq);
        assert_true(row.has_path && pd_path_equal(&row.path, record.path));
        const struct pd_claim claim = pd_tib_claim(&record);
        assert_true(pd_claim_equal(&row.claim, &claim));
        assert_same(&row.record, &record);
        bson_destroy(&document);
    }
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

/* The server's order of texts is ours of addresses, paths and numbers. */
static void test_order(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 5000; i++) {
        struct pd_tib_record a = pool_record(&pool, &rnd), b = pool_record(&pool, &rnd);
        char x[PD_MONGO_PATH_BYTES], y[PD_MONGO_PATH_BYTES];
        const struct pd_claim ca = pd_tib_claim(&a), cb = pd_tib_claim(&b);
        pd_mongodb_path_text(&ca, x);
        pd_mongodb_path_text(&cb, y);
        assert_int_equal(sign(strcmp(x, y)), sign(pd_tib_compare_ways(&a, &b)));
        a.flow.dst = b.flow.dst = a.flow.src;
        b.flow.dst = (struct pd_addr){{0}};
        a.flow.dst = (struct pd_addr){{0}};
        a.flow.src_port = b.flow.src_port = a.flow.dst_port = b.flow.dst_port = 0;
        a.flow.protocol = b.flow.protocol = 0;
        b.path = a.path;
        b.claim = a.claim;
        b.stime_us = a.stime_us, b.etime_us = a.etime_us, b.bytes = a.bytes, b.pkts = a.pkts;
        pd_mongodb_addr_text(&a.flow.src, a.flow.ip_version, x);
        pd_mongodb_addr_text(&b.flow.src, b.flow.ip_version, y);
        assert_int_equal(sign(strcmp(x, y)), sign(pd_tib_compare(PD_TIB_ORDER_KEY, &a, &b)));
    }
}

/* Whatever one field is replaced by, the document is read whole or not at all. */
static void test_wrong_fields(void **state)
{
    static const char *const names[] = {"_id",  "src",   "dst",      "sport",    "dport", "proto",
                                        "path", "bytes", "stime_us", "etime_us", "pkts"};
    struct pd_tib_record record = pool_record(&pool, &rnd);
    struct pd_mongo_row row;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (unsigned kind = 0; kind < 6; kind++) {
            bson_t document = BSON_INITIALIZER, wrong = BSON_INITIALIZER;
            pd_mongodb_document(&record, (struct pd_mongo_id){7, 1, 1}, 0, &document);
            bson_copy_to_excluding_noinit(&document, &wrong, names[i], NULL);
            if (kind == 1) {
                bson_append_utf8(&wrong, names[i], -1, "zz", -1);
            } else if (kind == 2) {
                bson_append_int64(&wrong, names[i], -1, -5);
            } else if (kind == 3) {
                bson_append_null(&wrong, names[i], -1);
            } else if (kind == 4) {
                bson_append_double(&wrong, names[i], -1, -1e300);
            } else if (kind == 5) {
                bson_append_utf8(&wrong, names[i], -1, "", -1);
            }
            assert_int_equal(pd_mongodb_row(&wrong, &row), -PD_E_CORRUPT);
            bson_destroy(&wrong);
            bson_destroy(&document);
        }
    }
}

/* ---- spool ---- */

static char place[256];

static int setup(void **state)
{
    (void)state;
    store_make(place, sizeof place);
    return 0;
}

static int teardown(void **state)
{
    static const char *const files[] = {"spool.mdb", "spool.mdb-lock", "spool.lock"};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        unlink(store_file(place, files[i]));
    }
    assert_int_equal(rmdir(place), 0);
    return 0;
}

static struct pd_spool *open_spool(uint32_t host_id, uint64_t max_bytes)
{
    struct pd_spool *spool = NULL;
    struct pd_error error = {0};
    if (pd_mongodb_spool_open(place, host_id, max_bytes, &spool, &error)) {
        fail_msg("%s", error.text);
    }
    return spool;
}

static void add(struct pd_spool *spool, struct list *oracle, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct pd_tib_record record = pool_record(&pool, &rnd);
        assert_int_equal(pd_mongodb_spool_add(spool, &record), 0);
        list_add(oracle, &record);
    }
    assert_int_equal(pd_mongodb_spool_commit(spool), 0);
}

/* Takes some batches, drops what was taken; returns how many records have come out so far. */
static size_t take(struct pd_spool *spool, const struct list *oracle, size_t done, unsigned batches)
{
    struct pd_spool_batch batch;
    assert_int_equal(pd_mongodb_spool_batch_init(&batch, 2000), 0);
    while (batches--) {
        assert_int_equal(pd_mongodb_spool_take(spool, &batch), 0);
        if (batch.end_seq < batch.first_seq) {
            break;
        }
        assert_int_equal(batch.first_seq, done + 1);
        assert_int_equal(batch.end_seq, done + batch.len);
        for (uint32_t i = 0; i < batch.len; i++, done++) {
            assert_true(pd_path_equal(batch.records[i].path, oracle->records[done].path));
            assert_true(pd_tib_same_way(&batch.records[i], &oracle->records[done]));
            assert_same(&batch.records[i], &oracle->records[done]);
        }
        assert_int_equal(pd_mongodb_spool_drop(spool, batch.end_seq), 0);
    }
    pd_mongodb_spool_batch_done(&batch);
    return done;
}

/* What goes in comes out, in order, whole, with its number; also when the spool is opened anew in
 * between. */
static void test_spool(void **state)
{
    struct list oracle = {0};
    size_t done = 0;
    uint64_t front;
    (void)state;
    struct pd_spool *spool = open_spool(7, 64 << 20);
    for (unsigned round = 0; round < 40; round++) {
        add(spool, &oracle, (unsigned)random_below(&rnd, random_below(&rnd, 4) ? 50 : 4000));
        done = take(spool, &oracle, done, (unsigned)random_below(&rnd, 4));
        if (random_below(&rnd, 4) == 0) {
            struct pd_tib_record record = pool_record(&pool, &rnd);
            assert_int_equal(pd_mongodb_spool_add(spool, &record), 0); /* not committed: gone */
            pd_mongodb_spool_close(spool);
            spool = open_spool(7, 64 << 20);
            assert_int_equal(spool->next_seq, oracle.len + 1);
        }
        assert_int_equal(pd_mongodb_spool_front(spool, &front), 0);
        assert_int_equal(front, done + 1);
    }
    assert_int_equal(take(spool, &oracle, done, 1000), oracle.len);
    pd_mongodb_spool_close(spool);
    list_clear(&oracle);
}

/* A full spool refuses the commit as a whole, keeps what it has, and takes records again when it
 * was emptied; always. */
static void test_spool_full(void **state)
{
    struct list oracle = {0};
    size_t done = 0;
    unsigned refused = 0;
    (void)state;
    struct pd_spool *spool = open_spool(7, 1 << 20);
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < 900; i++) {
            struct pd_tib_record record = pool_record(&pool, &rnd);
            assert_int_equal(pd_mongodb_spool_add(spool, &record), 0);
            list_add(&oracle, &record);
        }
        int error = pd_mongodb_spool_commit(spool);
        if (error) {
            assert_int_equal(error, -PD_E_FULL);
            for (unsigned i = 0; i < 900; i++) {
                free((void *)oracle.records[--oracle.len].path);
            }
            refused++;
            done = take(spool, &oracle, done, 1 + (unsigned)random_below(&rnd, 6));
        }
        assert_int_equal(spool->next_seq, oracle.len + 1);
    }
    assert_in_range(refused, 5, 195);
    assert_int_equal(take(spool, &oracle, done, 1000), oracle.len);
    pd_mongodb_spool_close(spool);
    list_clear(&oracle);
}

/* An entry that was changed on the disk is counted and left out; those around it come. */
static void test_spool_damage(void **state)
{
    struct list oracle = {0};
    struct pd_spool_batch batch;
    uint64_t damaged = 0, key;
    MDB_txn *txn;
    MDB_val name = {sizeof key, &key}, value;
    (void)state;
    struct pd_spool *spool = open_spool(7, 64 << 20);
    for (unsigned i = 0; i < 3; i++) {
        add(spool, &oracle, 10);
    }
    key = htobe64(11);
    assert_int_equal(mdb_txn_begin(spool->env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_get(txn, spool->queue_db, &name, &value), 0);
    uint8_t *bytes = malloc(value.mv_size);
    assert_non_null(bytes);
    memcpy(bytes, value.mv_data, value.mv_size);
    bytes[random_below(&rnd, value.mv_size)] ^= (uint8_t)(1u << random_below(&rnd, 8));
    value.mv_data = bytes;
    assert_int_equal(mdb_put(txn, spool->queue_db, &name, &value, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    free(bytes);
    assert_int_equal(pd_mongodb_spool_check(spool, &damaged), 0);
    assert_int_equal(damaged, 1);
    assert_int_equal(pd_mongodb_spool_batch_init(&batch, 2000), 0);
    static const struct {
        uint64_t first, end, damaged;
    } wanted[] = {{1, 10, 0}, {11, 20, 10}, {21, 30, 0}};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(pd_mongodb_spool_take(spool, &batch), 0);
        assert_int_equal(batch.first_seq, wanted[i].first);
        assert_int_equal(batch.end_seq, wanted[i].end);
        assert_int_equal(batch.damaged, wanted[i].damaged);
        assert_int_equal(batch.len, wanted[i].damaged ? 0 : 10);
        assert_int_equal(pd_mongodb_spool_drop(spool, batch.end_seq), 0);
    }
    pd_mongodb_spool_batch_done(&batch);
    pd_mongodb_spool_close(spool);
    list_clear(&oracle);
}

static void test_spool_hosts(void **state)
{
    struct list oracle = {0};
    struct pd_spool *other = NULL;
    struct pd_error error = {0};
    (void)state;
    struct pd_spool *spool = open_spool(7, 1 << 20);
    assert_int_equal(pd_mongodb_spool_open(place, 7, 1 << 20, &other, &error), -PD_E_BUSY);
    add(spool, &oracle, 1);
    pd_mongodb_spool_close(spool);
    assert_int_equal(pd_mongodb_spool_open(place, 8, 1 << 20, &other, &error), -PD_E_VALUE);
    spool = open_spool(7, 1 << 20);
    assert_int_equal(take(spool, &oracle, 0, 1), 1);
    pd_mongodb_spool_close(spool);
    spool = open_spool(8, 1 << 20); /* empty: may be another host's */
    assert_int_equal(spool->next_seq, 1);
    pd_mongodb_spool_close(spool);
    list_clear(&oracle);
}

/* ---- locations ---- */

static void test_shown(void **state)
{
    static const char *const pairs[][2] = {
        {"/var/lib/tib", "/var/lib/tib"},
        {"mongodb://h:1/db", "mongodb://h:1/db"},
        {"mongodb://h:1/db?tls=true", "mongodb://h:1/db"},
        {"mongodb://u:p@h:1/db?x=y", "mongodb://h:1/db"},
        {"mongodb://u:p/q@r@h/db", "mongodb://h/db"},
        {"mongodb://u:p?q@h/db", "mongodb://h/db"},
        {"mongodb://u:p@", "mongodb://"},
    };
    char text[PD_TIB_SHOWN_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assert_string_equal(pd_tib_shown(pairs[i][0], text), pairs[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_wrong_fields),
        cmocka_unit_test(test_shown),
        cmocka_unit_test_setup_teardown(test_spool, setup, teardown),
        cmocka_unit_test_setup_teardown(test_spool_full, setup, teardown),
        cmocka_unit_test_setup_teardown(test_spool_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_spool_hosts, setup, teardown),
    };
    rnd.state = test_seed();
    pool_init(&pool, &rnd);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
