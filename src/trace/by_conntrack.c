/* SPDX-License-Identifier: Apache-2.0 */
/* The resolver `conntrack`: where this host itself sends its connections elsewhere (DNAT). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>

#include "trace/resolver.h"

/* One question to the kernel (ctnetlink): the connection with these addresses. Its replies come
 * from the server. Needs CAP_NET_ADMIN. */

#define MESSAGE_BYTES 8192

struct tracking {
    struct mnl_socket *socket;
    uint32_t sequence;
};

static void close_tracking(void *state)
{
    struct tracking *tracking = state;

    if (tracking && tracking->socket) {
        mnl_socket_close(tracking->socket);
    }
    free(tracking);
}

static int open_socket(struct tracking *tracking)
{
    const struct timeval patience = {.tv_usec = PD_TRACE_RESOLVE_MS * 1000};
    struct mnl_socket *socket = mnl_socket_open(NETLINK_NETFILTER);

    if (!socket) {
        return -errno;
    }
    tracking->socket = socket;
    if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0) {
        return -errno;
    }
    return setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVTIMEO, &patience,
                      sizeof patience)
               ? -errno
               : 0;
}

static int open_tracking(const char *value, void **ret_state, struct pd_error *error)
{
    struct tracking *tracking = calloc(1, sizeof *tracking);
    int err = tracking ? open_socket(tracking) : -ENOMEM;

    (void)value;
    if (err) {
        close_tracking(tracking);
        return pd_fail(error, err, "conntrack: %s", strerror(-err));
    }
    *ret_state = tracking;
    return 0;
}

/* ---- the question ---- */

static void put_question(struct nlmsghdr *message, const struct pd_flow_id *flow, uint32_t sequence)
{
    bool four = flow->ip_version == 4;
    size_t bytes = four ? 4 : 16;
    struct nfgenmsg *general;
    struct nlattr *tuple, *part;

    message->nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET;
    message->nlmsg_flags = NLM_F_REQUEST;
    message->nlmsg_seq = sequence;
    general = mnl_nlmsg_put_extra_header(message, sizeof *general);
    *general =
        (struct nfgenmsg){.nfgen_family = four ? AF_INET : AF_INET6, .version = NFNETLINK_V0};
    tuple = mnl_attr_nest_start(message, CTA_TUPLE_ORIG);
    part = mnl_attr_nest_start(message, CTA_TUPLE_IP);
    mnl_attr_put(message, four ? CTA_IP_V4_SRC : CTA_IP_V6_SRC, bytes, &flow->src);
    mnl_attr_put(message, four ? CTA_IP_V4_DST : CTA_IP_V6_DST, bytes, &flow->dst);
    mnl_attr_nest_end(message, part);
    part = mnl_attr_nest_start(message, CTA_TUPLE_PROTO);
    mnl_attr_put_u8(message, CTA_PROTO_NUM, IPPROTO_TCP);
    mnl_attr_put_u16(message, CTA_PROTO_SRC_PORT, htons(flow->src_port));
    mnl_attr_put_u16(message, CTA_PROTO_DST_PORT, htons(flow->dst_port));
    mnl_attr_nest_end(message, part);
    mnl_attr_nest_end(message, tuple);
}

/* ---- the answer ---- */

static const struct nlattr *find_nested(const struct nlattr *nest, uint16_t type)
{
    const struct nlattr *at;

    mnl_attr_for_each_nested(at, nest)
    {
        if (mnl_attr_get_type(at) == type) {
            return at;
        }
    }
    return NULL;
}

static int read_reply(const struct nlattr *reply, uint8_t ip_version, struct pd_trace_end *ret_end)
{
    bool four = ip_version == 4;
    const struct nlattr *ip = find_nested(reply, CTA_TUPLE_IP),
                        *proto = find_nested(reply, CTA_TUPLE_PROTO);
    const struct nlattr *addr = ip ? find_nested(ip, four ? CTA_IP_V4_SRC : CTA_IP_V6_SRC) : NULL;
    const struct nlattr *port = proto ? find_nested(proto, CTA_PROTO_SRC_PORT) : NULL;
    struct pd_trace_end end = {0};

    if (!addr || !port || mnl_attr_get_payload_len(addr) != (four ? 4 : 16) ||
        mnl_attr_get_payload_len(port) != 2) {
        return -PD_E_VALUE;
    }
    memcpy(&end.addr, mnl_attr_get_payload(addr), four ? 4 : 16);
    end.port = ntohs(mnl_attr_get_u16(port));
    *ret_end = end;
    return 0;
}

static int read_message(const struct nlmsghdr *message, uint8_t ip_version,
                        struct pd_trace_end *ret_end)
{
    const struct nlattr *at;

    if (message->nlmsg_type == NLMSG_ERROR || message->nlmsg_len < sizeof(struct nfgenmsg)) {
        return -PD_E_NOT_FOUND;
    }
    mnl_attr_for_each(at, message, sizeof(struct nfgenmsg))
    {
        if (mnl_attr_get_type(at) == CTA_TUPLE_REPLY) {
            return read_reply(at, ip_version, ret_end);
        }
    }
    return -PD_E_NOT_FOUND;
}

/* Answers to earlier questions, which came too late, are passed over. */
static int await(struct tracking *tracking, uint8_t ip_version, struct pd_trace_end *ret_end)
{
    _Alignas(struct nlmsghdr) uint8_t bytes[MESSAGE_BYTES];
    ssize_t len = mnl_socket_recvfrom(tracking->socket, bytes, sizeof bytes);
    int left;

    while (len > 0) {
        const struct nlmsghdr *message = (const struct nlmsghdr *)bytes;
        left = (int)len;
        if (mnl_nlmsg_ok(message, left) && message->nlmsg_seq == tracking->sequence) {
            return read_message(message, ip_version, ret_end);
        }
        len = mnl_socket_recvfrom(tracking->socket, bytes, sizeof bytes);
    }
    return -PD_E_DEADLINE;
}

static int resolve(void *state, const struct pd_flow_id *flow, struct pd_trace_end *ret_end)
{
    _Alignas(struct nlmsghdr) uint8_t bytes[512] = {0};
    struct tracking *tracking = state;
    struct nlmsghdr *message = mnl_nlmsg_put_header(bytes);

    put_question(message, flow, ++tracking->sequence);
    if (mnl_socket_sendto(tracking->socket, message, message->nlmsg_len) < 0) {
        return -errno;
    }
    return await(tracking, flow->ip_version, ret_end);
}

const struct pd_trace_resolver_ops pd_trace_by_conntrack = {
    .name = "conntrack",
    .help = "this host's own DNAT, as its kernel knows it",
    .open = open_tracking,
    .resolve = resolve,
    .close = close_tracking,
};
