/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a topology as node-link JSON, one node or link a line; equal topologies give equal bytes.
 */
#include <errno.h>
#include <string.h>

#include "topology/topology.h"

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

static void write_switch(const struct pd_switch *sw, FILE *out)
{
    char text[PD_ADDR_TEXT_BYTES];
    fprintf(out, "{\"id\":%u,\"name\":", sw->id);
    write_string(sw->name, out);
    fprintf(out, ",\"role\":\"%s\"", pd_role_name(sw->role));
    if (sw->pod) {
        fprintf(out, ",\"pod\":%u", sw->pod);
    }
    for (uint32_t i = 0; i < sw->prefixes_len; i++) {
        fprintf(out, "%s\"%s/%u\"", i ? "," : ",\"prefixes\":[",
                pd_addr_format(&sw->prefixes[i].addr, sw->prefixes[i].ip_version, text),
                sw->prefixes[i].bits);
    }
    fputs(sw->prefixes_len ? "]}" : "}", out);
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

/* The neighbour's rank is its port unless the file said otherwise. */
static void write_port(const struct pd_switch *sw, const struct pd_neighbour *neighbour,
                       const char *key, FILE *out)
{
    if (neighbour->port != neighbour - sw->neighbours + 1) {
        fprintf(out, ",\"%s\":%u", key, neighbour->port);
    }
}

static void write_links_of(const struct pd_topology *topology, uint32_t from,
                           const char **separator, FILE *out)
{
    const struct pd_switch *sw = &topology->switches[from];
    for (uint32_t i = 0; i < sw->neighbours_len; i++) {
        const struct pd_neighbour *neighbour = &sw->neighbours[i];
        if (!neighbour->is_host && neighbour->node < from) {
            continue;
        }
        fprintf(out, "%s{\"source\":%u,\"target\":%u", *separator, sw->id,
                neighbour->is_host ? topology->hosts[neighbour->node].id
                                   : topology->switches[neighbour->node].id);
        write_port(sw, neighbour, "source_port", out);
        if (!neighbour->is_host) {
            write_port(&topology->switches[neighbour->node],
                       pd_topology_link(topology, neighbour->node, from), "target_port", out);
        }
        if (neighbour->link_tag) {
            fprintf(out, ",\"tag\":%u", neighbour->link_tag);
        }
        putc('}', out);
        *separator = ",\n";
    }
}

int pd_topology_write(const struct pd_topology *topology, FILE *out)
{
    const char *separator = "\n";
    errno = 0;
    fputs("{\"name\":", out);
    write_string(topology->name, out);
    if (*topology->codec) {
        fputs(",\"codec\":", out);
        write_string(topology->codec, out);
    }
    fputs(",\"nodes\":[", out);
    for (uint32_t i = 0; i < topology->switches_len; i++, separator = ",\n") {
        fputs(separator, out);
        write_switch(&topology->switches[i], out);
    }
    for (uint32_t i = 0; i < topology->hosts_len; i++) {
        fputs(separator, out);
        write_host(&topology->hosts[i], out);
    }
    fputs("\n],\"links\":[", out);
    separator = "\n";
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        write_links_of(topology, i, &separator, out);
    }
    fputs("\n]}\n", out);
    if (fflush(out) || ferror(out)) {
        return errno ? -errno : -EIO;
    }
    return 0;
}
