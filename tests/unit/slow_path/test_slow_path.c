/* SPDX-License-Identifier: Apache-2.0 */
/* The slow path: rates, ICMP time exceeded, punts that are written down. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "slow_path/slow_path.h"

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

static const struct pd_addr link_v4 = {{10, 255, 0, 1}};
static const struct pd_addr link_v6 = {{0xfd, 0, [15] = 7}};

/* A UDP packet over IPv4 behind one tag. */
static size_t make_v4(uint8_t *frame, size_t payload)
{
    static const uint8_t head[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, 7, 8, 0};
    const size_t total = 28 + payload;
    memset(frame, 0xab, sizeof head + total);
    memcpy(frame, head, sizeof head);
    uint8_t *ip = frame + sizeof head;
    memset(ip, 0, 28);
    ip[0] = 0x45;
    ip[2] = (uint8_t)(total >> 8);
    ip[3] = (uint8_t)total;
    ip[8] = 1;
    ip[9] = 17;
    memcpy(ip + 12, "\x0a\x01\x01\x02\x0a\x02\x01\x02", 8);
    ip[25] = (uint8_t)(8 + payload);
    return sizeof head + total;
}

static size_t make_v6(uint8_t *frame, size_t payload)
{
    static const uint8_t head[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd};
    memset(frame, 0xcd, sizeof head + 48 + payload);
    memcpy(frame, head, sizeof head);
    uint8_t *ip = frame + sizeof head;
    memset(ip, 0, 48);
    ip[0] = 0x60;
    ip[4] = (uint8_t)((8 + payload) >> 8);
    ip[5] = (uint8_t)(8 + payload);
    ip[6] = 17;
    ip[7] = 1;
    ip[8] = ip[24] = 0xfd;
    ip[23] = 1;
    ip[39] = 2;
    return sizeof head + 48 + payload;
}

static uint16_t checksum(const uint8_t *bytes, size_t len, uint32_t sum)
{
    for (size_t i = 0; i < len; i++) {
        sum += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
    }
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)~sum;
}

static void answers_ipv4(void **state)
{
    uint8_t frame[1500], answer[PD_SLOW_PATH_ANSWER_BYTES];
    (void)state;
    for (size_t payload = 0; payload < 1400; payload += 7) {
        size_t bytes = make_v4(frame, payload);
        size_t got = pd_slow_path_time_exceeded(frame, bytes, &link_v4, NULL, answer);
        size_t quoted = 28 + payload < 548 ? 28 + payload : 548;
        assert_int_equal(got, 14 + 28 + quoted);
        assert_memory_equal(answer, frame + 6, 6);
        assert_memory_equal(answer + 6, frame, 6);
        assert_memory_equal(answer + 12, "\x08\x00\x45", 3);
        assert_int_equal(checksum(answer + 14, 20, 0), 0);
        assert_memory_equal(answer + 26, link_v4.bytes, 4);
        assert_memory_equal(answer + 30, frame + 18 + 12, 4);
        assert_int_equal(answer[34], 11);
        assert_int_equal(checksum(answer + 34, got - 34, 0), 0);
        assert_memory_equal(answer + 42, frame + 18, quoted);
    }
    assert_int_equal(pd_slow_path_time_exceeded(frame, make_v4(frame, 9), NULL, &link_v6, answer),
                     0);
}

static void answers_ipv6(void **state)
{
    uint8_t frame[2000], answer[PD_SLOW_PATH_ANSWER_BYTES];
    (void)state;
    for (size_t payload = 0; payload < 1900; payload += 13) {
        size_t bytes = make_v6(frame, payload);
        size_t got = pd_slow_path_time_exceeded(frame, bytes, NULL, &link_v6, answer);
        size_t quoted = 48 + payload < 1232 ? 48 + payload : 1232;
        assert_int_equal(got, 14 + 48 + quoted);
        assert_memory_equal(answer + 22, link_v6.bytes, 16);
        assert_memory_equal(answer + 38, frame + 22, 16);
        assert_int_equal(answer[54], 3);
        assert_int_equal(checksum(answer + 22, got - 22, (uint32_t)(8 + quoted) + 58), 0);
        assert_memory_equal(answer + 62, frame + 14, quoted);
    }
}

