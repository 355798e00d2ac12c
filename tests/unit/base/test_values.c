/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of base/: errors, addresses, flow matches, paths, links, times, hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/flow_id.h"
#include "base/hash.h"
#include "base/path.h"

static void errors_have_text_and_status(void **state)
{
    (void)state;
#define X(name, http, text)                            \
    assert_string_equal(pd_error_text(-(name)), text); \
    assert_int_equal(pd_error_http(-(name)), http);
    PD_ERRORS(X)
#undef X
    assert_string_equal(pd_error_text(-ENOENT), strerror(ENOENT));
    assert_int_equal(pd_error_http(-ENOENT), 404);
    assert_int_equal(pd_error_http(-EIO), 500);
}

static void failures_are_nested_and_cut(void **state)
{
    (void)state;
    struct pd_error error;
    assert_int_equal(pd_fail(&error, -PD_E_VALUE, "links[%d]: dangling", 3), -PD_E_VALUE);
    assert_int_equal(pd_fail_within(&error, "a.json"), -PD_E_VALUE);
    assert_string_equal(error.text, "a.json: links[3]: dangling");
    char longer[2 * sizeof error.text];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    pd_fail(&error, -EIO, "%s", longer);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_int_equal(pd_fail(NULL, -EIO, "nobody listens"), -EIO);
}

static void words_of_others_lose_their_controls(void **state)
{
    (void)state;
    char text[] = "a\nb\x1b[2J\x7f \xc2\x9b"
                  "31m \xc2\xa9 \xc3\xa9";
    pd_printable(text);
    assert_string_equal(text, "a?b?[2J? ??31m \xc2\xa9 \xc3\xa9");
}

static void addresses_round_trip(void **state)
{
    (void)state;
    static const char *const good[] = {"10.1.1.2",      "0.0.0.0", "255.255.255.255",
                                       "fd00:0:1:1::2", "::",      "::ffff:1.2.3.4"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct pd_addr addr;
        uint8_t version;
        char text[PD_ADDR_TEXT_BYTES];
        assert_int_equal(pd_addr_parse(good[i], &addr, &version), 0);
        assert_int_equal(version, strchr(good[i], ':') ? 6 : 4);
        assert_string_equal(pd_addr_format(&addr, version, text), good[i]);
    }
    static const char *const bad[] = {"",         "10.1.1", "10.1.1.256", "10.1.1.2 ",
                                      "fd00:::1", "x",      "1.2.3.4.5",  "10.1.1.2/24"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pd_addr addr = {{7}};
        uint8_t version = 9;
        assert_int_equal(pd_addr_parse(bad[i], &addr, &version), -PD_E_VALUE);
        assert_int_equal(version, 9);
        assert_int_equal(addr.bytes[0], 7);
    }
}

static struct pd_flow_id flow(const char *src, const char *dst, uint16_t src_port,
                              uint16_t dst_port, uint8_t protocol)
{
    struct pd_flow_id id = {.src_port = src_port, .dst_port = dst_port, .protocol = protocol};
    assert_int_equal(pd_addr_parse(src, &id.src, &id.ip_version), 0);
    assert_int_equal(pd_addr_parse(dst, &id.dst, &id.ip_version), 0);
    return id;
}

static void ends_have_brackets_around_ipv6(void **state)
{
    (void)state;
    const char *longest = "fd00:1111:2222:3333:4444:5555:6666:7777";
    struct pd_flow_id v4 = flow("10.1.1.2", "10.2.1.2", 1000, 80, 6);
    struct pd_flow_id v6 = flow("fd00::2", "::1", 0, 65535, 6);
    struct pd_flow_id most = flow(longest, longest, 65535, 65535, 6);
    char text[PD_ENDS_TEXT_BYTES], end[PD_END_TEXT_BYTES];

    assert_string_equal(pd_ends_format(&v4, text), "10.1.1.2:1000 > 10.2.1.2:80");
    assert_string_equal(pd_ends_format(&v6, text), "[fd00::2]:0 > [::1]:65535");
    assert_string_equal(pd_ends_format(&most, text),
                        "[fd00:1111:2222:3333:4444:5555:6666:7777]:65535 > "
                        "[fd00:1111:2222:3333:4444:5555:6666:7777]:65535");
    assert_string_equal(pd_end_format(&v6.src, 6, 443, end), "[fd00::2]:443");
}

static void matches_compare_only_given_fields(void **state)
{
    (void)state;
    struct pd_flow_id id = flow("10.1.1.2", "10.2.1.2", 1000, 80, 6);
    for (unsigned fields = 0; fields <= PD_FLOW_ALL; fields++) {
        struct pd_flow_match match = {.id = id, .fields = fields};
        assert_true(pd_flow_matches(&match, &id));
        struct pd_flow_id others[] = {
            flow("10.1.1.3", "10.2.1.2", 1000, 80, 6), flow("10.1.1.2", "10.2.1.3", 1000, 80, 6),
            flow("10.1.1.2", "10.2.1.2", 1001, 80, 6), flow("10.1.1.2", "10.2.1.2", 1000, 81, 6),
            flow("10.1.1.2", "10.2.1.2", 1000, 80, 17)};
        for (unsigned i = 0; i < 5; i++) {
            assert_int_equal(pd_flow_matches(&match, &others[i]), !(fields >> i & 1));
        }
    }
    struct pd_flow_match ports = {.id = id, .fields = PD_FLOW_DST_PORT};
    struct pd_flow_id v6 = flow("fd00::1", "fd00::2", 5, 80, 6);
    assert_true(pd_flow_matches(&ports, &v6));
    struct pd_flow_match any4 = {.id = {.ip_version = 4}, .fields = PD_FLOW_SRC_IP};
    struct pd_flow_id zero6 = flow("::", "fd00::2", 5, 80, 6);
    assert_false(pd_flow_matches(&any4, &zero6));
}

