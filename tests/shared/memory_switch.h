/* SPDX-License-Identifier: Apache-2.0 */
/* A switch of a fat-tree of 4 that runs a compiled program; what it sends ends in memory. */
#ifndef PD_TESTS_SHARED_MEMORY_SWITCH_H
#define PD_TESTS_SHARED_MEMORY_SWITCH_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/pint/plan.h"
#include "folder.h"
#include "p4/programs.h"
#include "p4/tables.h"
#include "p4/writers.h"
#include "swx/switch.h"
#include "topology/generators.h"

/* Tables are those of `pathdump p4 tables`. One that cannot be made ends the process. */

enum { MEMORY_K = 4, MEMORY_PORTS = 4 };

static const char memory_plan[] =
    "{\"version\":1,\"seed\":7,\"carrier\":\"tag\",\"bits\":16,\"queries\":["
    "{\"name\":\"path\",\"aggregation\":\"static\",\"value\":\"switch-id\",\"coding\":\"hash\","
    "\"bits\":8,\"instances\":1,\"tau\":32768,\"xor\":[30000,65536]},"
    "{\"name\":\"port\",\"aggregation\":\"dynamic\",\"value\":\"ingress-port\",\"bits\":3,"
    "\"rounding\":\"nearest\",\"values\":[0,1,2,3,4,5,6,7],\"bounds\":[0,1,2,3,4,5,6,7]},"
    "{\"name\":\"loop\",\"aggregation\":\"loop\",\"bits\":4,\"threshold\":1}],"
    "\"sets\":[{\"weight\":65536,\"queries\":[\"path\",\"port\",\"loop\"]}]}";

struct memory_port {
    struct pd_swx_port port;
    uint32_t longest; /* bytes of the longest frame that it was given */
};

static inline int memory_send(struct pd_swx_port *port, struct pd_swx_frame **frame)
{
    struct memory_port *to = (struct memory_port *)port;
    to->longest = (*frame)->bytes > to->longest ? (*frame)->bytes : to->longest;
    return 0;
}

static inline void memory_close(struct pd_swx_port *port)
{
    free(port);
}

static const struct pd_swx_port_ops memory_ops = {.send = memory_send, .close = memory_close};

static inline void memory_must(int err, const struct pd_error *error)
{
    if (err) {
        fprintf(stderr, "%s\n", error->text[0] ? error->text : pd_error_text(err));
        exit(1);
    }
}

static inline void memory_tables(const char *program, uint32_t id, const char *spec,
                                 const char *folder)
{
    struct pd_error error = {.code = 0};
    struct pd_topology *topology = NULL;
    struct pd_pint_plan *plan = NULL;
    struct pd_p4_shape shape = {.tables_len = 0};
    struct pd_p4_list list = {.rows_len = 0};
    struct pd_tables tables = {.rows_len = 0};
    memory_must(pd_topology_generate(pd_topology_generator_find("fat-tree"), (uint32_t[]){MEMORY_K},
                                     true, &topology, &error),
                &error);
    memory_must(pd_pint_plan_parse(memory_plan, strlen(memory_plan), "plan", &plan, &error),
                &error);
    const struct pd_p4_want want = {.topology = topology,
                                    .sw = pd_topology_switch(topology, id),
                                    .set = program,
                                    .plan = plan,
                                    .routes = true,
                                    .probe_hosts_all = true};
    memory_must(pd_p4_tables_make(&want, &tables, &error), &error);
    memory_must(pd_p4_shape_read(spec, &shape, &error), &error);
    memory_must(pd_p4_list_make(&tables, &shape, id, program, &list, &error), &error);
    memory_must(pd_p4_write_folder(&pd_p4_swx, &list, NULL, folder, &error), &error);
    pd_p4_list_done(&list);
    pd_p4_shape_done(&shape);
    pd_tables_done(&tables);
    pd_pint_plan_free(plan);
    pd_topology_free(topology);
}

/* `spec`: another program, without tables; NULL: the compiled one of this name. */
static inline void memory_switch_open(const char *program, uint32_t id, const char *spec,
                                      struct pd_swx_switch *sw)
{
    struct pd_error error = {.code = 0};
    char file[4096], folder[] = "/tmp/pathdump-memory.XXXXXX";
    memory_must(mkdtemp(folder) ? 0 : -errno, &error);
    if (!spec) {
        memory_must(pd_p4_program_file(program, "pna", file, sizeof file, &error), &error);
        memory_tables(program, id, file, folder);
    }
    const struct pd_swx_switch_config config = {.id = id,
                                                .program = program,
                                                .spec = spec ? spec : file,
                                                .tables = folder,
                                                .ports_max = MEMORY_PORTS,
                                                .captures = true};
    memory_must(pd_swx_switch_open(&config, sw, &error), &error);
    for (unsigned i = 1; i <= MEMORY_PORTS; i++) {
        struct memory_port *port = calloc(1, sizeof *port);
        memory_must(port ? 0 : -ENOMEM, &error);
        port->port = (struct pd_swx_port){.ops = &memory_ops, .number = (uint16_t)i, .fd = -1};
        sw->ports[i] = &port->port;
    }
    folder_remove(folder);
}

static inline uint64_t memory_switch_dropped(const struct pd_swx_switch *sw)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < PD_SWX_REASON_COUNT; i++) {
        sum += sw->dropped[i];
    }
    return sum;
}

#endif
