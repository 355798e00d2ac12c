/* SPDX-License-Identifier: Apache-2.0 */
/* What an order for 16 hosts costs: the controller that signs it, and a host that checks it and
 * hands it down. */
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

/* {"sign_us":…,"top_us":…,"check_us":…,"pass_us":…}: medians of processor time. Four tops with
 * three hosts below each: signing and writing four orders; reading, proving and verifying one that
 * comes from the controller itself, and from another host; writing those of the three below. */

enum { TOPS = 4, BELOW = 3, ROUNDS = 501 };

static struct pd_tree tops[TOPS], below[TOPS][BELOW];
static char urls[TOPS * (1 + BELOW)][40];

static const char *url_of(uint32_t host)
{
    snprintf(urls[host - 1], sizeof urls[0], "https://10.0.0.%u:7411", host);
    return urls[host - 1];
}

static void plant(void)
{
    for (uint32_t i = 0, host = 1; i < TOPS; i++) {
        tops[i] = (struct pd_tree){host, url_of(host), below[i], BELOW};
        host++;
        for (uint32_t k = 0; k < BELOW; k++, host++) {
            below[i][k] = (struct pd_tree){host, url_of(host), NULL, 0};
        }
    }
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static double median_us(uint64_t *ns)
{
    qsort(ns, ROUNDS, sizeof *ns, by_value);
    return (double)ns[ROUNDS / 2] / PD_NS_PER_US;
}

static void write_orders(const struct pd_fleet_orders *orders, const struct pd_tree *hosts,
                         size_t len, char **ret_first)
{
    for (size_t i = 0; i < len; i++) {
        char *text = pd_fleet_orders_text(orders, &hosts[i]);

        assert_non_null(text);
        if (i || !ret_first) {
            free(text);
        } else {
            *ret_first = text;
        }
    }
}

static char *sign(const struct pd_tls *tls, const json_t *question, uint64_t *ret_ns)
{
    uint64_t begun_ns = pd_clock_thread_ns();
    struct pd_fleet_orders *orders;
    char *first = NULL;

    assert_int_equal(pd_fleet_orders_sign(tls, question, pd_clock_wall_us() + PD_US_PER_S, tops,
                                          TOPS, &orders, NULL),
                     0);
    write_orders(orders, tops, TOPS, &first);
    pd_fleet_orders_free(orders);
    *ret_ns = pd_clock_thread_ns() - begun_ns;
    return first;
}

static void check(const struct pd_tls *tls, const json_t *question, const char *text,
                  struct pd_fleet_order_signer *known, bool from_signer, uint64_t *ret_check_ns,
                  uint64_t *ret_pass_ns)
{
    uint64_t begun_ns = pd_clock_thread_ns();
    struct pd_fleet_orders *orders;
    struct pd_fleet_order order;

    assert_int_equal(pd_fleet_order_read(text, &order, NULL), 0);
    assert_int_equal(
        pd_fleet_order_prove(&order, question, tops[0].host, tops[0].children, BELOW, NULL), 0);
    assert_int_equal(pd_fleet_order_timely(&order.terms, pd_clock_wall_us(), NULL), 0);
    assert_int_equal(
        pd_fleet_order_signed(&order, tls, known, from_signer ? &order.chain[0] : NULL, NULL), 0);
    *ret_check_ns = pd_clock_thread_ns() - begun_ns;
    assert_int_equal(pd_fleet_order_pass(&order, tops[0].children, BELOW, &orders), 0);
    write_orders(orders, tops[0].children, BELOW, NULL);
    *ret_pass_ns = pd_clock_thread_ns() - begun_ns - *ret_check_ns;
    pd_fleet_orders_free(orders);
    pd_fleet_order_done(&order);
}

static void measure(const struct pd_tls *controller, const struct pd_tls *agent)
{
    static uint64_t signs[ROUNDS], at_tops[ROUNDS], checks[ROUNDS], passes[ROUNDS];
    json_t *question = json_pack("{s:s, s:{s:i}}", "query", "topFlows", "args", "k", 1000);
    struct pd_fleet_order_signer known = {.until_ns = 0};

    assert_non_null(question);
    for (size_t i = 0; i < ROUNDS; i++) {
        char *text = sign(controller, question, &signs[i]);

        check(agent, question, text, &known, true, &at_tops[i], &passes[i]);
        check(agent, question, text, &known, false, &checks[i], &passes[i]);
        free(text);
    }
    printf("{\"sign_us\":%.1f,\"top_us\":%.1f,\"check_us\":%.1f,\"pass_us\":%.1f}\n",
           median_us(signs), median_us(at_tops), median_us(checks), median_us(passes));
    json_decref(question);
}

int main(void)
{
    struct authority authority;
    struct pd_credentials *controller, *agent;

    plant();
    authority_open(&authority);
    authority_issue(&authority, "controller", "admin", true);
    authority_issue(&authority, "21", "agent", true);
    controller = authority_credentials(&authority, "controller");
    agent = authority_credentials(&authority, "21");
    struct pd_credentials_set *controllers = pd_http_credentials_hold(controller),
                              *agents = pd_http_credentials_hold(agent);
    measure(&controllers->tls, &agents->tls);
    pd_http_credentials_drop(controllers);
    pd_http_credentials_drop(agents);
    pd_http_credentials_free(controller);
    pd_http_credentials_free(agent);
    authority_close(&authority);
    return 0;
}
