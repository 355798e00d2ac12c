/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the pages of an LMDB file, which liblmdb trusts. */
#include "tib/lmdb/pages.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define META_MAGIC    0xbeefc0deu
#define DATA_VERSION  1u
#define PAGE_BRANCH   0x01u
#define PAGE_LEAF     0x02u
#define PAGE_OVERFLOW 0x04u
#define PAGE_META     0x08u
#define NODE_BIG      0x01u
#define NODE_TREE     0x02u
#define FREE_FLAGS    0x08u   /* MDB_INTEGERKEY */
#define MADE_NOSUBDIR 0x4000u /* flag of the environment that made the file; of no effect */
#define NO_PAGE       UINT64_MAX
#define DEPTH_MAX     32u
#define MAP_BYTES_MAX (UINT64_C(1) << 46)

struct page {
    uint64_t number;
    uint16_t pad, flags;
    union {
        struct {
            uint16_t lower, upper;
        } bounds;
        uint32_t pages; /* of a large value */
    } u;
    /* uint16_t offsets of nodes follow */
};
_Static_assert(sizeof(struct page) == 16, "LMDB 0.9 data version 1");

struct node {
    uint16_t low, high, flags, key_size;
};
_Static_assert(sizeof(struct node) == 8, "LMDB 0.9 data version 1");

struct tree {
    uint32_t pad; /* of the tree of free pages: the page size */
    uint16_t flags, depth;
    uint64_t branch_pages, leaf_pages, overflow_pages, entries, root;
};
_Static_assert(sizeof(struct tree) == 48, "LMDB 0.9 data version 1");

struct meta {
    uint32_t magic, version;
    uint64_t address, map_bytes;
    struct tree free, main;
    uint64_t last_page, txn_id;
};
_Static_assert(sizeof(struct meta) == 136, "LMDB 0.9 data version 1");

struct bytes {
    const uint8_t *at;
    size_t size;
};

/* One walk over one tree. */
struct walk {
    const uint8_t *map;
    uint64_t size_bytes, page_bytes, pages; /* of the file */
    uint64_t last_page;
    uint64_t *seen;        /* a bit for each page of the file */
    uint64_t *free_behind; /* free pages behind the end of the file */
    struct pd_error *error;
    bool is_free, is_main;
    struct tree found;     /* what the walk counts */
    struct bytes previous; /* the last key; at: NULL when there was none */
    struct bytes floor;    /* no smaller key may follow */
};

static int corrupt(const struct walk *walk, uint64_t page, const char *what)
{
    return pd_fail(walk->error, -PD_E_CORRUPT, "page %llu: %s", (unsigned long long)page, what);
}

/* ---- meta pages ---- */

static bool page_bytes_hold(uint32_t page_bytes)
{
    return page_bytes >= 512 && page_bytes <= 32768 && !(page_bytes & (page_bytes - 1));
}

static int meta_holds(const uint8_t *bytes, uint64_t number, struct meta *ret_meta,
                      struct pd_error *error)
{
    struct page page;
    memcpy(&page, bytes, sizeof page);
    memcpy(ret_meta, bytes + sizeof page, sizeof *ret_meta);
    const struct meta *meta = ret_meta;
    if (page.number != number || page.flags != PAGE_META || meta->magic != META_MAGIC) {
        return pd_fail(error, -PD_E_CORRUPT, "page %llu: not a meta page",
                       (unsigned long long)number);
    }
    if (meta->version != DATA_VERSION) {
        return pd_fail(error, -PD_E_VERSION, "LMDB data version %u; expected 1", meta->version);
    }
    uint64_t page_bytes = meta->free.pad;
    if (!page_bytes_hold(meta->free.pad) || (meta->free.flags & ~MADE_NOSUBDIR) != FREE_FLAGS ||
        meta->main.flags || meta->map_bytes > MAP_BYTES_MAX ||
        meta->last_page >= MAP_BYTES_MAX / page_bytes ||
        (meta->txn_id && (meta->txn_id & 1) != number)) {
        return pd_fail(error, -PD_E_CORRUPT, "page %llu: numbers of the meta page do not hold",
                       (unsigned long long)number);
    }
    return 0;
}

