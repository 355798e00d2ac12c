/* SPDX-License-Identifier: Apache-2.0 */
/* Orders: good for the question, the hosts and the time that they were signed for, from a
 * controller alone, whoever hands them down; and for nothing that anybody makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "authority.h"
#include "base/clock.h"
#include "fleet/order.h"
#include "http/principal.h"
#include "tests/shared/random.h"

enum { TOPS = 3, EACH = 5, BELOW = 2 };
#define MUTATIONS 10000

static struct authority authority;
static struct pd_credentials *controller, *agent;
static json_t *question;

/* Three tops, five hosts below each, two below each of these. */
static struct pd_tree tops[TOPS], inner[TOPS][EACH], leaves[TOPS][EACH][BELOW];
static char urls[TOPS * (1 + EACH * (1 + BELOW))][40];

static struct pd_tree node(struct pd_tree *children, size_t len)
{
    static uint32_t hosts;
    char *url = urls[hosts++];

    snprintf(url, sizeof urls[0], "https://10.0.0.%u:7411", hosts);
    return (struct pd_tree){hosts, url, children, len};
}

static void plant(void)
{
    for (size_t i = 0; i < TOPS; i++) {
        for (size_t k = 0; k < EACH; k++) {
            for (size_t n = 0; n < BELOW; n++) {
                leaves[i][k][n] = node(NULL, 0);
            }
            inner[i][k] = node(leaves[i][k], BELOW);
        }
        tops[i] = node(inner[i], EACH);
    }
}

static int set_up(void **state)
{
    (void)state;
    plant();
    authority_open(&authority);
    authority_issue(&authority, "controller", "admin", true);
    authority_issue(&authority, "21", "agent", true);
    controller = authority_credentials(&authority, "controller");
    agent = authority_credentials(&authority, "21");
    question = json_pack("{s:s, s:{s:i}}", "query", "topFlows", "args", "k", 7);
    return question ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    json_decref(question);
    pd_http_credentials_free(controller);
    pd_http_credentials_free(agent);
    authority_close(&authority);
    return 0;
}

static struct pd_fleet_orders *sign(struct pd_credentials *credentials)
{
    struct pd_credentials_set *set = pd_http_credentials_hold(credentials);
    struct pd_fleet_orders *orders;

    assert_int_equal(pd_fleet_orders_sign(&set->tls, question, pd_clock_wall_us() + PD_US_PER_S,
                                          tops, TOPS, &orders, NULL),
                     0);
    pd_http_credentials_drop(set);
    return orders;
}

static int check_signer(const struct pd_fleet_order *order, const gnutls_datum_t *proven,
                        struct pd_error *error)
{
    struct pd_credentials_set *set = pd_http_credentials_hold(agent);
    struct pd_fleet_order_signer nobody = {.until_ns = 0};
    int err = pd_fleet_order_signed(order, &set->tls, &nobody, proven, error);

    pd_http_credentials_drop(set);
    return err;
}

/* As an agent does it; without a clock. */
static int judge(const char *text, const json_t *document, const struct pd_tree *host,
                 const struct pd_tree *below, size_t below_len)
{
    struct pd_fleet_order order;
    struct pd_error error = {0};
    int err = pd_fleet_order_read(text, &order, &error);

    if (!err) {
        err = pd_fleet_order_prove(&order, document, host->host, below, below_len, &error);
        err = err ? err : check_signer(&order, NULL, &error);
        pd_fleet_order_done(&order);
    }
    assert_true(!err || (err == -PD_E_FORBIDDEN && *error.text));
    return err;
}

static int judge_as_meant(const char *text, const struct pd_tree *host)
{
    return judge(text, question, host, host->children, host->children_len);
}

/* The order of `host` as the one above hands it down. */
static char *pass(const char *text, const struct pd_tree *above, const struct pd_tree *host)
{
    struct pd_fleet_orders *orders;
    struct pd_fleet_order order;
    char *below;

    assert_int_equal(pd_fleet_order_read(text, &order, NULL), 0);
    assert_int_equal(pd_fleet_order_pass(&order, above->children, above->children_len, &orders), 0);
    below = pd_fleet_orders_text(orders, host);
    assert_non_null(below);
    pd_fleet_orders_free(orders);
    pd_fleet_order_done(&order);
    return below;
}

