/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the edge, their execution, and the proof that they hold. */
#include "codec/edge.h"

#include <assert.h>
#include <string.h>

#include "topology/links.h"

#define TEMPLATES_MAX 10
#define OLD_TPID      0x9100

enum pd_edge_option pd_codec_edge(const struct pd_codec *codec)
{
    const struct pd_codec_choice *choice = pd_topology_codec(codec->topology, codec->ops->name);
    return choice ? choice->edge : PD_EDGE_DROP;
}

uint32_t pd_codec_edge_ports(const struct pd_topology *topology, uint32_t sw)
{
    const struct pd_switch *entry = &topology->switches[sw];
    uint32_t len = 0;
    for (uint32_t i = entry->switch_neighbours; i < entry->neighbours_len; i++) {
        len += entry->neighbours[i].parallel;
    }
    return len;
}

/* ---- rows */

/* What stands at each port that faces a host, in order; the priority is its place. */
struct templates {
    struct pd_codec_row rows[TEMPLATES_MAX];
    unsigned len;
};

static void add(struct templates *t, uint8_t family, uint8_t depth, uint8_t action, uint32_t value)
{
    assert(t->len < TEMPLATES_MAX);
    t->rows[t->len++] = (struct pd_codec_row){
        .family = family, .dscp = PD_ROW_ANY, .depth = depth, .action = action, .value = value};
}

static void clear_dscp(struct templates *t, uint8_t depth)
{
    add(t, 4, depth, PD_ROW_DSCP, 0);
    add(t, 6, depth, PD_ROW_DSCP, 0);
}

/* Tenants' tags of their own type. A DSCP that lies behind more tags than the switch reads is not
 * let in. */
static void fill_tenants(struct templates *t, bool dscp)
{
    if (dscp) {
        clear_dscp(t, PD_ROW_TENANT);
        add(t, PD_ROW_ARP, PD_ROW_TENANT, PD_ROW_PASS, 0);
        add(t, 0, PD_ROW_TENANT, PD_ROW_DROP, 0);
    } else {
        add(t, 0, PD_ROW_TENANT, PD_ROW_PASS, 0);
    }
}

/* Tags are taken off what the switch can read behind them: a packet with more tags than it reads
 * would keep some. */
static void fill(struct templates *t, const struct pd_codec *codec, uint16_t tpid)
{
    static const uint8_t read[] = {4, 6, PD_ROW_ARP};
    enum pd_edge_option edge = pd_codec_edge(codec);
    bool vlan = pd_codec_carriers(codec) & PD_CARRIER_VLAN;
    bool dscp = pd_codec_carriers(codec) & PD_CARRIER_DSCP;
    if (edge == PD_EDGE_OPEN) {
        return;
    }
    if (vlan && tpid != PD_TPID_DEFAULT) {
        fill_tenants(t, dscp);
    }
    for (size_t i = 0; i < sizeof read && vlan && edge == PD_EDGE_STRIP; i++) {
        add(t, read[i], PD_ROW_TAGGED, PD_ROW_STRIP, 0);
    }
    if (vlan) {
        add(t, 0, PD_ROW_TAGGED, PD_ROW_DROP, 0);
    }
    if (dscp) {
        clear_dscp(t, PD_ROW_ANY);
    }
}

/* The same at each port: ports differ, so that rows of one priority never match one packet. */
static int add_at_ports(const struct pd_topology *topology, uint32_t sw, struct pd_codec_row row,
                        struct pd_codec_rows *rows)
{
    const struct pd_switch *entry = &topology->switches[sw];
    int err = 0;
    for (uint32_t i = entry->switch_neighbours; i < entry->neighbours_len; i++) {
        const struct pd_neighbour *host = &entry->neighbours[i];
        for (uint32_t nth = 0; nth < host->parallel && !err; nth++) {
            row.in_port = pd_links_port(topology, host->link + 2 * nth);
            err = pd_codec_rows_add(rows, &row);
        }
    }
    return err;
}

int pd_codec_edge_rows(const struct pd_codec *codec, uint32_t sw, struct pd_codec_rows *rows)
{
    struct templates t = {.len = 0};
    int err = 0;
    fill(&t, codec, rows->tpid);
    for (unsigned i = 0; i < t.len && !err; i++) {
        t.rows[i].priority = (uint16_t)(PD_ROW_EDGE + t.len - 1 - i);
        err = add_at_ports(codec->topology, sw, t.rows[i], rows);
    }
    return err;
}

int pd_codec_edge_last(const struct pd_codec *codec, uint32_t sw, struct pd_codec_rows *rows)
{
    const struct pd_codec_row row = {.priority = 1,
                                     .family = PD_ROW_OLD,
                                     .dscp = PD_ROW_ANY,
                                     .depth = PD_ROW_ANY,
                                     .action = PD_ROW_DROP};
    unsigned carriers = pd_codec_carriers(codec);
    bool read =
        carriers & PD_CARRIER_DSCP || (carriers & PD_CARRIER_VLAN && rows->tpid == PD_TPID_DEFAULT);
    return read && pd_codec_edge(codec) != PD_EDGE_OPEN
               ? add_at_ports(codec->topology, sw, row, rows)
               : 0;
}