static int meta_pair_holds(int fd, struct pd_error *error)
{
    uint8_t bytes[512];
    struct meta metas[2];
    uint64_t second = 4096;
    for (unsigned i = 0; i < 2; i++) {
        ssize_t got = pread(fd, bytes, sizeof bytes, i ? (off_t)second : 0);
        if (got < 0) {
            return pd_fail(error, -errno, "cannot be read: %s", pd_error_text(-errno));
        }
        if (got < (ssize_t)sizeof bytes) {
            return pd_fail(error, -PD_E_CORRUPT, "cut off in the meta pages");
        }
        int err = meta_holds(bytes, i, &metas[i], error);
        if (err) {
            return err;
        }
        second = metas[0].free.pad;
    }
    uint64_t a = metas[0].txn_id, b = metas[1].txn_id;
    if (metas[0].free.pad != metas[1].free.pad || (a > b ? a - b : b - a) > 1) {
        return pd_fail(error, -PD_E_CORRUPT, "the meta pages belong to commits %llu and %llu",
                       (unsigned long long)a, (unsigned long long)b);
    }
    return 0;
}

int pd_lmdb_pages_check_meta(int fd, struct pd_error *error)
{
    int err = 0;
    /* A writer that commits between the two reads makes a good pair look bad, hardly twice. */
    for (unsigned attempt = 0; attempt < 3; attempt++) {
        err = meta_pair_holds(fd, error);
        if (err != -PD_E_CORRUPT) {
            break;
        }
    }
    return err;
}

/* LMDB's copy begins with commit 1, on page 1; page 0 has no trees. */
int pd_lmdb_pages_renumber(int fd, uint64_t txn_id)
{
    uint8_t bytes[2][sizeof(struct page) + sizeof(struct meta)];
    struct meta metas[2];
    uint64_t page_bytes = 0;
    for (unsigned i = 0; i < 2; i++) {
        if (pread(fd, bytes[i], sizeof bytes[i], (off_t)(i * page_bytes)) != sizeof bytes[i] ||
            meta_holds(bytes[i], i, &metas[i], NULL)) {
            return -PD_E_CORRUPT;
        }
        page_bytes = metas[0].free.pad;
    }
    metas[1].txn_id = txn_id;
    metas[0].txn_id = txn_id - 1;
    for (unsigned i = 0; i < 2; i++) {
        unsigned place = metas[i].txn_id & 1;
        if (pwrite(fd, &metas[i], sizeof metas[i],
                   (off_t)(place * page_bytes + sizeof(struct page))) != sizeof metas[i]) {
            return -EIO;
        }
    }
    return 0;
}

/* ---- trees ---- */

static bool page_is_there(const struct walk *walk, uint64_t number, uint64_t len)
{
    return number >= 2 && number < walk->pages && len <= walk->pages - number &&
           number + len - 1 <= walk->last_page;
}

/* Each page has one use. */
static int page_claim(struct walk *walk, uint64_t number, uint64_t len)
{
    if (!page_is_there(walk, number, len)) {
        return corrupt(walk, number, "lies outside the file");
    }
    for (uint64_t i = number; i < number + len; i++) {
        uint64_t bit = UINT64_C(1) << i % 64;
        if (walk->seen[i / 64] & bit) {
            return corrupt(walk, i, "is used twice");
        }
        walk->seen[i / 64] |= bit;
    }
    return 0;
}

static void page_load(const struct walk *walk, uint64_t number, struct page *ret_page)
{
    memcpy(ret_page, walk->map + number * walk->page_bytes, sizeof *ret_page);
}

