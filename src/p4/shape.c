/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the shape of a program out of its .spec: as many lines of it as tell of tables. */
#include "p4/shape.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define LINE_BYTES 1024
#define WORDS_MAX  8

struct layout { /* a struct of the file */
    char name[PD_P4_NAME_BYTES];
    struct pd_p4_field *fields;
    uint32_t len, room;
};
struct instance { /* a header, or the metadata, and the struct that it is made of */
    char name[PD_P4_NAME_BYTES], of[PD_P4_NAME_BYTES];
};

enum place { OUTSIDE, IN_STRUCT, IN_TABLE, IN_KEY, IN_ACTIONS, IN_OTHER };

struct reader {
    const char *file;
    unsigned line;
    struct pd_error *error;
    struct pd_p4_shape *shape;
    struct layout *layouts;
    struct instance *instances;
    uint32_t layouts_len, layouts_room, instances_len, instances_room;
    enum place place;
    unsigned depth; /* of braces in what is not looked at */
};

static int bad(const struct reader *reader, const char *what)
{
    return pd_fail(reader->error, -PD_E_SYNTAX, "%s:%u: %s", reader->file, reader->line, what);
}

static void copy(char to[PD_P4_NAME_BYTES], const char *from)
{
    snprintf(to, PD_P4_NAME_BYTES, "%s", from);
}

static unsigned split(char *line, char *words[WORDS_MAX])
{
    unsigned len = 0;
    char *rest = NULL;
    line[strcspn(line, ";")] = '\0';
    for (char *word = strtok_r(line, " \t\r\n", &rest); word && len < WORDS_MAX;
         word = strtok_r(NULL, " \t\r\n", &rest)) {
        words[len++] = word;
    }
    return len;
}

/* ---- structs */

static const struct layout *find_layout(const struct reader *reader, const char *name)
{
    for (uint32_t i = 0; i < reader->layouts_len; i++) {
        if (!strcmp(reader->layouts[i].name, name)) {
            return &reader->layouts[i];
        }
    }
    return NULL;
}

static const struct layout *layout_of(const struct reader *reader, const char *instance)
{
    for (uint32_t i = 0; i < reader->instances_len; i++) {
        if (!strcmp(reader->instances[i].name, instance)) {
            return find_layout(reader, reader->instances[i].of);
        }
    }
    return NULL;
}

static int begin_struct(struct reader *reader, const char *name)
{
    if (PD_GROW(reader->layouts, reader->layouts_room, reader->layouts_len + 1)) {
        return -ENOMEM;
    }
    struct layout *layout = &reader->layouts[reader->layouts_len++];
    *layout = (struct layout){.len = 0};
    copy(layout->name, name);
    reader->place = IN_STRUCT;
    return 0;
}

static int add_field(struct reader *reader, char *const words[], unsigned len)
{
    struct layout *layout = &reader->layouts[reader->layouts_len - 1];
    unsigned bits;
    if (len != 2 ||
        (sscanf(words[0], "bit<%u>", &bits) != 1 && sscanf(words[0], "varbit<%u>", &bits) != 1) ||
        bits > UINT16_MAX) {
        return bad(reader, "expects bit<N> NAME");
    }
    if (PD_GROW(layout->fields, layout->room, layout->len + 1)) {
        return -ENOMEM;
    }
    struct pd_p4_field *field = &layout->fields[layout->len++];
    *field = (struct pd_p4_field){.bits = (uint16_t)bits};
    copy(field->name, words[1]);
    return 0;
}

/* "header NAME instanceof STRUCT", "metadata instanceof STRUCT" */
static int name_instance(struct reader *reader, const char *name, const char *of)
{
    if (PD_GROW(reader->instances, reader->instances_room, reader->instances_len + 1)) {
        return -ENOMEM;
    }
    struct instance *instance = &reader->instances[reader->instances_len++];
    copy(instance->name, name);
    copy(instance->of, of);
    return 0;
}

/* ---- actions, tables, arrays */

static int add_action(struct reader *reader, char *const words[], unsigned len)
{
    struct pd_p4_shape *shape = reader->shape;
    if (PD_GROW(shape->actions, shape->actions_room, shape->actions_len + 1)) {
        return -ENOMEM;
    }
    struct pd_p4_action *action = &shape->actions[shape->actions_len++];
    *action = (struct pd_p4_action){.len = 0};
    copy(action->name, words[1]);
    reader->place = IN_OTHER;
    reader->depth = 1;
    if (len < 5 || strcmp(words[3], "instanceof") != 0) {
        return 0;
    }
    const struct layout *layout = find_layout(reader, words[4]);
    if (!layout) {
        return bad(reader, "the action's arguments are of no struct that stands before it");
    }
    if (PD_GROW(action->arguments, action->room, layout->len + 1)) {
        return -ENOMEM;
    }
    memcpy(action->arguments, layout->fields, layout->len * sizeof *layout->fields);
    action->len = layout->len;
    return 0;
}

