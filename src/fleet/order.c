/* SPDX-License-Identifier: Apache-2.0 */
/* Orders: signed, handed down, read, proved. */
#include "fleet/order.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "http/role.h"

#define HEAD_BYTES (5 + 8 + 8 + PD_FLEET_ORDER_NONCE_BYTES + 2 * PD_FLEET_PROOF_HASH_BYTES)
/* So long a certificate that was found to be a controller's is not verified again. */
#define SIGNER_NS (10 * PD_NS_PER_S)

static const uint8_t magic[5] = {'P', 'D', 'O', 'R', 1};

struct pd_fleet_orders {
    char *seal; /* what was signed, and the signature */
    size_t seal_bytes;
    struct pd_fleet_proof *proof;
    const uint8_t *above; /* the way of the host that hands down; into its own order */
    size_t above_bytes;
    unsigned above_steps;
};

/* ---- the question ---- */

static char *canonical(const json_t *document)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)document);
    char *text;

    json_object_del(copy, "deadline_ms");
    json_object_del(copy, "children");
    text = copy ? json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(copy);
    return text;
}

int pd_fleet_order_digest(const json_t *document, struct pd_fleet_proof_hash *ret_digest)
{
    char *text = canonical(document);

    if (!text) {
        return -ENOMEM;
    }
    gnutls_hash_fast(GNUTLS_DIG_SHA256, text, strlen(text), ret_digest->bytes);
    free(text);
    return 0;
}

/* ---- signing ---- */

static void put(FILE *out, size_t bytes, uint64_t number)
{
    uint8_t text[8];

    pd_bytes_put(text, bytes, number);
    fwrite(text, 1, bytes, out);
}

static void write_signed(const struct pd_tls *tls, const struct pd_fleet_order_terms *terms,
                         FILE *out)
{
    fwrite(magic, 1, sizeof magic, out);
    put(out, 8, terms->issued_us);
    put(out, 8, terms->deadline_us);
    fwrite(terms->nonce, 1, sizeof terms->nonce, out);
    fwrite(&terms->digest, 1, sizeof terms->digest, out);
    fwrite(&terms->top, 1, sizeof terms->top, out);
    put(out, 1, tls->chain_len);
    for (unsigned i = 0; i < tls->chain_len; i++) {
        put(out, 2, tls->chain[i].cert.size);
        fwrite(tls->chain[i].cert.data, 1, tls->chain[i].cert.size, out);
    }
}

static int seal(struct pd_fleet_orders *orders, const struct pd_tls *tls,
                const struct pd_fleet_order_terms *terms, struct pd_error *error)
{
    FILE *out = open_memstream(&orders->seal, &orders->seal_bytes);
    struct pd_http_signature signature;
    int err;

    if (!out) {
        return -ENOMEM;
    }
    write_signed(tls, terms, out);
    err = fflush(out) ? -ENOMEM
                      : pd_http_sign(tls, orders->seal, orders->seal_bytes, &signature, error);
    if (!err) {
        put(out, 2, signature.len);
        fwrite(signature.bytes, 1, signature.len, out);
    }
    err = err || !ferror(out) ? err : -ENOMEM;
    return fclose(out) && !err ? -ENOMEM : err;
}

