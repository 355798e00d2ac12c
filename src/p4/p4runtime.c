/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as P4Runtime's WriteRequest in protobuf's text form, by the numbers of a P4Info file. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "p4/writers.h"

#define LINE_BYTES 1024
#define PARTS_MAX  64

/* A table, action or register of the P4Info, and its fields or parameters in their order. */
struct object {
    char section[20], name[PD_P4_NAME_BYTES];
    uint32_t id, parts_len;
    struct {
        uint32_t id;
        char name[PD_P4_NAME_BYTES];
    } parts[PARTS_MAX];
};

struct info {
    struct object *objects;
    size_t len, room;
};

/* ---- P4Info, a line at a time: SECTION { preamble { id, name } PART { id, name } } */

struct reader {
    struct info info;
    unsigned depth;
    bool in_preamble, in_part;
};

static void read_pair(struct object *object, const struct reader *reader, const char *line)
{
    unsigned id;
    char name[PD_P4_NAME_BYTES];
    const bool is_id = sscanf(line, " id: %u", &id) == 1;
    const bool is_name = !is_id && sscanf(line, " name: \"%99[^\"]\"", name) == 1;
    if (reader->in_preamble && is_id) {
        object->id = id;
    } else if (reader->in_preamble && is_name) {
        memcpy(object->name, name, sizeof name);
    } else if (reader->in_part && object->parts_len && is_id) {
        object->parts[object->parts_len - 1].id = id;
    } else if (reader->in_part && object->parts_len && is_name) {
        memcpy(object->parts[object->parts_len - 1].name, name, sizeof name);
    }
}

static int open_block(struct reader *reader, const char *line)
{
    struct info *info = &reader->info;
    char word[20] = "";
    sscanf(line, " %19[a-z_0-9]", word);
    reader->depth++;
    if (reader->depth == 1) {
        if (PD_GROW(info->objects, info->room, info->len + 1)) {
            return -ENOMEM;
        }
        info->objects[info->len] = (struct object){.id = 0};
        memcpy(info->objects[info->len++].section, word, sizeof word);
    } else if (reader->depth == 2 && info->len) {
        struct object *object = &info->objects[info->len - 1];
        reader->in_preamble = !strcmp(word, "preamble");
        reader->in_part = !strcmp(word, "match_fields") || !strcmp(word, "params");
        object->parts_len += reader->in_part && object->parts_len < PARTS_MAX;
    }
    return 0;
}

static int read_line(struct reader *reader, const char *line)
{
    const char *last = line + strlen(line);
    while (last > line && strchr(" \t\r\n", last[-1])) {
        last--;
    }
    if (last > line && last[-1] == '{') {
        return open_block(reader, line);
    }
    if (last > line && last[-1] == '}') {
        reader->depth -= reader->depth > 0;
        reader->in_preamble &= reader->depth >= 2;
        reader->in_part &= reader->depth >= 2;
    } else if (reader->depth == 2 && reader->info.len) {
        read_pair(&reader->info.objects[reader->info.len - 1], reader, line);
    }
    return 0;
}

static int read_info(const char *file, struct info *ret_info, struct pd_error *error)
{
    struct reader reader = {.depth = 0};
    char line[LINE_BYTES];
    int err = 0;
    FILE *in = file ? fopen(file, "re") : NULL;
    if (!in) {
        return pd_fail(error, file ? -errno : -PD_E_NOT_FOUND, "%s: no P4Info: %s",
                       file ? file : "this program", file ? strerror(errno) : "none is known");
    }
    while (!err && fgets(line, sizeof line, in)) {
        err = read_line(&reader, line);
    }
    fclose(in);
    *ret_info = reader.info;
    return err;
}

static const struct object *find(const struct info *info, const char *section, const char *name)
{
    for (size_t i = 0; i < info->len; i++) {
        if (!strcmp(info->objects[i].section, section) &&
            pd_p4_is_named(info->objects[i].name, name)) {
            return &info->objects[i];
        }
    }
    return NULL;
}

