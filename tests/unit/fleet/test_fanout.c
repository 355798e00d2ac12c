/* SPDX-License-Identifier: Apache-2.0 */
/* Fan-out to servers that are good, slow, dead, talkative or rude: each costs its own answer only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "fleet/collect.h"
#include "http/server.h"

#define PEERS      40
#define MAX_BYTES  (1 << 20)
#define SLOW_MS    3000
#define DEADLINE_S 2

static struct pd_listener listener;
static struct pd_http *http;
static struct pd_fanout *fanout;

/* The target says what the server does. */
static void answer(void *context, const struct pd_http_request *request, struct pd_answer *answer)
{
    struct pd_problem problem = {0};
    (void)context;
    if (strstr(request->body, "slow")) {
        poll(NULL, 0, SLOW_MS);
    }
    if (strstr(request->body, "refuse")) {
        pd_fail(&problem.error, -PD_E_NOT_FOUND, "no such \x01 query");
        pd_http_answer_problem(answer, &problem);
    } else if (strstr(request->body, "huge")) {
        static char block[4096];
        memset(block, 'x', sizeof block);
        for (int i = 0; i < 2 * MAX_BYTES / (int)sizeof block; i++) {
            pd_http_answer_write(answer, block, sizeof block);
        }
        pd_http_answer_finish(answer);
    } else if (!request->body_bytes) {
        pd_http_answer_write(answer, request->method, strlen(request->method));
        pd_http_answer_write(answer, request->target, request->target_bytes);
    } else {
        pd_http_answer_write(answer, "<", 1);
        pd_http_answer_write(answer, request->body, request->body_bytes);
        pd_http_answer_write(answer, ">", 1);
    }
}

static void count(void *context, enum pd_http_event event)
{
    (void)context;
    (void)event;
}

static const char *method; /* of what is asked */

static int set_up(void **state)
{
    struct pd_http_service service = {.answer = answer, .count = count, .body_max_bytes = 1 << 16};
    (void)state;
    fanout = pd_fleet_fanout_new();
    assert_non_null(fanout);
    assert_int_equal(pd_http_listen_open("127.0.0.1:0", &listener, NULL), 0);
    return pd_http_start(&service, &listener, &http);
}

static int tear_down(void **state)
{
    (void)state;
    pd_http_stop(http);
    pd_http_listen_close(&listener);
    pd_fleet_fanout_free(fanout);
    return 0;
}

struct got {
    char text[64]; /* the beginning */
    size_t len;
    unsigned ends;
    struct pd_error error;
    int stop_with; /* what take() returns */
};

static int take(void *context, size_t i, const char *bytes, size_t len)
{
    struct got *got = (struct got *)context + i;
    for (size_t n = 0; n < len && got->len + n + 1 < sizeof got->text; n++) {
        got->text[got->len + n] = bytes[n];
    }
    got->len += len;
    return got->stop_with;
}

static void end(void *context, size_t i, const struct pd_error *error)
{
    struct got *got = (struct got *)context + i;
    got->ends++;
    got->error = *error;
}

static void ask(const struct pd_fanout_peer *peers, size_t len, struct got *got, unsigned at_once)
{
    struct pd_fanout_request request = {
        .method = method,
        .route = "/v1/query",
        .type = "text/plain",
        .accept = "text/plain",
        .deadline_ns = pd_clock_monotonic_ns() + DEADLINE_S * PD_NS_PER_S,
        .max_bytes = MAX_BYTES,
        .asks_signs = true,
        .at_once = at_once,
    };
    struct pd_fanout_sink sink = {got, take, end, NULL};
    assert_int_equal(pd_fleet_fanout_ask(fanout, &request, peers, len, &sink), 0);
    for (size_t i = 0; i < len; i++) {
        assert_int_equal(got[i].ends, 1);
    }
}

static const char *url(void)
{
    static char text[200];
    snprintf(text, sizeof text, "http://%s/", listener.name);
    return text;
}