/* ---- execution */

static bool is_link_tag(const struct pd_codec_rows *rows, const struct pd_codec_edge_tag *tag)
{
    return rows->tpid == PD_TPID_DEFAULT || tag->tpid == rows->tpid;
}

static bool is_ip(const struct pd_codec_edge_packet *packet)
{
    return packet->family == 4 || packet->family == 6;
}

/* How many tags the switch reads before it comes to something else, or to one more. */
static unsigned tags_read(const struct pd_codec_edge_packet *packet)
{
    unsigned len = 0;
    while (len < packet->len && len < PD_ROW_READ && packet->tags[len].tpid != OLD_TPID) {
        len++;
    }
    return len;
}

static bool has_family(const struct pd_codec_row *row, const struct pd_codec_edge_packet *packet)
{
    unsigned len = tags_read(packet);
    if (row->family == PD_ROW_OLD) {
        return len < packet->len && packet->tags[len].tpid == OLD_TPID;
    }
    return !row->family || (len == packet->len && row->family == packet->family);
}

/* A tenant's tag with a priority cannot be told from a link tag by all switches. */
static bool has_depth(const struct pd_codec_rows *rows, const struct pd_codec_row *row,
                      const struct pd_codec_edge_packet *packet)
{
    const struct pd_codec_edge_tag *outer = tags_read(packet) ? &packet->tags[0] : NULL;
    switch (row->depth) {
    case PD_ROW_ANY: return true;
    case 0: return !outer;
    case PD_ROW_TENANT: return outer && !is_link_tag(rows, outer) && !outer->pcp;
    case PD_ROW_TAGGED: return outer && (is_link_tag(rows, outer) || outer->pcp);
    default: return outer && outer->pcp == row->depth;
    }
}

/* Rows with prefixes may match or not: they count only if they would send the packet away. */
static const struct pd_codec_row *find(const struct pd_codec_rows *rows,
                                       const struct pd_codec_edge_packet *packet)
{
    for (size_t i = 0; i < rows->len; i++) {
        const struct pd_codec_row *row = &rows->rows[i];
        bool dscp = row->dscp == PD_ROW_ANY || (is_ip(packet) && row->dscp == packet->dscp);
        bool sure = !row->src.ip_version && !row->dst.ip_version;
        if ((!row->in_port || row->in_port == packet->in_port) && has_family(row, packet) && dscp &&
            has_depth(rows, row, packet) && (sure || row->action == PD_ROW_PUNT)) {
            return row;
        }
    }
    return NULL;
}

enum pd_codec_edge_fate pd_codec_edge_take(const struct pd_codec_rows *rows,
                                           struct pd_codec_edge_packet *packet)
{
    const struct pd_codec_row *row;
    while ((row = find(rows, packet)) && row->action == PD_ROW_STRIP && packet->len) {
        packet->len--;
        memmove(packet->tags, packet->tags + 1, packet->len * sizeof *packet->tags);
    }
    if (row && row->action == PD_ROW_DSCP) {
        packet->dscp = (uint8_t)row->value;
    }
    return row && row->action == PD_ROW_DROP   ? PD_EDGE_DROPPED
           : row && row->action == PD_ROW_PUNT ? PD_EDGE_PUNTED
                                               : PD_EDGE_PASSES;
}

/* All ports that face hosts have the same rows; behind a switch without one everything passes. */
int pd_codec_edge_pass(const struct pd_codec *codec, uint32_t sw, uint64_t own,
                       enum pd_codec_edge_fate *ret_fate, uint64_t *ret_left)
{
    const struct pd_switch *entry = &codec->topology->switches[sw];
    struct pd_tags tags = pd_tags_unpack(own);
    struct pd_codec_edge_packet packet = {.family = 4, .dscp = tags.dscp, .len = tags.len};
    struct pd_codec_rows rows;
    int err = pd_codec_rows_make(codec, sw, PD_DEPTH_PLAIN, &rows);
    if (err) {
        return err;
    }
    for (unsigned i = 0; i < tags.len; i++) {
        packet.tags[tags.len - 1 - i] =
            (struct pd_codec_edge_tag){.tpid = rows.tpid, .vid = tags.vids[i]};
    }
    if (entry->neighbours_len > entry->switch_neighbours) {
        packet.in_port = entry->neighbours[entry->switch_neighbours].port;
    }
    *ret_fate = packet.in_port ? pd_codec_edge_take(&rows, &packet) : PD_EDGE_PASSES;
    *ret_left = pd_tags_set_dscp(0, packet.dscp);
    for (unsigned i = packet.len; i-- > 0;) {
        *ret_left = pd_tags_push(*ret_left, packet.tags[i].vid);
    }
    pd_codec_rows_done(&rows);
    return 0;
}

/* ---- proof */

