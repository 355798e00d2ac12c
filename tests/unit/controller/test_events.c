/* SPDX-License-Identifier: Apache-2.0 */
/* The event hub: a slow reader gets the newest state of each thing, a quick one all of them, in
 * order; nobody follows, nothing is kept. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "controller/events/hub.h"

#define HOST    1u /* places in the table */
#define VERDICT 3u

static void publish(struct pd_events *hub, const struct pd_event_type *type, uint64_t key, int n)
{
    pd_events_publish(hub, type, key, json_pack("{s:I, s:i}", "id", (json_int_t)key, "n", n));
}

static char *read_all(struct pd_events *hub, struct pd_events_follower *follower)
{
    struct pd_event_out out = {0};
    size_t before;

    do {
        before = out.len;
        assert_int_equal(pd_events_read(hub, follower, &out), 0);
    } while (out.len > before && out.len < PD_EVENT_BATCH_BYTES);
    assert_int_equal(pd_event_comment(&out, ""), 0);
    return out.bytes;
}

static void expect(struct pd_events *hub, struct pd_events_follower *follower, const char *text)
{
    char *got = read_all(hub, follower);

    assert_memory_equal(got, text, strlen(text));
    assert_string_equal(got + strlen(text), ":\n\n");
    free(got);
}

static void test_newest(void **state)
{
    struct pd_events *hub = pd_events_new();
    struct pd_events_follower slow = {0}, quick = {0};

    (void)state;
    slow.types[HOST] = quick.types[HOST] = quick.types[VERDICT] = true;
    assert_false(pd_events_wanted(hub, &pd_event_host));
    publish(hub, &pd_event_host, 1, 0); /* nobody follows */
    pd_events_follow(hub, &slow);
    pd_events_follow(hub, &quick);
    assert_true(pd_events_wanted(hub, &pd_event_host));
    assert_false(pd_events_wanted(hub, &pd_event_switch));
    expect(hub, &quick, "");
    publish(hub, &pd_event_host, 1, 1);
    publish(hub, &pd_event_host, 2, 2);
    expect(hub, &quick,
           "event: host\ndata: {\"id\":1,\"n\":1}\n\nevent: host\ndata: {\"id\":2,\"n\":2}\n\n");
    publish(hub, &pd_event_verdict, 1, 3);
    publish(hub, &pd_event_host, 1, 4);
    expect(hub, &quick,
           "event: verdict\ndata: {\"id\":1,\"n\":3}\n\n"
           "event: host\ndata: {\"id\":1,\"n\":4}\n\n");
    expect(hub, &slow,
           "event: host\ndata: {\"id\":2,\"n\":2}\n\nevent: host\ndata: {\"id\":1,\"n\":4}\n\n");
    expect(hub, &slow, "");
    pd_events_unfollow(hub, &quick);
    pd_events_unfollow(hub, &slow);
    assert_false(pd_events_wanted(hub, &pd_event_host));
    pd_events_free(hub);
}

/* More than fits into one batch comes in several, each thing once. */
static void test_batches(void **state)
{
    enum { THINGS = 20000 };
    struct pd_events *hub = pd_events_new();
    struct pd_events_follower follower = {.types = {[HOST] = true}};
    unsigned reads = 0, events = 0;

    (void)state;
    pd_events_follow(hub, &follower);
    for (int n = 0; n < 2 * THINGS; n++) {
        publish(hub, &pd_event_host, (uint64_t)(n % THINGS), n);
    }
    for (struct pd_event_out out = {0};; reads++) {
        out.len = 0;
        assert_int_equal(pd_events_read(hub, &follower, &out), 0);
        for (size_t i = 0; i < out.len; i++) {
            events += out.bytes[i] == '\n';
        }
        if (!out.len) {
            free(out.bytes);
            break;
        }
        assert_true(out.len < PD_EVENT_BATCH_BYTES + 100);
    }
    assert_int_equal(events, 3 * THINGS);
    assert_in_range(reads, 2, THINGS);
    pd_events_unfollow(hub, &follower);
    pd_events_free(hub);
}

struct waiting {
    struct pd_events *hub;
    uint64_t turn;
    bool on;
};

static void *wait_long(void *context)
{
    struct waiting *waiting = context;

    waiting->on =
        pd_events_wait(waiting->hub, waiting->turn, pd_clock_monotonic_ns() + 60 * PD_NS_PER_S);
    return NULL;
}

/* Waiting ends with what is published, with a source that wakes, and with the hub. */
static void test_wait(void **state)
{
    struct pd_events *hub = pd_events_new();
    struct pd_events_follower follower = {.types = {[HOST] = true}};

    (void)state;
    pd_events_follow(hub, &follower);
    for (int way = 0; way < 3; way++) {
        struct waiting waiting = {.hub = hub, .turn = pd_events_turn(hub)};
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, wait_long, &waiting), 0);
        if (way == 0) {
            publish(hub, &pd_event_host, 1, 1);
        } else if (way == 1) {
            pd_events_wake(hub);
        } else {
            pd_events_stop(hub);
        }
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(waiting.on, way < 2);
    }
    pd_events_unfollow(hub, &follower);
    pd_events_free(hub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_newest),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