static void everyone_answers(void **state)
{
    static char bodies[PEERS][16];
    (void)state;
    for (unsigned at_once = 0; at_once < 9; at_once += 8) {
        struct pd_fanout_peer peers[PEERS];
        struct got got[PEERS] = {{.len = 0}};
        for (int i = 0; i < PEERS; i++) {
            snprintf(bodies[i], sizeof bodies[i], "body %d", i);
            peers[i] = (struct pd_fanout_peer){url(), bodies[i], strlen(bodies[i]), NULL, NULL, 0};
        }
        ask(peers, PEERS, got, at_once);
        for (int i = 0; i < PEERS; i++) {
            char wanted[32];
            snprintf(wanted, sizeof wanted, "<body %d>", i);
            assert_int_equal(got[i].error.code, 0);
            assert_string_equal(got[i].text, wanted);
        }
    }
    ask(NULL, 0, NULL, 0);
}

/* Of those that ended with something to take away: the sum of their lengths, and how many. */
struct sum {
    size_t bytes, ends, failed;
};

static void add_up(void *context, size_t i, const struct pd_collected *peer)
{
    struct sum *sum = context;
    (void)i;
    sum->ends++;
    sum->failed += peer->error.code != 0;
    sum->bytes += peer->error.code ? 0 : peer->len;
}

static void answers_are_collected(void **state)
{
    const struct pd_fanout_request request = {.route = "/v1/query",
                                              .type = "text/plain",
                                              .accept = "text/plain",
                                              .deadline_ns = pd_clock_monotonic_ns() + PD_NS_PER_S,
                                              .max_bytes = MAX_BYTES,
                                              .at_once = 2};
    struct pd_collected peers[] = {{.url = url(), .body = "one"},
                                   {.url = url(), .body = "refuse"},
                                   {.url = "http://127.0.0.1:1", .body = "nobody"},
                                   {.url = url(), .body = "huge"},
                                   {.url = url(), .body = "three"}};
    const size_t len = sizeof peers / sizeof *peers;
    struct sum sum = {0};
    (void)state;
    assert_int_equal(pd_fleet_collect(fanout, &request, peers, len, NULL, NULL), 0);
    assert_int_equal(peers[0].len, strlen("<one>"));
    assert_memory_equal(peers[0].answer, "<one>", peers[0].len);
    assert_memory_equal(peers[4].answer, "<three>", peers[4].len);
    assert_int_equal(peers[0].error.code | peers[4].error.code, 0);
    assert_int_equal(peers[1].error.code, -PD_E_NOT_FOUND);
    assert_int_equal(peers[2].error.code, -PD_E_UNREACHABLE);
    assert_int_equal(peers[3].error.code, -PD_E_TOO_LARGE);
    assert_true(peers[3].len <= MAX_BYTES);
    pd_fleet_collected_done(peers, len);
    assert_int_equal(pd_fleet_collect(fanout, &request, peers, len, add_up, &sum), 0);
    assert_int_equal(sum.ends, len);
    assert_int_equal(sum.failed, 3);
    assert_int_equal(sum.bytes, strlen("<one><three>"));
    for (size_t i = 0; i < len; i++) {
        assert_null(peers[i].answer);
    }
    assert_int_equal(pd_fleet_collect(fanout, &request, NULL, 0, add_up, &sum), 0);
}

/* Accepts once, says half of an answer, and goes. */
static void *be_rude(void *context)
{
    int fd = accept(*(int *)context, NULL, NULL);
    char request[2048];
    static const char half[] = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";
    if (fd >= 0 && recv(fd, request, sizeof request, 0) > 0) {
        (void)!write(fd, half, sizeof half - 1);
    }
    close(fd);
    return NULL;
}

static int listen_on(char *ret_url, size_t bytes)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fd, 5), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    snprintf(ret_url, bytes, "http://127.0.0.1:%d", ntohs(address.sin_port));
    return fd;
}

