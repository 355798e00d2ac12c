/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of measurements become ports and paths; a port against the rest of its paths. */
#include "apps/tail_latency/ports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static int by_place(const void *a, const void *b)
{
    const struct tail_port *x = a, *y = b;

    return x->sw != y->sw ? (x->sw > y->sw ? 1 : -1) : (x->to > y->to) - (x->to < y->to);
}

struct tail_port *pd_tail_latency_ports_find(const struct tail_ports *ports, uint32_t sw,
                                             uint32_t to)
{
    const struct tail_port key = {.sw = sw, .to = to};

    return ports->len ? bsearch(&key, ports->ports, ports->len, sizeof *ports->ports, by_place)
                      : NULL;
}

/* The port, new ones in their place. NULL: no room or no memory. */
static struct tail_port *port_of(struct tail_ports *ports, uint32_t sw, uint32_t to)
{
    struct tail_port *port = pd_tail_latency_ports_find(ports, sw, to);
    size_t at = ports->len;

    if (port || ports->len == TAIL_PORTS_MAX ||
        PD_GROW(ports->ports, ports->room, ports->len + 1)) {
        return port;
    }
    for (; at > 0 && by_place(&ports->ports[at - 1], &(struct tail_port){.sw = sw, .to = to}) > 0;
         at--) {
        ports->ports[at] = ports->ports[at - 1];
    }
    ports->ports[at] = (struct tail_port){.sw = sw, .to = to};
    ports->len++;
    return &ports->ports[at];
}

/* Paths come in runs of equal ones: the rows are sorted by flow. */
static int take_path(struct tail_ports *ports, const struct pd_path *path, uint32_t host)
{
    for (size_t i = ports->paths_len; i-- > 0;) {
        if (pd_path_equal(&ports->paths[i], path)) {
            ports->hosts[i] = host ? host : ports->hosts[i];
            return 0;
        }
    }
    if (ports->paths_len == TAIL_PATHS_MAX) {
        ports->left_out++;
        return 0;
    }
    if (PD_GROW(ports->paths, ports->paths_room, ports->paths_len + 1) ||
        PD_GROW(ports->hosts, ports->hosts_room, ports->paths_len + 1)) {
        return -ENOMEM;
    }
    pd_path_copy(&ports->paths[ports->paths_len], path);
    ports->hosts[ports->paths_len++] = host;
    return 0;
}

static bool read_bins(const json_t *row, struct pd_telemetry_bin *bins, size_t *ret_len)
{
    const json_t *values = json_object_get(row, "values");

    *ret_len = json_array_size(values);
    if (!*ret_len || *ret_len > PD_TELEMETRY_BINS_MOST) {
        return false;
    }
    for (size_t i = 0; i < *ret_len; i++) {
        const json_t *pair = json_array_get(values, i);
        const json_int_t value = json_integer_value(json_array_get(pair, 0));
        const json_int_t count = json_integer_value(json_array_get(pair, 1));
        if (json_array_size(pair) != 2 || value < 0 || count < 1 ||
            (uint64_t)value > PD_TELEMETRY_VALUE_MAX || (uint64_t)count > PD_TELEMETRY_VALUE_MAX ||
            (i && (uint64_t)value <= bins[i - 1].value)) {
            return false;
        }
        bins[i] = (struct pd_telemetry_bin){(uint64_t)value, (uint64_t)count};
    }
    return true;
}

static int take_row(struct tail_ports *ports, const json_t *row)
{
    struct pd_telemetry_bin bins[PD_TELEMETRY_BINS_MOST];
    uint64_t sw = 0, to = 0;
    const bool has_path = json_object_get(row, "path") != NULL;
    struct pd_path path = {0};
    size_t len;

    if (!pd_app_number(row, "switch", &sw) || !sw || sw > UINT32_MAX ||
        (json_object_get(row, "to") && (!pd_app_number(row, "to", &to) || to > UINT32_MAX)) ||
        (has_path && (!pd_app_path_read(row, &path) || !path.len)) || !read_bins(row, bins, &len)) {
        ports->bad++;
        return 0;
    }
    struct tail_port *port = port_of(ports, (uint32_t)sw, (uint32_t)to);
    if (!port) {
        ports->left_out++;
        return 0;
    }
    int err = pd_telemetry_bins_add(&port->bins, bins, len);
    if (err || !has_path) {
        return err;
    }
    const bool last = path.switches[path.len - 1] == sw;
    return take_path(ports, &path, last ? (uint32_t)to : 0);
}

int pd_tail_latency_ports_take(struct tail_ports *ports, const json_t *answer)
{
    const json_t *rows = json_object_get(answer, "rows"), *row;
    size_t i;
    int err = 0;

    json_array_foreach((json_t *)(uintptr_t)rows, i, row)
    {
        err = err ? err : take_row(ports, row);
    }
    return err;
}

/* ---- judging */

/* The port of hop `place` of a path. */
static struct tail_port *hop_of(const struct tail_ports *ports, size_t path, uint32_t place)
{
    const struct pd_path *way = &ports->paths[path];

    return pd_tail_latency_ports_find(ports, way->switches[place],
                                      place + 1 < way->len ? way->switches[place + 1]
                                                           : ports->hosts[path]);
}

static void judge_path(struct tail_ports *ports, size_t path)
{
    uint64_t sum = 0;

    if (ports->paths[path].len < 2) {
        return; /* within a rack: there is no other hop to compare with */
    }
    for (uint32_t place = 0; place < ports->paths[path].len; place++) {
        const struct tail_port *port = hop_of(ports, path, place);
        if (!port || !port->enough) {
            return; /* it may take as long as it likes */
        }
        sum += port->high;
    }
    for (uint32_t place = 0; place < ports->paths[path].len; place++) {
        struct tail_port *port = hop_of(ports, path, place);
        const uint64_t others = sum - port->high;
        if (port->low > others && (!port->slow || others > port->others)) {
            port->slow = true;
            port->others = others;
        }
    }
}

void pd_tail_latency_ports_judge(struct tail_ports *ports, double quantile)
{
    for (size_t i = 0; i < ports->len; i++) {
        struct tail_port *port = &ports->ports[i];
        port->value = pd_telemetry_bins_quantile(&port->bins, quantile);
        pd_telemetry_bins_interval(&port->bins, quantile, &port->low, &port->high);
        port->enough = (double)port->bins.samples * (1 - quantile) >= 1 - 1e-9;
    }
    for (size_t i = 0; i < ports->paths_len; i++) {
        judge_path(ports, i);
    }
}

void pd_tail_latency_ports_done(struct tail_ports *ports)
{
    for (size_t i = 0; i < ports->len; i++) {
        pd_telemetry_bins_done(&ports->ports[i].bins);
    }
    free(ports->ports);
    free(ports->paths);
    free(ports->hosts);
    *ports = (struct tail_ports){0};
}
