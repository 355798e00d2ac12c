/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of path filters: a ToR begins where a packet comes from a host, passes what stays or ends in
 * its rack, and adds to all else; other switches add, or begin where they are monitors. */
#include "codec/path_bloom/rows.h"

#include "topology/links.h"

enum { HOSTS = PD_ROW_PRIORITY, SWITCHES, OWN_RACK, ARRIVED };

static int add_families(struct pd_codec_row row, struct pd_codec_rows *rows)
{
    row.family = 4;
    int err = pd_codec_rows_add(rows, &row);
    row.family = 6;
    return err ? err : pd_codec_rows_add(rows, &row);
}

/* To the switch's own rack. */
static int add_own_rack(const struct pd_switch *tor, struct pd_codec_row row,
                        struct pd_codec_rows *rows)
{
    int err = 0;

    for (uint32_t i = 0; i < tor->prefixes_len && !err; i++) {
        row.dst = tor->prefixes[i];
        row.family = row.dst.ip_version;
        err = pd_codec_rows_add(rows, &row);
    }
    return err;
}

/* From each port that leads to a switch: what has arrived, or all. */
static int add_from_switches(const struct pd_topology *topology, uint32_t tor, bool arrived,
                             struct pd_codec_row row, struct pd_codec_rows *rows)
{
    const struct pd_switch *entry = &topology->switches[tor];
    int err = 0;

    for (uint32_t i = 0; i < entry->switch_neighbours; i++) {
        const struct pd_neighbour *link = &entry->neighbours[i];
        for (uint32_t nth = 0; nth < link->parallel && !err; nth++) {
            row.in_port = pd_links_port(topology, link->link + 2 * nth);
            err = arrived ? add_own_rack(entry, row, rows) : add_families(row, rows);
        }
    }
    return err;
}

/* Where a filter has fields of its own, a host may have filled them; tags of hosts are the edge's.
 */
static int add_tor(const struct pd_path_bloom *bloom, uint32_t tor, struct pd_codec_row row,
                   struct pd_codec_rows *rows)
{
    const struct pd_topology *topology = bloom->head.topology;
    const bool clears = bloom->options.carrier == PD_BLOOM_VXLAN;
    int err = 0;

    row.action = PD_ROW_PASS;
    row.value = 0;
    if (clears) {
        row.priority = ARRIVED;
        err = add_from_switches(topology, tor, true, row, rows);
        row.action = PD_ROW_BEGIN;
    }
    if (!err) {
        row.priority = OWN_RACK;
        err = add_own_rack(&topology->switches[tor], row, rows);
    }
    if (!err) {
        row.priority = SWITCHES;
        row.action = PD_ROW_ADD;
        row.value = bloom->masks[tor];
        err = add_from_switches(topology, tor, false, row, rows);
    }
    return err;
}

int pd_path_bloom_rows(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth,
                       struct pd_codec_rows *rows)
{
    static const uint8_t carriers[] = {[PD_BLOOM_VXLAN] = PD_ROW_VXLAN,
                                       [PD_BLOOM_VLAN] = PD_ROW_VLAN,
                                       [PD_BLOOM_VLAN2] = PD_ROW_VLAN2};
    const struct pd_path_bloom *bloom = pd_path_bloom(codec);
    const struct pd_switch *entry = &codec->topology->switches[sw];
    struct pd_codec_row row = {.priority = HOSTS, PD_ROW_ANY_MARK};
    int err = 0;

    (void)depth;
    rows->carrier = carriers[bloom->options.carrier];
    rows->turn_bits = bloom->options.order ? bloom->options.bits : 0;
    row.action = bloom->options.top && pd_role_is_top(entry->role) ? PD_ROW_BEGIN : PD_ROW_ADD;
    if (pd_topology_switch_has_rack(entry)) {
        err = add_tor(bloom, sw, row, rows);
        row.action = PD_ROW_BEGIN;
        row.depth = 0; /* what hosts send has no filter yet */
    }
    row.value = bloom->masks[sw];
    return err ? err : add_families(row, rows);
}
