/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and what each of them looks up. */
#include "p4/tables.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/pint/tables.h"
#include "codec/rows.h"
#include "codec/tables.h"
#include "topology/links.h"
#include "topology/routes.h"

#define FATES_FIRST      256 /* out ports that stand for fates (docs/formats/switch-tables.md) */
#define FATES_END        282

#define INT_INSTRUCTIONS 0xf800 /* node, ports, latency, queue, time */
#define INT_WORDS        6
#define INT_HOPS         60
#define INT_CODE_POINT   23
#define INT_ANY_PRIORITY 1

#define CRC_ROWS         3
#define CLOCK_EPOCH_MS   4
#define EPOCH_MS         100 /* as in `pathdump meters count` */

struct maker {
    const struct pd_p4_want *want;
    struct pd_tables *tables;
    const struct pd_codec *edge; /* whose marks hosts may not make */
    struct pd_error *error;
};

/* ---- forwarding */

static void add_port(struct pd_tables *tables, uint32_t port)
{
    struct pd_tables_row *row = pd_tables_add(tables, "ports", 0, "send");
    pd_tables_match(row, "port", port, PD_TABLES_EXACT);
    pd_tables_argument(row, "port", port);
}

static void visit_port(void *context, uint16_t port, const struct pd_neighbour *to)
{
    struct maker *m = context;
    (void)to;
    add_port(m->tables, port);
}

/* Each number that a program may send to: anything else would end the process. */
static void add_ports(struct maker *m)
{
    pd_topology_ports(m->want->topology, m->want->sw, visit_port, m);
    for (uint32_t fate = FATES_FIRST; fate < FATES_END; fate++) {
        add_port(m->tables, fate);
    }
}

static int make_all(struct maker *m)
{
    const struct pd_p4_want *want = m->want;
    add_ports(m);
    pd_tables_number(m->tables, "id", 0, want->topology->switches[want->sw].id);
    int err = pd_topology_tables_interfaces(want->topology, want->sw, m->tables);
    err = err ? err : pd_codec_tables_edge(want->topology, m->edge, want->sw, m->tables);
    return err || !want->routes ? err
                                : pd_topology_tables_routes(want->topology, want->sw, m->tables);
}

/* ---- tags and filters */

/* The first codec of the topology that writes tags by rows, but for path filters. */
static const char *tagging_name(const struct pd_topology *topology)
{
    static const char *const others[] = {"path-bloom", "pint"};
    for (uint32_t i = 0; i < topology->codecs_len; i++) {
        const char *name = topology->codecs[i].name;
        if (strcmp(name, others[0]) != 0 && strcmp(name, others[1]) != 0) {
            return name;
        }
    }
    return NULL;
}

static int make_rows(struct maker *m, struct pd_codec *codec)
{
    m->edge = codec;
    return pd_codec_tables_rows(codec, m->want->sw, m->want->depth, m->tables);
}

static int open_tagging(const struct maker *m, struct pd_codec **ret_codec)
{
    const char *name = tagging_name(m->want->topology);
    return name ? pd_codec_new_named(m->want->topology, name, ret_codec, m->error)
                : pd_fail(m->error, -PD_E_UNSUPPORTED,
                          "cherrypick: the topology names no codec of link tags");
}

/* The topology's options with other monitors. */
static int open_bloom(const struct maker *m, struct pd_codec **ret_codec)
{
    const struct pd_codec_choice *choice = pd_topology_codec(m->want->topology, "path-bloom");
    const char *given = choice && *choice->options ? choice->options : "{}";
    if (!m->want->monitors) {
        return pd_codec_new_named(m->want->topology, "path-bloom", ret_codec, m->error);
    }
    json_t *options = json_loads(given, 0, NULL);
    char *text = NULL;
    if (options) {
        json_object_set_new(options, "monitors", json_string(m->want->monitors));
        text = json_dumps(options, JSON_COMPACT);
    }
    int err = text ? pd_codec_new_with(m->want->topology, "path-bloom", text, ret_codec, m->error)
                   : -ENOMEM;
    free(text);
    json_decref(options);
    return err;
}

/* ---- probes and INT */

static bool may_probe(const struct pd_p4_want *want, uint32_t host)
{
    bool may = want->probe_hosts_all;
    for (uint32_t i = 0; i < want->probe_hosts_len; i++) {
        may |= want->probe_hosts[i] == want->topology->hosts[host].id;
    }
    return may;
}

static void visit_probe_port(void *context, uint16_t port, const struct pd_neighbour *to)
{
    struct maker *m = context;
    if (!to->is_host || may_probe(m->want, to->node)) {
        struct pd_tables_row *row = pd_tables_add(m->tables, "probe_ports", 0, "allowed");
        pd_tables_match(row, "in_port", port, PD_TABLES_EXACT);
    }
}

static int make_sr_int(struct maker *m)
{
    pd_topology_ports(m->want->topology, m->want->sw, visit_probe_port, m);
    return pd_tables_error(m->tables);
}

