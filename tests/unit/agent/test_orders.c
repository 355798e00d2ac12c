/* SPDX-License-Identifier: Apache-2.0 */
/* Orders at an agent: where one is needed, from whom it is taken, and each of them once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../fleet/authority.h"
#include "agent/orders.h"
#include "base/clock.h"
#include "http/principal.h"

static struct authority authority;
static struct pd_credentials *controller, *agent;
static struct pd_agent_orders *orders;
static json_t *question;

/* 1 → 2 → 3 */
static struct pd_tree below2[] = {{3, "https://127.0.0.1:3", NULL, 0}};
static struct pd_tree below1[] = {{2, "https://127.0.0.1:2", below2, 1}};
static struct pd_tree tops[] = {{1, "https://127.0.0.1:1", below1, 1}};
static const struct pd_forest nobody = {.trees_len = 0};

static int set_up(void **state)
{
    (void)state;
    authority_open(&authority);
    authority_issue(&authority, "controller", "admin", true);
    authority_issue(&authority, "3", "agent", true);
    controller = authority_credentials(&authority, "controller");
    agent = authority_credentials(&authority, "3");
    question = json_pack("{s:s, s:{}}", "query", "getCount", "args");
    return pd_agent_orders_new(agent, 3, &orders);
}

static int tear_down(void **state)
{
    (void)state;
    pd_agent_orders_free(orders);
    json_decref(question);
    pd_http_credentials_free(controller);
    pd_http_credentials_free(agent);
    authority_close(&authority);
    return 0;
}

/* An order whose deadline is over in so many seconds; the caller's. */
static char *make(const struct pd_tree *host, int64_t seconds)
{
    struct pd_credentials_set *set = pd_http_credentials_hold(controller);
    uint64_t deadline_us = pd_clock_wall_us() + (uint64_t)(seconds * (int64_t)PD_US_PER_S);
    struct pd_fleet_orders *made;
    char *text;

    assert_int_equal(pd_fleet_orders_sign(&set->tls, question, deadline_us, tops, 1, &made, NULL),
                     0);
    text = pd_fleet_orders_text(made, host);
    assert_non_null(text);
    pd_fleet_orders_free(made);
    pd_http_credentials_drop(set);
    return text;
}

/* 0, or the words begin so. */
static void take(const char *order, enum pd_role role, const char *peer, const char *words)
{
    const struct pd_http_request request = {.role = role, .peer = peer, .order = order};
    struct pd_fleet_order taken;
    struct pd_error error = {0};
    int err = pd_agent_orders_take(orders, &request, question, &nobody, &taken, &error);

    assert_int_equal(err, words ? -PD_E_FORBIDDEN : 0);
    if (err) {
        assert_non_null(strstr(error.text, words));
    } else {
        pd_fleet_order_done(&taken);
    }
}

static void where_one_is_needed(void **state)
{
    static const enum pd_role roles[] = {PD_ROLE_READ, PD_ROLE_INSTALL, PD_ROLE_ADMIN,
                                         PD_ROLE_AGENT};
    struct pd_agent_orders *open;

    (void)state;
    assert_int_equal(pd_agent_orders_new(NULL, 3, &open), 0);
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        const struct pd_http_request request = {.role = roles[i]};

        assert_true(pd_agent_orders_needed(orders, &request, true));
        assert_int_equal(pd_agent_orders_needed(orders, &request, false),
                         roles[i] == PD_ROLE_AGENT);
        assert_false(pd_agent_orders_needed(open, &request, true));
        assert_false(pd_agent_orders_needed(NULL, &request, true));
    }
    pd_agent_orders_free(open);
}

/* Each who stands above may hand it over, once. */
static void each_once(void **state)
{
    char *order = make(&below2[0], 5), *other = make(&below2[0], 5);

    (void)state;
    take(order, PD_ROLE_AGENT, "2", NULL);
    take(order, PD_ROLE_AGENT, "2", "used already");
    take(order, PD_ROLE_AGENT, "1", NULL);
    take(order, PD_ROLE_AGENT, "1", "used already");
    take(order, PD_ROLE_ADMIN, "controller", NULL);
    take(order, PD_ROLE_ADMIN, "controller", "used already");
    take(other, PD_ROLE_AGENT, "2", NULL);
    free(order);
    free(other);
}

static void from_those_above_alone(void **state)
{
    char *order = make(&below2[0], 5);

    (void)state;
    take(NULL, PD_ROLE_AGENT, "2", "is needed here");
    take("", PD_ROLE_AGENT, "2", "no order");
    take(order, PD_ROLE_AGENT, "3", "not given to 3");
    take(order, PD_ROLE_AGENT, "4", "not given to 4");
    take(order, PD_ROLE_AGENT, NULL, "not given to");
    take(order, PD_ROLE_AGENT, "2", NULL);
    free(order);
    order = make(&below1[0], 5);
    take(order, PD_ROLE_AGENT, "1", "other hosts"); /* it has one below */
    free(order);
}

static void in_time(void **state)
{
    char *late = make(&below2[0], -31), *just = make(&below2[0], -29);

    (void)state;
    take(late, PD_ROLE_AGENT, "2", "over for");
    take(just, PD_ROLE_AGENT, "2", NULL);
    take(just, PD_ROLE_AGENT, "2", "used already");
    free(late);
    free(just);
}

static void of_a_host_that_knows_itself(void **state)
{
    struct pd_agent_orders *known = orders, *unknown, *other;
    char *order;

    (void)state;
    assert_int_equal(pd_agent_orders_new(agent, 0, &unknown), 0);
    assert_int_equal(pd_agent_orders_new(agent, 4, &other), 0);
    order = make(&below2[0], 5);
    orders = unknown;
    take(order, PD_ROLE_AGENT, "2", "--host-id");
    orders = other;
    take(order, PD_ROLE_AGENT, "2", "another host");
    orders = known;
    pd_agent_orders_free(unknown);
    pd_agent_orders_free(other);
    free(order);
}

/* An agent that was started anew forgets what it has used. */
static void made_since_it_began(void **state)
{
    struct pd_agent_orders *before = orders, *anew;
    char *order = make(&below2[0], 5), *unused = make(&below2[0], 5), *later;

    (void)state;
    take(order, PD_ROLE_AGENT, "2", NULL);
    usleep(1000);
    assert_int_equal(pd_agent_orders_new(agent, 3, &anew), 0);
    orders = anew;
    take(order, PD_ROLE_AGENT, "2", "before this agent began");
    take(unused, PD_ROLE_ADMIN, "controller", "before this agent began");
    later = make(&below2[0], 5);
    take(later, PD_ROLE_AGENT, "2", NULL);
    take(later, PD_ROLE_AGENT, "2", "used already");
    orders = before;
    pd_agent_orders_free(anew);
    free(order);
    free(unused);
    free(later);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_one_is_needed),         cmocka_unit_test(each_once),
        cmocka_unit_test(from_those_above_alone),      cmocka_unit_test(in_time),
        cmocka_unit_test(of_a_host_that_knows_itself), cmocka_unit_test(made_since_it_began),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
