/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's ring of received frames: set-up of the packet socket, and the walk over blocks. */
#include "intake/live/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/if_ether.h>

#include "base/clock.h"

#define BLOCK_BYTES        (64 * 1024)
#define RING_DEFAULT_BYTES (4 * 1024 * 1024) /* mapped pages count as resident */
#define FRAME_BYTES        2048              /* V3 packs frames; this only has to divide a block */
#define TAG_BYTES          4
#define HEADROOM_BYTES     16 /* before each frame: the restored tag goes there */

/* ---- how much of a frame is kept ------------------------------------------------------------ */

/* Ethernet, one more tag, IPv4 with options or IPv6, TCP: 14 + 4 + 60 + 20. */
#define SHORT_BYTES 128
#define LONG_BYTES  2048 /* everything else: more tags, IPv6 extension headers, probes */
#define PROBE_PORT  2222 /* of UDP: telemetry lies behind it */

/* A frame of n bytes costs the kernel a copy of n bytes and the ring as much room, and only headers
 * are read. The kernel has taken the outer tag off when this runs; the length is tested first since
 * a load that fails drops the frame unseen. */
static const struct sock_filter keep_headers[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 60, 0, 20),
    BPF_STMT(BPF_LDX | BPF_IMM, 0),
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_8021Q, 1, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_8021AD, 0, 1),
    BPF_STMT(BPF_LDX | BPF_IMM, TAG_BYTES),
    BPF_STMT(BPF_LD | BPF_H | BPF_IND, 12),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 8, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 0, 12),
    BPF_STMT(BPF_LD | BPF_B | BPF_IND, 20),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 9, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 9),
    BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 66, 0, 6),
    BPF_STMT(BPF_LD | BPF_H | BPF_IND, 56),
    BPF_STMT(BPF_JMP | BPF_JA, 3),
    BPF_STMT(BPF_LD | BPF_B | BPF_IND, 23),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 2),
    BPF_STMT(BPF_LD | BPF_H | BPF_IND, 36),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROBE_PORT, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SHORT_BYTES),
    BPF_STMT(BPF_RET | BPF_K, LONG_BYTES),
};

/* ---- open and close ------------------------------------------------------------------------- */

static int set(const struct pd_ring *ring, int option, const void *value, size_t bytes)
{
    return setsockopt(ring->fd, SOL_PACKET, option, value, (socklen_t)bytes) < 0 ? -errno : 0;
}

static int set_int(const struct pd_ring *ring, int option, int value)
{
    return set(ring, option, &value, sizeof(value));
}

/* With telemetry behind the ports, the last instruction is the program. */
static int set_filter(const struct pd_ring *ring, bool payload)
{
    const size_t len = sizeof(keep_headers) / sizeof(keep_headers[0]), from = payload ? len - 1 : 0;
    const struct sock_fprog program = {
        .len = (unsigned short)(len - from),
        .filter = (struct sock_filter *)keep_headers + from,
    };

    return setsockopt(ring->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0
               ? -errno
               : 0;
}

static int find_interface(struct pd_ring *ring, const char *name, struct pd_error *error)
{
    struct ifreq request = {0};

    if (strlen(name) >= IFNAMSIZ) {
        return pd_fail(error, -ENODEV, "%s: no such interface", name);
    }
    memcpy(request.ifr_name, name, strlen(name));
    if (ioctl(ring->fd, SIOCGIFINDEX, &request) < 0) {
        return pd_fail(error, -errno, "%s: %s", name,
                       errno == ENODEV ? "no such interface" : strerror(errno));
    }
    ring->ifindex = request.ifr_ifindex;
    if (ioctl(ring->fd, SIOCGIFHWADDR, &request) < 0) {
        return pd_fail(error, -errno, "%s: %s", name, strerror(errno));
    }
    if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER &&
        request.ifr_hwaddr.sa_family != ARPHRD_LOOPBACK) {
        return pd_fail(error, -PD_E_UNSUPPORTED,
                       "%s: link type %d: link tags are read from Ethernet only", name,
                       request.ifr_hwaddr.sa_family);
    }
    return 0;
}

