/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of trees of hosts, ways through them, and ways gone. */
#include "fleet/proof.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "http/url.h"

/* What a hash is of: nothing of one kind is ever taken for another. */
enum kind { HOST, PAIR, LIST };

#define HOST_BYTES (1 + 4 + 2 + PD_HTTP_URL_BYTES + PD_FLEET_PROOF_HASH_BYTES)

/* The hosts of one list, and the hashes over them: len, half of them, … 1. */
struct list {
    const struct pd_tree *trees;
    size_t len;
    const struct pd_tree *above; /* NULL: at the top */
    struct pd_fleet_proof_hash *hashes;
};

struct pd_fleet_proof {
    struct list *lists; /* in the order of their trees in memory */
    size_t len;
    struct pd_fleet_proof_hash *hashes;
    size_t hashes_len;
    struct pd_fleet_proof_hash top;
};

/* ---- hashes ---- */

/* SHA-256 is in every GnuTLS: it does not fail. */
static struct pd_fleet_proof_hash hash(const void *bytes, size_t len)
{
    struct pd_fleet_proof_hash hash = {{0}};

    gnutls_hash_fast(GNUTLS_DIG_SHA256, bytes, len, hash.bytes);
    return hash;
}

static struct pd_fleet_proof_hash hash_host(uint32_t id, const void *url, size_t url_bytes,
                                            const struct pd_fleet_proof_hash *below)
{
    uint8_t bytes[HOST_BYTES] = {HOST};
    size_t at = 7;

    pd_bytes_put(bytes + 1, 4, id);
    pd_bytes_put(bytes + 5, 2, url_bytes);
    memcpy(bytes + at, url, url_bytes);
    at += url_bytes;
    memcpy(bytes + at, below, sizeof *below);
    return hash(bytes, at + sizeof *below);
}

static struct pd_fleet_proof_hash hash_pair(const struct pd_fleet_proof_hash *left,
                                            const struct pd_fleet_proof_hash *right)
{
    uint8_t bytes[1 + 2 * sizeof *left] = {PAIR};

    memcpy(bytes + 1, left, sizeof *left);
    memcpy(bytes + 1 + sizeof *left, right, sizeof *right);
    return hash(bytes, sizeof bytes);
}

static struct pd_fleet_proof_hash hash_list(size_t len, const struct pd_fleet_proof_hash *over)
{
    uint8_t bytes[1 + 4 + sizeof *over] = {LIST};

    pd_bytes_put(bytes + 1, 4, len);
    memcpy(bytes + 5, over, sizeof *over);
    return hash(bytes, sizeof bytes);
}

/* ---- over all hosts ---- */

static size_t count_hashes(size_t len)
{
    size_t hashes = len;

    while (len > 1) {
        len = (len + 1) / 2;
        hashes += len;
    }
    return hashes;
}

/* Lists and hashes that the lists below these hosts take. */
static void measure(struct pd_fleet_proof *proof, const struct pd_tree *trees, size_t len)
{
    proof->len++;
    proof->hashes_len += count_hashes(len);
    for (size_t i = 0; i < len; i++) {
        if (trees[i].children_len) {
            measure(proof, trees[i].children, trees[i].children_len);
        }
    }
}

/* One that is left over goes up as it is. */
static struct pd_fleet_proof_hash hash_up(struct pd_fleet_proof_hash *hashes, size_t len)
{
    while (len > 1) {
        struct pd_fleet_proof_hash *up = hashes + len;

        for (size_t i = 0; i < len / 2; i++) {
            up[i] = hash_pair(&hashes[2 * i], &hashes[2 * i + 1]);
        }
        if (len % 2) {
            up[len / 2] = hashes[len - 1];
        }
        hashes = up;
        len = (len + 1) / 2;
    }
    return *hashes;
}

/* Lists and hashes are taken from the front of the proof's, as measured. */
static struct pd_fleet_proof_hash fill(struct pd_fleet_proof *proof, const struct pd_tree *trees,
                                       size_t len, const struct pd_tree *above)
{
    struct pd_fleet_proof_hash *hashes = proof->hashes + proof->hashes_len;
    struct pd_fleet_proof_hash over;

    proof->lists[proof->len++] = (struct list){trees, len, above, hashes};
    proof->hashes_len += count_hashes(len);
    for (size_t i = 0; i < len; i++) {
        struct pd_fleet_proof_hash below = {{0}};

        if (trees[i].children_len) {
            below = fill(proof, trees[i].children, trees[i].children_len, &trees[i]);
        }
        hashes[i] = hash_host(trees[i].host, trees[i].url, strlen(trees[i].url), &below);
    }
    over = hash_up(hashes, len);
    return hash_list(len, &over);
}

static int by_trees(const void *a, const void *b)
{
    const struct list *x = a, *y = b;

    return (x->trees > y->trees) - (x->trees < y->trees);
}