static void paths_are_parsed_and_crossed(void **state)
{
    (void)state;
    struct pd_path path;
    assert_int_equal(pd_path_parse("1,9,17,11,3", &path), 0);
    assert_int_equal(path.len, 5);
    assert_int_equal(path.switches[3], 11);
    assert_int_equal(path.switches[5], 0);
    struct pd_link_match link;
    char text[PD_LINK_TEXT_BYTES];
    static const struct {
        const char *link;
        bool crosses;
    } cases[] = {{"9-17", true}, {"17-9", false}, {"*-17", true}, {"*-1", false},
                 {"3-*", false}, {"11-*", true},  {"*-*", true},  {"1-17", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(pd_link_parse(cases[i].link, &link), 0);
        assert_int_equal(pd_path_crosses(&path, link), cases[i].crosses);
        assert_string_equal(pd_link_format(link, text), cases[i].link);
    }
    assert_string_equal(pd_link_format((struct pd_link_match){UINT32_MAX, UINT32_MAX}, text),
                        "4294967295-4294967295");
    static const char *const bad_links[] = {
        "", "9", "9-", "-9", "nine-17", "9-17-", "0-1", "9--17", "4294967296-1", "**-1", " 9-1"};
    for (size_t i = 0; i < sizeof bad_links / sizeof *bad_links; i++) {
        assert_int_equal(pd_link_parse(bad_links[i], &link), -PD_E_VALUE);
    }
    static const char *const bad_paths[] = {"", "1,", ",1", "1,x", "0", "1 ,2", "4294967296"};
    for (size_t i = 0; i < sizeof bad_paths / sizeof *bad_paths; i++) {
        assert_int_equal(pd_path_parse(bad_paths[i], &path), -PD_E_VALUE);
    }
    char longest[4 * PD_PATH_MAX + 1] = "1";
    for (int i = 1; i < PD_PATH_MAX; i++) {
        strcat(longest, ",1");
    }
    assert_int_equal(pd_path_parse(longest, &path), 0);
    assert_int_equal(pd_path_parse(strcat(longest, ",1"), &path), -PD_E_VALUE);
}

static void times_are_seconds_or_rfc3339(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t us;
    } good[] = {{"0", 0},
                {"1700000000", 1700000000000000},
                {"1700000000.25", 1700000000250000},
                {"1.0000019", 1000001},
                {"2023-11-14T22:13:20Z", 1700000000000000},
                {"2023-11-15T00:13:20.5+02:00", 1700000000500000},
                {"2023-11-14t20:13:20-02:00", 1700000000000000},
                {"1970-01-01T00:00:00Z", 0},
                {"2024-02-29T00:00:00Z", 1709164800000000},
                {"9007199254.740991", 9007199254740991},
                {"9007199254.740992", 9007199254740991},
                {"9999999999", 9007199254740991},
                {"253402300799.9", 9007199254740991},
                {"9999-12-31T23:59:59Z", 9007199254740991}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t us = 1;
        assert_int_equal(pd_time_parse(good[i].text, &us), 0);
        assert_int_equal(us, good[i].us);
    }
    static const char *const bad[] = {"",
                                      "-1",
                                      "1.",
                                      ".5",
                                      "yesterday",
                                      "1e9",
                                      "1700000000 ",
                                      "253402300800",
                                      "9999-12-31T23:59:59-00:01",
                                      "2023-13-01T00:00:00Z",
                                      "2023-02-30T00:00:00Z",
                                      "2023-11-14",
                                      "2023-11-14T22:13:20",
                                      "2023-11-14T24:00:00Z",
                                      "1969-12-31T23:59:59Z",
                                      "2023-11-14T22:13:20.Z",
                                      "2023-11-14T22:13:20Zx",
                                      "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t us = 42;
        assert_int_equal(pd_time_parse(bad[i], &us), -PD_E_VALUE);
        assert_int_equal(us, 42);
    }
    char text[PD_TIME_TEXT_BYTES];
    assert_string_equal(pd_time_format(1700000000250001, text), "2023-11-14T22:13:20.250001Z");
}

/* The value is stored in files: a change of it is a change of format. */
static void hash_is_pinned(void **state)
{
    (void)state;
    struct pd_flow_id id = flow("10.1.1.2", "10.2.1.2", 1000, 80, 6);
    uint64_t pinned = pd_flow_id_hash(&id);
    assert_int_equal(pinned, UINT64_C(0x04d4b5ef33468088));
    unsigned changed = 0;
    for (unsigned bit = 0; bit < 8 * sizeof id; bit++) {
        struct pd_flow_id other = id;
        ((uint8_t *)&other)[bit / 8] ^= (uint8_t)(1 << bit % 8);
        changed += (unsigned)__builtin_popcountll(pd_flow_id_hash(&other) ^ pinned);
    }
    assert_in_range(changed, 8 * sizeof id * 28, 8 * sizeof id * 36);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_text_and_status),
        cmocka_unit_test(failures_are_nested_and_cut),
        cmocka_unit_test(words_of_others_lose_their_controls),
        cmocka_unit_test(addresses_round_trip),
        cmocka_unit_test(ends_have_brackets_around_ipv6),
        cmocka_unit_test(matches_compare_only_given_fields),
        cmocka_unit_test(paths_are_parsed_and_crossed),
        cmocka_unit_test(times_are_seconds_or_rfc3339),
        cmocka_unit_test(hash_is_pinned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
