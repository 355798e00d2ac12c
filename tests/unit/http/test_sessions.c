/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: what begins them, what ends them, and what they may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "http/sessions.h"

static uint64_t now;

static uint64_t clock_now(void)
{
    return now;
}

static struct pd_credentials_set *make_set(const char *lines)
{
    struct pd_credentials_set *set = calloc(1, sizeof *set);
    char *text = strdup(lines);
    struct pd_error error;

    assert_int_equal(pd_http_tokens_parse(text, &set->tokens, &error), 0);
    set->has_tokens = true;
    free(text);
    return set;
}

static void free_set(struct pd_credentials_set *set)
{
    pd_http_tokens_done(&set->tokens);
    free(set);
}

#define READER "read ada aaaaaaaaaaaaaaaaaaaa\n"
#define ADMIN  "admin root bbbbbbbbbbbbbbbbbbbb\n"
#define AGENT  "agent 21 cccccccccccccccccccc\n"

struct fixture {
    struct pd_credentials_set *set;
    struct pd_sessions *sessions;
};

static int set_up(void **state)
{
    static struct fixture fixture;

    now = 1000 * (uint64_t)PD_NS_PER_S;
    fixture = (struct fixture){make_set(READER ADMIN AGENT), pd_http_sessions_new(clock_now)};
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    pd_http_sessions_free(fixture->sessions);
    free_set(fixture->set);
    return 0;
}

/* The header "Cookie" of a browser that got this answer. */
static void take_cookie(const struct pd_answer *answer, char cookie[200])
{
    snprintf(cookie, 200, "other=1; %.*s", (int)strcspn(answer->cookie, ";"), answer->cookie);
}

static int begin(struct fixture *fixture, const char *token, char cookie[200])
{
    struct pd_answer answer;
    struct pd_error error;
    int err;

    pd_http_answer_init(&answer);
    err = pd_http_sessions_begin(fixture->sessions, fixture->set, token, &answer, &error);
    take_cookie(&answer, cookie);
    if (!err) {
        assert_non_null(strstr(answer.cookie, "; HttpOnly; Secure; SameSite=Strict"));
        assert_non_null(strstr(answer.cookie, "; Path=/;"));
        assert_null(strstr(answer.cookie, "Domain"));
    }
    pd_http_answer_done(&answer);
    return err;
}

static int find(struct fixture *fixture, const char *cookie)
{
    struct pd_http_principal principal = {0};
    int err = pd_http_sessions_find(fixture->sessions, fixture->set, cookie, &principal);

    if (!err) { /* whatever the token may */
        assert_int_equal(principal.role, PD_ROLE_READ);
        assert_true(principal.page);
    }
    return err;
}

static void tokens_begin_them(void **state)
{
    char cookie[200];

    assert_int_equal(begin(*state, "aaaaaaaaaaaaaaaaaaaa", cookie), 0);
    assert_int_equal(find(*state, cookie), 0);
    assert_int_equal(begin(*state, "bbbbbbbbbbbbbbbbbbbb", cookie), 0);
    assert_int_equal(find(*state, cookie), 0);
    assert_int_equal(begin(*state, "cccccccccccccccccccc", cookie), -PD_E_FORBIDDEN);
    assert_int_equal(begin(*state, "dddddddddddddddddddd", cookie), -PD_E_UNAUTHORIZED);
    assert_int_equal(begin(*state, "", cookie), -PD_E_UNAUTHORIZED);
}

static void forged_cookies_are_nobodys(void **state)
{
    static const char name[] = "other=1; " PD_SESSION_COOKIE "=";
    char cookie[200], forged[200];

    assert_int_equal(begin(*state, "aaaaaaaaaaaaaaaaaaaa", cookie), 0);
    for (size_t i = sizeof name - 1; cookie[i]; i++) {
        strcpy(forged, cookie);
        forged[i] = forged[i] == '0' ? '1' : '0';
        assert_int_equal(find(*state, forged), -PD_E_UNAUTHORIZED);
    }
    assert_int_equal(find(*state, NULL), -PD_E_NOT_FOUND);
    assert_int_equal(find(*state, ""), -PD_E_NOT_FOUND);
    assert_int_equal(find(*state, "x" PD_SESSION_COOKIE "=1"), -PD_E_NOT_FOUND);
    assert_int_equal(find(*state, PD_SESSION_COOKIE "="), -PD_E_UNAUTHORIZED);
    assert_int_equal(find(*state, ";;; " PD_SESSION_COOKIE "=;"), -PD_E_UNAUTHORIZED);
    assert_int_equal(find(*state, cookie), 0);
}

