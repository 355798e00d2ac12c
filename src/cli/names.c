/* SPDX-License-Identifier: Apache-2.0 */
/* Names of switches and hosts. */
#include "cli/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/nearest.h"
#include "topology/topology.h"

struct named {
    uint32_t id;
    char *name;
};

struct pd_cli_names {
    struct named *items; /* switches, then hosts, by ID each */
    size_t len, max;
};

/* ---- where they come from ---- */

static int add(struct pd_cli_names *names, uint32_t id, const char *name)
{
    if (!id || !name || !*name) {
        return 0;
    }
    if (PD_GROW(names->items, names->max, names->len + 1)) {
        return -ENOMEM;
    }
    names->items[names->len] = (struct named){id, strdup(name)};
    return names->items[names->len++].name ? 0 : -ENOMEM;
}

static int read_file(const char *file, struct pd_cli_names *names, struct pd_error *error)
{
    struct pd_topology *topology;
    int err = pd_topology_read(file, &topology, error), added = 0;

    if (err) {
        return err;
    }
    for (uint32_t i = 0; i < topology->switches_len && !added; i++) {
        added = add(names, topology->switches[i].id, topology->switches[i].name);
    }
    for (uint32_t i = 0; i < topology->hosts_len && !added; i++) {
        added = add(names, topology->hosts[i].id, topology->hosts[i].name);
    }
    pd_topology_free(topology);
    return added ? pd_fail(error, added, "no memory") : 0;
}

static int ask(const struct pd_cli_server *server, const char *route, const char *member,
               struct pd_cli_names *names, struct pd_error *error)
{
    json_t *answer, *row;
    size_t i;
    int err =
        pd_cli_server_ask(server, (struct pd_cli_request){.route = route}, NULL, &answer, error);

    if (err) {
        return err;
    }
    json_array_foreach(json_object_get(answer, member), i, row)
    {
        json_int_t id = json_integer_value(json_object_get(row, "id"));
        const char *name = json_string_value(json_object_get(row, "name"));
        if (!err && id > 0 && id <= UINT32_MAX && add(names, (uint32_t)id, name)) {
            err = pd_fail(error, -ENOMEM, "no memory");
        }
    }
    json_decref(answer);
    return err;
}

int pd_cli_names_read(const char *topology, const struct pd_cli_server *server,
                      struct pd_cli_names **ret_names, struct pd_error *error)
{
    struct pd_cli_names *names = calloc(1, sizeof *names);
    int err = names ? 0 : pd_fail(error, -ENOMEM, "no memory");

    if (!err && topology) {
        err = read_file(topology, names, error);
    } else if (!err) {
        err = ask(server, "/v1/switches", "switches", names, error);
        err = err ? err : ask(server, "/v1/hosts", "hosts", names, error);
    }
    if (err) {
        pd_cli_names_free(names);
        return err;
    }
    *ret_names = names;
    return 0;
}

void pd_cli_names_free(struct pd_cli_names *names)
{
    for (size_t i = 0; names && i < names->len; i++) {
        free(names->items[i].name);
    }
    free(names ? names->items : NULL);
    free(names);
}

const char *pd_cli_names_of(void *context, uint32_t id)
{
    const struct pd_cli_names *names = context;

    for (size_t i = 0; i < names->len; i++) {
        if (names->items[i].id == id) {
            return names->items[i].name;
        }
    }
    return NULL;
}

/* ---- in tables ---- */

int pd_cli_namer_begin(struct pd_cli_namer *namer, bool wanted, const char *topology,
                       const struct pd_cli_server *server, struct pd_style *style,
                       struct pd_error *error)
{
    int err = wanted ? pd_cli_names_read(topology, server, &namer->names, error) : 0;

    if (!err && wanted) {
        namer->style = (struct pd_style_names){namer->names, pd_cli_names_of};
        style->names = &namer->style;
    }
    return err;
}

void pd_cli_namer_end(struct pd_cli_namer *namer)
{
    pd_cli_names_free(namer->names);
    namer->names = NULL;
}

/* ---- what they stand for ---- */

/* 0: nobody has it. */
static uint32_t id_of(const struct pd_cli_names *names, const char *text, size_t len)
{
    for (size_t i = 0; i < names->len; i++) {
        if (!strncmp(names->items[i].name, text, len) && !names->items[i].name[len]) {
            return names->items[i].id;
        }
    }
    return 0;
}

/* A name, an ID, "*" where that may be; as text. */
static bool put(const struct pd_cli_names *names, const char *text, size_t len, bool any, FILE *out)
{
    uint32_t id = id_of(names, text, len);

    if (id) {
        fprintf(out, "%" PRIu32, id);
        return true;
    }
    bool is_id = len && strspn(text, "0123456789") >= len;
    fprintf(out, "%.*s", (int)len, text);
    return is_id || (any && len == 1 && *text == '*');
}

static int unknown(const struct pd_cli_names *names, const char *flag, const char *text, size_t len,
                   struct pd_error *error)
{
    char name[PD_NEAREST_MAX + 1], hint[PD_NEAREST_HINT_BYTES];
    struct pd_nearest nearest = {.text = name};

    snprintf(name, sizeof name, "%.*s", (int)len, text);
    for (size_t i = 0; i < names->len; i++) {
        pd_nearest_offer(&nearest, names->items[i].name);
    }
    return pd_fail(error, -PD_E_VALUE, "--%s: nobody is called \"%.63s\"%s", flag, name,
                   pd_nearest_hint(&nearest, "", hint));
}

/* Closes the stream; lets go of the text where there is an error. */
static int finish(FILE *out, char **text, int err, char **ret_text, struct pd_error *error)
{
    if (!out || fclose(out)) {
        err = pd_fail(error, -ENOMEM, "no memory");
    }
    if (err) {
        free(*text);
    } else {
        *ret_text = *text;
    }
    return err;
}

/* A name may hold a colon: any of them may be the one in the middle. */
int pd_cli_names_link(const struct pd_cli_names *names, const char *flag, const char *text,
                      char **ret_text, struct pd_error *error)
{
    const char *middle = strchr(text, ':'), *first = middle;
    char *written = NULL;
    size_t bytes;
    FILE *out = open_memstream(&written, &bytes);
    bool found = false;
    int err = 0;

    for (; out && middle && !found; middle = strchr(middle + 1, ':')) {
        rewind(out);
        found = put(names, text, (size_t)(middle - text), true, out);
        fputc('-', out);
        found = put(names, middle + 1, strlen(middle + 1), true, out) && found;
    }
    if (!first) {
        err = pd_fail(error, -PD_E_VALUE,
                      "--%s: expects two switches, as in 9-17 or tor-1-1:agg-1-1, not \"%.100s\"",
                      flag, text);
    } else if (!found) {
        size_t len = (size_t)(first - text);
        bool left = id_of(names, text, len) || *text == '*';
        err = left ? unknown(names, flag, first + 1, strlen(first + 1), error)
                   : unknown(names, flag, text, len, error);
    }
    return finish(out, &written, err, ret_text, error);
}

int pd_cli_names_list(const struct pd_cli_names *names, const char *flag, const char *text,
                      char **ret_text, struct pd_error *error)
{
    char *written = NULL;
    size_t bytes;
    FILE *out = open_memstream(&written, &bytes);
    int err = 0;

    while (out && !err) {
        size_t len = strcspn(text, ",");
        if (!put(names, text, len, false, out)) {
            err = unknown(names, flag, text, len, error);
        }
        if (!text[len]) {
            break;
        }
        fputc(',', out);
        text += len + 1;
    }
    return finish(out, &written, err, ret_text, error);
}