static void visit_sink(void *context, uint16_t port, const struct pd_neighbour *to)
{
    struct maker *m = context;
    if (to->is_host) {
        struct pd_tables_row *row = pd_tables_add(m->tables, "int_sinks", 0, "sink");
        pd_tables_match(row, "out_port", port, PD_TABLES_EXACT);
    }
}

/* Without a list of flows all that hosts send over TCP and UDP is watched. */
static int make_int_md(struct maker *m)
{
    struct pd_tables_row *row = pd_tables_add(m->tables, "int_watch", INT_ANY_PRIORITY, "watch");
    pd_tables_argument(row, "instructions", INT_INSTRUCTIONS);
    pd_tables_argument(row, "words", INT_WORDS);
    pd_tables_argument(row, "hops", INT_HOPS);
    pd_tables_argument(row, "code_point", INT_CODE_POINT);
    pd_topology_ports(m->want->topology, m->want->sw, visit_sink, m);
    return pd_tables_error(m->tables);
}

/* ---- meters */

static void visit_end(void *context, uint16_t port, const struct pd_neighbour *to)
{
    struct maker *m = context;
    if (to->is_host) {
        struct pd_tables_row *row = pd_tables_add(m->tables, "meter_ends", 0, "last");
        pd_tables_match(row, "out_port", port, PD_TABLES_EXACT);
    }
}

static uint32_t crc_of(uint32_t polynomial, uint32_t byte)
{
    for (int bit = 0; bit < 8; bit++) {
        byte = byte & 1 ? byte >> 1 ^ polynomial : byte >> 1;
    }
    return byte;
}

/* Beside path filters, meters tell by which of them a packet came: where these are. */
static int tell_carrier(const struct maker *m)
{
    struct pd_codec_rows rows;
    int err = m->edge ? pd_codec_rows_make(m->edge, m->want->sw, m->want->depth, &rows) : 0;
    if (m->edge && !err) {
        pd_tables_number(m->tables, "bloom", 0, rows.carrier);
        pd_codec_rows_done(&rows);
    }
    return err;
}

/* A hash for each row of HashPipe: reflected CRCs of three polynomials, by tables of bytes. */
static int make_meters(struct maker *m)
{
    static const uint32_t polynomials[CRC_ROWS] = {0xedb88320, 0x82f63b78, 0xeb31d82e};
    for (uint32_t row = 0; row < CRC_ROWS; row++) {
        for (uint32_t byte = 0; byte < 256; byte++) {
            pd_tables_number(m->tables, "meter_crc", 256 * row + byte,
                             crc_of(polynomials[row], byte));
        }
    }
    pd_tables_number(m->tables, "clock", CLOCK_EPOCH_MS, EPOCH_MS);
    pd_topology_ports(m->want->topology, m->want->sw, visit_end, m);
    int err = tell_carrier(m);
    return err ? err : pd_tables_error(m->tables);
}

/* ---- programs */

static int make_pint(struct maker *m)
{
    const struct pd_p4_want *want = m->want;
    return want->plan ? pd_pint_tables(want->plan, want->topology->switches[want->sw].id, m->tables,
                                       m->error)
                      : pd_fail(m->error, -PD_E_VALUE, "pint: needs a telemetry plan (--plan)");
}

static const struct program {
    const char *name;
    int (*open)(const struct maker *m, struct pd_codec **ret_codec); /* NULL: it has no rows */
    int (*make)(struct maker *m);                                    /* NULL: nothing of its own */
} programs[] = {
    {.name = "forward"},
    {.name = "cherrypick", .open = open_tagging},
    {.name = "path-bloom", .open = open_bloom},
    {.name = "meters", .make = make_meters},
    {.name = "pint", .make = make_pint},
    {.name = "sr-int", .make = make_sr_int},
    {.name = "int-md", .make = make_int_md},
};

static const struct program *find(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (strlen(programs[i].name) == len && !strncmp(programs[i].name, name, len)) {
            return &programs[i];
        }
    }
    return NULL;
}

/* The codec lives as long as its edge is looked at. */
static int make_one(struct maker *m, const struct program *program, struct pd_codec **codec)
{
    int err = 0;
    if (program->open && *codec) {
        return pd_fail(m->error, -PD_E_VALUE, "%s: two programs of the set write rows",
                       m->want->set);
    }
    if (program->open) {
        err = program->open(m, codec);
        err = err ? err : make_rows(m, *codec);
    }
    return err || !program->make ? err : program->make(m);
}

int pd_p4_tables_make(const struct pd_p4_want *want, struct pd_tables *tables,
                      struct pd_error *error)
{
    struct maker m = {.want = want, .tables = tables, .error = error};
    struct pd_codec *codec = NULL;
    int err = 0;
    for (const char *at = want->set; at && !err;) {
        const char *plus = strchr(at, '+');
        size_t len = plus ? (size_t)(plus - at) : strlen(at);
        const struct program *program = find(at, len);
        err = program ? make_one(&m, program, &codec)
                      : pd_fail(error, -PD_E_NOT_FOUND, "no program \"%.*s\"", (int)len, at);
        at = plus ? plus + 1 : NULL;
    }
    err = err ? err : make_all(&m);
    pd_codec_free(codec);
    return err == -ENOMEM ? pd_fail(error, err, "no memory") : err;
}