static int map_blocks(struct pd_ring *ring, uint32_t ring_bytes)
{
    const uint32_t wanted = ring_bytes ? ring_bytes : RING_DEFAULT_BYTES;
    const uint32_t blocks = wanted / BLOCK_BYTES < 4 ? 4 : wanted / BLOCK_BYTES;
    const struct tpacket_req3 request = {
        .tp_block_size = BLOCK_BYTES,
        .tp_block_nr = blocks,
        .tp_frame_size = FRAME_BYTES,
        .tp_frame_nr = BLOCK_BYTES / FRAME_BYTES * blocks,
        .tp_retire_blk_tov = PD_RING_RETIRE_MS,
    };
    const int r = set(ring, PACKET_RX_RING, &request, sizeof(request));

    if (r < 0) {
        return r;
    }

    void *mapped =
        mmap(NULL, (size_t)blocks * BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);

    if (mapped == MAP_FAILED) {
        return -errno;
    }
    ring->blocks = mapped;
    ring->blocks_len = blocks;
    return 0;
}

/* The socket receives nothing before it is bound, so that every frame in the ring has passed the
 * filter. */
static int set_up(struct pd_ring *ring, const struct pd_intake_live_options *options)
{
    const struct packet_mreq everything = {.mr_ifindex = ring->ifindex,
                                           .mr_type = PACKET_MR_PROMISC};
    const struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = ring->ifindex,
    };
    int r = set_int(ring, PACKET_VERSION, TPACKET_V3);

    if (r == 0) {
        r = set_int(ring, PACKET_RESERVE, HEADROOM_BYTES);
    }
    if (r == 0) {
        ring->segments = set_int(ring, PACKET_VNET_HDR, 1) == 0;
        set_int(ring, PACKET_IGNORE_OUTGOING, 1); /* before Linux 4.20 they come, marked */
        r = set_filter(ring, options->payload);
    }
    if (r == 0) {
        r = map_blocks(ring, (uint32_t)options->ring_bytes);
    }
    if (r == 0 && options->promiscuous) {
        r = set(ring, PACKET_ADD_MEMBERSHIP, &everything, sizeof(everything));
    }
    if (r == 0 && bind(ring->fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        r = -errno;
    }
    return r;
}

int pd_live_ring_open(struct pd_ring *ring, const char *name,
                      const struct pd_intake_live_options *options, struct pd_error *error)
{
    int r;

    memset(ring, 0, sizeof(*ring));
    ring->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (ring->fd < 0) {
        return pd_fail(error, -errno, "%s: %s", name,
                       errno == EPERM ? "no permission to receive frames (needs CAP_NET_RAW)"
                                      : strerror(errno));
    }
    r = find_interface(ring, name, error);
    if (r < 0) {
        goto out;
    }
    r = set_up(ring, options);
    if (r < 0) {
        pd_fail(error, r, "%s: cannot receive frames: %s", name, strerror(-r));
    }
out:
    if (r < 0) {
        pd_live_ring_close(ring);
    }
    return r;
}

