/* SPDX-License-Identifier: Apache-2.0 */
/* Who has to go when there are as many connections as may be. */
#include "http/slots.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MAX 16u /* connections; an address may have 12, a certificate 4 */

struct crowd {
    struct pd_http_slots *slots;
    struct pd_http_slot *items[2 * MAX];
    int fds[2 * MAX][2];
    unsigned len;
};

static struct sockaddr_in from(unsigned host)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(0x0a000000u + host)};
}

static bool admit(struct crowd *crowd, unsigned host, bool *ret_ended)
{
    struct sockaddr_in peer = from(host);

    return pd_http_slots_admit(crowd->slots, (struct sockaddr *)&peer, ret_ended);
}

static struct pd_http_slot *come(struct crowd *crowd, unsigned host)
{
    struct sockaddr_in peer = from(host);
    int *fds = crowd->fds[crowd->len];
    struct pd_http_slot *slot;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    slot = pd_http_slots_take(crowd->slots, fds[0], (struct sockaddr *)&peer);
    assert_non_null(slot);
    return crowd->items[crowd->len++] = slot;
}

static void come_many(struct crowd *crowd, unsigned host, unsigned len)
{
    bool ended;

    for (unsigned i = 0; i < len; i++) {
        assert_true(admit(crowd, host, &ended));
        assert_false(ended);
        come(crowd, host);
    }
}

/* Has the other end of this connection seen its end? */
static bool is_over(const struct crowd *crowd, unsigned i)
{
    char byte;

    return recv(crowd->fds[i][1], &byte, 1, MSG_DONTWAIT) == 0;
}

static unsigned count_over(const struct crowd *crowd)
{
    unsigned over = 0;

    for (unsigned i = 0; i < crowd->len; i++) {
        over += is_over(crowd, i);
    }
    return over;
}

static int set_up(void **state)
{
    static struct crowd crowd;

    crowd = (struct crowd){.slots = pd_http_slots_new(MAX)};
    assert_non_null(crowd.slots);
    *state = &crowd;
    return 0;
}

static int tear_down(void **state)
{
    struct crowd *crowd = *state;

    while (crowd->len) {
        pd_http_slots_give(crowd->slots, crowd->items[--crowd->len]);
        close(crowd->fds[crowd->len][0]);
        close(crowd->fds[crowd->len][1]);
    }
    pd_http_slots_free(crowd->slots);
    return 0;
}

static void test_own_address_first(void **state)
{
    struct crowd *crowd = *state;
    bool ended;

    come_many(crowd, 9, 1);
    come_many(crowd, 1, 12);
    assert_true(admit(crowd, 1, &ended));
    assert_true(ended);
    assert_true(is_over(crowd, 1)); /* its oldest, not that of another address */
    assert_int_equal(count_over(crowd), 1);
    come(crowd, 1);
    assert_true(admit(crowd, 9, &ended));
    assert_false(ended); /* others have room all the same */
}

static void test_oldest_of_all(void **state)
{
    struct crowd *crowd = *state;
    bool ended;

    come_many(crowd, 1, 8);
    come_many(crowd, 2, 8);
    assert_true(admit(crowd, 3, &ended));
    assert_true(ended);
    assert_true(is_over(crowd, 0));
    assert_int_equal(count_over(crowd), 1);
}

static void test_work_stays(void **state)
{
    struct crowd *crowd = *state;
    bool ended;

    come_many(crowd, 1, 8);
    come_many(crowd, 2, 8);
    for (unsigned i = 0; i < 8; i++) {
        pd_http_slots_phase(crowd->slots, crowd->items[i], i % 2 ? PD_HTTP_AT_WORK : PD_HTTP_TAKING,
                            UINT64_MAX);
    }
    assert_int_equal(pd_http_slots_at_work(crowd->slots, NULL), 4);
    assert_true(admit(crowd, 3, &ended));
    assert_true(ended && is_over(crowd, 8));
    come(crowd, 3);
    pd_http_slots_phase(crowd->slots, crowd->items[0], PD_HTTP_TAKING, 1); /* too slow by now */
    pd_http_slots_phase(crowd->slots, crowd->items[1], PD_HTTP_RESTING, 0);
    for (unsigned i = 9; i < crowd->len; i++) {
        pd_http_slots_phase(crowd->slots, crowd->items[i], PD_HTTP_AT_WORK, 0);
    }
    assert_true(admit(crowd, 3, &ended) && ended && is_over(crowd, 0));
    come(crowd, 3);
    pd_http_slots_phase(crowd->slots, crowd->items[17], PD_HTTP_AT_WORK, 0);
    assert_true(admit(crowd, 3, &ended) && ended && is_over(crowd, 1));
    come(crowd, 3);
    pd_http_slots_phase(crowd->slots, crowd->items[18], PD_HTTP_AT_WORK, 0);
    assert_false(admit(crowd, 3, &ended)); /* all are at work, or take */
    assert_false(ended);
}

static void know(struct crowd *crowd, unsigned i, const char *name, unsigned wanted)
{
    snprintf(crowd->items[i]->client->principal.principal.name, 64, "%s", name);
    assert_int_equal(pd_http_slots_know(crowd->slots, crowd->items[i]), wanted);
}

static void test_certificates(void **state)
{
    struct crowd *crowd = *state;
    bool ended;

    come_many(crowd, 1, 6);
    for (unsigned i = 0; i < 4; i++) {
        know(crowd, i, "21", 0);
    }
    pd_http_slots_phase(crowd->slots, crowd->items[2], PD_HTTP_RESTING, 0);
    know(crowd, 4, "22", 0);
    know(crowd, 5, "21", 1); /* the fifth: the one that rests has to go */
    assert_true(is_over(crowd, 2));
    assert_int_equal(count_over(crowd), 1);
    pd_http_slots_phase(crowd->slots, crowd->items[4], PD_HTTP_AT_WORK, 0);
    assert_int_equal(pd_http_slots_at_work(crowd->slots, "22"), 1);
    assert_int_equal(pd_http_slots_at_work(crowd->slots, "21"), 0);
    come_many(crowd, 1, 11);
    assert_true(admit(crowd, 2, &ended) && ended);
    assert_true(is_over(crowd, 6)); /* who has shown nothing goes first, though others are older */
}

static void test_reused(void **state)
{
    struct crowd *crowd = *state;
    struct pd_http_slot *slot = come(crowd, 1);
    uint64_t serial = slot->serial;

    pd_http_slots_give(crowd->slots, slot);
    crowd->items[0] = pd_http_slots_take(crowd->slots, crowd->fds[0][0], NULL);
    assert_ptr_equal(crowd->items[0], slot);
    pd_http_slots_end(crowd->slots, slot, serial); /* of the one before */
    assert_false(is_over(crowd, 0));
    pd_http_slots_end(crowd->slots, slot, slot->serial);
    assert_true(is_over(crowd, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_own_address_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_oldest_of_all, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_work_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_certificates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reused, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
