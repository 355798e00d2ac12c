/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a compiled program: its tables with their keys, its actions, its arrays. */
#ifndef PD_P4_SHAPE_H
#define PD_P4_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Read from the .spec of DPDK's SWX, in which the compiler may have given tables, actions and
 * fields other names than the source: what a scheme calls `in_port` is the last part of
 * `m.local_metadata_in_port`, its action `push` may be `push_1`. So rows are written with the names
 * of the compiled program.
 *
 * Thread safety: a shape belongs to whoever read it. */

#define PD_P4_NAME_BYTES 100

enum pd_p4_match { PD_P4_EXACT, PD_P4_TERNARY, PD_P4_LPM };

struct pd_p4_field {
    char name[PD_P4_NAME_BYTES];
    uint16_t bits;
    enum pd_p4_match match; /* of keys */
};
struct pd_p4_action {
    char name[PD_P4_NAME_BYTES];
    struct pd_p4_field *arguments;
    uint32_t len, room;
};
struct pd_p4_table {
    char name[PD_P4_NAME_BYTES];
    struct pd_p4_field *keys;
    uint32_t *actions; /* indexes */
    uint32_t keys_len, keys_room, actions_len, actions_room;
    uint32_t size;
};
struct pd_p4_array {
    char name[PD_P4_NAME_BYTES];
    uint32_t size;
};
struct pd_p4_shape {
    struct pd_p4_table *tables;
    struct pd_p4_action *actions;
    struct pd_p4_array *arrays;
    uint32_t tables_len, tables_room, actions_len, actions_room, arrays_len, arrays_room;
};

/* -PD_E_SYNTAX with file and line, -ENOMEM or -errno. */
int pd_p4_shape_read(const char *file, struct pd_p4_shape *ret_shape, struct pd_error *error);
void pd_p4_shape_done(struct pd_p4_shape *shape); /* works on a zeroed one, too */

/* Whether the compiler's name stands for this one: the same, or its last part, with or without a
 * number behind it. */
bool pd_p4_is_named(const char *compiled, const char *name);

/* NULL: the program has none. An action is looked for among those of the table. */
const struct pd_p4_table *pd_p4_shape_table(const struct pd_p4_shape *shape, const char *name);
const struct pd_p4_action *pd_p4_shape_action(const struct pd_p4_shape *shape,
                                              const struct pd_p4_table *table, const char *name);
const struct pd_p4_array *pd_p4_shape_array(const struct pd_p4_shape *shape, const char *name);

#endif