void pd_live_ring_close(struct pd_ring *ring)
{
    if (ring->blocks) {
        munmap(ring->blocks, (size_t)ring->blocks_len * BLOCK_BYTES);
        ring->blocks = NULL;
    }
    if (ring->fd >= 0) {
        close(ring->fd);
        ring->fd = -1;
    }
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The kernel keeps the outer tag beside the frame: it goes back to between the addresses and the
 * type. */
static void restore_tag(struct pd_ring_frame *frame, const struct tpacket3_hdr *header)
{
    const bool named = header->tp_status & TP_STATUS_VLAN_TPID_VALID;
    const uint16_t type = htons(named ? header->hv1.tp_vlan_tpid : ETH_P_8021Q);
    const uint16_t tag = htons((uint16_t)header->hv1.tp_vlan_tci);
    uint8_t *data = frame->data - TAG_BYTES;

    memmove(data, frame->data, 2 * ETH_ALEN);
    memcpy(data + 2 * ETH_ALEN, &type, sizeof(type));
    memcpy(data + 2 * ETH_ALEN + sizeof(type), &tag, sizeof(tag));
    frame->data = data;
    frame->captured += TAG_BYTES;
    frame->wire += TAG_BYTES;
    if (frame->l4_offset) {
        frame->l4_offset += TAG_BYTES;
    }
}

static void read_segments(struct pd_ring_frame *frame)
{
    struct virtio_net_hdr header;

    memcpy(&header, frame->data - sizeof(header), sizeof(header));
    switch (header.gso_type & ~VIRTIO_NET_HDR_GSO_ECN) {
    case VIRTIO_NET_HDR_GSO_TCPV4:
    case VIRTIO_NET_HDR_GSO_TCPV6:
    case 5: /* VIRTIO_NET_HDR_GSO_UDP_L4, newer than the headers this is built with */
        frame->merged = header.gso_size > 0;
        frame->segment_bytes = header.gso_size;
        frame->l4_offset = header.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM ? header.csum_start : 0;
        break;
    default: break;
    }
}

static void visit_frame(const struct pd_ring *ring, struct tpacket3_hdr *header,
                        void (*visit)(void *context, const struct pd_ring_frame *frame),
                        void *context)
{
    const struct sockaddr_ll *from =
        (const struct sockaddr_ll *)((uint8_t *)header + TPACKET_ALIGN(sizeof(*header)));
    struct pd_ring_frame frame = {
        .data = (uint8_t *)header + header->tp_mac,
        .captured = header->tp_snaplen,
        .wire = header->tp_len,
        .wall_ns = (uint64_t)header->tp_sec * PD_NS_PER_S + header->tp_nsec,
        .outgoing = from->sll_pkttype == PACKET_OUTGOING,
    };

    if (ring->segments && frame.captured > 0) {
        read_segments(&frame);
    }
    if (header->tp_status & TP_STATUS_VLAN_VALID && frame.captured >= 2 * ETH_ALEN) {
        restore_tag(&frame, header);
    }
    visit(context, &frame);
}

bool pd_live_ring_read(struct pd_ring *ring,
                       void (*visit)(void *context, const struct pd_ring_frame *frame),
                       void *context)
{
    uint8_t *start = ring->blocks + (size_t)ring->next * BLOCK_BYTES;
    struct tpacket_hdr_v1 *block = &((struct tpacket_block_desc *)start)->hdr.bh1;

    /* Pairs with the kernel's write of the status after it has filled the block. */
    if (!(__atomic_load_n(&block->block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER)) {
        return false;
    }

    uint8_t *at = start + block->offset_to_first_pkt;

    for (uint32_t i = 0; i < block->num_pkts; i++) {
        struct tpacket3_hdr *header = (struct tpacket3_hdr *)at;

        at += header->tp_next_offset;
        visit_frame(ring, header, visit, context);
    }
    /* Pairs with the kernel's read before it fills the block anew. */
    __atomic_store_n(&block->block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    ring->next = (ring->next + 1) % ring->blocks_len;
    return true;
}

/* ---- state ---------------------------------------------------------------------------------- */

uint64_t pd_live_ring_take_drops(struct pd_ring *ring)
{
    struct tpacket_stats_v3 stats = {0};
    socklen_t bytes = sizeof(stats);

    getsockopt(ring->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &bytes);
    return stats.tp_drops;
}

enum pd_ring_link pd_live_ring_link(const struct pd_ring *ring)
{
    struct ifreq request = {.ifr_ifindex = ring->ifindex};

    if (ioctl(ring->fd, SIOCGIFNAME, &request) < 0 || ioctl(ring->fd, SIOCGIFFLAGS, &request) < 0) {
        return PD_RING_LINK_GONE;
    }
    return request.ifr_flags & IFF_UP ? PD_RING_LINK_UP : PD_RING_LINK_DOWN;
}

int pd_live_ring_take_error(struct pd_ring *ring)
{
    int error = 0;
    socklen_t bytes = sizeof(error);

    getsockopt(ring->fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    return -error;
}