static int compare_keys(const struct walk *walk, struct bytes a, struct bytes b)
{
    if (walk->is_free) {
        uint64_t na, nb;
        memcpy(&na, a.at, sizeof na);
        memcpy(&nb, b.at, sizeof nb);
        return (na > nb) - (na < nb);
    }
    int order = memcmp(a.at, b.at, a.size < b.size ? a.size : b.size);
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

/* A key of a leaf, or (`separates`) the key in a branch that all of the subtree's keys reach. */
static bool key_holds(struct walk *walk, struct bytes key, bool separates)
{
    if (!key.size || (walk->is_free && key.size != sizeof(uint64_t)) ||
        (walk->previous.at && compare_keys(walk, key, walk->previous) <= 0) ||
        (walk->floor.at && compare_keys(walk, key, walk->floor) < 0)) {
        return false;
    }
    if (separates) {
        walk->floor = key;
    } else {
        walk->previous = key;
    }
    return true;
}

static int walk_free_list(struct walk *walk, uint64_t page, struct bytes value)
{
    uint64_t len, number;
    if (value.size < sizeof len) {
        return corrupt(walk, page, "list of free pages is cut off");
    }
    memcpy(&len, value.at, sizeof len);
    if (len > value.size / sizeof number - 1) {
        return corrupt(walk, page, "list of free pages is cut off");
    }
    for (uint64_t i = 1; i <= len; i++) {
        memcpy(&number, value.at + i * sizeof number, sizeof number);
        /* A page that was allocated and freed before it was ever written may lie behind the end of
         * the file. */
        if (number < 2 || number > walk->last_page) {
            return corrupt(walk, number, "is free, and lies outside the file");
        }
        int err = number < walk->pages ? page_claim(walk, number, 1) : 0;
        if (err) {
            return err;
        }
        *walk->free_behind += number >= walk->pages;
    }
    return 0;
}

static int walk_tree(const struct walk *outer, const struct tree *tree, bool is_free, bool is_main);

static int walk_value(struct walk *walk, uint64_t page, unsigned flags, struct bytes value)
{
    struct tree tree;
    if (walk->is_free) {
        return walk_free_list(walk, page, value);
    }
    if (!walk->is_main) {
        return flags ? corrupt(walk, page, "node flags") : 0;
    }
    if (flags != NODE_TREE || value.size != sizeof tree) {
        return corrupt(walk, page, "not the record of a database");
    }
    memcpy(&tree, value.at, sizeof tree);
    if (tree.flags) {
        return corrupt(walk, page, "flags of a database");
    }
    return walk_tree(walk, &tree, false, false);
}

/* A value that has pages of its own. */
static int walk_big(struct walk *walk, uint64_t page, unsigned flags, const uint8_t *at,
                    uint32_t size)
{
    uint64_t number, len = (sizeof(struct page) - 1 + (uint64_t)size) / walk->page_bytes + 1;
    struct page first;
    memcpy(&number, at, sizeof number);
    int err = page_claim(walk, number, len);
    if (err) {
        return err;
    }
    page_load(walk, number, &first);
    if (first.number != number || first.flags != PAGE_OVERFLOW || first.u.pages != len) {
        return corrupt(walk, number, "is not the large value that it should be");
    }
    walk->found.overflow_pages += len;
    struct bytes value = {walk->map + number * walk->page_bytes + sizeof first, size};
    return walk_value(walk, page, flags & ~NODE_BIG, value);
}

static int walk_leaf_node(struct walk *walk, uint64_t page, const struct node *node,
                          const uint8_t *at, size_t room)
{
    uint32_t size = (uint32_t)node->high << 16 | node->low;
    bool big = node->flags & NODE_BIG;
    size_t inside = big ? sizeof(uint64_t) : size;
    if (node->key_size > room || inside > room - node->key_size) {
        return corrupt(walk, page, "a node leaves its page");
    }
    if (!key_holds(walk, (struct bytes){at, node->key_size}, false)) {
        return corrupt(walk, page, "keys are not in order");
    }
    walk->found.entries++;
    at += node->key_size;
    return big ? walk_big(walk, page, node->flags, at, size)
               : walk_value(walk, page, node->flags, (struct bytes){at, size});
}

static int walk_page(struct walk *walk, uint64_t number, unsigned depth);

static int walk_branch_node(struct walk *walk, uint64_t page, const struct node *node,
                            const uint8_t *at, size_t room, unsigned depth, bool is_first)
{
    uint64_t child = (uint64_t)node->flags << 32 | (uint64_t)node->high << 16 | node->low;
    if (node->key_size > room) {
        return corrupt(walk, page, "a node leaves its page");
    }
    if (!is_first && !key_holds(walk, (struct bytes){at, node->key_size}, true)) {
        return corrupt(walk, page, "keys are not in order");
    }
    return walk_page(walk, child, depth + 1);
}

static int walk_nodes(struct walk *walk, const struct page *page, unsigned depth)
{
    const uint8_t *bytes = walk->map + page->number * walk->page_bytes;
    bool leaf = page->flags == PAGE_LEAF;
    int err = 0;
    for (unsigned i = 0; !err && sizeof *page + 2 * i < page->u.bounds.lower; i++) {
        uint16_t offset;
        struct node node;
        memcpy(&offset, bytes + sizeof *page + 2 * i, sizeof offset);
        if (offset < page->u.bounds.upper || offset % 2 ||
            offset + sizeof node > walk->page_bytes) {
            return corrupt(walk, page->number, "a node leaves its page");
        }
        memcpy(&node, bytes + offset, sizeof node);
        const uint8_t *at = bytes + offset + sizeof node;
        size_t room = walk->page_bytes - offset - sizeof node;
        err = leaf ? walk_leaf_node(walk, page->number, &node, at, room)
                   : walk_branch_node(walk, page->number, &node, at, room, depth, i == 0);
    }
    return err;
}

static int walk_page(struct walk *walk, uint64_t number, unsigned depth)
{
    struct page page;
    if (depth > DEPTH_MAX) {
        return corrupt(walk, number, "too deep");
    }
    int err = page_claim(walk, number, 1);
    if (err) {
        return err;
    }
    page_load(walk, number, &page);
    unsigned lower = page.u.bounds.lower, upper = page.u.bounds.upper;
    bool leaf = page.flags == PAGE_LEAF;
    if (page.number != number || (!leaf && page.flags != PAGE_BRANCH)) {
        return corrupt(walk, number, "is not the page that it should be");
    }
    /* At least one node in a leaf and two in a branch: liblmdb aborts otherwise. */
    if (lower % 2 || lower < sizeof page + (leaf ? 2 : 4) || lower > upper ||
        upper > walk->page_bytes) {
        return corrupt(walk, number, "bounds of the page");
    }
    walk->found.leaf_pages += leaf;
    walk->found.branch_pages += !leaf;
    if (leaf && walk->found.depth && walk->found.depth != depth) {
        return corrupt(walk, number, "leaves are not at one depth");
    }
    if (leaf) {
        walk->found.depth = (uint16_t)depth;
    }
    return walk_nodes(walk, &page, depth);
}

static int walk_tree(const struct walk *outer, const struct tree *tree, bool is_free, bool is_main)
{
    struct walk walk = *outer;
    walk.is_free = is_free;
    walk.is_main = is_main;
    walk.found = (struct tree){.pad = tree->pad, .flags = tree->flags, .root = tree->root};
    walk.previous = walk.floor = (struct bytes){NULL, 0};
    int err = tree->root == NO_PAGE ? 0 : walk_page(&walk, tree->root, 1);
    if (!err && memcmp(&walk.found, tree, sizeof *tree) != 0) {
        return corrupt(&walk, tree->root, "the tree is not as large as it should be");
    }
    return err;
}

/* All pages behind the end of the file are free, else the file ought to be longer: a last page that
 * is too high would make the store look full. */
static int walk_free(struct walk *walk, const struct meta *meta)
{
    uint64_t behind = meta->last_page < walk->pages ? 0 : meta->last_page - walk->pages + 1;
    int err = walk_tree(walk, &meta->free, true, false);
    if (!err && *walk->free_behind != behind) {
        return corrupt(walk, meta->last_page, "is not the last page");
    }
    return err;
}

static int check_mapped(struct walk *walk, uint64_t txn_id)
{
    struct meta meta;
    uint32_t page_bytes;
    memcpy(&page_bytes, walk->map + sizeof(struct page) + offsetof(struct meta, free),
           sizeof page_bytes);
    if (!page_bytes_hold(page_bytes) || walk->size_bytes < 2 * (uint64_t)page_bytes) {
        return pd_fail(walk->error, -PD_E_CORRUPT, "cut off in the meta pages");
    }
    int err = meta_holds(walk->map + (txn_id & 1) * page_bytes, txn_id & 1, &meta, walk->error);
    if (err) {
        return err;
    }
    if (meta.txn_id != txn_id) {
        return -PD_E_NOT_FOUND;
    }
    walk->page_bytes = page_bytes;
    walk->pages = walk->size_bytes / page_bytes;
    walk->last_page = meta.last_page;
    walk->seen = calloc(walk->pages / 64 + 1, sizeof *walk->seen);
    if (!walk->seen) {
        return -ENOMEM;
    }
    err = walk_tree(walk, &meta.main, false, true);
    if (!err) {
        err = walk_free(walk, &meta);
    }
    free(walk->seen);
    return err;
}

/* ---- one value ---- */

/* Header and bounds of a tree's page. */
static bool page_fits(const struct walk *walk, uint64_t number, struct page *ret_page)
{
    if (!page_is_there(walk, number, 1)) {
        return false;
    }
    page_load(walk, number, ret_page);
    unsigned lower = ret_page->u.bounds.lower;
    return ret_page->number == number && lower % 2 == 0 && lower > sizeof *ret_page &&
           lower <= walk->page_bytes &&
           (ret_page->flags == PAGE_LEAF || ret_page->flags == PAGE_BRANCH);
}

/* The node in the page that leads to `key`, or has it. Nodes are few: no bisection. */
static bool node_find(const struct walk *walk, const struct page *page, struct bytes key,
                      struct node *ret_node, const uint8_t **ret_at)
{
    const uint8_t *bytes = walk->map + page->number * walk->page_bytes;
    bool leaf = page->flags == PAGE_LEAF, found = false;
    for (size_t i = 0; sizeof *page + 2 * i < page->u.bounds.lower; i++) {
        uint16_t offset;
        struct node node;
        memcpy(&offset, bytes + sizeof *page + 2 * i, sizeof offset);
        if (offset + sizeof node > walk->page_bytes) {
            return false;
        }
        memcpy(&node, bytes + offset, sizeof node);
        if (offset + sizeof node + node.key_size > walk->page_bytes) {
            return false;
        }
        struct bytes own = {bytes + offset + sizeof node, node.key_size};
        int order = !leaf && !i ? -1 : compare_keys(walk, own, key);
        if (leaf ? order == 0 : order <= 0) {
            *ret_node = node;
            *ret_at = own.at;
            found = true;
        }
    }
    return found;
}

static bool tree_find(const struct walk *walk, const struct tree *tree, const char *name,
                      struct bytes *ret_value)
{
    struct bytes key = {(const uint8_t *)name, strlen(name)};
    uint64_t number = tree->root;
    for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
        struct page page;
        struct node node;
        const uint8_t *at;
        if (!page_fits(walk, number, &page) || !node_find(walk, &page, key, &node, &at)) {
            return false;
        }
        if (page.flags == PAGE_LEAF) {
            size_t size = (size_t)node.high << 16 | node.low;
            size_t room = walk->page_bytes - (size_t)(at - walk->map) % walk->page_bytes;
            *ret_value = (struct bytes){at + node.key_size, size};
            return !(node.flags & NODE_BIG) && node.key_size + size <= room;
        }
        number = (uint64_t)node.flags << 32 | (uint64_t)node.high << 16 | node.low;
    }
    return false;
}

