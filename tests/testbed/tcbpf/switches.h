/* SPDX-License-Identifier: Apache-2.0 */
/* Switches in the kernel: loading them, holding their tables, and taking commands for them. */
#ifndef TESTBED_TCBPF_SWITCHES_H
#define TESTBED_TCBPF_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "codec/codec.h"
#include "topology/topology.h"

/* A switch is a BPF object of its own, so that nothing but packets gets from one to another. Its
 * programs stay on the interfaces for as long as these live, also when this process has ended; its
 * tables can then not be changed any more.
 *
 * One thread. */

struct bpf_object;

struct tc_switch {
    uint32_t index; /* in the topology */
    uint32_t id;
    struct bpf_object *object;
};

/* Loads the switch from the object file and puts it on its ports, which are interfaces of this
 * thread's network namespace and are named s<switch>-<neighbour>. `codec` NULL: it does not tag. 0
 * or a negative error in words. */
int tc_switch_open(const struct pd_topology *topology, const struct pd_codec *codec, uint32_t id,
                   const char *object_file, struct tc_switch *ret_sw, struct pd_error *error);

/* Executes one line (control.c lists them). What it has to say goes to `answer`. 0 or a negative
 * error in words. */
int tc_command(struct tc_switch *switches, size_t switches_len, const char *line, FILE *answer,
               struct pd_error *error);

/* File descriptor of a table; the names are those of switch.bpf.c. */
int tc_table(const struct tc_switch *sw, const char *name);

#endif
