/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks: rows → bytes. Sorts by path, builds the dictionaries, writes one column after the other.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/hash.h"
#include "tib/lmdb/chunk.h"
#include "tib/order.h"

#define NO_CODE UINT32_MAX

struct prefix {
    uint64_t upper;
    uint8_t family;
};

/* Everything that lives while one chunk is encoded; freed by encoder_done at any point. */
struct encoder {
    const struct pd_chunk_input *input;
    const struct pd_row *rows;
    size_t len;
    uint32_t *order;    /* rows in the chunk's order */
    uint32_t *src_code; /* of rows, by their index in `rows` */
    uint32_t *dst_code;
    struct prefix *prefixes;
    uint32_t prefixes_len;
    uint32_t *prefix_slots; /* open addressing: code + 1 */
    uint32_t prefix_mask;
    uint32_t *run_path; /* path IDs, sorted from the last switch */
    uint32_t *run_last;
    uint32_t runs_len;
    uint64_t *row_values; /* all of a column of rows, then all of the next */
    uint64_t *hashes;     /* of the flow IDs of rows, by their index in `rows` */
    uint64_t *values;     /* of the column at hand */
    uint8_t *bytes;
    size_t size_bytes, room_bytes;
    unsigned columns; /* PD_COLUMN_COUNT_PLAIN, or all */
    uint32_t extra_bytes;
    struct pd_column_descriptor descriptors[PD_COLUMN_COUNT];
};

static void encoder_done(struct encoder *e)
{
    free(e->order);
    free(e->src_code);
    free(e->dst_code);
    free(e->prefixes);
    free(e->prefix_slots);
    free(e->run_path);
    free(e->run_last);
    free(e->row_values);
    free(e->hashes);
    free(e->values);
    free(e->bytes);
}

/* Rows without further columns take no room for them. */
static unsigned columns_needed(const struct pd_chunk_input *input)
{
    uint32_t any = 0;
    for (size_t i = 0; i < input->len; i++) {
        any |= input->rows[i].retransmissions | input->rows[i].extra_bytes;
    }
    return any ? PD_COLUMN_COUNT : PD_COLUMN_COUNT_PLAIN;
}

static int encoder_init(struct encoder *e, const struct pd_chunk_input *input)
{
    size_t len = input->len;
    size_t slots = 16;
    while (slots < 4 * len) {
        slots *= 2;
    }
    *e = (struct encoder){
        .input = input, .rows = input->rows, .len = len, .prefix_mask = (uint32_t)slots - 1};
    e->order = malloc(len * sizeof *e->order);
    e->src_code = malloc(len * sizeof *e->src_code);
    e->dst_code = malloc(len * sizeof *e->dst_code);
    e->prefixes = malloc(2 * len * sizeof *e->prefixes);
    e->prefix_slots = calloc(slots, sizeof *e->prefix_slots);
    e->run_path = malloc(len * sizeof *e->run_path);
    e->run_last = malloc(len * sizeof *e->run_last);
    /* Also holds the Bloom filter, which has fewer words than there are rows, but at least one
     * block. */
    e->values = malloc((2 * len + PD_BLOOM_BLOCK_WORDS) * sizeof *e->values);
    e->row_values = malloc((PD_COLUMN_COMMIT + 1) * len * sizeof *e->row_values);
    e->hashes = malloc(len * sizeof *e->hashes);
    e->columns = columns_needed(input);
    e->size_bytes = pd_chunk_head_bytes(e->columns);
    e->bytes = malloc(e->size_bytes);
    e->room_bytes = e->size_bytes;
    return e->order && e->src_code && e->dst_code && e->prefixes && e->prefix_slots &&
                   e->run_path && e->run_last && e->row_values && e->values && e->hashes && e->bytes
               ? 0
               : -ENOMEM;
}

static uint32_t prefix_code(struct encoder *e, uint64_t upper, uint8_t family)
{
    for (uint32_t at = (uint32_t)pd_hash_mix(upper + family);; at++) {
        uint32_t *slot = &e->prefix_slots[at & e->prefix_mask];
        if (!*slot) {
            e->prefixes[e->prefixes_len++] = (struct prefix){upper, family};
            *slot = e->prefixes_len;
        }
        const struct prefix *prefix = &e->prefixes[*slot - 1];
        if (prefix->upper == upper && prefix->family == family) {
            return *slot - 1;
        }
    }
}

