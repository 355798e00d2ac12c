/* SPDX-License-Identifier: Apache-2.0 */
/* Token files, the comparison of digests, and which files are taken as credentials at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "http/credentials.h"
#include "http/principal.h"
#include "http/tokens.h"
#include "tests/shared/random.h"

/* SHA-256 of "abcdefghijklmnop" */
#define HASHED "sha256:f39dac6cbaba535e2c207cd0cd8f154974223c848f727f98b3564cea569b41cf"

static int parse(const char *text, struct pd_tokens *tokens, struct pd_error *error)
{
    char *copy = strdup(text);
    int err = pd_http_tokens_parse(copy, tokens, error);

    free(copy);
    return err;
}

static void test_lines(void **state)
{
    struct pd_tokens tokens = {0};
    const struct pd_token *found;

    (void)state;
    assert_int_equal(parse("# a comment\n\n  read dash 0123456789abcdef\r\n"
                           "admin\tops\t" HASHED "\nagent 21 token-of-host-twentyone\n"
                           "install token-without-a-name",
                           &tokens, NULL),
                     0);
    assert_int_equal(tokens.len, 4);
    found = pd_http_tokens_find(&tokens, "0123456789abcdef", 16);
    assert_non_null(found);
    assert_int_equal(found->role, PD_ROLE_READ);
    assert_string_equal(found->name, "dash");
    found = pd_http_tokens_find(&tokens, "abcdefghijklmnop", 16);
    assert_non_null(found);
    assert_int_equal(found->role, PD_ROLE_ADMIN);
    found = pd_http_tokens_find(&tokens, "token-without-a-name", 20);
    assert_string_equal(found->name, "install");
    assert_null(pd_http_tokens_find(&tokens, "0123456789abcdeg", 16));
    assert_null(pd_http_tokens_find(&tokens, "0123456789abcde", 15));
    assert_null(pd_http_tokens_find(&tokens, "", 0));
    assert_null(pd_http_tokens_find(&tokens, HASHED, strlen(HASHED))); /* the digest is no token */
    pd_http_tokens_done(&tokens);
}

/* What is refused is named by its line, and never repeated. */
static void test_bad_lines(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "no token"},
        {"# only words\n", "no token"},
        {"read\n", "line 1: expects"},
        {"\nread a SECRETsecretSECRET b\n", "line 2: expects"},
        {"root a SECRETsecretSECRET\n", "line 1: the role"},
        {"any a SECRETsecretSECRET\n", "line 1: the role"},
        {"read a SECRET\n", "line 1: a token has 16"},
        {"read a SECRETsecretSECR\xc3\x89T\n", "line 1: a token has"},
        {"read a sha256:SECRET\n", "line 1: sha256"},
        {"read a sha256:SECRETsecretSECRETsecretSECRETsecretSECRETsecretSECRETsecretSECRE\n",
         "line 1: sha256"},
        {"read aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "
         "SECRETsecretSECRET\n",
         "line 1: a name"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pd_tokens tokens = {0};
        struct pd_error error = {0};

        assert_true(parse(cases[i].text, &tokens, &error) < 0);
        if (!strstr(error.text, cases[i].says) || strstr(error.text, "SECRET")) {
            fail_msg("case %zu: \"%s\"", i, error.text);
        }
        assert_null(tokens.items);
    }
}

/* Against memcmp; that its time tells nothing no test can show. */
static void test_equal(void **state)
{
    struct random random = {test_seed()};
    uint8_t a[32], b[32];

    (void)state;
    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < sizeof a; i++) {
            a[i] = b[i] = (uint8_t)random_next(&random);
        }
        if (round & 1) {
            b[random_below(&random, 32)] ^= (uint8_t)(1u << random_below(&random, 8));
        }
        assert_int_equal(pd_http_tokens_equal(a, b, sizeof a), !memcmp(a, b, sizeof a));
    }
}

/* ---- files ---- */

