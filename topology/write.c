/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a topology as node-link JSON, one node or link a line; equal topologies give equal bytes.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "topology/links.h"

/* A JSON string. Names hold no control characters (the reader refuses them). */
static void write_string(const char *text, FILE *out)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            putc('\\', out);
        }
        putc(*text, out);
    }
    putc('"', out);
}

/* A list of addresses, or nothing when it is empty. */
static void write_addrs(const char *key, const struct pd_prefix *addrs, uint32_t len, FILE *out)
{
    char text[PD_ADDR_TEXT_BYTES];
    for (uint32_t i = 0; i < len; i++) {
        if (!i) {
            fprintf(out, ",\"%s\":[", key);
        }
        fprintf(out, "%s\"%s\"", i ? "," : "",
                pd_addr_format(&addrs[i].addr, addrs[i].ip_version, text));
    }
    fputs(len ? "]" : "", out);
}

static void write_switch(const struct pd_switch *sw, bool with_hosts, FILE *out)
{
    char text[PD_ADDR_TEXT_BYTES];
    fprintf(out, "{\"id\":%u,\"name\":", sw->id);
    write_string(sw->name, out);
    fprintf(out, ",\"role\":\"%s\"", pd_topology_role_name(sw->role));
    if (sw->pod) {
        fprintf(out, ",\"pod\":%u", sw->pod);
    }
    if (sw->position) {
        fprintf(out, ",\"position\":%u", sw->position);
    }
    for (uint32_t i = 0; i < sw->prefixes_len; i++) {
        fprintf(out, "%s\"%s/%u\"", i ? "," : ",\"prefixes\":[",
                pd_addr_format(&sw->prefixes[i].addr, sw->prefixes[i].ip_version, text),
                sw->prefixes[i].bits);
    }
    fputs(sw->prefixes_len ? "]" : "", out);
    write_addrs("addrs", sw->addrs, sw->addrs_len, out);
    if (sw->ioam_id != sw->id) {
        fprintf(out, ",\"ioam_id\":%u", sw->ioam_id);
    }
    if (sw->dpid != sw->id) {
        fprintf(out, ",\"dpid\":\"0x%016" PRIx64 "\"", sw->dpid);
    }
    if (sw->path_id != sw->id) {
        fprintf(out, ",\"path_id\":%" PRIu64, sw->path_id);
    }
    if (memcmp(&sw->sid, &(struct pd_addr){{0}}, sizeof sw->sid) != 0) {
        fprintf(out, ",\"sid\":\"%s/64\"", pd_addr_format(&sw->sid, 6, text));
    }
    if (!isnan(sw->x)) {
        fprintf(out, ",\"x\":%.9g", (double)sw->x);
    }
    if (!isnan(sw->y)) {
        fprintf(out, ",\"y\":%.9g", (double)sw->y);
    }
    if (!with_hosts && pd_topology_switch_has_rack(sw)) {
        fprintf(out, ",\"hosts\":%u", sw->neighbours_len - sw->switch_neighbours);
    }
    putc('}', out);
}

static void write_host(const struct pd_host *host, FILE *out)
{
    char text[PD_ADDR_TEXT_BYTES];
    fprintf(out, "{\"id\":%u,\"name\":", host->id);
    write_string(host->name, out);
    fputs(",\"role\":\"host\"", out);
    for (uint32_t i = 0; i < host->addrs_len; i++) {
        fprintf(out, "%s\"%s\"", i ? "," : ",\"addrs\":[",
                pd_addr_format(&host->addrs[i], host->ip_versions[i], text));
    }
    fputs(host->addrs_len ? "]}" : "}", out);
}

/* Marks the links with a port that is not the neighbour's rank at that end: bit 0 at the first, bit
 * 1 at the second. Parallel links get both. */
static void mark_ports(const struct pd_topology *topology, uint8_t *marks)
{
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        const struct pd_switch *sw = &topology->switches[i];
        for (uint32_t n = 0; n < sw->neighbours_len; n++) {
            const struct pd_neighbour *neighbour = &sw->neighbours[n];
            bool given = neighbour->parallel > 1 || neighbour->port != n + 1;
            for (uint32_t nth = 0; given && nth < neighbour->parallel; nth++) {
                marks[neighbour->link / 2 + nth] |= (uint8_t)(1 << (neighbour->link & 1));
            }
        }
    }
}

