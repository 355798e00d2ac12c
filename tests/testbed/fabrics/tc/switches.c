/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a switch into the kernel: its ports, and the rows that the codec wants of it. */
#include "switches.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "codec/edge.h"
#include "kernel/kernel.h"

#define LOOPBACK 1 /* its index in every namespace */

int tc_table(const struct tc_switch *sw, const char *name)
{
    return bpf_map__fd(bpf_object__find_map_by_name(sw->object, name));
}

/* ---- ports ---------------------------------------------------------------------------------- */

int tc_attach(const struct tc_switch *sw, const char *name, unsigned ifindex, uint32_t place,
              unsigned point)
{
    const struct bpf_program *program = bpf_object__find_program_by_name(sw->object, name);
    LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex,
                .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
    LIBBPF_OPTS(bpf_tc_opts, filter, .handle = 1, .priority = place,
                .prog_fd = bpf_program__fd(program));
    int r = bpf_tc_hook_create(&hook);

    hook.attach_point = (enum bpf_tc_attach_point)point;
    return r < 0 && r != -EEXIST ? r : bpf_tc_attach(&hook, &filter);
}

static uint32_t neighbour_id(const struct pd_topology *topology,
                             const struct pd_neighbour *neighbour)
{
    return neighbour->is_host ? topology->hosts[neighbour->node].id
                              : topology->switches[neighbour->node].id;
}

/* Its interface is known before the first packet can come in by it. */
static int open_port(const struct tc_switch *sw, uint32_t peer, uint32_t port, uint32_t is_host,
                     struct pd_error *error)
{
    char name[IF_NAMESIZE];
    unsigned ifindex;
    int r;

    snprintf(name, sizeof(name), "s%u-%u", sw->id, peer);
    ifindex = if_nametoindex(name);
    if (!ifindex) {
        return pd_fail(error, -ENODEV, "switch %u: no interface %s", sw->id, name);
    }
    r = bpf_map_update_elem(tc_table(sw, "interfaces"), &port, &ifindex, BPF_ANY);
    r = r < 0 ? r : bpf_map_update_elem(tc_table(sw, "ports"), &ifindex, &port, BPF_ANY);
    r = r < 0 ? r : bpf_map_update_elem(tc_table(sw, "probe_refused"), &port, &is_host, BPF_ANY);
    r = r < 0 ? r : tc_attach(sw, "switch_ingress", ifindex, TC_SWITCH, BPF_TC_INGRESS);
    r = r < 0 ? r : tc_attach(sw, "switch_egress", ifindex, TC_SWITCH, BPF_TC_EGRESS);
    return r < 0 ? pd_fail(error, r, "switch %u: %s: %s", sw->id, name, strerror(-r)) : 0;
}

/* The loopback is all switches' of the namespace: each has a filter of its own there. */
static int open_loopback(struct tc_switch *sw, struct pd_error *error)
{
    const unsigned ifindex = if_nametoindex("lo");
    int err = ifindex ? tc_attach(sw, "switch_injected", ifindex, sw->index + 1, BPF_TC_INGRESS)
                      : -ENODEV;

    sw->packets = err ? -1 : socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (!err && sw->packets < 0) {
        err = -errno;
    }
    return err ? pd_fail(error, err, "switch %u: lo: %s", sw->id, strerror(-err)) : 0;
}