static char *make_file(char *path, const char *text, mode_t mode)
{
    int fd;

    strcpy(path, "/tmp/pd-tokens-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    return path;
}

static void test_modes(void **state)
{
    static const struct {
        mode_t mode;
        bool good;
    } cases[] = {{0600, true},  {0640, true},  {0400, true},  {0644, false},
                 {0604, false}, {0660, false}, {0601, false}, {0602, false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pd_credentials *credentials = NULL;
        struct pd_error error = {0};
        char path[32];
        struct pd_credentials_files files = {
            .tokens = make_file(path, "read a 0123456789abcdef\n", cases[i].mode)};
        int err = pd_http_credentials_new(&files, &credentials, &error);

        if ((err == 0) != cases[i].good) {
            fail_msg("mode %o: %d %s", (unsigned)cases[i].mode, err, error.text);
        }
        pd_http_credentials_free(credentials);
        unlink(path);
    }
}

static void test_who(void **state)
{
    struct pd_credentials *credentials = NULL;
    struct pd_http_principal_cache cache = {0};
    struct pd_http_principal principal;
    char path[32];
    struct pd_credentials_files files = {.tokens =
                                             make_file(path, "agent 21 0123456789abcdef\n", 0600)};

    (void)state;
    pd_http_principal_find(NULL, NULL, NULL, &cache, &principal);
    assert_int_equal(principal.role, PD_ROLE_ADMIN);
    assert_int_equal(pd_http_credentials_new(&files, &credentials, NULL), 0);
    struct pd_credentials_set *set = pd_http_credentials_hold(credentials);
    pd_http_principal_find(set, NULL, "bearer 0123456789abcdef", &cache, &principal);
    assert_int_equal(principal.role, PD_ROLE_AGENT);
    assert_string_equal(principal.name, "21");
    static const char *const bad[] = {NULL,
                                      "",
                                      "Bearer",
                                      "Bearer ",
                                      "Bearer  0123456789abcdef",
                                      "Basic 0123456789abcdef",
                                      "Bearer 0123456789abcdef "};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pd_http_principal_find(set, NULL, bad[i], &cache, &principal);
        assert_int_equal(principal.role, PD_ROLE_NONE);
        assert_int_equal(principal.why.code, -PD_E_UNAUTHORIZED);
        assert_string_equal(principal.name, "");
        assert_null(strstr(principal.why.text, "0123"));
    }
    pd_http_credentials_drop(set);
    pd_http_credentials_free(credentials);
    unlink(path);
}

/* A set stays whole for who holds it, whatever comes after it. */
static void test_reload(void **state)
{
    struct pd_credentials *credentials = NULL;
    struct pd_credentials_set *set, *old;
    struct pd_error error = {0};
    char one[32], two[32];
    struct pd_credentials_files first = {.tokens =
                                             make_file(one, "read a 0123456789abcdef\n", 0600)};
    struct pd_credentials_files second = {.tokens = make_file(two, "read a broken\n", 0600)};

    (void)state;
    assert_int_equal(pd_http_credentials_new(&first, &credentials, NULL), 0);
    assert_int_equal(pd_http_credentials_read(credentials, &second, &set, &error), -PD_E_VALUE);
    second.tokens = NULL;
    old = pd_http_credentials_hold(credentials);
    assert_int_equal(pd_http_credentials_read(credentials, &second, &set, &error), 0);
    pd_http_credentials_put(credentials, set);
    assert_non_null(pd_http_tokens_find(&old->tokens, "0123456789abcdef", 16));
    set = pd_http_credentials_hold(credentials);
    assert_true(set != old && set->generation > old->generation && pd_http_credentials_open(set));
    pd_http_credentials_drop(set);
    pd_http_credentials_drop(old);
    pd_http_credentials_free(credentials);
    unlink(one);
    unlink(two);
}

static void test_listen(void **state)
{
    static const struct {
        struct pd_credentials_files files;
        const char *listen;
        const char *says; /* NULL: fine */
    } cases[] = {
        {{0}, "127.0.0.1:0", NULL},
        {{0}, "unix:/run/x", NULL},
        {{0}, "0.0.0.0:1", "not on loopback"},
        {{0}, "[::]:1", "not on loopback"},
        {{0}, "192.0.2.1:1", "not on loopback"},
        {{.tokens = "t"}, "192.0.2.1:1", "not on loopback"},
        {{.ca = "a"}, "192.0.2.1:1", "not on loopback"},
        {{.cert = "c", .key = "k"}, "192.0.2.1:1", "nobody could be let in"},
        {{.cert = "c", .key = "k"}, "127.0.0.1:1", "nobody could be let in"},
        {{.cert = "c", .key = "k"}, "unix:/run/x", NULL},
        {{.cert = "c", .key = "k", .ca = "a"}, "0.0.0.0:1", NULL},
        {{.cert = "c", .key = "k", .tokens = "t"}, "[2001:db8::1]:1", NULL},
        {{.cert = "c", .key = "k", .tokens = "t"}, "example.org:1", "expects"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pd_error error = {0};
        int err = pd_http_credentials_check_listen(&cases[i].files, cases[i].listen, &error);

        if ((err == 0) != !cases[i].says || (err && !strstr(error.text, cases[i].says))) {
            fail_msg("%s: %d %s", cases[i].listen, err, error.text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),  cmocka_unit_test(test_bad_lines),
        cmocka_unit_test(test_equal),  cmocka_unit_test(test_modes),
        cmocka_unit_test(test_who),    cmocka_unit_test(test_reload),
        cmocka_unit_test(test_listen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