static void each_host_gets_its_part(void **state)
{
    struct pd_fleet_orders *orders = sign(controller);

    (void)state;
    for (size_t i = 0; i < TOPS; i++) {
        char *top = pd_fleet_orders_text(orders, &tops[i]);

        assert_int_equal(judge_as_meant(top, &tops[i]), 0);
        for (size_t k = 0; k < EACH; k++) {
            char *down = pass(top, &tops[i], &inner[i][k]);
            char *leaf = pass(down, &inner[i][k], &leaves[i][k][1]);
            char *adopted = pass(top, &tops[i], &leaves[i][k][1]);
            char *direct = pd_fleet_orders_text(orders, &leaves[i][k][1]);

            assert_int_equal(judge_as_meant(down, &inner[i][k]), 0);
            assert_int_equal(judge_as_meant(leaf, &leaves[i][k][1]), 0);
            assert_string_equal(leaf, adopted);
            assert_string_equal(leaf, direct);
            free(down);
            free(leaf);
            free(adopted);
            free(direct);
        }
        free(top);
    }
    pd_fleet_orders_free(orders);
}

static void those_above_are_named(void **state)
{
    struct pd_fleet_orders *orders = sign(controller);
    char *text = pd_fleet_orders_text(orders, &leaves[1][2][0]);
    struct pd_fleet_order order;

    (void)state;
    assert_int_equal(pd_fleet_order_read(text, &order, NULL), 0);
    assert_int_equal(pd_fleet_order_prove(&order, question, leaves[1][2][0].host, NULL, 0, NULL),
                     0);
    assert_int_equal(order.way.len, 3);
    assert_int_equal(order.way.hosts[0], leaves[1][2][0].host);
    assert_int_equal(order.way.hosts[1], inner[1][2].host);
    assert_int_equal(order.way.hosts[2], tops[1].host);
    pd_fleet_order_done(&order);
    free(text);
    pd_fleet_orders_free(orders);
}

/* Nothing but what was asked, of nobody but who was meant. */
static void it_is_for_nothing_else(void **state)
{
    struct pd_fleet_orders *orders = sign(controller);
    const struct pd_tree *host = &inner[0][0];
    char *text = pd_fleet_orders_text(orders, host);
    struct pd_tree wide[BELOW + 1] = {leaves[0][0][0], leaves[0][0][1], leaves[0][1][0]};
    struct pd_tree other[BELOW] = {leaves[0][0][0], leaves[0][0][1]};
    json_t *more = json_deep_copy(question);

    (void)state;
    other[1].url = "https://10.6.6.6:7411";
    assert_int_equal(judge(text, question, host, wide, BELOW + 1), -PD_E_FORBIDDEN);
    assert_int_equal(judge(text, question, host, wide, 1), -PD_E_FORBIDDEN);
    assert_int_equal(judge(text, question, host, NULL, 0), -PD_E_FORBIDDEN);
    assert_int_equal(judge(text, question, host, other, BELOW), -PD_E_FORBIDDEN);
    assert_int_equal(judge_as_meant(text, &inner[0][1]), -PD_E_FORBIDDEN);
    assert_int_equal(judge(text, question, &inner[0][1], leaves[0][0], BELOW), -PD_E_FORBIDDEN);
    json_object_set_new(more, "deadline_ms", json_integer(5));
    json_object_set_new(more, "children", json_array());
    assert_int_equal(judge(text, more, host, host->children, BELOW), 0);
    json_object_set_new(json_object_get(more, "args"), "k", json_integer(8));
    assert_int_equal(judge(text, more, host, host->children, BELOW), -PD_E_FORBIDDEN);
    json_decref(more);
    free(text);
    pd_fleet_orders_free(orders);
}