int tc_switch_send(const struct tc_switch *sw, uint32_t in_port, uint32_t out_port,
                   const uint8_t *frame, size_t bytes)
{
    const bool through_tables = out_port >= PORTS_MAX;
    const uint32_t mark = through_tables ? INJECTED(sw->id, in_port & 0xff) : 0;
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    uint32_t ifindex = LOOPBACK;

    if (!through_tables) {
        bpf_map_lookup_elem(tc_table(sw, "interfaces"), &out_port, &ifindex);
    }
    to.sll_ifindex = (int)ifindex;
    if (setsockopt(sw->packets, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) < 0 ||
        sendto(sw->packets, frame, bytes, 0, (const struct sockaddr *)&to, sizeof(to)) < 0) {
        return -errno;
    }
    return 0;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* IPv4 addresses of places are mapped, those of rows are not. */
static bool holds(const struct pd_prefix *prefix, const struct place_key *key)
{
    const unsigned mapped = prefix->ip_version == 4 ? 96 : 0;

    if (!prefix->ip_version || key->bits < prefix->bits + mapped ||
        (mapped && (key->addr[10] != 0xff || key->addr[11] != 0xff))) {
        return false;
    }
    for (unsigned bit = 0; bit < prefix->bits; bit++) {
        const unsigned shift = 7 - bit % 8;

        if ((prefix->addr.bytes[bit / 8] ^ key->addr[(bit + mapped) / 8]) >> shift & 1) {
            return false;
        }
    }
    return true;
}

static bool is_inside(const struct pd_codec_rows *rows, const struct place_key *key)
{
    for (size_t i = 0; i < rows->len; i++) {
        if (holds(&rows->rows[i].src, key) || holds(&rows->rows[i].dst, key)) {
            return true;
        }
    }
    return false;
}

static int put_place(const struct tc_switch *sw, const struct tc_place *place)
{
    const struct place entry = {place->target, is_inside(&sw->rows, &place->key)};

    return bpf_map_update_elem(tc_table(sw, "places"), &place->key, &entry, BPF_ANY);
}

static struct tc_place *find_place(const struct tc_switch *sw, const struct place_key *key)
{
    for (size_t i = 0; i < sw->places_len; i++) {
        if (!memcmp(&sw->places[i].key, key, sizeof(*key))) {
            return &sw->places[i];
        }
    }
    return NULL;
}

int tc_switch_place(struct tc_switch *sw, const struct tc_place *place, bool gone)
{
    struct tc_place *known = find_place(sw, &place->key);

    if (gone) {
        if (known) {
            *known = sw->places[--sw->places_len];
            return bpf_map_delete_elem(tc_table(sw, "places"), &place->key);
        }
        return 0;
    }
    if (!known && sw->places_len == sw->places_room) {
        const size_t room = sw->places_room ? 2 * sw->places_room : 64;
        struct tc_place *grown = reallocarray(sw->places, room, sizeof(*grown));

        if (!grown) {
            return -ENOMEM;
        }
        sw->places = grown;
        sw->places_room = room;
    }
    known = known ? known : &sw->places[sw->places_len++];
    *known = *place;
    return put_place(sw, known);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Of path filters: what hosts send has none yet, since the edge was before. */
static bool begins_at_hosts(const struct pd_codec_row *row)
{
    return row->action == PD_ROW_BEGIN && row->depth == 0;
}

/* A row with a prefix is for addresses inside. */
static bool applies(const struct pd_codec_row *row, uint32_t port, bool src_inside, bool dst_inside,
                    bool dscp_zero)
{
    return (row->depth == PD_ROW_ANY || begins_at_hosts(row)) && row->family != PD_ROW_ARP &&
           row->family != PD_ROW_OLD && (!row->in_port || row->in_port == port) &&
           (!row->src.ip_version || src_inside) && (!row->dst.ip_version || dst_inside) &&
           (row->dscp == PD_ROW_ANY || dscp_zero);
}

/* A filter of 15 bits in VLAN ID and priority; the bit between them is not ours. */
static uint16_t tci_of(uint32_t filter)
{
    return (uint16_t)((filter & 0xfff) | (filter & 0x7000) << 1);
}

/* The first row that applies acts. */
static struct action act(const struct pd_codec_rows *rows, uint32_t port, bool src_inside,
                         bool dst_inside, bool dscp_zero)
{
    static const uint16_t actions[] = {
        [PD_ROW_PASS] = RULE_NONE,   [PD_ROW_PUSH] = RULE_PUSH, [PD_ROW_DSCP] = RULE_DSCP,
        [PD_ROW_BEGIN] = RULE_BEGIN, [PD_ROW_ADD] = RULE_ADD,   [PD_ROW_PUNT] = RULE_PUNT};

    for (size_t i = 0; i < rows->len; i++) {
        const struct pd_codec_row *row = &rows->rows[i];

        if (applies(row, port, src_inside, dst_inside, dscp_zero)) {
            const bool filter = row->action == PD_ROW_BEGIN || row->action == PD_ROW_ADD;
            return (struct action){actions[row->action],
                                   filter ? tci_of(row->value) : (uint16_t)row->value};
        }
    }
    return (struct action){RULE_NONE, 0};
}

/* A table with an entry for each case, worked out once. */
static int put_rows(const struct tc_switch *sw, const struct pd_codec_rows *rows, uint32_t port)
{
    int r = 0;

    for (unsigned which = 0; which < 4 && r == 0; which++) {
        const bool src_inside = which & 2, dst_inside = which & 1;
        const uint32_t key = RULE_KEY(port, src_inside, dst_inside);
        const struct rule rule = {act(rows, port, src_inside, dst_inside, true),
                                  act(rows, port, src_inside, dst_inside, false)};

        r = bpf_map_update_elem(tc_table(sw, "rules"), &key, &rule, BPF_ANY);
    }
    return r;
}

/* Packets with tags have rows of their own at ports that face hosts. */
static int put_edge(const struct tc_switch *sw, const struct pd_codec_rows *rows, uint32_t port)
{
    uint32_t edge = EDGE_NONE;

    for (size_t i = 0; i < rows->len && edge == EDGE_NONE; i++) {
        if (rows->rows[i].depth == PD_ROW_TAGGED && rows->rows[i].in_port == port) {
            edge = rows->rows[i].action == PD_ROW_STRIP ? EDGE_STRIP : EDGE_DROP;
        }
    }
    return bpf_map_update_elem(tc_table(sw, "edges"), &port, &edge, BPF_ANY);
}

bool tc_switch_executes(const struct pd_codec_rows *rows)
{
    for (size_t i = 0; i < rows->len; i++) {
        const struct pd_codec_row *row = &rows->rows[i];
        const bool edge = pd_codec_is_edge_row(row);

        const bool filter = row->action == PD_ROW_BEGIN || row->action == PD_ROW_ADD;

        if ((filter && (rows->carrier != PD_ROW_VLAN || rows->turn_bits)) ||
            (!edge && row->depth != PD_ROW_ANY && !begins_at_hosts(row))) {
            return false;
        }
    }
    return rows->tpid == PD_TPID_DEFAULT; /* any tag is one of theirs */
}

int tc_switch_rows(struct tc_switch *sw, struct pd_codec_rows *rows, struct pd_error *error)
{
    const struct pd_switch *entry = &sw->topology->switches[sw->index];
    const uint32_t first = 0, tpid = rows->tpid;
    int err = bpf_map_update_elem(tc_table(sw, "tags"), &first, &tpid, BPF_ANY);

    for (uint32_t i = 0; i < entry->neighbours_len && !err; i++) {
        err = put_rows(sw, rows, entry->neighbours[i].port);
        err = err ? err : put_edge(sw, rows, entry->neighbours[i].port);
    }
    if (err) {
        return pd_fail(error, err, "switch %u: rules: %s", sw->id, strerror(-err));
    }
    pd_codec_rows_done(&sw->rows);
    sw->rows = *rows;
    *rows = (struct pd_codec_rows){.len = 0};
    for (size_t i = 0; i < sw->places_len && !err; i++) {
        err = put_place(sw, &sw->places[i]);
    }
    return err ? pd_fail(error, err, "switch %u: places: %s", sw->id, strerror(-err)) : 0;
}

static int open_rows(struct tc_switch *sw, const struct pd_codec *codec, struct pd_error *error)
{
    struct pd_codec_rows rows;
    int err = pd_codec_rows_make(codec, sw->index, PD_DEPTH_PLAIN, &rows);

    if (err) {
        return pd_fail(error, err, "no memory");
    }
    err = tc_switch_executes(&rows)
              ? tc_switch_rows(sw, &rows, error)
              : pd_fail(error, -PD_E_UNSUPPORTED, "switch %u: codec %s", sw->id, codec->ops->name);
    pd_codec_rows_done(&rows);
    return err;
}

/* ---- life ----------------------------------------------------------------------------------- */

static int load(struct tc_switch *sw, const char *object_file, struct pd_error *error)
{
    int r = pd_kernel_open_file(object_file, &sw->object);

    if (r < 0) {
        return pd_fail(error, r, "%s: %s", object_file, strerror(-r));
    }
    r = pd_kernel_constants(sw->object, &sw->id, sizeof(sw->id));
    r = r < 0 ? r : bpf_object__load(sw->object);
    return r < 0
               ? pd_fail(error, r, "%s: the kernel does not take it: %s", object_file, strerror(-r))
               : 0;
}

int tc_switch_open(const struct pd_topology *topology, const struct pd_codec *codec, uint32_t id,
                   const char *object_file, struct tc_switch *ret_sw, struct pd_error *error)
{
    const struct pd_switch *entry;
    const uint32_t index = pd_topology_switch(topology, id);
    int r;

    if (index == PD_NONE) {
        return pd_fail(error, -PD_E_VALUE, "no switch %u", id);
    }
    entry = &topology->switches[index];
    *ret_sw = (struct tc_switch){.topology = topology, .index = index, .id = id, .packets = -1};
    r = load(ret_sw, object_file, error);
    if (r == 0 && codec) {
        r = open_rows(ret_sw, codec, error);
    }
    r = r < 0 ? r : open_loopback(ret_sw, error);
    for (uint32_t i = 0; i < entry->neighbours_len && r == 0; i++) {
        const struct pd_neighbour *neighbour = &entry->neighbours[i];

        r = neighbour->port >= PORTS_MAX
                ? pd_fail(error, -PD_E_VALUE, "switch %u: port %u", id, neighbour->port)
                : open_port(ret_sw, neighbour_id(topology, neighbour), neighbour->port,
                            neighbour->is_host, error);
    }
    return r;
}
