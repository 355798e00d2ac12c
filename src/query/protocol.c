/* SPDX-License-Identifier: Apache-2.0 */
/* Names of IP protocols. */
#include "query/protocol.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"

/* IANA's numbers; where two names are in use the first one is written. */
static const struct {
    unsigned number;
    const char *name;
} protocols[] = {
    {1, "icmp"},   {2, "igmp"},    {4, "ipip"},       {6, "tcp"},       {17, "udp"},
    {33, "dccp"},  {41, "ipv6"},   {46, "rsvp"},      {47, "gre"},      {50, "esp"},
    {51, "ah"},    {58, "icmpv6"}, {58, "ipv6-icmp"}, {89, "ospf"},     {103, "pim"},
    {112, "vrrp"}, {115, "l2tp"},  {132, "sctp"},     {136, "udplite"},
};

#define PROTOCOLS (sizeof protocols / sizeof protocols[0])

int pd_query_protocol_number(const char *name, unsigned *ret_number)
{
    for (size_t i = 0; i < PROTOCOLS; i++) {
        if (strcmp(protocols[i].name, name) == 0) {
            *ret_number = protocols[i].number;
            return 0;
        }
    }
    return -PD_E_NOT_FOUND;
}

const char *pd_query_protocol_name(unsigned number)
{
    for (size_t i = 0; i < PROTOCOLS; i++) {
        if (protocols[i].number == number) {
            return protocols[i].name;
        }
    }
    return NULL;
}