/* Prefix codes and hashes of the flow IDs. */
static void flows_read(struct encoder *e)
{
    for (size_t i = 0; i < e->len; i++) {
        const struct pd_flow_id *flow = &e->rows[i].flow;
        uint64_t upper, low;
        pd_addr_halves(&flow->src, flow->ip_version, &upper, &low);
        e->src_code[i] = prefix_code(e, upper, flow->ip_version);
        pd_addr_halves(&flow->dst, flow->ip_version, &upper, &low);
        e->dst_code[i] = prefix_code(e, upper, flow->ip_version);
        e->hashes[i] = pd_flow_id_hash(flow);
    }
}

/* Paths that are not known any more, since their block is damaged, come first. */
static int compare_reversed(const void *a, const void *b, void *context)
{
    uint32_t id_a = *(const uint32_t *)a, id_b = *(const uint32_t *)b;
    const struct pd_path *pa = pd_lmdb_paths_get(context, id_a);
    const struct pd_path *pb = pd_lmdb_paths_get(context, id_b);
    if (!pa || !pb) {
        return pa ? 1 : pb ? -1 : (id_a > id_b) - (id_a < id_b);
    }
    for (unsigned i = pa->len, j = pb->len; i && j;) {
        uint32_t sa = pa->switches[--i], sb = pb->switches[--j];
        if (sa != sb) {
            return sa < sb ? -1 : 1;
        }
    }
    if (pa->len != pb->len) {
        return pa->len < pb->len ? -1 : 1;
    }
    struct pd_tib_record ra = {.path = pa, .claim = pd_lmdb_paths_claim(context, id_a)};
    struct pd_tib_record rb = {.path = pb, .claim = pd_lmdb_paths_claim(context, id_b)};
    return pd_tib_compare_ways(&ra, &rb);
}

/* A path to be ranked, with as much of it as fits into 128 bits: its last 8 switches, the last one
 * highest. */
struct ranked {
    uint64_t high, low;
    uint32_t path;
};

/* Leaves the key 0, and so the order to compare_reversed, where a switch has more than 16 bits:
 * `whole` says so for all. */
static void rank_key(const struct pd_path *path, struct ranked *ret_ranked, bool *ret_whole)
{
    uint64_t key[2] = {0, 0};
    for (unsigned i = 0; path && i < path->len; i++) {
        uint32_t id = path->switches[path->len - 1 - i];
        if (id > UINT16_MAX) {
            *ret_whole = false;
        }
        if (i < 8) {
            key[i / 4] |= (uint64_t)(uint16_t)id << (48 - 16 * (i % 4));
        }
    }
    ret_ranked->high = key[0];
    ret_ranked->low = key[1];
}

static int compare_ranked(const void *a, const void *b, void *context)
{
    const struct ranked *ra = a, *rb = b;
    if (ra->high != rb->high) {
        return ra->high < rb->high ? -1 : 1;
    }
    if (ra->low != rb->low) {
        return ra->low < rb->low ? -1 : 1;
    }
    return compare_reversed(&ra->path, &rb->path, context);
}

/* Sorts e->run_path. Paths lie all over the memory, so the keys save most looks at them. */
static int paths_rank(struct encoder *e, struct pd_paths *paths)
{
    bool whole = true;
    struct ranked *ranked = malloc(e->len * sizeof *ranked); /* runs are no more than rows */
    if (!ranked) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < e->runs_len; i++) {
        ranked[i].path = e->run_path[i];
        rank_key(pd_lmdb_paths_get(paths, e->run_path[i]), &ranked[i], &whole);
    }
    for (uint32_t i = 0; i < e->runs_len && !whole; i++) {
        ranked[i].high = ranked[i].low = 0;
    }
    qsort_r(ranked, e->runs_len, sizeof *ranked, compare_ranked, paths);
    for (uint32_t i = 0; i < e->runs_len; i++) {
        e->run_path[i] = ranked[i].path;
    }
    free(ranked);
    return 0;
}