static int draw(uint8_t *nonce)
{
    while (getrandom(nonce, PD_FLEET_ORDER_NONCE_BYTES, 0) < 0) {
        if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

static int sign(struct pd_fleet_orders *orders, const struct pd_tls *tls, const json_t *document,
                uint64_t deadline_us, struct pd_error *error)
{
    struct pd_fleet_order_terms terms = {.issued_us = pd_clock_wall_us(),
                                         .deadline_us = deadline_us};
    int err = draw(terms.nonce);

    if (!err) {
        err = pd_fleet_order_digest(document, &terms.digest);
    }
    if (!err) {
        terms.top = pd_fleet_proof_top(orders->proof);
        err = seal(orders, tls, &terms, error);
    }
    return err;
}

int pd_fleet_orders_sign(const struct pd_tls *tls, const json_t *document, uint64_t deadline_us,
                         const struct pd_tree *trees, size_t len,
                         struct pd_fleet_orders **ret_orders, struct pd_error *error)
{
    struct pd_fleet_orders *orders = calloc(1, sizeof *orders);
    int err = orders ? pd_fleet_proof_new(trees, len, &orders->proof) : -ENOMEM;

    if (!err) {
        err = sign(orders, tls, document, deadline_us, error);
    }
    if (!err) {
        *ret_orders = orders;
        return 0;
    }
    pd_fleet_orders_free(orders);
    return error && error->code == err ? err
                                       : pd_fail(error, err, "orders: %s", pd_error_text(err));
}

void pd_fleet_orders_free(struct pd_fleet_orders *orders)
{
    if (orders) {
        free(orders->seal);
        pd_fleet_proof_free(orders->proof);
    }
    free(orders);
}

/* ---- handing down ---- */

/* The number of steps is known last: it stands where a zero was written. */
static bool write_order(const struct pd_fleet_orders *orders, const struct pd_tree *host, FILE *out,
                        char *const *bytes)
{
    unsigned steps;

    fwrite(orders->seal, 1, orders->seal_bytes, out);
    put(out, 1, 0);
    steps = pd_fleet_proof_write(orders->proof, host, out);
    fwrite(orders->above ? orders->above : magic, 1, orders->above_bytes, out);
    if (!steps || steps + orders->above_steps > PD_TREE_DEPTH_MAX || fflush(out)) {
        return false;
    }
    (*bytes)[orders->seal_bytes] = (char)(steps + orders->above_steps);
    return !ferror(out);
}

static char *encode(const void *bytes, size_t len)
{
    gnutls_datum_t from = {(unsigned char *)(uintptr_t)bytes, (unsigned)len}, text = {0};
    char *copy = NULL;

    if (gnutls_base64_encode2(&from, &text) >= 0) {
        copy = strndup((char *)text.data, text.size);
        gnutls_free(text.data);
    }
    return copy;
}

char *pd_fleet_orders_text(const struct pd_fleet_orders *orders, const struct pd_tree *host)
{
    char *bytes = NULL, *text = NULL;
    size_t len;
    FILE *out = open_memstream(&bytes, &len);
    bool whole;

    if (!out) {
        return NULL;
    }
    whole = write_order(orders, host, out, &bytes);
    if (!fclose(out) && whole && len <= PD_FLEET_ORDER_MAX_BYTES) {
        text = encode(bytes, len);
    }
    free(bytes);
    return text;
}

int pd_fleet_order_pass(const struct pd_fleet_order *order, const struct pd_tree *below,
                        size_t below_len, struct pd_fleet_orders **ret_orders)
{
    struct pd_fleet_orders *orders = calloc(1, sizeof *orders);
    int err = orders ? pd_fleet_proof_new(below, below_len, &orders->proof) : -ENOMEM;

    if (!err) {
        orders->seal_bytes = order->signature_at + order->signature_bytes;
        orders->seal = malloc(orders->seal_bytes);
        err = orders->seal ? 0 : -ENOMEM;
    }
    if (err) {
        pd_fleet_orders_free(orders);
        return err;
    }
    memcpy(orders->seal, order->bytes, orders->seal_bytes);
    orders->above = order->bytes + order->way_at;
    orders->above_bytes = order->way_bytes;
    orders->above_steps = order->way_steps;
    *ret_orders = orders;
    return 0;
}

/* ---- reading ---- */

static int none(struct pd_error *error, const char *why)
{
    return pd_fail(error, -PD_E_FORBIDDEN, "%s: %s", PD_FLEET_ORDER_HEADER, why);
}

/* One form alone: what is read is what would be written. */
static int decode(const char *text, uint8_t **ret_bytes, size_t *ret_len)
{
    gnutls_datum_t from = {(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)}, bytes = {0};
    char *again;
    bool same;

    if (from.size > (PD_FLEET_ORDER_MAX_BYTES + 2) / 3 * 4 ||
        gnutls_base64_decode2(&from, &bytes) < 0) {
        return -PD_E_FORBIDDEN;
    }
    again = encode(bytes.data, bytes.size);
    same = again && !strcmp(again, text);
    free(again);
    *ret_bytes = same ? malloc(bytes.size + 1) : NULL;
    if (*ret_bytes) {
        memcpy(*ret_bytes, bytes.data, bytes.size);
        *ret_len = bytes.size;
    }
    gnutls_free(bytes.data);
    return *ret_bytes ? 0 : -PD_E_FORBIDDEN;
}

static bool read_terms(struct pd_bytes *bytes, struct pd_fleet_order_terms *terms)
{
    const uint8_t *at = pd_bytes_take(bytes, HEAD_BYTES);

    if (!at || memcmp(at, magic, sizeof magic) != 0) {
        return false;
    }
    at += sizeof magic;
    terms->issued_us = pd_bytes_number(at, 8);
    terms->deadline_us = pd_bytes_number(at + 8, 8);
    at += 16;
    memcpy(terms->nonce, at, sizeof terms->nonce);
    at += sizeof terms->nonce;
    memcpy(&terms->digest, at, sizeof terms->digest);
    memcpy(&terms->top, at + sizeof terms->digest, sizeof terms->top);
    return true;
}

/* The next bytes, whose number stands before them. */
static const uint8_t *take_counted(struct pd_bytes *bytes, size_t *ret_len)
{
    const uint8_t *len = pd_bytes_take(bytes, 2);

    *ret_len = len ? (size_t)pd_bytes_number(len, 2) : 0;
    return *ret_len ? pd_bytes_take(bytes, *ret_len) : NULL;
}

static bool read_chain(struct pd_bytes *bytes, struct pd_fleet_order *order)
{
    const uint8_t *len = pd_bytes_take(bytes, 1);

    if (!len || !*len || *len > PD_TLS_CHAIN_MAX) {
        return false;
    }
    for (order->chain_len = 0; order->chain_len < *len; order->chain_len++) {
        size_t size;
        const uint8_t *der = take_counted(bytes, &size);

        if (!der) {
            return false;
        }
        order->chain[order->chain_len] =
            (gnutls_datum_t){(unsigned char *)(uintptr_t)der, (unsigned)size};
    }
    return true;
}

static bool read_order(struct pd_bytes *bytes, struct pd_fleet_order *order)
{
    const uint8_t *steps, *signature;

    if (!read_terms(bytes, &order->terms) || !read_chain(bytes, order)) {
        return false;
    }
    order->signed_bytes = (size_t)(bytes->at - order->bytes);
    signature = take_counted(bytes, &order->signature_bytes);
    steps = signature ? pd_bytes_take(bytes, 1) : NULL;
    if (!steps || !*steps || *steps > PD_TREE_DEPTH_MAX) {
        return false;
    }
    order->signature_at = (size_t)(signature - order->bytes);
    order->way_steps = *steps;
    order->way_at = (size_t)(bytes->at - order->bytes);
    order->way_bytes = bytes->left;
    return true;
}

int pd_fleet_order_read(const char *text, struct pd_fleet_order *ret_order, struct pd_error *error)
{
    struct pd_fleet_order order = {.chain_len = 0};
    struct pd_bytes bytes;
    size_t len = 0;

    if (decode(text, &order.bytes, &len)) {
        return none(error, "this is no order");
    }
    bytes = (struct pd_bytes){order.bytes, len};
    if (!read_order(&bytes, &order)) {
        pd_fleet_order_done(&order);
        return none(error, "this is no order");
    }
    *ret_order = order;
    return 0;
}

void pd_fleet_order_done(struct pd_fleet_order *order)
{
    free(order->bytes);
    *order = (struct pd_fleet_order){.chain_len = 0};
}

/* ---- proving ---- */

static bool same(const struct pd_fleet_proof_hash *a, const struct pd_fleet_proof_hash *b)
{
    return !memcmp(a, b, sizeof *a);
}

int pd_fleet_order_prove(struct pd_fleet_order *order, const json_t *document, uint32_t host,
                         const struct pd_tree *below, size_t below_len, struct pd_error *error)
{
    struct pd_bytes bytes = {order->bytes + order->way_at, order->way_bytes};
    struct pd_fleet_proof_hash digest, hash, top;
    int err = pd_fleet_order_digest(document, &digest);

    if (!err && !same(&digest, &order->terms.digest)) {
        return none(error, "this order is for another query");
    }
    if (!err) {
        err = pd_fleet_proof_list(below, below_len, &hash);
    }
    if (err) {
        return pd_fail(error, err, "%s: %s", PD_FLEET_ORDER_HEADER, pd_error_text(err));
    }
    if (pd_fleet_proof_go(&bytes, order->way_steps, &hash, &order->way, &top) || bytes.left ||
        !same(&top, &order->terms.top)) {
        return none(error, "this order names other hosts");
    }
    return order->way.hosts[0] == host ? 0 : none(error, "this order is for another host");
}

int pd_fleet_order_timely(const struct pd_fleet_order_terms *terms, uint64_t now_us,
                          struct pd_error *error)
{
    if (terms->issued_us > now_us && terms->issued_us - now_us > PD_FLEET_ORDER_TOLERANCE_US) {
        return pd_fail(error, -PD_E_FORBIDDEN,
                       "%s: made %.1f s ahead of this host's clock: clocks may be 30 s apart",
                       PD_FLEET_ORDER_HEADER, (double)(terms->issued_us - now_us) / PD_US_PER_S);
    }
    if (now_us > terms->deadline_us && now_us - terms->deadline_us > PD_FLEET_ORDER_TOLERANCE_US) {
        return pd_fail(error, -PD_E_FORBIDDEN,
                       "%s: over for %.1f s by this host's clock: it was used again, or the clocks "
                       "are up to %.1f s apart, where 30 s are allowed",
                       PD_FLEET_ORDER_HEADER, (double)(now_us - terms->deadline_us) / PD_US_PER_S,
                       ((double)now_us - (double)terms->issued_us) / PD_US_PER_S);
    }
    return 0;
}

/* The certificate is verified once in a while, the signature each time. */
static int check_signer(const struct pd_fleet_order *order, const struct pd_tls *tls,
                        struct pd_fleet_order_signer *known, struct pd_error *error)
{
    struct pd_fleet_order_signer now = {.until_ns = pd_clock_monotonic_ns() + SIGNER_NS};
    char name[PD_TLS_NAME_BYTES];
    enum pd_role role;
    int err;

    gnutls_hash_fast(GNUTLS_DIG_SHA256, order->bytes + HEAD_BYTES, order->signed_bytes - HEAD_BYTES,
                     now.certificate.bytes);
    if (same(&now.certificate, &known->certificate) && pd_clock_monotonic_ns() < known->until_ns) {
        return 0;
    }
    err = pd_http_tls_judge(tls, order->chain, order->chain_len, PD_TLS_SERVER, &role, name, error);
    if (err) {
        return none(error, "its signer is not trusted here");
    }
    if (role != PD_ROLE_ADMIN) {
        return none(error, "its signer is no controller");
    }
    *known = now;
    return 0;
}

static bool is_signer(const struct pd_fleet_order *order, const gnutls_datum_t *certificate)
{
    return certificate && certificate->size == order->chain[0].size &&
           !memcmp(certificate->data, order->chain[0].data, certificate->size);
}

int pd_fleet_order_signed(const struct pd_fleet_order *order, const struct pd_tls *tls,
                          struct pd_fleet_order_signer *known, const gnutls_datum_t *proven,
                          struct pd_error *error)
{
    int err = tls->ca ? check_signer(order, tls, known, error)
                      : none(error, "there is no CA here (--tls-ca) to know a controller by");

    if (err || is_signer(order, proven)) {
        return err;
    }
    return pd_http_sign_check(&order->chain[0], order->bytes, order->signed_bytes,
                              order->bytes + order->signature_at, order->signature_bytes, error)
               ? none(error, "it is not as it was signed")
               : 0;
}
