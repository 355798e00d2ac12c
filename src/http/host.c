/* SPDX-License-Identifier: Apache-2.0 */
/* Names against a list, addresses against loopback. */
#include "http/host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_BYTES 255 /* of DNS */

/* Bytes of the name in "NAME[:PORT]", brackets included; 0: it is no such thing. */
static size_t name_bytes(const char *host)
{
    size_t len = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");

    if (len > strlen(host) || len > NAME_MAX_BYTES) {
        return 0;
    }
    if (!host[len]) {
        return len;
    }
    return host[len] == ':' && strspn(host + len + 1, "0123456789") == strlen(host + len + 1) ? len
                                                                                              : 0;
}

static bool is_loopback(const char *name, size_t len)
{
    char text[INET6_ADDRSTRLEN];
    struct in_addr in;
    struct in6_addr in6;
    bool bracketed = *name == '[';

    name += bracketed;
    len -= bracketed ? 2 : 0;
    if (len >= sizeof text) {
        return false;
    }
    memcpy(text, name, len);
    text[len] = '\0';
    if (bracketed) {
        return inet_pton(AF_INET6, text, &in6) == 1 && IN6_IS_ADDR_LOOPBACK(&in6);
    }
    return inet_pton(AF_INET, text, &in) == 1 && ntohl(in.s_addr) >> 24 == IN_LOOPBACKNET;
}

static bool is_listed(const char *name, size_t len, const char *list)
{
    while (list && *list) {
        size_t item = strcspn(list, ",");

        if (item == len && !strncasecmp(list, name, len)) {
            return true;
        }
        list += item + (list[item] == ',');
    }
    return false;
}

bool pd_http_host_known(const char *host, const char *allowed)
{
    size_t len = name_bytes(host);

    return len && (is_listed(host, len, "localhost") || is_loopback(host, len) ||
                   is_listed(host, len, allowed));
}

static bool is_name(const char *item, size_t len)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

    if (*item == '[') {
        return len > 2 && item[len - 1] == ']' &&
               strspn(item + 1, "0123456789abcdefABCDEF:.") == len - 2;
    }
    return len && len <= NAME_MAX_BYTES && strspn(item, letters) >= len;
}

int pd_http_host_check_list(const char *list, struct pd_error *error)
{
    for (const char *item = list;; item += strcspn(item, ",") + 1) {
        if (!is_name(item, strcspn(item, ","))) {
            return pd_fail(error, -PD_E_VALUE,
                           "expects names or addresses without a port, as in "
                           "fleet.example,10.0.0.9, not \"%.100s\"",
                           list);
        }
        if (!item[strcspn(item, ",")]) {
            return 0;
        }
    }
}