static int begin_table(struct reader *reader, const char *name)
{
    struct pd_p4_shape *shape = reader->shape;
    if (PD_GROW(shape->tables, shape->tables_room, shape->tables_len + 1)) {
        return -ENOMEM;
    }
    shape->tables[shape->tables_len] = (struct pd_p4_table){.size = 0};
    copy(shape->tables[shape->tables_len++].name, name);
    reader->place = IN_TABLE;
    return 0;
}

/* How wide "h.ipv4.src_addr" or "m.in_port" is. */
static unsigned width_of(const struct reader *reader, const char *full)
{
    char instance[PD_P4_NAME_BYTES];
    const char *name = strrchr(full, '.');
    if (!name || (full[0] != 'm' && full[0] != 'h') || full[1] != '.') {
        return 0;
    }
    if (full[0] == 'm') {
        copy(instance, "metadata");
    } else {
        snprintf(instance, sizeof instance, "%.*s", (int)(name - full - 2), full + 2);
    }
    const struct layout *layout = layout_of(reader, instance);
    for (uint32_t i = 0; layout && i < layout->len; i++) {
        if (!strcmp(layout->fields[i].name, name + 1)) {
            return layout->fields[i].bits;
        }
    }
    return 0;
}

static int add_key(struct reader *reader, char *const words[], unsigned len)
{
    static const char *const matches[] = {
        [PD_P4_EXACT] = "exact", [PD_P4_TERNARY] = "wildcard", [PD_P4_LPM] = "lpm"};
    struct pd_p4_table *table = &reader->shape->tables[reader->shape->tables_len - 1];
    struct pd_p4_field key = {.match = PD_P4_EXACT};
    while (len == 2 && key.match <= PD_P4_LPM && strcmp(words[1], matches[key.match]) != 0) {
        key.match++;
    }
    key.bits = (uint16_t)width_of(reader, words[0]);
    if (len != 2 || key.match > PD_P4_LPM || !key.bits) {
        return bad(reader, "expects a field of the program and exact, wildcard or lpm");
    }
    if (PD_GROW(table->keys, table->keys_room, table->keys_len + 1)) {
        return -ENOMEM;
    }
    copy(key.name, words[0]);
    table->keys[table->keys_len++] = key;
    return 0;
}

static int use_action(struct reader *reader, const char *name)
{
    struct pd_p4_shape *shape = reader->shape;
    struct pd_p4_table *table = &shape->tables[shape->tables_len - 1];
    uint32_t i = 0;
    while (i < shape->actions_len && strcmp(shape->actions[i].name, name) != 0) {
        i++;
    }
    if (i == shape->actions_len) {
        return bad(reader, "a table names an action that does not stand before it");
    }
    if (PD_GROW(table->actions, table->actions_room, table->actions_len + 1)) {
        return -ENOMEM;
    }
    table->actions[table->actions_len++] = i;
    return 0;
}

static int add_array(struct reader *reader, char *const words[], unsigned len)
{
    struct pd_p4_shape *shape = reader->shape;
    if (len < 4 || strcmp(words[2], "size") != 0) {
        return bad(reader, "expects regarray NAME size N");
    }
    if (PD_GROW(shape->arrays, shape->arrays_room, shape->arrays_len + 1)) {
        return -ENOMEM;
    }
    struct pd_p4_array *array = &shape->arrays[shape->arrays_len++];
    *array = (struct pd_p4_array){.size = (uint32_t)strtoul(words[3], NULL, 0)};
    copy(array->name, words[1]);
    return 0;
}

/* ---- lines */

static bool is(const char *word, const char *text)
{
    return !strcmp(word, text);
}

static int read_outside(struct reader *reader, char *const words[], unsigned len)
{
    if (len >= 2 && is(words[0], "struct")) {
        return begin_struct(reader, words[1]);
    }
    if (len == 3 && is(words[0], "metadata") && is(words[1], "instanceof")) {
        return name_instance(reader, "metadata", words[2]);
    }
    if (len == 4 && is(words[0], "header")) {
        return name_instance(reader, words[1], words[3]);
    }
    if (len >= 2 && is(words[0], "action")) {
        return add_action(reader, words, len);
    }
    if (len >= 2 && is(words[0], "table")) {
        return begin_table(reader, words[1]);
    }
    if (len >= 2 && is(words[0], "regarray")) {
        return add_array(reader, words, len);
    }
    if (is(words[len - 1], "{")) {
        reader->place = IN_OTHER;
        reader->depth = 1;
    }
    return 0;
}

static int read_table(struct reader *reader, char *const words[], unsigned len)
{
    struct pd_p4_table *table = &reader->shape->tables[reader->shape->tables_len - 1];
    if (is(words[0], "key")) {
        reader->place = IN_KEY;
    } else if (is(words[0], "actions")) {
        reader->place = IN_ACTIONS;
    } else if (is(words[0], "size") && len == 2) {
        table->size = (uint32_t)strtoul(words[1], NULL, 0);
    } else if (is(words[0], "}")) {
        reader->place = OUTSIDE;
    }
    return 0;
}