static void write_link(const struct pd_topology *topology, uint32_t i, uint8_t marks, FILE *out)
{
    static const char *const ports[] = {"source_port", "target_port"};
    static const char *const cards[] = {"source_card", "target_card"};
    static const char *const addrs[] = {"source_addrs", "target_addrs"};
    const struct pd_link *link = &topology->links[i];
    fprintf(out, "{\"source\":%u,\"target\":%u", pd_topology_links_from_id(topology, 2 * i),
            pd_topology_links_to_id(topology, 2 * i));
    for (int end = 0; end < 2; end++) {
        if (marks & 1 << end || (end && link->is_host && link->ports[end])) {
            fprintf(out, ",\"%s\":%u", ports[end], link->ports[end]);
        }
    }
    for (int end = 0; end < 2; end++) {
        if (link->cards[end]) {
            fprintf(out, ",\"%s\":%u", cards[end], link->cards[end]);
        }
    }
    if (link->tag) {
        fprintf(out, ",\"tag\":%u", link->tag);
    }
    if (link->mbps) {
        fprintf(out, ",\"mbps\":%u", link->mbps);
    }
    for (int end = 0; end < 2; end++) {
        uint32_t len;
        const struct pd_prefix *list = pd_topology_links_addrs(topology, i, end, &len);
        write_addrs(addrs[end], list, len, out);
    }
    putc('}', out);
}

/* Those of a switch to larger switches, then to its hosts: as files of the first version have them.
 */
static int write_links(const struct pd_topology *topology, bool with_hosts, FILE *out)
{
    const char *separator = "\n";
    uint32_t fabric = 0, down = topology->fabric_links_len;
    uint8_t *marks = calloc((size_t)topology->links_len + 1, sizeof *marks);
    if (!marks) {
        return -ENOMEM;
    }
    mark_ports(topology, marks);
    for (uint32_t sw = 0; sw < topology->switches_len; sw++) {
        uint32_t *const at[] = {&fabric, &down};
        const uint32_t ends[] = {topology->fabric_links_len, with_hosts ? topology->links_len : 0};
        for (int part = 0; part < 2; part++) {
            for (; *at[part] < ends[part] && topology->links[*at[part]].ends[0] == sw;
                 separator = ",\n") {
                fputs(separator, out);
                write_link(topology, *at[part], marks[*at[part]], out);
                ++*at[part];
            }
        }
    }
    free(marks);
    return 0;
}

/* One codec and its options as they are, several by name. */
static void write_codecs(const struct pd_topology *topology, FILE *out)
{
    bool several = topology->codecs_len > 1;
    const char *separator = ",\"codec_options\":{";
    for (uint32_t i = 0; i < topology->codecs_len; i++) {
        fputs(i ? "," : several ? ",\"codec\":[" : ",\"codec\":", out);
        write_string(topology->codecs[i].name, out);
    }
    fputs(several ? "]" : "", out);
    if (topology->codecs_len == 1 && *topology->codecs[0].options) {
        fprintf(out, ",\"codec_options\":%s", topology->codecs[0].options);
    }
    for (uint32_t i = 0; several && i < topology->codecs_len; i++) {
        if (*topology->codecs[i].options) {
            fputs(separator, out);
            write_string(topology->codecs[i].name, out);
            fprintf(out, ":%s", topology->codecs[i].options);
            separator = ",";
        }
    }
    fputs(several && *separator == ',' && !separator[1] ? "}" : "", out);
}

static int write_all(const struct pd_topology *topology, bool with_hosts, FILE *out)
{
    const char *separator = "\n";
    errno = 0;
    fputs("{\"name\":", out);
    write_string(topology->name, out);
    write_codecs(topology, out);
    fputs(",\"nodes\":[", out);
    for (uint32_t i = 0; i < topology->switches_len; i++, separator = ",\n") {
        fputs(separator, out);
        write_switch(&topology->switches[i], with_hosts, out);
    }
    for (uint32_t i = 0; with_hosts && i < topology->hosts_len; i++) {
        fputs(separator, out);
        write_host(&topology->hosts[i], out);
    }
    fputs("\n],\"links\":[", out);
    if (write_links(topology, with_hosts, out)) {
        return -ENOMEM;
    }
    fputs("\n]}\n", out);
    if (fflush(out) || ferror(out)) {
        return errno ? -errno : -EIO;
    }
    return 0;
}

int pd_topology_write(const struct pd_topology *topology, FILE *out)
{
    return write_all(topology, true, out);
}

int pd_topology_write_switches(const struct pd_topology *topology, FILE *out)
{
    return write_all(topology, false, out);
}
