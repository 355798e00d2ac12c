/* SPDX-License-Identifier: Apache-2.0 */
/* Loads strip.bpf.c and holds it on an interface for as long as this process lives. */
#include "intake/live/strip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <netinet/in.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel/kernel.h"
#include "packet/packet.h"

_Static_assert(PD_PACKET_TAGS_MAX == 4, "strip.bpf.c takes off as many");

#define TCX_INGRESS 46 /* BPF_TCX_INGRESS, newer than the headers this may be built with */
#define TC_HANDLE   0x5044
#define TC_PRIORITY 1 /* first: later filters see no tags */

struct pd_strip {
    struct bpf_object *object;
    int ifindex;
    int link_fd;    /* TCX; -1: clsact */
    int alive_fd;   /* the socket in the sockmap, clsact only */
    bool filtering; /* the clsact filter is ours to take off */
};

PD_KERNEL_OBJECT(strip_object, PD_STRIP_OBJECT);

static int fail(struct pd_error *error, int r, const char *what)
{
    pd_kernel_fail(error, r, what, "CAP_BPF and CAP_NET_ADMIN");
    pd_fail_within(error, "strip");
    return r;
}

/* ---- loading -------------------------------------------------------------------------------- */

/* As strip_constants of the program. */
static int set_constants(struct bpf_object *object, const struct pd_strip_what *what)
{
    const struct {
        bool clear_dscp;
        uint8_t zero;
        uint16_t tpid;
    } values = {.clear_dscp = what->clear_dscp, .tpid = what->tpid};

    return pd_kernel_constants(object, &values, sizeof(values));
}

/* Loads one of the two programs; the sockmap is made only for the one that asks it. */
static int load(struct pd_strip *strip, const char *program, const struct pd_strip_what *what)
{
    struct bpf_program *each;
    int r = pd_kernel_open(strip_object, strip_object_end, &strip->object);

    if (r < 0) {
        return r;
    }
    bpf_object__for_each_program(each, strip->object)
    {
        bpf_program__set_autoload(each, !strcmp(bpf_program__name(each), program));
    }
    bpf_map__set_autocreate(bpf_object__find_map_by_name(strip->object, "alive"),
                            !strcmp(program, "strip_clsact"));
    r = set_constants(strip->object, what);
    return r < 0 ? r : bpf_object__load(strip->object);
}

static int program_fd(const struct pd_strip *strip, const char *program)
{
    return bpf_program__fd(bpf_object__find_program_by_name(strip->object, program));
}

static void unload(struct pd_strip *strip)
{
    bpf_object__close(strip->object);
    strip->object = NULL;
}

/* ---- TCX ------------------------------------------------------------------------------------ */

/* By the system call, since libbpf knows TCX from 1.3 on only. */
static int attach_tcx(struct pd_strip *strip)
{
    union bpf_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.link_create.prog_fd = (uint32_t)program_fd(strip, "strip_tcx");
    attr.link_create.target_ifindex = (uint32_t)strip->ifindex;
    attr.link_create.attach_type = TCX_INGRESS;
    strip->link_fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
    return strip->link_fd < 0 ? -errno : 0;
}

/* -PD_E_UNSUPPORTED where the kernel has no TCX. */
static int open_tcx(struct pd_strip *strip, const struct pd_strip_what *what,
                    struct pd_error *error)
{
    int r = load(strip, "strip_tcx", what);

    if (r < 0) {
        return fail(error, r, "cannot load the BPF program");
    }
    r = attach_tcx(strip);
    if (r == -EINVAL || r == -EOPNOTSUPP) {
        unload(strip);
        return pd_fail(error, -PD_E_UNSUPPORTED, "strip: this kernel has no TCX (Linux 6.6)");
    }
    return r < 0 ? fail(error, r, "cannot attach the BPF program") : 0;
}

/* ---- clsact --------------------------------------------------------------------------------- */

/* Any UDP socket will do that the kernel has in its tables. It is bound to an address that nobody
 * can reach. */
static int put_sign_of_life(struct pd_strip *strip)
{
    const int map_fd = bpf_map__fd(bpf_object__find_map_by_name(strip->object, "alive"));
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const uint32_t first = 0;
    const int yes = 1;
    uint64_t value;

    strip->alive_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (strip->alive_fd < 0 ||
        setsockopt(strip->alive_fd, IPPROTO_IP, IP_FREEBIND, &yes, sizeof(yes)) < 0 ||
        bind(strip->alive_fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        return -errno;
    }
    value = (uint64_t)strip->alive_fd;
    return bpf_map_update_elem(map_fd, &first, &value, BPF_ANY);
}

static int attach_clsact(struct pd_strip *strip)
{
    LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = strip->ifindex, .attach_point = BPF_TC_INGRESS);
    LIBBPF_OPTS(bpf_tc_opts, filter, .handle = TC_HANDLE, .priority = TC_PRIORITY,
                .prog_fd = program_fd(strip, "strip_clsact"), .flags = BPF_TC_F_REPLACE);
    int r = bpf_tc_hook_create(&hook);

    if (r < 0 && r != -EEXIST) {
        return r;
    }
    r = bpf_tc_attach(&hook, &filter);
    strip->filtering = r == 0;
    return r;
}

static int open_clsact(struct pd_strip *strip, const struct pd_strip_what *what,
                       struct pd_error *error)
{
    int r = load(strip, "strip_clsact", what);

    if (r < 0) {
        return fail(error, r, "cannot load the BPF program");
    }
    r = put_sign_of_life(strip);
    if (r < 0) {
        return fail(error, r, "cannot enter the socket that tells that this process lives");
    }
    r = attach_clsact(strip);
    return r < 0 ? fail(error, r, "cannot attach the BPF program") : 0;
}

/* The filter only: others may use the clsact qdisc by now. */
static void detach_clsact(const struct pd_strip *strip)
{
    LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = strip->ifindex, .attach_point = BPF_TC_INGRESS);
    LIBBPF_OPTS(bpf_tc_opts, filter, .handle = TC_HANDLE, .priority = TC_PRIORITY);

    bpf_tc_detach(&hook, &filter);
}

/* ---- life ----------------------------------------------------------------------------------- */

int pd_live_strip_open(int ifindex, enum pd_strip_hook hook, const struct pd_strip_what *what,
                       struct pd_strip **ret_strip, struct pd_error *error)
{
    struct pd_strip *strip = calloc(1, sizeof(*strip));
    int r = -PD_E_UNSUPPORTED;

    if (!strip) {
        return pd_fail(error, -ENOMEM, "strip: no memory");
    }
    strip->ifindex = ifindex;
    strip->link_fd = -1;
    strip->alive_fd = -1;
    if (hook != PD_STRIP_CLSACT) {
        r = open_tcx(strip, what, error);
    }
    if (hook == PD_STRIP_CLSACT || (hook == PD_STRIP_ANY && r == -PD_E_UNSUPPORTED)) {
        r = open_clsact(strip, what, error);
    }
    if (r < 0) {
        pd_live_strip_close(strip);
        return r;
    }
    unload(strip); /* the kernel holds what is attached */
    *ret_strip = strip;
    return 0;
}

void pd_live_strip_close(struct pd_strip *strip)
{
    if (!strip) {
        return;
    }
    if (strip->filtering) {
        detach_clsact(strip);
    }
    if (strip->link_fd >= 0) {
        close(strip->link_fd);
    }
    if (strip->alive_fd >= 0) {
        close(strip->alive_fd);
    }
    unload(strip);
    free(strip);
}