static void step_s(uint64_t seconds)
{
    now += seconds * PD_NS_PER_S;
}

static void they_end(void **state)
{
    char idle[200], busy[200];

    assert_int_equal(begin(*state, "aaaaaaaaaaaaaaaaaaaa", idle), 0);
    assert_int_equal(begin(*state, "aaaaaaaaaaaaaaaaaaaa", busy), 0);
    for (int i = 0; i < 12 * 60 / 20 - 1; i++) {
        step_s(20 * 60);
        assert_int_equal(find(*state, busy), 0);
    }
    assert_int_equal(find(*state, idle), -PD_E_UNAUTHORIZED);
    step_s(20 * 60);
    assert_int_equal(find(*state, busy), -PD_E_UNAUTHORIZED);
}

static void idle_is_half_an_hour(void **state)
{
    char cookie[200];

    assert_int_equal(begin(*state, "aaaaaaaaaaaaaaaaaaaa", cookie), 0);
    step_s(PD_SESSION_IDLE_S - 1);
    assert_int_equal(find(*state, cookie), 0);
    step_s(PD_SESSION_IDLE_S);
    assert_int_equal(find(*state, cookie), -PD_E_UNAUTHORIZED);
}

static void who_leaves_has_left(void **state)
{
    struct fixture *fixture = *state;
    struct pd_answer answer;
    char cookie[200];

    pd_http_answer_init(&answer);
    assert_int_equal(begin(fixture, "aaaaaaaaaaaaaaaaaaaa", cookie), 0);
    pd_http_sessions_end(fixture->sessions, cookie, &answer);
    assert_non_null(strstr(answer.cookie, "Max-Age=0"));
    assert_int_equal(find(fixture, cookie), -PD_E_UNAUTHORIZED);
    pd_http_sessions_end(fixture->sessions, cookie, &answer); /* once more is as good as once */
    pd_http_sessions_end(fixture->sessions, NULL, &answer);
}

static void they_end_with_their_token(void **state)
{
    struct fixture *fixture = *state;
    char cookie[200], other[200];

    assert_int_equal(begin(fixture, "aaaaaaaaaaaaaaaaaaaa", cookie), 0);
    assert_int_equal(begin(fixture, "bbbbbbbbbbbbbbbbbbbb", other), 0);
    free_set(fixture->set);
    fixture->set = make_set(ADMIN);
    assert_int_equal(find(fixture, cookie), -PD_E_UNAUTHORIZED);
    assert_int_equal(find(fixture, other), 0);
}

static void the_longest_at_rest_makes_room(void **state)
{
    struct fixture *fixture = *state;
    static char cookies[PD_SESSIONS_MAX + 1][200];
    struct pd_sessions_stat stat;

    for (unsigned i = 0; i <= PD_SESSIONS_MAX; i++) {
        step_s(1);
        assert_int_equal(begin(fixture, "aaaaaaaaaaaaaaaaaaaa", cookies[i]), 0);
        assert_int_equal(find(fixture, cookies[0]), 0); /* in use all the time */
    }
    assert_int_equal(find(fixture, cookies[1]), -PD_E_UNAUTHORIZED);
    assert_int_equal(find(fixture, cookies[2]), 0);
    pd_http_sessions_stat(fixture->sessions, &stat);
    assert_int_equal(stat.open, PD_SESSIONS_MAX);
    assert_int_equal(stat.displaced, 1);
    assert_int_equal(stat.begun, PD_SESSIONS_MAX + 1);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(tokens_begin_them),
        CASE(forged_cookies_are_nobodys),
        CASE(they_end),
        CASE(idle_is_half_an_hour),
        CASE(who_leaves_has_left),
        CASE(they_end_with_their_token),
        CASE(the_longest_at_rest_makes_room),
    };

    return cmocka_run_group_tests_name("http/sessions", tests, NULL, NULL);
}
