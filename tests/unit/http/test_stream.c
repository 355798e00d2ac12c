/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are made while they are sent: whole, cut off, too many, not taken, and the end of
 * the server. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "http/server.h"

enum { STREAMS_MAX = 2, TAKE_S = 1, WAIT_MS = 20000 };

/* "/words": three words and the end; "/cut": one and an error; "/quiet": nothing; "/flood": more
 * than anybody takes. */
struct source {
    struct fixture *fixture;
    char what;
    unsigned read;
};

struct fixture {
    struct pd_http *http;
    struct pd_listener listener;
    char path[108];
    char resumed[32];
    atomic_uint open, refused;
};

static ssize_t read_source(void *context, char *buffer, size_t size)
{
    struct source *source = context;

    switch (source->what) {
    case 'q': usleep(5000); return 0;
    case 'f': memset(buffer, 'x', size); return (ssize_t)size;
    case 'c':
        if (source->read) {
            return -EIO;
        }
        break;
    default:
        if (source->read == 6) {
            return -PD_E_EOF;
        }
    }
    if (source->read++ % 2) {
        return 0; /* each word after a while */
    }
    memcpy(buffer, "word", 4);
    return 4;
}

static void close_source(void *context)
{
    struct source *source = context;

    atomic_fetch_sub(&source->fixture->open, 1);
    free(source);
}

static void answer(void *context, const struct pd_http_request *request, struct pd_answer *answer)
{
    struct fixture *fixture = context;
    struct source *source = calloc(1, sizeof *source);

    if (request->target[1] == 'w' && request->last_event_id) { /* others are answered at once */
        snprintf(fixture->resumed, sizeof fixture->resumed, "%s", request->last_event_id);
    }
    source->fixture = fixture;
    source->what = request->target[1];
    atomic_fetch_add(&fixture->open, 1);
    pd_http_answer_stream(answer, "text/event-stream",
                          &(struct pd_answer_stream){source, read_source, close_source});
}

static void count(void *context, enum pd_http_event event)
{
    struct fixture *fixture = context;

    atomic_fetch_add(&fixture->refused, event == PD_HTTP_REFUSED);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    struct pd_http_service service = {.context = &fixture,
                                      .answer = answer,
                                      .count = count,
                                      .body_max_bytes = 1000,
                                      .requests_max = 8,
                                      .streams_max = STREAMS_MAX,
                                      .stream_take_s = TAKE_S};
    char address[120];

    memset(&fixture, 0, sizeof fixture);
    snprintf(fixture.path, sizeof fixture.path, "/tmp/pd-stream-%d", getpid());
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
    assert_int_equal(atomic_load(&fixture->open), 0);
    return 0;
}

static int ask(const struct fixture *fixture, const char *target)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char request[200];
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int len = snprintf(request, sizeof request,
                       "GET %s HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 17\r\n\r\n", target);

    memcpy(to.sun_path, fixture->path, sizeof to.sun_path);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(send(fd, request, (size_t)len, MSG_NOSIGNAL), len);
    return fd;
}

/* What comes until `end` is in it or the connection ends. */
static void take(int fd, const char *end, char *text, size_t size)
{
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    size_t len = 0;
    ssize_t n = 1;

    text[0] = '\0';
    while (n > 0 && len + 1 < size && !strstr(text, end)) {
        assert_int_equal(poll(&waiting, 1, WAIT_MS), 1);
        n = recv(fd, text + len, size - len - 1, 0);
        len += n > 0 ? (size_t)n : 0;
        text[len] = '\0';
    }
}

static void wait_open(struct fixture *fixture, unsigned wanted)
{
    uint64_t until_ns = pd_clock_monotonic_ns() + WAIT_MS * PD_NS_PER_MS;

    while (atomic_load(&fixture->open) != wanted && pd_clock_monotonic_ns() < until_ns) {
        usleep(1000);
    }
    assert_int_equal(atomic_load(&fixture->open), wanted);
}

/* However they were put into chunks. */
static unsigned count_words(const char *text)
{
    unsigned words = 0;

    while ((text = strstr(text, "word"))) {
        text += strlen("word");
        words++;
    }
    return words;
}

static void test_whole(void **state)
{
    char text[4096];
    int fd = ask(*state, "/words");

    take(fd, "\r\n0\r\n\r\n", text, sizeof text);
    assert_non_null(strstr(text, "HTTP/1.1 200"));
    assert_non_null(strstr(text, "text/event-stream"));
    assert_int_equal(count_words(text), 3);
    assert_string_equal(((struct fixture *)*state)->resumed, "17");
    wait_open(*state, 0);
    close(fd);
}

/* The client can tell: the last chunk is missing. */
static void test_cut(void **state)
{
    char text[4096];
    int fd = ask(*state, "/cut");

    take(fd, "\r\n0\r\n\r\n", text, sizeof text);
    assert_non_null(strstr(text, "word"));
    assert_null(strstr(text, "\r\n0\r\n\r\n"));
    wait_open(*state, 0);
    close(fd);
}

static void test_too_many(void **state)
{
    struct fixture *fixture = *state;
    char text[4096];
    int quiet[STREAMS_MAX], fd;

    for (int i = 0; i < STREAMS_MAX; i++) {
        quiet[i] = ask(fixture, "/quiet");
    }
    wait_open(fixture, STREAMS_MAX);
    fd = ask(fixture, "/words");
    take(fd, "\r\n\r\n", text, sizeof text);
    assert_non_null(strstr(text, "HTTP/1.1 503"));
    assert_int_equal(atomic_load(&fixture->refused), 1);
    close(fd);
    for (int i = 0; i < STREAMS_MAX; i++) {
        close(quiet[i]);
    }
} /* and the server stops while both are waiting */

static void test_not_taken(void **state)
{
    struct fixture *fixture = *state;
    int fd = ask(fixture, "/flood");

    wait_open(fixture, 1);
    wait_open(fixture, 0); /* though the client is still there */
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_taken, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
