/* SPDX-License-Identifier: Apache-2.0 */
/* The packet level's TCP: every packet arrives in the end, what was lost is counted, windows and
 * timers do as they should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sim/tcp.h"
#include "tests/shared/random.h"

#define MS UINT64_C(1000000)

/* Rounds of a window each; each packet is lost with the probability, the others are acknowledged in
 * their order. */
static void a_transfer_ends_with_each_loss_counted(void **state)
{
    struct random random = {test_seed()};
    (void)state;
    for (int round = 0; round < 50; round++) {
        struct pd_sim_tcp tcp;
        uint64_t pkts = 1 + random_below(&random, 5000), loss = random_below(&random, 100), now = 0;
        uint64_t arrived = 0, lost = 0, retransmitted = 0;
        pd_sim_tcp_init(&tcp, pkts, false, now);
        for (int turn = 0; !pd_sim_tcp_is_done(&tcp) && turn < 100000; turn++) {
            uint32_t orders[PD_TCP_WINDOW_MAX], len = 0;
            while (pd_sim_tcp_may_send(&tcp, now, &orders[len])) {
                len++;
            }
            assert_true(len <= PD_TCP_WINDOW_MAX && tcp.in_flight <= PD_TCP_WINDOW_MAX);
            now += MS;
            for (uint32_t i = 0; i < len; i++) {
                if (random_below(&random, 1000) < loss) {
                    lost++;
                    continue;
                }
                arrived++;
                retransmitted += pd_sim_tcp_acked(&tcp, orders[i], now, 1000);
            }
            if (!len) {
                now += 100 * MS;
            }
            retransmitted += pd_sim_tcp_timer(&tcp, now);
        }
        assert_true(pd_sim_tcp_is_done(&tcp));
        assert_int_equal(arrived, pkts);
        assert_int_equal(retransmitted, lost);
    }
}

static void a_dead_path_is_given_up(void **state)
{
    struct pd_sim_tcp tcp;
    uint32_t order;
    uint64_t now = 0, timeouts = 0;
    (void)state;
    pd_sim_tcp_init(&tcp, 100, false, now);
    for (; !pd_sim_tcp_is_done(&tcp) && now < 600000 * MS; now += MS) {
        while (pd_sim_tcp_may_send(&tcp, now, &order))
            ;
        timeouts += pd_sim_tcp_timer(&tcp, now) > 0;
    }
    assert_true(pd_sim_tcp_is_done(&tcp));
    assert_int_equal(timeouts, PD_TCP_TIMEOUTS_MAX + 1);
    assert_true(now > 20000 * MS); /* 0.2 + 0.4 + … + 12.8 s */
}

static void a_loss_halves_the_window_once(void **state)
{
    struct pd_sim_tcp tcp;
    uint32_t order;
    (void)state;
    pd_sim_tcp_init(&tcp, 1000, false, 0);
    while (pd_sim_tcp_may_send(&tcp, 0, &order))
        ;
    assert_int_equal(order, 9); /* ten at first */
    uint32_t lost = 0;
    for (uint32_t o = 2; o < 10; o++) { /* 0 and 1 are lost */
        lost += pd_sim_tcp_acked(&tcp, o, MS, 1000);
    }
    assert_int_equal(lost, 2);
    assert_true(tcp.window > 5 && tcp.window < 10);
    assert_int_equal(pd_sim_tcp_acked(&tcp, 0, MS, 1000), 0);   /* it was late, not lost */
    assert_int_equal(pd_sim_tcp_acked(&tcp, 999, MS, 1000), 0); /* never sent */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transfer_ends_with_each_loss_counted),
        cmocka_unit_test(a_dead_path_is_given_up),
        cmocka_unit_test(a_loss_halves_the_window_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
