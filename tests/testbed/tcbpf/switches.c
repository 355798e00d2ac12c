/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a switch into the kernel: its ports, and the rows that the codec wants of it. */
#include "switches.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "tables.h"

static int ignore_words(enum libbpf_print_level level, const char *format, va_list values)
{
    (void)level;
    (void)format;
    (void)values;
    return 0;
}

int tc_table(const struct tc_switch *sw, const char *name)
{
    return bpf_map__fd(bpf_object__find_map_by_name(sw->object, name));
}

/* ---- ports ---------------------------------------------------------------------------------- */

static int attach(const struct tc_switch *sw, unsigned ifindex)
{
    const struct bpf_program *program =
        bpf_object__find_program_by_name(sw->object, "switch_ingress");
    LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)ifindex, .attach_point = BPF_TC_INGRESS);
    LIBBPF_OPTS(bpf_tc_opts, filter, .handle = 1, .priority = 1,
                .prog_fd = bpf_program__fd(program));
    int r = bpf_tc_hook_create(&hook);

    return r < 0 && r != -EEXIST ? r : bpf_tc_attach(&hook, &filter);
}

static uint32_t neighbour_id(const struct pd_topology *topology,
                             const struct pd_neighbour *neighbour)
{
    return neighbour->is_host ? topology->hosts[neighbour->node].id
                              : topology->switches[neighbour->node].id;
}

/* Its interface is known before the first packet can come in by it. */
static int open_port(const struct tc_switch *sw, uint32_t peer, uint32_t port,
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
    r = r < 0 ? r : attach(sw, ifindex);
    return r < 0 ? pd_fail(error, r, "switch %u: %s: %s", sw->id, name, strerror(-r)) : 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* A row with a prefix is for addresses inside: the switch's table of places says which are. */
static bool applies(const struct pd_codec_row *row, uint32_t port, bool src_inside, bool dst_inside,
                    bool dscp_zero)
{
    return (!row->in_port || row->in_port == port) && (!row->src.ip_version || src_inside) &&
           (!row->dst.ip_version || dst_inside) && (row->dscp == PD_ROW_ANY || dscp_zero);
}

/* The first row that applies acts. */
static struct action act(const struct pd_codec_rows *rows, uint32_t port, bool src_inside,
                         bool dst_inside, bool dscp_zero)
{
    static const uint16_t actions[] = {
        [PD_ROW_PASS] = RULE_NONE, [PD_ROW_PUSH] = RULE_PUSH, [PD_ROW_DSCP] = RULE_DSCP};

    for (size_t i = 0; i < rows->len; i++) {
        const struct pd_codec_row *row = &rows->rows[i];

        if (applies(row, port, src_inside, dst_inside, dscp_zero)) {
            return (struct action){actions[row->action], (uint16_t)row->value};
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

static bool executes(const struct pd_codec_rows *rows)
{
    for (size_t i = 0; i < rows->len; i++) {
        if (rows->rows[i].action > PD_ROW_DSCP) {
            return false;
        }
    }
    return true;
}

static int open_rows(const struct tc_switch *sw, const struct pd_codec *codec,
                     struct pd_error *error)
{
    const struct pd_switch *entry = &codec->topology->switches[sw->index];
    struct pd_codec_rows rows;
    int r = pd_codec_rows_make(codec, sw->index, PD_DEPTH_PLAIN, &rows);

    if (r < 0) {
        return pd_fail(error, r, "switch %u: no memory", sw->id);
    }
    if (!executes(&rows)) {
        pd_codec_rows_done(&rows);
        return pd_fail(error, -PD_E_UNSUPPORTED, "switch %u: codec %s", sw->id, codec->ops->name);
    }
    for (uint32_t i = 0; i < entry->neighbours_len && r == 0; i++) {
        r = put_rows(sw, &rows, entry->neighbours[i].port);
    }
    pd_codec_rows_done(&rows);
    return r < 0 ? pd_fail(error, r, "switch %u: rules: %s", sw->id, strerror(-r)) : 0;
}

/* ---- life ----------------------------------------------------------------------------------- */

static int load(struct tc_switch *sw, const char *object_file, struct pd_error *error)
{
    struct bpf_map *constants;
    int r;

    libbpf_set_print(ignore_words);
    sw->object = bpf_object__open_file(object_file, NULL);
    if (!sw->object) {
        return pd_fail(error, -errno, "%s: %s", object_file, strerror(errno));
    }
    constants = bpf_object__find_map_by_name(sw->object, ".rodata");
    r = constants ? bpf_map__set_initial_value(constants, &sw->id, sizeof(sw->id)) : -EINVAL;
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
    *ret_sw = (struct tc_switch){.index = index, .id = id};
    r = load(ret_sw, object_file, error);
    if (r == 0 && codec) {
        r = open_rows(ret_sw, codec, error);
    }
    for (uint32_t i = 0; i < entry->neighbours_len && r == 0; i++) {
        const struct pd_neighbour *neighbour = &entry->neighbours[i];

        r = neighbour->port >= PORTS_MAX
                ? pd_fail(error, -PD_E_VALUE, "switch %u: port %u", id, neighbour->port)
                : open_port(ret_sw, neighbour_id(topology, neighbour), neighbour->port, error);
    }
    return r;
}