static int value_find(struct walk *walk, unsigned page, const char *database, const char *key,
                      void *ret_value, size_t *ret_size_bytes, uint64_t *ret_txn_id)
{
    struct meta meta, again;
    struct tree tree;
    struct bytes value;
    uint32_t page_bytes;
    memcpy(&page_bytes, walk->map + sizeof(struct page) + offsetof(struct meta, free),
           sizeof page_bytes);
    if (!page_bytes_hold(page_bytes) || walk->size_bytes < 2 * (uint64_t)page_bytes ||
        meta_holds(walk->map + page * page_bytes, page, &meta, NULL)) {
        return -PD_E_CORRUPT;
    }
    walk->page_bytes = page_bytes;
    walk->pages = walk->size_bytes / page_bytes;
    walk->last_page = meta.last_page;
    if (!tree_find(walk, &meta.main, database, &value) || value.size != sizeof tree) {
        return -PD_E_NOT_FOUND;
    }
    memcpy(&tree, value.at, sizeof tree);
    if (!tree_find(walk, &tree, key, &value) || value.size > *ret_size_bytes) {
        return -PD_E_NOT_FOUND;
    }
    memcpy(ret_value, value.at, value.size);
    /* While the page is there, nobody uses the pages of its trees again. A full barrier, since
     * thread sanitizer knows no fences. */
    __sync_synchronize();
    if (meta_holds(walk->map + page * page_bytes, page, &again, NULL) ||
        again.txn_id != meta.txn_id) {
        return -PD_E_NOT_FOUND;
    }
    *ret_size_bytes = value.size;
    *ret_txn_id = meta.txn_id;
    return 0;
}