static uint32_t part_of(const struct object *object, const char *name)
{
    for (uint32_t i = 0; i < object->parts_len; i++) {
        if (pd_p4_is_named(object->parts[i].name, name)) {
            return object->parts[i].id;
        }
    }
    return 0;
}

/* ---- requests */

/* As few bytes as there can be. */
static void write_bytes(const char *label, uint64_t value, FILE *out)
{
    unsigned bytes = 1;
    while (bytes < 8 && value >> 8 * bytes) {
        bytes++;
    }
    fprintf(out, "%s: \"", label);
    while (bytes--) {
        fprintf(out, "\\%03o", (unsigned)(value >> 8 * bytes) & 0xff);
    }
    fputs("\" ", out);
}

static void write_match(const struct object *table, const struct pd_p4_row *row, uint32_t nth,
                        FILE *out)
{
    const struct pd_p4_field *key = &row->table->keys[nth];
    if (!row->masks[nth]) {
        return; /* what matches anything has to be left out */
    }
    fprintf(out, "match { field_id: %" PRIu32 " ", part_of(table, pd_p4_source_name(key->name)));
    if (key->match == PD_P4_EXACT) {
        fputs("exact { ", out);
        write_bytes("value", row->values[nth], out);
    } else if (key->match == PD_P4_TERNARY) {
        fputs("ternary { ", out);
        write_bytes("value", row->values[nth], out);
        write_bytes("mask", row->masks[nth], out);
    } else {
        fputs("lpm { ", out);
        write_bytes("value", row->values[nth], out);
        fprintf(out, "prefix_len: %d ", __builtin_popcountll(row->masks[nth]));
    }
    fputs("} } ", out);
}

static int write_row(const struct info *info, const struct pd_p4_row *row, FILE *out,
                     struct pd_error *error)
{
    const struct object *table = find(info, "tables", row->table->name);
    const struct object *action = find(info, "actions", row->source_action);
    if (!table || !action) {
        return pd_fail(error, -PD_E_VALUE, "the P4Info has no table %s with an action %s",
                       row->table->name, row->source_action);
    }
    fprintf(out, "updates { type: INSERT entity { table_entry { table_id: %" PRIu32 " ", table->id);
    for (uint32_t i = 0; i < row->table->keys_len; i++) {
        write_match(table, row, i, out);
    }
    fprintf(out, "action { action { action_id: %" PRIu32 " ", action->id);
    for (uint32_t i = 0; i < row->arguments_len; i++) {
        fprintf(out, "params { param_id: %" PRIu32 " ", part_of(action, row->arguments[i].name));
        write_bytes("value", row->data[i], out);
        fputs("} ", out);
    }
    fputs("} } ", out);
    if (pd_p4_has_priority(row->table)) {
        fprintf(out, "priority: %" PRIu32 " ", row->priority);
    }
    fputs("} } }\n", out);
    return 0;
}

static void write_number(const struct info *info, const struct pd_tables_number *number, FILE *out)
{
    const struct object *array = find(info, "registers", number->array);
    if (!array) {
        return; /* the compiler for this target lists none */
    }
    fprintf(out,
            "updates { type: MODIFY entity { register_entry { register_id: %" PRIu32
            " index { index: %" PRIu32 " } data { ",
            array->id, number->index);
    write_bytes("bitstring", number->value, out);
    fputs("} } } }\n", out);
}

static int write_all(const struct pd_p4_list *list, const char *p4info, FILE *out,
                     struct pd_error *error)
{
    struct info info = {.len = 0};
    int err = read_info(p4info, &info, error);
    if (!err) {
        fprintf(out, "device_id: %" PRIu32 "\n", list->switch_id);
    }
    for (size_t i = 0; i < list->rows_len && !err; i++) {
        err = list->rows[i].table == &list->slow ? 0 : write_row(&info, &list->rows[i], out, error);
    }
    for (size_t i = 0; i < list->numbers_len && !err; i++) {
        write_number(&info, &list->numbers[i], out);
    }
    free(info.objects);
    return err;
}

const struct pd_p4_writer pd_p4_p4runtime = {.name = "p4runtime", .write = write_all};