static void timely(uint64_t issued_s, uint64_t deadline_s, uint64_t now_s, const char *words)
{
    struct pd_fleet_order_terms terms = {.issued_us = issued_s * PD_US_PER_S,
                                         .deadline_us = deadline_s * PD_US_PER_S};
    struct pd_error error = {0};
    int err = pd_fleet_order_timely(&terms, now_s * PD_US_PER_S, &error);

    assert_int_equal(err, words ? -PD_E_FORBIDDEN : 0);
    if (words) {
        assert_non_null(strstr(error.text, words));
    }
}

static void clocks_may_be_half_a_minute_apart(void **state)
{
    (void)state;
    timely(1000, 1010, 1005, NULL);
    timely(1000, 1010, 970, NULL);
    timely(1000, 1010, 1040, NULL);
    timely(1000, 1010, 969, "31.0 s ahead");
    timely(1000, 1010, 400, "600.0 s ahead");
    timely(1000, 1010, 1041, "over for 31.0 s");
    timely(1000, 1010, 1600, "up to 600.0 s apart");
}

/* Of a person who may do everything, of a host, of a stranger: none of them is a controller. */
static void only_controllers_sign(void **state)
{
    struct authority strangers = {0};
    struct pd_credentials *others[3];

    (void)state;
    authority_issue(&authority, "admin", "admin", false);
    authority_open(&strangers);
    authority_issue(&strangers, "controller", "admin", true);
    others[0] = authority_credentials(&authority, "admin");
    others[1] = authority_credentials(&authority, "21");
    others[2] = authority_credentials(&strangers, "controller");
    for (size_t i = 0; i < 3; i++) {
        struct pd_fleet_orders *orders = sign(others[i]);
        char *text = pd_fleet_orders_text(orders, &tops[0]);

        assert_int_equal(judge_as_meant(text, &tops[0]), -PD_E_FORBIDDEN);
        free(text);
        pd_fleet_orders_free(orders);
        pd_http_credentials_free(others[i]);
    }
    authority_close(&strangers);
}

static void read_order(struct pd_credentials *signer, struct pd_fleet_order *ret_order)
{
    struct pd_fleet_orders *orders = sign(signer);
    char *text = pd_fleet_orders_text(orders, &tops[0]);

    assert_int_equal(pd_fleet_order_read(text, ret_order, NULL), 0);
    free(text);
    pd_fleet_orders_free(orders);
}

/* Who brings an order and has proven the signer's key needs no signature, and nobody else; that he
 * is a controller is asked of him, too. */
static void a_proven_key_stands_for_its_signature_alone(void **state)
{
    struct pd_fleet_order order, of_host;
    struct pd_error error;

    (void)state;
    read_order(controller, &order);
    read_order(agent, &of_host);
    assert_int_equal(check_signer(&order, &of_host.chain[0], &error), 0);
    order.bytes[order.signature_at + order.signature_bytes - 1] ^= 1;
    assert_int_equal(check_signer(&order, &order.chain[0], &error), 0);
    assert_int_equal(check_signer(&order, NULL, &error), -PD_E_FORBIDDEN);
    assert_int_equal(check_signer(&order, &of_host.chain[0], &error), -PD_E_FORBIDDEN);
    assert_int_equal(check_signer(&of_host, &of_host.chain[0], &error), -PD_E_FORBIDDEN);
    pd_fleet_order_done(&order);
    pd_fleet_order_done(&of_host);
}

/* What was signed before goes on being good, and so is what is signed after. */
static void a_certificate_may_be_renewed(void **state)
{
    struct pd_fleet_orders *before = sign(controller), *after;
    char *texts[2];

    (void)state;
    authority_issue(&authority, "controller", "admin", true);
    pd_http_credentials_free(controller);
    controller = authority_credentials(&authority, "controller");
    after = sign(controller);
    texts[0] = pd_fleet_orders_text(before, &tops[2]);
    texts[1] = pd_fleet_orders_text(after, &tops[2]);
    assert_string_not_equal(texts[0], texts[1]);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(judge_as_meant(texts[i], &tops[2]), 0);
        free(texts[i]);
    }
    pd_fleet_orders_free(before);
    pd_fleet_orders_free(after);
}

