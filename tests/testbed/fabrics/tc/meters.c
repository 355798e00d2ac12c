/* SPDX-License-Identifier: Apache-2.0 */
/* From a switch's place in the topology to the meters of its ports. */
#include "meters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "meter/kernel.h"

static const char *const pinned[] = {
    PD_METER_KERNEL_SETTINGS, PD_METER_KERNEL_USM,      PD_METER_KERNEL_DSM,
    PD_METER_KERNEL_USMRULES, PD_METER_KERNEL_DSMRULES, PD_METER_KERNEL_STRAYMAP,
    PD_METER_KERNEL_PIPEMAP,  PD_METER_KERNEL_COUNTS,
};

static int make_folder(const char *folder)
{
    return mkdir(folder, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int pin(const struct tc_switch *sw, const char *folder, const char *name)
{
    char path[4096];

    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path)) {
        return -ENAMETOOLONG;
    }
    if (unlink(path) < 0 && errno != ENOENT) {
        return -errno;
    }
    return bpf_map__pin(bpf_object__find_map_by_name(sw->object, name), path);
}

static int pin_all(const struct tc_switch *sw, const char *folder)
{
    char own[4096];
    int r = make_folder(folder);

    if (snprintf(own, sizeof(own), "%s/%u", folder, sw->id) >= (int)sizeof(own)) {
        return -ENAMETOOLONG;
    }
    r = r < 0 ? r : make_folder(own);
    for (size_t i = 0; i < sizeof(pinned) / sizeof(pinned[0]) && r == 0; i++) {
        r = pin(sw, own, pinned[i]);
    }
    return r;
}

/* Before the first packet is counted: whoever reads knows the layout. */
static int tell_layout(const struct tc_switch *sw)
{
    const struct pd_meter_kernel_settings settings = {.layout = PD_METER_KERNEL_LAYOUT};
    const uint32_t zero = 0;

    return bpf_map_update_elem(tc_table(sw, PD_METER_KERNEL_SETTINGS), &zero, &settings, BPF_ANY);
}

static int open_port(const struct tc_switch *sw, const struct pd_neighbour *neighbour, bool top)
{
    const uint32_t port = neighbour->port;
    const uint32_t kind = top ? METER_AT_TOP : neighbour->is_host ? METER_TO_HOST : METER_TO_SWITCH;
    uint32_t ifindex = 0;
    int r = bpf_map_update_elem(tc_table(sw, "meter_ports"), &port, &kind, BPF_ANY);

    r = r < 0 ? r : bpf_map_lookup_elem(tc_table(sw, "interfaces"), &port, &ifindex);
    r = r < 0 || !top ? r
                      : tc_attach(sw, "meter_ingress", ifindex, TC_METER_INGRESS, BPF_TC_INGRESS);
    return r < 0 ? r : tc_attach(sw, "meter_egress", ifindex, TC_METER_EGRESS, BPF_TC_EGRESS);
}

int tc_meters_open(struct tc_switch *sw, const struct tc_meters *meters, struct pd_error *error)
{
    const struct pd_switch *entry = &sw->topology->switches[sw->index];
    const bool rack = entry->neighbours_len > entry->switch_neighbours;
    const bool top = !rack && meters->top && pd_role_is_top(entry->role);

    if (!meters->folder || (!rack && !top)) {
        return 0;
    }
    int r = tell_layout(sw);
    r = r < 0 ? r : pin_all(sw, meters->folder);
    for (uint32_t i = 0; i < entry->neighbours_len && r == 0; i++) {
        r = open_port(sw, &entry->neighbours[i], top);
    }
    return r < 0 ? pd_fail(error, r, "switch %u: meters in %s: %s", sw->id, meters->folder,
                           strerror(-r))
                 : 0;
}