/* Counting sort of the rows by the rank of their path, stable in the order of arrival. */
static int runs_build(struct encoder *e, struct pd_paths *paths)
{
    uint32_t known = pd_lmdb_paths_len(paths);
    uint32_t *count =
        calloc(known, sizeof *count); /* rows of a path, later the place of its next row */
    if (!count) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < e->len; i++) {
        if (!count[e->rows[i].path]++) {
            e->run_path[e->runs_len++] = e->rows[i].path;
        }
    }
    int err = paths_rank(e, paths);
    uint32_t next = 0;
    for (uint32_t run = 0; run < e->runs_len; run++) {
        uint32_t *of_path = &count[e->run_path[run]], rows = *of_path;
        *of_path = next;
        next += rows;
        e->run_last[run] = next - 1;
    }
    for (uint32_t i = 0; i < e->len; i++) {
        e->order[count[e->rows[i].path]++] = i;
    }
    free(count);
    return err;
}

static unsigned width_for(uint64_t offset)
{
    return !offset                ? 0
           : offset <= UINT8_MAX  ? 1
           : offset <= UINT16_MAX ? 2
           : offset <= UINT32_MAX ? 4
                                  : 8;
}

static void values_pack(const uint64_t *values, size_t len, uint64_t base, unsigned width_bytes,
                        uint8_t *out)
{
    for (size_t i = 0; i < len && width_bytes; i++, out += width_bytes) {
        uint64_t offset = htole64(values[i] - base); /* little-endian: the low bytes come first */
        memcpy(out, &offset, width_bytes);
    }
}