/* ---- mutations ---- */

static uint8_t *bytes_of(const char *text, size_t *ret_len)
{
    gnutls_datum_t from = {(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)}, bytes;
    uint8_t *copy;

    assert_true(gnutls_base64_decode2(&from, &bytes) >= 0);
    copy = malloc(bytes.size + 1);
    assert_non_null(copy);
    memcpy(copy, bytes.data, bytes.size);
    *ret_len = bytes.size;
    gnutls_free(bytes.data);
    return copy;
}

static int judge_bytes(const uint8_t *bytes, size_t len, const struct pd_tree *host)
{
    gnutls_datum_t from = {(unsigned char *)(uintptr_t)bytes, (unsigned)len}, text = {0};
    char *copy;
    int err;

    assert_true(gnutls_base64_encode2(&from, &text) >= 0);
    copy = strndup((char *)text.data, text.size);
    gnutls_free(text.data);
    err = judge_as_meant(copy, host);
    free(copy);
    return err;
}

/* Bits turned over, bytes left out, doubled, or put behind. Returns the new length. */
static size_t spoil(struct random *random, uint8_t *bytes, size_t len)
{
    size_t at = random_below(random, len);

    switch (random_below(random, 6)) {
    case 0: return at;
    case 1: memmove(bytes + at, bytes + at + 1, len - at - 1); return len - 1;
    case 2: memmove(bytes + at + 1, bytes + at, len - at); return len + 1;
    case 3: bytes[len] = (uint8_t)random_next(random); return len + 1;
    default:
        for (uint64_t n = 1 + random_below(random, 3); n; n--) {
            bytes[random_below(random, len)] ^= (uint8_t)(1U << random_below(random, 8));
        }
        return len;
    }
}

static void no_mutation_is_taken(void **state)
{
    struct pd_fleet_orders *orders = sign(controller);
    const struct pd_tree *host = &inner[2][4];
    char *text = pd_fleet_orders_text(orders, host);
    struct random random = {.state = test_seed()};
    unsigned taken = 0, same = 0;
    size_t len;
    uint8_t *good = bytes_of(text, &len), *bad = malloc(len + 2);

    (void)state;
    assert_non_null(bad);
    for (unsigned i = 0; i < MUTATIONS; i++) {
        memcpy(bad, good, len);
        size_t bad_len = spoil(&random, bad, len);

        if (bad_len == len && !memcmp(bad, good, len)) {
            same++;
        } else {
            taken += !judge_bytes(bad, bad_len, host);
        }
    }
    assert_int_equal(taken, 0);
    assert_true(same < MUTATIONS / 100);
    assert_int_equal(judge_bytes(good, len, host), 0);
    free(good);
    free(bad);
    free(text);
    pd_fleet_orders_free(orders);
}

/* Neither is the same in another form of Base64. */
static void there_is_one_form(void **state)
{
    struct pd_fleet_orders *orders = sign(controller);
    char *text = pd_fleet_orders_text(orders, &tops[0]), *spaced;

    (void)state;
    assert_true(asprintf(&spaced, "%.8s\n%s", text, text + 8) > 0);
    assert_int_equal(judge_as_meant(spaced, &tops[0]), -PD_E_FORBIDDEN);
    assert_int_equal(judge_as_meant("", &tops[0]), -PD_E_FORBIDDEN);
    assert_int_equal(judge_as_meant("UERPUgE=", &tops[0]), -PD_E_FORBIDDEN);
    free(spaced);
    free(text);
    pd_fleet_orders_free(orders);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_host_gets_its_part),
        cmocka_unit_test(those_above_are_named),
        cmocka_unit_test(it_is_for_nothing_else),
        cmocka_unit_test(clocks_may_be_half_a_minute_apart),
        cmocka_unit_test(only_controllers_sign),
        cmocka_unit_test(a_proven_key_stands_for_its_signature_alone),
        cmocka_unit_test(a_certificate_may_be_renewed),
        cmocka_unit_test(no_mutation_is_taken),
        cmocka_unit_test(there_is_one_form),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
