/* SPDX-License-Identifier: Apache-2.0 */
/* Probes and the ICMP errors that quote them; resolvers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/icmp.h"
#include "trace/probe.h"
#include "trace/resolver.h"

static const uint8_t key[PD_SIPHASH_KEY_BYTES] = {1, 2, 3};

static struct pd_trace_header header_of(uint8_t ip_version)
{
    struct pd_trace_header header = {
        .flow = {.src_port = 40000, .dst_port = 443, .protocol = 6, .ip_version = ip_version},
        .flow_label = ip_version == 6 ? 0xabcde : 0,
        .traffic_class = 0xb8};
    uint8_t version;

    assert_int_equal(
        pd_addr_parse(ip_version == 4 ? "10.0.1.2" : "fd00::1:2", &header.flow.src, &version), 0);
    assert_int_equal(
        pd_addr_parse(ip_version == 4 ? "10.0.2.2" : "fd00::2:2", &header.flow.dst, &version), 0);
    return header;
}

static uint32_t sum_of(uint32_t sum, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        sum += i & 1 ? bytes[i] : (uint32_t)bytes[i] << 8;
    }
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

/* What the receiver works out: 0xffff is a checksum that is right. */
static uint32_t tcp_sum(const struct pd_trace_header *header, const uint8_t *tcp)
{
    uint32_t sum = sum_of(6 + 20, header->flow.src.bytes, 16);

    sum = sum_of(sum, header->flow.dst.bytes, 16);
    return sum_of(sum, tcp, 20);
}

static void probes_are_the_flows(void **state)
{
    uint8_t bytes[PD_TRACE_PROBE_BYTES_MAX];
    struct pd_trace_header four = header_of(4), six = header_of(6);

    (void)state;
    assert_int_equal(pd_trace_probe_write(&four, 3, 0x01020304, bytes), 40);
    assert_int_equal(bytes[1], 0xb8);
    assert_int_equal(bytes[5], 3); /* IP ID */
    assert_int_equal(bytes[8], 3); /* TTL */
    assert_memory_equal(bytes + 12, four.flow.src.bytes, 4);
    assert_memory_equal(bytes + 24, "\1\2\3\4", 4);
    assert_int_equal(bytes[33], 0x10); /* ACK alone: nothing that could end a connection */
    assert_int_not_equal(tcp_sum(&four, bytes + 20), 0xffff);
    four.rewritten = true;
    assert_int_equal(pd_trace_probe_write(&four, 3, 0x01020304, bytes), 40);
    assert_int_equal(bytes[33], 0); /* nothing that conntrack takes for a connection */
    assert_int_not_equal(tcp_sum(&four, bytes + 20), 0xffff);
    assert_int_equal(pd_trace_probe_write(&six, 9, 1, bytes), 60);
    assert_memory_equal(bytes, "\x6b\x8a\xbc\xde", 4);
    assert_int_equal(bytes[7], 9);
    assert_int_not_equal(tcp_sum(&six, bytes + 40), 0xffff);
}

static void cookies_are_of_all_three(void **state)
{
    struct pd_trace_header four = header_of(4), other = header_of(4);
    uint32_t cookie = pd_trace_cookie(key, &four.flow, 7, 3);

    (void)state;
    other.flow.src_port++;
    assert_int_equal(pd_trace_cookie(key, &four.flow, 7, 3), cookie);
    assert_int_not_equal(pd_trace_cookie(key, &four.flow, 7, 4), cookie);
    assert_int_not_equal(pd_trace_cookie(key, &four.flow, 8, 3), cookie);
    assert_int_not_equal(pd_trace_cookie(key, &other.flow, 7, 3), cookie);
}

/* ---- answers ---- */

static size_t answer_4(uint8_t *bytes, uint8_t type, uint8_t code, unsigned quoted)
{
    struct pd_trace_header header = header_of(4);
    uint8_t probe[PD_TRACE_PROBE_BYTES_MAX];
    size_t len = 28 + quoted;
    uint32_t sum;

    (void)pd_trace_probe_write(&header, 5, 0xdeadbeef, probe);
    memset(bytes, 0, len);
    memcpy(bytes, "\x45\0\0\0\0\0\0\0\x40\1\0\0\x0a\x09\1\2\x0a\0\1\2", 20);
    bytes[20] = type;
    bytes[21] = code;
    memcpy(bytes + 28, probe, quoted);
    sum = sum_of(0, bytes + 20, len - 20);
    bytes[22] = (uint8_t)(~sum >> 8);
    bytes[23] = (uint8_t)~sum;
    return len;
}

static void answers_are_read(void **state)
{
    uint8_t bytes[128];
    size_t len = answer_4(bytes, 11, 0, 28);
    struct pd_trace_header header = header_of(4);
    struct pd_trace_quote quote;

    (void)state;
    assert_int_equal(pd_trace_icmp_read(4, bytes, len, &quote), 0);
    assert_true(pd_flow_id_equal(&quote.flow, &header.flow));
    assert_int_equal(quote.cookie, 0xdeadbeef);
    assert_int_equal(quote.ip_id, 5);
    assert_false(quote.unreachable);
    assert_memory_equal(quote.from.bytes, "\x0a\x09\1\2", 4);
    len = answer_4(bytes, 3, 1, 40);
    assert_int_equal(pd_trace_icmp_read(4, bytes, len, &quote), 0);
    assert_true(quote.unreachable);
}