static const struct pd_codec_edge_tag kinds[] = {
    {.tpid = PD_TPID_DEFAULT, .pcp = 0}, {.tpid = PD_TPID_DEFAULT, .pcp = 1},
    {.tpid = PD_TPID_DEFAULT, .pcp = 2}, {.tpid = PD_TPID_DEFAULT, .pcp = 7},
    {.tpid = PD_TPID_SERVICE, .pcp = 0}, {.tpid = PD_TPID_SERVICE, .pcp = 1},
    {.tpid = PD_TPID_SERVICE, .pcp = 2}, {.tpid = PD_TPID_SERVICE, .pcp = 7},
    {.tpid = OLD_TPID, .pcp = 0},
};
#define KINDS (sizeof kinds / sizeof *kinds)

/* Receivers read the tags of the link tags' type that lie outside of all others. */
static bool keeps_mark(const struct pd_codec *codec, const struct pd_codec_rows *rows,
                       struct pd_codec_edge_packet packet)
{
    unsigned carriers = pd_codec_carriers(codec);
    enum pd_codec_edge_fate fate = pd_codec_edge_take(rows, &packet);
    return fate == PD_EDGE_PUNTED ||
           (fate == PD_EDGE_PASSES &&
            ((carriers & PD_CARRIER_VLAN && packet.len && is_link_tag(rows, &packet.tags[0])) ||
             (carriers & PD_CARRIER_DSCP && is_ip(&packet) && packet.dscp)));
}

/* Every kind of packet with these tags and up to one more than switches read. */
static bool leaks(const struct pd_codec *codec, const struct pd_codec_rows *rows,
                  struct pd_codec_edge_packet packet)
{
    static const uint8_t families[] = {0, 4, 6, PD_ROW_ARP};
    for (unsigned i = 0; i < 2 * sizeof families; i++) {
        packet.family = families[i / 2];
        packet.dscp = i % 2;
        if (keeps_mark(codec, rows, packet)) {
            return true;
        }
    }
    for (size_t i = 0; i < KINDS && packet.len <= PD_ROW_READ; i++) {
        struct pd_codec_edge_packet longer = packet;
        longer.tags[longer.len++] = kinds[i];
        if (leaks(codec, rows, longer)) {
            return true;
        }
    }
    return false;
}

bool pd_codec_edge_leaks(const struct pd_codec *codec, const struct pd_codec_rows *rows,
                         uint16_t port)
{
    return leaks(codec, rows, (struct pd_codec_edge_packet){.in_port = port});
}

/* The rows that a packet of the port looked at last can meet, and what they let in: the next port
 * mostly has the same. */
struct port_rows {
    struct pd_codec_rows met; /* without the port's number */
    bool leak;
};

static bool same_rows(const struct pd_codec_rows *a, const struct pd_codec_rows *b)
{
    return a->len && a->len == b->len && !memcmp(a->rows, b->rows, a->len * sizeof *a->rows);
}

static int prove_port(const struct pd_codec *codec, const struct pd_codec_rows *rows, uint16_t port,
                      struct port_rows *last, struct pd_codec_edge_proof *proof)
{
    struct port_rows here = {.met = {.tpid = rows->tpid}};
    int err = 0;
    for (size_t i = 0; i < rows->len && !err; i++) {
        struct pd_codec_row row = rows->rows[i];
        if (!row.in_port || row.in_port == port) {
            row.in_port = 0;
            err = pd_codec_rows_add(&here.met, &row);
        }
    }
    if (err) {
        pd_codec_rows_done(&here.met);
        return err;
    }
    here.leak =
        same_rows(&here.met, &last->met) ? last->leak : pd_codec_edge_leaks(codec, &here.met, port);
    proof->ports++;
    proof->leaks += here.leak;
    pd_codec_rows_done(&last->met);
    *last = here;
    return 0;
}

static int prove_switch(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth,
                        struct pd_codec_edge_proof *proof)
{
    const struct pd_switch *entry = &codec->topology->switches[sw];
    struct port_rows last = {.leak = false};
    struct pd_codec_rows rows;
    int err = pd_codec_rows_make(codec, sw, depth, &rows);
    if (err) {
        return err;
    }
    for (size_t i = 0; i < rows.len; i++) {
        proof->rows += pd_codec_is_edge_row(&rows.rows[i]);
    }
    for (uint32_t i = entry->switch_neighbours; i < entry->neighbours_len; i++) {
        const struct pd_neighbour *host = &entry->neighbours[i];
        for (uint32_t nth = 0; nth < host->parallel && !err; nth++) {
            err = prove_port(codec, &rows, pd_links_port(codec->topology, host->link + 2 * nth),
                             &last, proof);
        }
    }
    pd_codec_rows_done(&last.met);
    pd_codec_rows_done(&rows);
    return err;
}

int pd_codec_edge_prove(const struct pd_codec *codec, enum pd_depth depth,
                        struct pd_codec_edge_proof *ret_proof)
{
    const struct pd_topology *topology = codec->topology;
    struct pd_codec_edge_proof proof = {.ports = 0};
    int err = 0;
    for (uint32_t sw = 0; sw < topology->switches_len && !err; sw++) {
        if (pd_codec_edge_ports(topology, sw)) {
            err = prove_switch(codec, sw, depth, &proof);
        } else {
            proof.unknown += topology->switches[sw].prefixes_len > 0;
        }
    }
    if (!err) {
        *ret_proof = proof;
    }
    return err;
}