/* Appends a column. */
static int column_put(struct encoder *e, enum pd_chunk_column id, const uint64_t *values,
                      size_t len)
{
    uint64_t min = UINT64_MAX, max = 0;
    for (size_t i = 0; i < len; i++) {
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    uint64_t base = len ? min : 0;
    unsigned width_bytes = len ? width_for(max - min) : 0;
    size_t stored = len * width_bytes, size_bytes = e->size_bytes + (stored + 7) / 8 * 8;
    if (PD_GROW(e->bytes, e->room_bytes, size_bytes)) {
        return -ENOMEM;
    }
    memset(e->bytes + e->size_bytes, 0, size_bytes - e->size_bytes);
    values_pack(values, len, base, width_bytes, e->bytes + e->size_bytes);
    e->descriptors[id] = (struct pd_column_descriptor){
        .base = htole64(base),
        .offset_bytes = htole32((uint32_t)e->size_bytes),
        .width_bytes = (uint8_t)width_bytes,
        .stored_bytes = {(uint8_t)stored, (uint8_t)(stored >> 8), (uint8_t)(stored >> 16)},
    };
    e->size_bytes = size_bytes;
    return 0;
}

/* The values of row `i`, `stride` apart, one for each column. */
static void row_values(const struct encoder *e, uint32_t i, uint64_t *to, size_t stride)
{
    const struct pd_row *row = &e->rows[i];
    uint64_t upper, low;
    to[PD_COLUMN_SRC_PREFIX * stride] = e->src_code[i];
    to[PD_COLUMN_DST_PREFIX * stride] = e->dst_code[i];
    pd_addr_halves(&row->flow.src, row->flow.ip_version, &upper, &low);
    to[PD_COLUMN_SRC_LOW * stride] = low;
    pd_addr_halves(&row->flow.dst, row->flow.ip_version, &upper, &low);
    to[PD_COLUMN_DST_LOW * stride] = low;
    to[PD_COLUMN_SRC_PORT * stride] = row->flow.src_port;
    to[PD_COLUMN_DST_PORT * stride] = row->flow.dst_port;
    to[PD_COLUMN_PROTOCOL * stride] = row->flow.protocol;
    to[PD_COLUMN_STIME * stride] = row->stime_us;
    to[PD_COLUMN_DURATION * stride] = row->etime_us - row->stime_us;
    to[PD_COLUMN_BYTES * stride] = row->bytes;
    to[PD_COLUMN_PKTS * stride] = row->pkts;
    to[PD_COLUMN_COMMIT * stride] = row->commit;
}
_Static_assert(PD_COLUMN_COMMIT == 11, "row_values knows all columns of rows");

/* Sorted rows lie all over the memory: each is looked at once, for all columns. */
static int rows_put(struct encoder *e)
{
    int err = 0;
    for (size_t i = 0; i < e->len; i++) {
        row_values(e, e->order[i], e->row_values + i, e->len);
    }
    for (enum pd_chunk_column id = 0; !err && id <= PD_COLUMN_COMMIT; id++) {
        err = column_put(e, id, e->row_values + id * e->len, e->len);
    }
    return err;
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a >= PD_CHUNK_SUM_MAX || b >= PD_CHUNK_SUM_MAX - a ? PD_CHUNK_SUM_MAX : a + b;
}

/* Sum over the rows of each run. */
static int sums_put(struct encoder *e, enum pd_chunk_column of, enum pd_chunk_column id)
{
    const uint64_t *values = e->row_values + of * e->len;
    for (uint32_t run = 0, i = 0; run < e->runs_len; run++) {
        e->values[run] = 0;
        for (; i <= e->run_last[run]; i++) {
            e->values[run] = add_saturating(e->values[run], values[i]);
        }
    }
    return column_put(e, id, e->values, e->runs_len);
}

static int dictionaries_put(struct encoder *e)
{
    for (uint32_t i = 0; i < e->runs_len; i++) {
        e->values[i] = e->run_path[i];
    }
    int err = column_put(e, PD_COLUMN_RUN_PATH, e->values, e->runs_len);
    for (uint32_t i = 0; i < e->runs_len; i++) {
        e->values[i] = e->run_last[i];
    }
    err = err ? err : column_put(e, PD_COLUMN_RUN_LAST, e->values, e->runs_len);
    err = err ? err : sums_put(e, PD_COLUMN_BYTES, PD_COLUMN_RUN_BYTES);
    err = err ? err : sums_put(e, PD_COLUMN_PKTS, PD_COLUMN_RUN_PKTS);
    for (uint32_t i = 0; i < e->prefixes_len; i++) {
        e->values[i] = e->prefixes[i].upper;
    }
    err = err ? err : column_put(e, PD_COLUMN_PREFIX_UPPER, e->values, e->prefixes_len);
    for (uint32_t i = 0; i < e->prefixes_len; i++) {
        e->values[i] = e->prefixes[i].family;
    }
    err = err ? err : column_put(e, PD_COLUMN_PREFIX_FAMILY, e->values, e->prefixes_len);
    for (size_t i = 0; i < e->input->commits_len; i++) {
        e->values[i] = e->input->commits[i];
    }
    return err ? err : column_put(e, PD_COLUMN_COMMIT_ROW, e->values, e->input->commits_len);
}

static int bloom_put(struct encoder *e, size_t words)
{
    memset(e->values, 0, words * sizeof *e->values);
    for (size_t i = 0; i < e->len && words; i++) {
        uint64_t hash = e->hashes[i];
        uint64_t *block =
            &e->values[pd_bloom_block(hash, words / PD_BLOOM_BLOCK_WORDS) * PD_BLOOM_BLOCK_WORDS];
        for (unsigned probe = 0; probe < PD_BLOOM_PROBES; probe++) {
            block[probe] |= pd_bloom_bit(hash, probe);
        }
    }
    return column_put(e, PD_COLUMN_BLOOM, e->values, words);
}

/* Counting sort of the rows by bucket, stable: those of a bucket ascend. */
static int index_put(struct encoder *e)
{
    uint32_t buckets = pd_index_buckets(e->len), next = 0;
    uint64_t *rows = e->values, *end = e->values + e->len;
    memset(end, 0, buckets * sizeof *end);
    for (size_t i = 0; i < e->len; i++) {
        end[pd_index_bucket(e->hashes[i], buckets)]++;
    }
    for (uint32_t bucket = 0; bucket < buckets; bucket++) {
        uint32_t len = (uint32_t)end[bucket];
        end[bucket] = next;
        next += len;
    }
    for (size_t row = 0; row < e->len; row++) {
        rows[end[pd_index_bucket(e->hashes[e->order[row]], buckets)]++] = row;
    }
    int err = column_put(e, PD_COLUMN_FLOW_ROW, rows, e->len);
    return err ? err : column_put(e, PD_COLUMN_FLOW_END, end, buckets);
}

/* Appends bytes as they are, as a column of values of one byte. */
static int bytes_put(struct encoder *e, enum pd_chunk_column id)
{
    size_t size_bytes = e->size_bytes + ((size_t)e->extra_bytes + 7) / 8 * 8;
    if (PD_GROW(e->bytes, e->room_bytes, size_bytes)) {
        return -ENOMEM;
    }
    uint8_t *at = e->bytes + e->size_bytes;
    for (size_t i = 0; i < e->len; i++) {
        const struct pd_row *row = &e->rows[e->order[i]];
        if (row->extra_bytes) {
            memcpy(at, row->extra, row->extra_bytes);
            at += row->extra_bytes;
        }
    }
    memset(at, 0, (size_t)(e->bytes + size_bytes - at));
    e->descriptors[id] = (struct pd_column_descriptor){
        .offset_bytes = htole32((uint32_t)e->size_bytes),
        .width_bytes = e->extra_bytes ? 1 : 0,
        .stored_bytes = {(uint8_t)e->extra_bytes, (uint8_t)(e->extra_bytes >> 8),
                         (uint8_t)(e->extra_bytes >> 16)},
    };
    e->size_bytes = size_bytes;
    return 0;
}

static int more_put(struct encoder *e)
{
    uint64_t end = 0;
    if (e->columns == PD_COLUMN_COUNT_PLAIN) {
        return 0;
    }
    for (size_t i = 0; i < e->len; i++) {
        e->values[i] = e->rows[e->order[i]].retransmissions;
    }
    int err = column_put(e, PD_COLUMN_RETRANSMISSIONS, e->values, e->len);
    for (size_t i = 0; i < e->len; i++) {
        e->values[i] = end += e->rows[e->order[i]].extra_bytes;
    }
    if (end > PD_CHUNK_EXTRA_BYTES) {
        return -PD_E_TOO_LARGE;
    }
    e->extra_bytes = (uint32_t)end;
    err = err ? err : column_put(e, PD_COLUMN_EXTRA_END, e->values, e->len);
    return err ? err : bytes_put(e, PD_COLUMN_EXTRA);
}

static void head_put(struct encoder *e, size_t bloom_words)
{
    uint64_t first_row = e->input->commits[0];
    uint64_t min = UINT64_MAX, max = 0;
    for (size_t i = 0; i < e->len; i++) {
        const struct pd_row *row = &e->rows[i];
        bool ordered = row->stime_us <= row->etime_us;
        uint64_t low = ordered ? row->stime_us : row->etime_us,
                 high = ordered ? row->etime_us : row->stime_us;
        min = low < min ? low : min;
        max = high > max ? high : max;
    }
    struct pd_chunk_header header = {
        .magic = htole32(PD_CHUNK_MAGIC),
        .version =
            htole16(e->columns == PD_COLUMN_COUNT ? PD_CHUNK_VERSION_MORE : PD_CHUNK_VERSION),
        .columns = htole16((uint16_t)e->columns),
        .first_row = htole64(first_row),
        .len = {htole32((uint32_t)e->len), htole32(e->runs_len), htole32(e->prefixes_len),
                htole32((uint32_t)e->input->commits_len), htole32((uint32_t)bloom_words),
                htole32((uint32_t)e->len), htole32(pd_index_buckets(e->len))},
        .min_time_us = htole64(min),
        .max_time_us = htole64(max),
        .size_bytes = htole32((uint32_t)e->size_bytes),
        .extra_bytes = htole32(e->extra_bytes),
    };
    memcpy(e->bytes, &header, sizeof header);
    memcpy(e->bytes + sizeof header, e->descriptors, e->columns * sizeof *e->descriptors);
    pd_lmdb_chunk_seal_hash(e->bytes, e->size_bytes, first_row);
}

int pd_lmdb_chunk_encode(const struct pd_chunk_input *input, struct pd_paths *paths,
                         void **ret_bytes, size_t *ret_size_bytes)
{
    struct encoder e;
    size_t words = input->with_bloom ? (input->len + PD_BLOOM_ROWS_PER_BLOCK - 1) /
                                           PD_BLOOM_ROWS_PER_BLOCK * PD_BLOOM_BLOCK_WORDS
                                     : 0;
    int err = encoder_init(&e, input);
    if (err) {
        goto out;
    }
    flows_read(&e);
    err = runs_build(&e, paths);
    err = err ? err : rows_put(&e);
    err = err ? err : dictionaries_put(&e);
    err = err ? err : bloom_put(&e, words);
    err = err ? err : index_put(&e);
    err = err ? err : more_put(&e);
    if (err) {
        goto out;
    }
    head_put(&e, words);
    *ret_bytes = e.bytes;
    *ret_size_bytes = e.size_bytes;
    e.bytes = NULL;
out:
    encoder_done(&e);
    return err;
}
