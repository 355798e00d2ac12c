/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's alarms: shares of hosts, what is told again, numbers that go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "alarm_store.h"

static int add_of(struct pd_alarm_store *store, uint32_t host, uint64_t first)
{
    struct pd_alarm_message messages[100];
    uint64_t seqs[100], last;

    for (unsigned i = 0; i < 100; i++) {
        messages[i] = alarm_store_message("A", first + i);
        seqs[i] = first + i;
    }
    return pd_alarm_store_add(store, &(struct pd_alarm_delivery){host, 1, 100, messages, seqs},
                              &last);
}

struct of_host {
    uint32_t host;
    unsigned len;
    uint64_t first_us;
};

static int count_host(void *context, uint64_t id, const char *json, size_t len)
{
    struct of_host *of = context;
    char text[20000] = "{";
    json_t *object;

    (void)id;
    memcpy(text + 1, json, len);
    object = json_loadb(text, len + 1, 0, NULL);
    if (json_integer_value(json_object_get(object, "host")) == of->host) {
        of->first_us = of->len++ ? of->first_us
                                 : (uint64_t)json_integer_value(json_object_get(object, "time_us"));
    }
    json_decref(object);
    return 0;
}

static struct of_host of(struct pd_alarm_store *store, uint32_t host)
{
    struct of_host of = {.host = host};
    uint64_t next;
    bool more;

    assert_int_equal(pd_alarm_store_read(store, 0, NULL, SIZE_MAX, count_host, &of, &next, &more),
                     0);
    return of;
}

/* Whatever one host tells, the others keep theirs, and it its newest ones; over a restart, too. */
static void test_shares(void **state)
{
    struct pd_alarm_store *store = alarm_store_open_with(3000, 0);

    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(add_of(store, 7, 1 + 100 * i), 0);
        assert_int_equal(add_of(store, 9, 1 + 100 * i), 0);
    }
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(add_of(store, 8, 1 + 100 * i), 0);
    }
    assert_int_equal(alarm_store_stat(store).kept, 3000);
    assert_int_equal(of(store, 7).len, 800);
    assert_int_equal(of(store, 9).len, 800);
    assert_int_equal(of(store, 8).len, 1400);
    assert_int_equal(of(store, 8).first_us, 10001 - 1400);
    pd_alarm_store_close(store);
    store = alarm_store_open_with(3000, 0);
    for (unsigned i = 8; i < 40; i++) {
        assert_int_equal(add_of(store, 9, 1 + 100 * i), 0);
    }
    assert_int_equal(alarm_store_stat(store).kept, 3000);
    assert_int_equal(of(store, 7).len, 800);
    assert_in_range(of(store, 8).len, 1090, 1110);
    assert_in_range(of(store, 9).len, 1090, 1110);
    pd_alarm_store_close(store);
}

static struct of_host repeats;

static void hear_again(void *context, uint64_t id, uint32_t host,
                       const struct pd_alarm_message *message)
{
    (void)context;
    (void)id;
    repeats = (struct of_host){host, repeats.len + 1, message->count};
}

static int tell_flow(struct pd_alarm_store *store, uint32_t host, uint64_t seq, uint16_t port,
                     const char *reason)
{
    struct pd_alarm_message message = alarm_store_message(reason, seq);
    struct pd_alarm_delivery delivery = {host, 1, 1, &message, &seq};
    uint64_t last;

    message.count = 2;
    strcpy(message.detail, "the same words");
    message.flow.src_port = port;
    assert_int_equal(pd_addr_parse("10.1.1.2", &message.flow.src, &message.flow.ip_version), 0);
    assert_int_equal(pd_addr_parse("10.2.1.2", &message.flow.dst, &message.flow.ip_version), 0);
    return pd_alarm_store_add(store, &delivery, &last);
}

/* The same of a flow within a minute is one with a count; who listens hears each of them. */
static void test_told_again(void **state)
{
    struct pd_alarm_store *store = alarm_store_open();
    struct alarm_store_seen seen;

    (void)state;
    repeats = (struct of_host){0};
    pd_alarm_store_listen(store, hear_again, NULL);
    for (uint64_t seq = 1; seq <= 5; seq++) {
        assert_int_equal(tell_flow(store, 7, seq, 1, "POOR_PERF"), 0);
    }
    assert_int_equal(tell_flow(store, 8, 1, 1, "POOR_PERF"), 0);
    assert_int_equal(tell_flow(store, 7, 6, 2, "POOR_PERF"), 0);
    assert_int_equal(tell_flow(store, 7, 7, 1, "OTHER"), 0);
    seen = alarm_store_read_all(store, 0, NULL, SIZE_MAX);
    assert_int_equal(seen.len, 4);
    assert_int_equal(seen.times[0], 5); /* when it was told last */
    assert_int_equal(alarm_store_stat(store).merged, 4);
    assert_int_equal(alarm_store_stat(store).accepted, 4);
    for (unsigned i = 0; i < 500 && repeats.len < 8; i++) {
        usleep(10000);
    }
    assert_int_equal(repeats.len, 8);
    pd_alarm_store_stop(store);
    pd_alarm_store_close(store);
}

/* A number far ahead is none of a spool that is known; those that go on are taken after it. */
static void test_numbers_go_on(void **state)
{
    const uint64_t begin = UINT64_C(1) << 40;
    struct pd_alarm_store *store = alarm_store_open();
    uint64_t last;

    (void)state;
    assert_int_equal(alarm_store_add(store, 1, begin, 1, "A", &last), 0);
    assert_int_equal(alarm_store_add(store, 1, PD_ALARM_MESSAGE_MAX_US, 1, "A", &last),
                     -PD_E_VALUE);
    assert_int_equal(alarm_store_add(store, 1, begin + PD_ALARM_AHEAD_MAX + 1, 1, "A", &last),
                     -PD_E_VALUE);
    assert_int_equal(alarm_store_add(store, 1, begin + PD_ALARM_AHEAD_MAX, 1, "A", &last), 0);
    assert_int_equal(alarm_store_stat(store).kept, 2);
    pd_alarm_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_shares, alarm_store_set_up, alarm_store_tear_down),
        cmocka_unit_test_setup_teardown(test_told_again, alarm_store_set_up, alarm_store_tear_down),
        cmocka_unit_test_setup_teardown(test_numbers_go_on, alarm_store_set_up,
                                        alarm_store_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