static void each_failure_is_its_own(void **state)
{
    char rude_url[64], silent_url[64], dead_url[64], long_url[1100];
    int rude = listen_on(rude_url, sizeof rude_url),
        silent = listen_on(silent_url, sizeof silent_url);
    pthread_t thread;
    (void)state;
    close(listen_on(dead_url, sizeof dead_url));
    memset(long_url, 'u', sizeof long_url - 1);
    memcpy(long_url, "http://", 7);
    long_url[sizeof long_url - 1] = '\0';
    const struct pd_fanout_peer peers[] = {
        {url(), "good", 4, NULL, NULL, 0},     {url(), "slow", 4, NULL, NULL, 0},
        {url(), "refuse", 6, NULL, NULL, 0},   {url(), "huge", 4, NULL, NULL, 0},
        {dead_url, "dead", 4, NULL, NULL, 0},  {rude_url, "rude", 4, NULL, NULL, 0},
        {silent_url, "x", 1, NULL, NULL, 0},   {"file:///etc/passwd", "x", 1, NULL, NULL, 0},
        {long_url, "x", 1, NULL, NULL, 0},     {url(), "stopped", 7, NULL, NULL, 0},
        {url(), "good too", 8, NULL, NULL, 0},
    };
    static const int wanted[] = {0,
                                 -PD_E_DEADLINE,
                                 -PD_E_NOT_FOUND,
                                 -PD_E_TOO_LARGE,
                                 -PD_E_UNREACHABLE,
                                 -PD_E_UNREACHABLE,
                                 -PD_E_SILENT, /* "slow" gives signs of life, this one does not */
                                 -PD_E_UNREACHABLE,
                                 -PD_E_URI_TOO_LONG,
                                 -PD_E_VERSION,
                                 0};
    enum { LEN = sizeof peers / sizeof *peers };
    struct got got[LEN] = {{.len = 0}};
    got[9].stop_with = -PD_E_VERSION;
    assert_int_equal(pthread_create(&thread, NULL, be_rude, &rude), 0);
    uint64_t begun_ns = pd_clock_monotonic_ns();
    ask(peers, LEN, got, 0);
    assert_true(pd_clock_monotonic_ns() - begun_ns < (DEADLINE_S + 8) * PD_NS_PER_S);
    for (size_t i = 0; i < LEN; i++) {
        if (got[i].error.code != wanted[i]) {
            fail_msg("%zu: %d (%s) instead of %d", i, got[i].error.code, got[i].error.text,
                     wanted[i]);
        }
    }
    assert_string_equal(got[2].error.text, "no such ? query (status 404)");
    assert_string_equal(got[10].text, "<good too>");
    pthread_join(thread, NULL);
    close(rude);
    close(silent);
}

/* Accepts once, and answers when a sign of life was asked for, which it never gives. */
static void *be_late(void *context)
{
    static const char *const parts[] = {"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n", "late",
                                        "good"};
    int fd = accept(*(int *)context, NULL, NULL);
    char request[2048];
    (void)!recv(fd, request, sizeof request, 0);
    usleep(600000);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        (void)!write(fd, parts[i], strlen(parts[i]));
        usleep(50000);
    }
    close(fd);
    return NULL;
}

/* What was suspect and speaks is not given up, and the library is not told so while it calls us. */
static void late_ones_are_heard(void **state)
{
    enum { LATE = 8 };
    char urls[LATE][64];
    int listeners[LATE];
    pthread_t threads[LATE];
    struct pd_fanout_peer peers[LATE];
    struct got got[LATE] = {{.len = 0}};
    (void)state;
    for (int i = 0; i < LATE; i++) {
        listeners[i] = listen_on(urls[i], sizeof urls[i]);
        peers[i] = (struct pd_fanout_peer){.url = urls[i], .body = "x", .body_bytes = 1};
        assert_int_equal(pthread_create(&threads[i], NULL, be_late, &listeners[i]), 0);
    }
    ask(peers, LATE, got, 0);
    for (int i = 0; i < LATE; i++) {
        assert_int_equal(got[i].error.code, 0);
        assert_string_equal(got[i].text, "lategood");
        pthread_join(threads[i], NULL);
        close(listeners[i]);
    }
}

/* A method and a route of each peer's own; what is no POST has no body. */
static void other_methods(void **state)
{
    struct pd_fanout_peer peers[2] = {{.url = url()}, {.url = url(), .route = "/v1/things/7"}};
    struct got got[2] = {{.len = 0}};
    (void)state;
    method = "DELETE";
    ask(peers, 2, got, 0);
    method = "GET";
    assert_string_equal(got[0].text, "DELETE/v1/query");
    assert_string_equal(got[1].text, "DELETE/v1/things/7");
    memset(got, 0, sizeof got);
    ask(peers, 2, got, 0);
    method = NULL;
    assert_string_equal(got[1].text, "GET/v1/things/7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everyone_answers),        cmocka_unit_test(answers_are_collected),
        cmocka_unit_test(each_failure_is_its_own), cmocka_unit_test(late_ones_are_heard),
        cmocka_unit_test(other_methods),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