static void what_is_no_answer(void **state)
{
    uint8_t bytes[128];
    struct pd_trace_quote quote;
    size_t len = answer_4(bytes, 11, 0, 27); /* less than a router has to quote */

    (void)state;
    assert_int_equal(pd_trace_icmp_read(4, bytes, len, &quote), -PD_E_SYNTAX);
    len = answer_4(bytes, 0, 0, 28); /* an echo reply */
    assert_int_equal(pd_trace_icmp_read(4, bytes, len, &quote), -PD_E_SYNTAX);
    len = answer_4(bytes, 3, 4, 28); /* the flow's own data are too long */
    assert_int_equal(pd_trace_icmp_read(4, bytes, len, &quote), -PD_E_SYNTAX);
    len = answer_4(bytes, 11, 0, 28);
    bytes[40] ^= 1; /* the checksum does not hold */
    assert_int_equal(pd_trace_icmp_read(4, bytes, len, &quote), -PD_E_SYNTAX);
    for (size_t cut = 0; cut < len; cut++) {
        assert_int_equal(pd_trace_icmp_read(4, bytes, cut, &quote), -PD_E_SYNTAX);
    }
}

static void extension_headers_are_passed(void **state)
{
    struct pd_trace_header header = header_of(6);
    uint8_t bytes[128] = {3}, probe[PD_TRACE_PROBE_BYTES_MAX];
    struct pd_trace_quote quote;

    (void)state;
    (void)pd_trace_probe_write(&header, 5, 77, probe);
    memcpy(bytes + 8, probe, 40);
    bytes[8 + 6] = 60; /* destination options, … */
    bytes[48] = 44;    /* then a fragment, … */
    bytes[56] = 6;     /* then TCP */
    memcpy(bytes + 64, probe + 40, 20);
    assert_int_equal(pd_trace_icmp_read(6, bytes, 84, &quote), 0);
    assert_true(pd_flow_id_equal(&quote.flow, &header.flow));
    assert_int_equal(quote.cookie, 77);
    bytes[59] = 8; /* a later fragment has no ports */
    assert_int_equal(pd_trace_icmp_read(6, bytes, 84, &quote), -PD_E_SYNTAX);
    bytes[59] = 0;
    bytes[49] = 200; /* longer than the message */
    assert_int_equal(pd_trace_icmp_read(6, bytes, 84, &quote), -PD_E_SYNTAX);
}

/* ---- resolvers ---- */

static void resolvers_are_named(void **state)
{
    static const char *const wrong[] = {"", "file", "file:", "none:x", "dns:1", "conntracks"};
    struct pd_trace_resolver resolver;
    struct pd_error error;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(pd_trace_resolver_open(wrong[i], &resolver, &error), -PD_E_VALUE);
    }
    assert_int_equal(pd_trace_resolver_open("none", &resolver, &error), 0);
    pd_trace_resolver_close(&resolver);
    assert_true(pd_trace_resolver_open("file:/nowhere/at/all", &resolver, &error) < 0);
}

static void tables_name_servers(void **state)
{
    char spec[] = "file:/tmp/pd_dips_XXXXXX";
    int fd = mkstemp(spec + 5);
    const char text[] =
        "{\"flows\":[7,{\"dst_ip\":\"10.0.2.2\",\"dst_port\":80,\"dip\":\"1.1.1.1\"},"
        "{\"dst_ip\":\"10.0.2.2\",\"dip\":\"10.0.3.2\",\"dip_port\":8443}]}";
    struct pd_trace_header header = header_of(4);
    struct pd_trace_resolver resolver;
    struct pd_trace_end end;
    struct pd_error error;

    (void)state;
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    assert_int_equal(pd_trace_resolver_open(spec, &resolver, &error), 0);
    assert_int_equal(resolver.ops->resolve(resolver.state, &header.flow, &end), 0);
    assert_memory_equal(end.addr.bytes, "\x0a\0\3\2", 4);
    assert_int_equal(end.port, 8443);
    header.flow.dst.bytes[3] = 9;
    assert_int_equal(resolver.ops->resolve(resolver.state, &header.flow, &end), -PD_E_NOT_FOUND);
    pd_trace_resolver_close(&resolver);
    unlink(spec + 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(probes_are_the_flows),
                                       cmocka_unit_test(cookies_are_of_all_three),
                                       cmocka_unit_test(answers_are_read),
                                       cmocka_unit_test(what_is_no_answer),
                                       cmocka_unit_test(resolvers_are_named),
                                       cmocka_unit_test(tables_name_servers),
                                       cmocka_unit_test(extension_headers_are_passed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