/* Errors, later fragments, groups and what is cut off have no answer. */
static void keeps_silent(void **state)
{
    uint8_t frame[200], answer[PD_SLOW_PATH_ANSWER_BYTES];
    uint8_t *ip = frame + 18;
    size_t bytes = make_v4(frame, 20);
    (void)state;
    ip[9] = 1;
    ip[20] = 11;
    assert_int_equal(pd_slow_path_time_exceeded(frame, bytes, &link_v4, NULL, answer), 0);
    ip[20] = 8;
    assert_int_not_equal(pd_slow_path_time_exceeded(frame, bytes, &link_v4, NULL, answer), 0);
    ip[7] = 9;
    assert_int_equal(pd_slow_path_time_exceeded(frame, bytes, &link_v4, NULL, answer), 0);
    ip[7] = 0;
    ip[16] = 239;
    assert_int_equal(pd_slow_path_time_exceeded(frame, bytes, &link_v4, NULL, answer), 0);
    ip[16] = 10;
    memset(ip + 12, 0, 4);
    assert_int_equal(pd_slow_path_time_exceeded(frame, bytes, &link_v4, NULL, answer), 0);
    make_v4(frame, 20);
    for (size_t cut = 0; cut < bytes; cut++) {
        assert_int_equal(pd_slow_path_time_exceeded(frame, cut, &link_v4, NULL, answer), 0);
    }
}

static void keeps_rates(void **state)
{
    struct pd_slow_path_rate rate = {.per_s = 100};
    unsigned taken = 0;
    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        taken += pd_slow_path_rate_take(&rate, 5 * S);
    }
    assert_int_equal(taken, 100);
    for (unsigned i = 0; i < 1000; i++) {
        taken += pd_slow_path_rate_take(&rate, 5 * S + i * MS);
    }
    assert_in_range(taken, 199, 200);
    assert_false(pd_slow_path_rate_take(&rate, 4 * S));
    assert_true(pd_slow_path_rate_take(&rate, 60 * S));
}

static struct pd_slow_path *open_at(char folder[], const char *lines, uint32_t icmp_per_s,
                                    uint32_t lines_per_s)
{
    char punts[100], addresses[100];
    struct pd_slow_path *path;
    struct pd_error error = {0};
    snprintf(punts, sizeof punts, "%s/punts", folder);
    snprintf(addresses, sizeof addresses, "%s/interfaces.swx", folder);
    const struct pd_slow_path_config config = {
        .switch_id = 9, .punts = punts, .icmp_per_s = icmp_per_s, .lines_per_s = lines_per_s};
    assert_int_equal(pd_slow_path_open(&config, &path, &error), 0);
    FILE *out = fopen(addresses, "w");
    fputs(lines, out);
    fclose(out);
    int err = pd_slow_path_read_addresses(path, addresses, &error);
    unlink(addresses);
    if (err) {
        assert_non_null(strstr(error.text, "interfaces.swx:2: "));
        pd_slow_path_close(path);
        return NULL;
    }
    return path;
}

static unsigned lines_of(const char *folder)
{
    char punts[100], line[4096];
    unsigned len = 0;
    snprintf(punts, sizeof punts, "%s/punts", folder);
    FILE *in = fopen(punts, "r");
    while (fgets(line, sizeof line, in)) {
        assert_non_null(strstr(line, "{\"switch\": 9, \"in_port\": 3, \"time_us\": 7000"));
        len++;
    }
    fclose(in);
    unlink(punts);
    return len;
}

/* So many lines and answers, whatever the storm; the others are counted. */
static void limits_storms(void **state)
{
    char folder[] = "/tmp/slow-path-XXXXXX";
    uint8_t frame[200], answer[PD_SLOW_PATH_ANSWER_BYTES];
    const size_t bytes = make_v4(frame, 20);
    struct pd_slow_path_punt punt = {
        .in_port = 3, .time_ns = 7000 * 1000, .reason = "ttl", .frame = frame, .bytes = bytes};
    unsigned answered = 0;
    (void)state;
    assert_non_null(mkdtemp(folder));
    struct pd_slow_path *path =
        open_at(folder, "match 3 action address v4 0x0aff0001 v6_hi 0x0 v6_lo 0x0\n", 10, 50);
    assert_non_null(path);
    for (unsigned i = 0; i < 500; i++) {
        answered += pd_slow_path_take(path, &punt, answer) > 0;
    }
    assert_int_equal(answered, 10);
    assert_int_equal(pd_slow_path_unwritten(path), 450);
    punt.reason = "long_path";
    punt.time_ns += 999;
    assert_int_equal(pd_slow_path_take(path, &punt, answer), 0);
    pd_slow_path_close(path);
    assert_int_equal(lines_of(folder), 50);
    assert_null(
        open_at(folder, "match 3 action address v4 0x1 v6_hi 0x0 v6_lo 0x0\nmatch x\n", 1, 1));
    lines_of(folder);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_ipv4),  cmocka_unit_test(answers_ipv6),
        cmocka_unit_test(keeps_silent),  cmocka_unit_test(keeps_rates),
        cmocka_unit_test(limits_storms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