int pd_fleet_proof_new(const struct pd_tree *trees, size_t len, struct pd_fleet_proof **ret_proof)
{
    struct pd_fleet_proof *proof = calloc(1, sizeof *proof);

    if (!proof) {
        return -ENOMEM;
    }
    if (len) {
        measure(proof, trees, len);
    }
    proof->lists = calloc(proof->len + 1, sizeof *proof->lists);
    proof->hashes = calloc(proof->hashes_len + 1, sizeof *proof->hashes);
    if (!proof->lists || !proof->hashes) {
        pd_fleet_proof_free(proof);
        return -ENOMEM;
    }
    proof->len = proof->hashes_len = 0;
    if (len) {
        proof->top = fill(proof, trees, len, NULL);
        qsort(proof->lists, proof->len, sizeof *proof->lists, by_trees);
    }
    *ret_proof = proof;
    return 0;
}

void pd_fleet_proof_free(struct pd_fleet_proof *proof)
{
    if (proof) {
        free(proof->lists);
        free(proof->hashes);
    }
    free(proof);
}

struct pd_fleet_proof_hash pd_fleet_proof_top(const struct pd_fleet_proof *proof)
{
    return proof->top;
}

int pd_fleet_proof_list(const struct pd_tree *trees, size_t len,
                        struct pd_fleet_proof_hash *ret_hash)
{
    struct pd_fleet_proof *proof;
    int err = pd_fleet_proof_new(trees, len, &proof);

    if (!err) {
        *ret_hash = proof->top;
        pd_fleet_proof_free(proof);
    }
    return err;
}

/* ---- ways ---- */

static int by_place(const void *host, const void *of)
{
    const struct list *list = of;
    const struct pd_tree *tree = host;

    return tree < list->trees ? -1 : tree >= list->trees + list->len;
}

static void put(FILE *out, size_t bytes, uint64_t number)
{
    uint8_t text[8];

    pd_bytes_put(text, bytes, number);
    fwrite(text, 1, bytes, out);
}

static void write_step(const struct list *list, const struct pd_tree *host, FILE *out)
{
    const struct pd_fleet_proof_hash *hashes = list->hashes;
    size_t i = (size_t)(host - list->trees), url_bytes = strlen(host->url);

    put(out, 4, host->host);
    put(out, 2, url_bytes);
    fwrite(host->url, 1, url_bytes, out);
    put(out, 4, i);
    put(out, 4, list->len);
    for (size_t len = list->len; len > 1; len = (len + 1) / 2) {
        if ((i ^ 1) < len) {
            fwrite(&hashes[i ^ 1], 1, sizeof *hashes, out);
        }
        hashes += len;
        i /= 2;
    }
}

unsigned pd_fleet_proof_write(const struct pd_fleet_proof *proof, const struct pd_tree *host,
                              FILE *out)
{
    unsigned steps = 0;

    while (host) {
        const struct list *list =
            bsearch(host, proof->lists, proof->len, sizeof *proof->lists, by_place);

        if (!list) {
            return 0;
        }
        write_step(list, host, out);
        steps++;
        host = list->above;
    }
    return steps;
}

/* ---- ways gone ---- */

/* From a host's hash to that of its list. */
static int go_up(struct pd_bytes *bytes, size_t i, size_t list_len,
                 struct pd_fleet_proof_hash *hash)
{
    for (size_t len = list_len; len > 1; len = (len + 1) / 2) {
        if ((i ^ 1) < len) {
            const uint8_t *beside = pd_bytes_take(bytes, sizeof *hash);
            struct pd_fleet_proof_hash other;

            if (!beside) {
                return -PD_E_FORBIDDEN;
            }
            memcpy(&other, beside, sizeof other);
            *hash = i & 1 ? hash_pair(&other, hash) : hash_pair(hash, &other);
        }
        i /= 2;
    }
    *hash = hash_list(list_len, hash);
    return 0;
}

static int go_step(struct pd_bytes *bytes, uint32_t *ret_host, struct pd_fleet_proof_hash *hash)
{
    const uint8_t *head = pd_bytes_take(bytes, 6);
    size_t url_bytes = head ? (size_t)pd_bytes_number(head + 4, 2) : 0;
    const uint8_t *url =
        head && url_bytes < PD_HTTP_URL_BYTES ? pd_bytes_take(bytes, url_bytes) : NULL;
    const uint8_t *place = url ? pd_bytes_take(bytes, 8) : NULL;

    if (!place) {
        return -PD_E_FORBIDDEN;
    }
    size_t i = (size_t)pd_bytes_number(place, 4), len = (size_t)pd_bytes_number(place + 4, 4);
    if (i >= len || len > PD_TREE_HOSTS_MAX) {
        return -PD_E_FORBIDDEN;
    }
    *ret_host = (uint32_t)pd_bytes_number(head, 4);
    *hash = hash_host(*ret_host, url, url_bytes, hash);
    return go_up(bytes, i, len, hash);
}

int pd_fleet_proof_go(struct pd_bytes *bytes, unsigned steps,
                      const struct pd_fleet_proof_hash *below, struct pd_fleet_proof_way *ret_way,
                      struct pd_fleet_proof_hash *ret_top)
{
    struct pd_fleet_proof_way way = {.len = steps};
    struct pd_fleet_proof_hash hash = *below;
    int err = steps && steps <= PD_TREE_DEPTH_MAX ? 0 : -PD_E_FORBIDDEN;

    for (unsigned i = 0; i < steps && !err; i++) {
        err = go_step(bytes, &way.hosts[i], &hash);
    }
    if (!err) {
        *ret_way = way;
        *ret_top = hash;
    }
    return err;
}
