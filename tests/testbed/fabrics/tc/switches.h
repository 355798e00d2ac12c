/* SPDX-License-Identifier: Apache-2.0 */
/* Switches in the kernel: loading them, holding their tables, and taking commands for them. */
#ifndef TESTBED_FABRICS_TC_SWITCHES_H
#define TESTBED_FABRICS_TC_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "codec/codec.h"
#include "tables.h"
#include "topology/topology.h"

/* A switch is a BPF object of its own, so that nothing but packets gets from one to another. Its
 * programs stay on the interfaces for as long as these live, also when this process has ended; its
 * tables can then not be changed any more.
 *
 * One thread. */

struct bpf_object;

/* Where an address belongs, as it was told; rows say whether that is inside. */
struct tc_place {
    struct place_key key;
    uint32_t target;
};

/* What it says when a TTL ends (answer.c): from which address of each port, and how often. */
struct tc_answers {
    struct tc_address {
        uint8_t ipv4[4], ipv6[16];
        bool has_ipv4, has_ipv6;
    } from[PORTS_MAX];
    bool limited;
    double per_s, tokens;
    uint64_t at_ns, sent; /* when tokens were counted; how many were answered */
};

struct tc_switch {
    const struct pd_topology *topology;
    uint32_t index; /* in the topology */
    uint32_t id;
    struct bpf_object *object;
    struct pd_codec_rows rows;
    struct tc_place *places;
    size_t places_len, places_room;
    int packets; /* raw socket of its namespace, by which it sends what the controller gives it */
    struct tc_answers answers;
};

/* Loads the switch from the object file and puts it on its ports, which are interfaces of this
 * thread's network namespace and are named s<switch>-<neighbour>. `codec` NULL: it does not tag. 0
 * or a negative error in words. */
int tc_switch_open(const struct pd_topology *topology, const struct pd_codec *codec, uint32_t id,
                   const char *object_file, struct tc_switch *ret_sw, struct pd_error *error);

/* Makes these its rows, and takes them. The addresses of one that has a prefix are inside; all
 * prefixes of a switch mean the same. 0, or a negative error: then it keeps those that it had. */
int tc_switch_rows(struct tc_switch *sw, struct pd_codec_rows *rows, struct pd_error *error);
bool tc_switch_executes(const struct pd_codec_rows *rows);

/* A place is there, or gone. 0, -ENOMEM or -errno. */
int tc_switch_place(struct tc_switch *sw, const struct tc_place *place, bool gone);

/* Sends a frame out of a port, or through the tables as if it had come in by `in_port`. */
int tc_switch_send(const struct tc_switch *sw, uint32_t in_port, uint32_t out_port,
                   const uint8_t *frame, size_t bytes);

/* Answers a packet whose TTL has ended, unless the limit is reached, its port has no address of
 * that family, or it is an ICMP error itself. */
void tc_answer(struct tc_switch *sw, const struct expired *event);
/* At most so many a second, one at a time; negative: as many as come. */
void tc_answers_limit(struct tc_answers *answers, double per_s);

/* Executes one line (control.c lists them). What it has to say goes to `answer`. 0 or a negative
 * error in words. */
int tc_command(struct tc_switch *switches, size_t switches_len, const char *line, FILE *answer,
               struct pd_error *error);

/* Programs of one interface, in their order; those of faults come behind them. */
enum tc_order { TC_METER_INGRESS = 1, TC_SWITCH, TC_METER_EGRESS };

/* Puts a program of the switch on an interface of this thread's network namespace; `point` is of
 * enum bpf_tc_attach_point. 0 or -errno. */
int tc_attach(const struct tc_switch *sw, const char *name, unsigned ifindex, uint32_t place,
              unsigned point);

/* File descriptor of a table; the names are those of switch.bpf.c. */
int tc_table(const struct tc_switch *sw, const char *name);

#endif
