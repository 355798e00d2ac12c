/* SPDX-License-Identifier: Apache-2.0 */
/* Long answers: whole while the budget has room, flowing beyond, cut off when nobody takes them. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "http/server.h"

#define BUDGET  (UINT64_C(4) << 20)
#define LINE    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n"
#define WAIT_MS 30000

struct fixture {
    struct pd_http *http;
    struct pd_listener listener;
    char path[108];
    atomic_uint slow, refused, failed;
    atomic_bool contended, more;
};

/* Lets go what there is; goes on once there is more. */
static int let_go(struct fixture *fixture, struct pd_answer *answer)
{
    uint64_t until_ns = pd_clock_monotonic_ns() + WAIT_MS * PD_NS_PER_MS;
    int err = pd_http_answer_flow(answer);

    while (!atomic_load(&fixture->more) && pd_clock_monotonic_ns() < until_ns) {
        usleep(1000);
    }
    return err ? err : pd_http_answer_write(answer, LINE, strlen(LINE));
}

/* "/N": N lines; "/N!": and then an error; "/N~": and another line, when there is more. */
static void answer(void *context, const struct pd_http_request *request, struct pd_answer *answer)
{
    struct fixture *fixture = context;
    char *end;
    unsigned long lines = strtoul(request->target + 1, &end, 10);
    int err = 0;

    answer->type = "text/plain";
    for (unsigned long i = 0; i < lines && !err; i++) {
        err = pd_http_answer_write(answer, LINE, strlen(LINE));
    }
    if (!err && *end == '~') {
        err = let_go(fixture, answer);
    }
    if (!err) {
        err = *end == '!' ? -PD_E_DEADLINE : pd_http_answer_finish(answer);
    }
    if (err) {
        const struct pd_problem problem = {.error = {.code = err}};

        atomic_fetch_add(&fixture->failed, 1);
        pd_http_answer_problem(answer, &problem);
    }
}

static void count(void *context, enum pd_http_event event)
{
    struct fixture *fixture = context;

    atomic_fetch_add(&fixture->slow, event == PD_HTTP_SLOW);
    atomic_fetch_add(&fixture->refused, event == PD_HTTP_REFUSED);
}

static bool contended(void *context)
{
    return atomic_load(&((struct fixture *)context)->contended);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct pd_http_service service = {.context = &fixture,
                                      .answer = answer,
                                      .count = count,
                                      .contended = contended,
                                      .body_max_bytes = 1000,
                                      .answer_budget_bytes = BUDGET,
                                      .requests_max = 8};
    char address[120];

    memset(&fixture, 0, sizeof fixture);
    snprintf(fixture.path, sizeof fixture.path, "/tmp/pd-long-%d", getpid());
    snprintf(address, sizeof address, "unix:%s", fixture.path);
    assert_int_equal(pd_http_listen_open(address, &fixture.listener, NULL), 0);
    assert_int_equal(pd_http_start(&service, &fixture.listener, &fixture.http), 0);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    pd_http_stop(fixture->http);
    pd_http_listen_close(&fixture->listener);
    return 0;
}

static int ask(const struct fixture *fixture, const char *target)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char request[200];
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int len = snprintf(request, sizeof request,
                       "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", target);

    memcpy(to.sun_path, fixture->path, sizeof to.sun_path);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(send(fd, request, (size_t)len, MSG_NOSIGNAL), len);
    return fd;
}

/* All that comes; the caller's. */
static char *take(int fd, size_t *ret_len)
{
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    size_t len = 0, size = 1 << 16;
    char *text = malloc(size + 1);
    ssize_t n = 1;

    assert_non_null(text);
    while (n > 0) {
        if (len == size) {
            char *grown = realloc(text, (size *= 2) + 1);

            assert_non_null(grown);
            text = grown;
        }
        assert_int_equal(poll(&waiting, 1, WAIT_MS), 1);
        n = recv(fd, text + len, size - len, 0);
        len += n > 0 ? (size_t)n : 0;
    }
    text[len] = '\0';
    close(fd);
    *ret_len = len;
    return text;
}