/* ---- the file ---- */

static int walk_begin(int fd, struct walk *walk)
{
    struct stat stat;
    if (fstat(fd, &stat)) {
        return -errno;
    }
    if (stat.st_size < 2 * 512) {
        return pd_fail(walk->error, -PD_E_CORRUPT, "cut off in the meta pages");
    }
    walk->size_bytes = (size_t)stat.st_size;
    void *map = mmap(NULL, walk->size_bytes, PROT_READ, MAP_SHARED, fd, 0);
    walk->map = map;
    return map == MAP_FAILED ? -errno : 0;
}

int pd_lmdb_pages_value(int fd, unsigned page, const char *database, const char *key,
                        void *ret_value, size_t *ret_size_bytes, uint64_t *ret_txn_id)
{
    struct walk walk = {.error = NULL};
    int err = walk_begin(fd, &walk);
    if (err || !walk.map) {
        return err;
    }
    err = value_find(&walk, page, database, key, ret_value, ret_size_bytes, ret_txn_id);
    munmap((void *)walk.map, walk.size_bytes);
    return err;
}

int pd_lmdb_pages_check(int fd, uint64_t txn_id, struct pd_error *error)
{
    uint64_t free_behind = 0;
    struct walk walk = {.free_behind = &free_behind, .error = error};
    int err = walk_begin(fd, &walk);
    if (err || !walk.map) {
        return err;
    }
    err = check_mapped(&walk, txn_id);
    munmap((void *)walk.map, walk.size_bytes);
    return err;
}