static int read_words(struct reader *reader, char *const words[], unsigned len)
{
    const bool closes = is(words[0], "}");
    switch (reader->place) {
    case IN_STRUCT:
        reader->place = closes ? OUTSIDE : IN_STRUCT;
        return closes ? 0 : add_field(reader, words, len);
    case IN_TABLE: return read_table(reader, words, len);
    case IN_KEY:
        reader->place = closes ? IN_TABLE : IN_KEY;
        return closes ? 0 : add_key(reader, words, len);
    case IN_ACTIONS:
        reader->place = closes ? IN_TABLE : IN_ACTIONS;
        return closes ? 0 : use_action(reader, words[0]);
    case IN_OTHER:
        reader->depth += is(words[len - 1], "{");
        reader->depth -= closes;
        reader->place = reader->depth ? IN_OTHER : OUTSIDE;
        return 0;
    default: return read_outside(reader, words, len);
    }
}

static void free_layouts(struct reader *reader)
{
    for (uint32_t i = 0; i < reader->layouts_len; i++) {
        free(reader->layouts[i].fields);
    }
    free(reader->layouts);
    free(reader->instances);
}

int pd_p4_shape_read(const char *file, struct pd_p4_shape *ret_shape, struct pd_error *error)
{
    struct pd_p4_shape shape = {.tables_len = 0};
    struct reader reader = {.file = file, .error = error, .shape = &shape};
    char line[LINE_BYTES], *words[WORDS_MAX];
    int err = 0;
    FILE *in = fopen(file, "re");
    if (!in) {
        return pd_fail(error, -errno, "%s: %s", file, strerror(errno));
    }
    while (!err && fgets(line, sizeof line, in)) {
        reader.line++;
        unsigned len = split(line, words);
        err = len ? read_words(&reader, words, len) : 0;
    }
    fclose(in);
    free_layouts(&reader);
    if (err) {
        pd_p4_shape_done(&shape);
        return err == -ENOMEM ? pd_fail(error, err, "%s: no memory", file) : err;
    }
    *ret_shape = shape;
    return 0;
}

void pd_p4_shape_done(struct pd_p4_shape *shape)
{
    for (uint32_t i = 0; i < shape->tables_len; i++) {
        free(shape->tables[i].keys);
        free(shape->tables[i].actions);
    }
    for (uint32_t i = 0; i < shape->actions_len; i++) {
        free(shape->actions[i].arguments);
    }
    free(shape->tables);
    free(shape->actions);
    free(shape->arrays);
    *shape = (struct pd_p4_shape){.tables_len = 0};
}

/* ---- names */

/* Without what the compiler has put in front (a dot of the source becomes one of `_`) and behind (a
 * number). */
static bool is_plainly(const char *compiled, const char *name)
{
    const size_t len = strlen(name);
    compiled += strspn(compiled, "._");
    if (strncmp(compiled, name, len) != 0) {
        return false;
    }
    compiled += len;
    return !*compiled ||
           (*compiled == '_' && compiled[1] && !compiled[1 + strspn(compiled + 1, "0123456789")]);
}

bool pd_p4_is_named(const char *compiled, const char *name)
{
    const size_t len = strlen(name);
    for (const char *at = compiled; (at = strstr(at, name)); at++) {
        const char *end = at + len;
        if (*end == '_' && end[1]) {
            end += 1 + strspn(end + 1, "0123456789");
        }
        if (!*end && (at == compiled || at[-1] == '.' || at[-1] == '_')) {
            return true;
        }
    }
    return false;
}

/* The better a name fits, the sooner it is found: `ports` is not `probe_ports`. */
typedef bool fits(const char *compiled, const char *name);

static fits *const ways[] = {is, is_plainly, pd_p4_is_named};
#define WAYS (sizeof ways / sizeof *ways)

const struct pd_p4_table *pd_p4_shape_table(const struct pd_p4_shape *shape, const char *name)
{
    for (size_t way = 0; way < WAYS; way++) {
        for (uint32_t i = 0; i < shape->tables_len; i++) {
            if (ways[way](shape->tables[i].name, name)) {
                return &shape->tables[i];
            }
        }
    }
    return NULL;
}

const struct pd_p4_action *pd_p4_shape_action(const struct pd_p4_shape *shape,
                                              const struct pd_p4_table *table, const char *name)
{
    for (size_t way = 0; way < WAYS; way++) {
        for (uint32_t i = 0; i < table->actions_len; i++) {
            const struct pd_p4_action *action = &shape->actions[table->actions[i]];
            if (ways[way](action->name, name)) {
                return action;
            }
        }
    }
    return NULL;
}

const struct pd_p4_array *pd_p4_shape_array(const struct pd_p4_shape *shape, const char *name)
{
    for (size_t way = 0; way < WAYS; way++) {
        for (uint32_t i = 0; i < shape->arrays_len; i++) {
            if (ways[way](shape->arrays[i].name, name)) {
                return &shape->arrays[i];
            }
        }
    }
    return NULL;
}
