/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses with a port: what is one, and what looks like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <string.h>

#include "base/endpoint.h"
#include "base/error.h"

static void good_ones(void **state)
{
    union pd_endpoint endpoint;
    (void)state;
    assert_int_equal(pd_endpoint_parse("127.0.0.1:8000", &endpoint), 0);
    assert_int_equal(endpoint.any.sa_family, AF_INET);
    assert_int_equal(endpoint.in.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
    assert_int_equal(pd_endpoint_port(&endpoint), 8000);
    assert_int_equal(pd_endpoint_bytes(&endpoint), sizeof(struct sockaddr_in));
    assert_int_equal(pd_endpoint_parse("[fd00::1:2]:65535", &endpoint), 0);
    assert_int_equal(endpoint.any.sa_family, AF_INET6);
    assert_int_equal(endpoint.in6.sin6_addr.s6_addr[15], 2);
    assert_int_equal(pd_endpoint_port(&endpoint), 65535);
    assert_int_equal(pd_endpoint_bytes(&endpoint), sizeof(struct sockaddr_in6));
    assert_int_equal(pd_endpoint_parse("0.0.0.0:0", &endpoint), 0);
    assert_int_equal(pd_endpoint_port(&endpoint), 0);
}

static void bad_ones(void **state)
{
    static const char *const texts[] = {"",
                                        ":",
                                        ":80",
                                        "127.0.0.1",
                                        "127.0.0.1:",
                                        "127.0.0.1:65536",
                                        "127.0.0.1:-1",
                                        "127.0.0.1: 1",
                                        "127.0.0.1:1x",
                                        "127.0.0.1:99999999999999999999",
                                        "127.0.0:80",
                                        "localhost:80",
                                        "::1:80",
                                        "[::1]",
                                        "[::1:80",
                                        "::1]:80",
                                        "[]:80",
                                        "[:80",
                                        "[127.0.0.1]:80",
                                        "[::1%lo]:80",
                                        "256.0.0.1:80",
                                        " 127.0.0.1:80",
                                        "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:80"};
    union pd_endpoint endpoint, before;
    (void)state;
    memset(&endpoint, 7, sizeof endpoint);
    before = endpoint;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (pd_endpoint_parse(texts[i], &endpoint) != -PD_E_VALUE) {
            fail_msg("\"%s\" is an address", texts[i]);
        }
    }
    assert_memory_equal(&endpoint, &before, sizeof endpoint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(good_ones), cmocka_unit_test(bad_ones)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