/* Without the chunks' heads these are the lines, each once and whole? */
static size_t count_digits(const char *text, size_t len)
{
    size_t found = 0;

    for (size_t i = 0; i < len; i++) {
        found += text[i] == '\n' && (!i || text[i - 1] != '\r');
    }
    return found;
}

static void wait_for(atomic_uint *counter, unsigned wanted)
{
    uint64_t until_ns = pd_clock_monotonic_ns() + WAIT_MS * PD_NS_PER_MS;

    while (atomic_load(counter) < wanted && pd_clock_monotonic_ns() < until_ns) {
        usleep(1000);
    }
    assert_true(atomic_load(counter) >= wanted);
}

static void test_kept(void **state)
{
    size_t len;
    char *text = take(ask(*state, "/32768"), &len); /* 2 MiB */

    assert_non_null(strstr(text, "HTTP/1.1 200"));
    assert_non_null(strstr(text, "Content-Length: 2097152\r\n"));
    assert_int_equal(count_digits(text, len), 32768);
    free(text);
    text = take(ask(*state, "/32768!"), &len); /* an error is still told */
    assert_non_null(strstr(text, "HTTP/1.1 504"));
    free(text);
}

static void test_flowing(void **state)
{
    struct fixture *fixture = *state;
    size_t len;
    char *text = take(ask(fixture, "/500000"), &len); /* 32 MB, with a budget of 4 MiB */

    assert_non_null(strstr(text, "HTTP/1.1 200"));
    assert_non_null(strstr(text, "Transfer-Encoding: chunked\r\n"));
    assert_int_equal(count_digits(text, len), 500000);
    assert_memory_equal(text + len - 5, "0\r\n\r\n", 5);
    free(text);
    text = take(ask(fixture, "/500000!"), &len); /* cut off where the client can see it */
    assert_non_null(strstr(text, "HTTP/1.1 200"));
    assert_memory_not_equal(text + len - 5, "0\r\n\r\n", 5);
    free(text);
    assert_int_equal(atomic_load(&fixture->slow), 0);
    assert_int_equal(atomic_load(&fixture->failed), 1);
}

/* What is let go comes before the rest is made. */
static void test_let_go(void **state)
{
    struct fixture *fixture = *state;
    int fd = ask(fixture, "/3~");
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    char text[2000] = "";
    size_t len = 0, rest;

    while (len < sizeof text && count_digits(text, len) < 3) {
        assert_int_equal(poll(&waiting, 1, WAIT_MS), 1);
        ssize_t n = recv(fd, text + len, sizeof text - len, 0);
        assert_true(n > 0);
        len += (size_t)n;
    }
    assert_false(atomic_load(&fixture->more));
    atomic_store(&fixture->more, true);
    char *last = take(fd, &rest);
    assert_int_equal(count_digits(last, rest), 1);
    assert_memory_equal(last + rest - 5, "0\r\n\r\n", 5);
    free(last);
}

/* Those who read nothing lose the budget to those who come, and what flows goes when others wait.
 */
static void test_unread(void **state)
{
    struct fixture *fixture = *state;
    int unread[6];
    size_t len;
    char *text;

    for (int i = 0; i < 3; i++) {
        unread[i] = ask(fixture, "/24576"); /* 1.5 MiB: two fit */
    }
    unread[3] = ask(fixture, "/500000");
    atomic_store(&fixture->contended, true);
    wait_for(&fixture->slow, 1);
    nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 100000000}, NULL);
    text = take(ask(fixture, "/50000"), &len); /* 3.2 MB: kept again */
    assert_non_null(strstr(text, "Content-Length: 3200000\r\n"));
    assert_int_equal(count_digits(text, len), 50000);
    free(text);
    assert_true(atomic_load(&fixture->slow) >= 2);
    assert_int_equal(atomic_load(&fixture->refused), 0);
    for (int i = 0; i < 4; i++) {
        close(unread[i]);
    }
}

/* The server ends while somebody does not read. */
static void test_stop(void **state)
{
    struct fixture *fixture = *state;
    int fd = ask(fixture, "/500000");

    usleep(200000);
    pd_http_stop(fixture->http);
    fixture->http = NULL;
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_flowing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_let_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stop, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
