/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of the hosts file. */
#include "controller/inventory.h"

#include <errno.h>
#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/url.h"
#include "json/cursor.h"

struct storage {
    struct pd_inventory inventory;
    atomic_uint references; /* the last one who lets go frees: acq_rel among themselves */
    json_t *document;       /* owns names and URLs */
    uint32_t *by_name;      /* indexes of hosts in the order of their names */
};

struct reader {
    const struct pd_topology *topology;
    const char *file;
    struct pd_error *error;
};

/* ---- one host ---- */

static int refuse(const struct reader *reader, size_t i, const char *member, const char *words)
{
    char place[80];

    snprintf(place, sizeof place, "%s%s", member[0] ? "." : "", member);
    return pd_fail(reader->error, -PD_E_VALUE, "%.200s: [%zu]%s: %s", reader->file, i, place,
                   words);
}

/* What people write on command lines, separated by commas: so no comma, no space. */
static bool is_name(const char *text)
{
    size_t len = strlen(text);

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c <= ' ' || c == 0x7f || c == ',' || c == ':') {
            return false;
        }
    }
    return len && len < PD_INVENTORY_NAME_BYTES && strcmp(text, "all") != 0;
}

static int check_members(const struct reader *reader, size_t i, json_t *entry)
{
    static const char *const members[] = {"id", "name", "url", NULL};
    char place[24];
    const struct pd_json_cursor at = {.object = entry,
                                      .file = reader->file,
                                      .place = place,
                                      .err = -PD_E_VALUE,
                                      .error = reader->error};

    snprintf(place, sizeof place, "[%zu]", i);
    return pd_json_only(&at, members);
}

static int read_id(const struct reader *reader, size_t i, const json_t *entry,
                   struct pd_inventory_host *host)
{
    const json_t *id = json_object_get(entry, "id");
    json_int_t number = json_integer_value(id);

    if (!json_is_integer(id) || number < 0 || number > UINT32_MAX) {
        return refuse(reader, i, "id", "expects the ID of a host of the topology");
    }
    host->id = (uint32_t)number;
    host->index = pd_topology_host(reader->topology, host->id);
    if (host->index == PD_NONE) {
        return pd_fail(reader->error, -PD_E_VALUE,
                       "%.200s: [%zu].id: %u is no host of the topology", reader->file, i,
                       host->id);
    }
    return 0;
}

/* A host without a name is called as in the topology, or by its number. */
static int read_name(const struct reader *reader, size_t i, json_t *entry,
                     struct pd_inventory_host *host)
{
    const char *of_topology = reader->topology->hosts[host->index].name;
    json_t *name = json_object_get(entry, "name");
    char by_id[24];

    if (!name) {
        snprintf(by_id, sizeof by_id, "h%u", host->id);
        name = json_string(of_topology && is_name(of_topology) ? of_topology : by_id);
        if (json_object_set_new(entry, "name", name)) {
            return pd_fail(reader->error, -ENOMEM, "%s", strerror(ENOMEM));
        }
    }
    if (!json_is_string(name) || !is_name(json_string_value(name))) {
        return refuse(reader, i, "name",
                      "expects 1 to 64 bytes without spaces, commas, colons and control "
                      "characters, and not \"all\"");
    }
    host->name = json_string_value(name);
    return 0;
}

static int read_url(const struct reader *reader, size_t i, const json_t *entry,
                    struct pd_inventory_host *host)
{
    const json_t *url = json_object_get(entry, "url");
    struct pd_error why = {0};

    if (!json_is_string(url)) {
        return refuse(reader, i, "url", "expects a string");
    }
    if (pd_http_url_check(json_string_value(url), &why)) {
        return refuse(reader, i, "url", why.text);
    }
    host->url = json_string_value(url);
    return 0;
}

static int read_host(const struct reader *reader, size_t i, json_t *entry,
                     struct pd_inventory_host *ret_host)
{
    int err = check_members(reader, i, entry);

    if (!err) {
        err = read_id(reader, i, entry, ret_host);
    }
    if (!err) {
        err = read_name(reader, i, entry, ret_host);
    }
    return err ? err : read_url(reader, i, entry, ret_host);
}

/* ---- all of them ---- */

/* A host while they are sorted: where it stood in the file is what an error names. */
struct entry {
    struct pd_inventory_host host;
    size_t place;
};

static int by_id(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return x->host.id == y->host.id ? (x->place > y->place) - (x->place < y->place)
                                    : (x->host.id > y->host.id) - (x->host.id < y->host.id);
}

static int by_url(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->host.url, y->host.url);

    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->host.name, y->host.name);

    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static const char *text_of(const struct entry *entry, const char *member, char *buffer,
                           size_t bytes)
{
    if (!strcmp(member, "name")) {
        return entry->host.name;
    }
    if (!strcmp(member, "url")) {
        return entry->host.url;
    }
    snprintf(buffer, bytes, "%u", entry->host.id);
    return buffer;
}

/* Sorts, and refuses neighbours that are the same in this member. */
static int sort_unique(const struct reader *reader, struct entry *entries, size_t len,
                       const char *member, int (*order)(const void *, const void *))
{
    qsort(entries, len, sizeof *entries, order);
    for (size_t i = 1; i < len; i++) {
        char a[24], b[24];
        const char *text = text_of(&entries[i], member, b, sizeof b);

        if (!strcmp(text_of(&entries[i - 1], member, a, sizeof a), text)) {
            return pd_fail(reader->error, -PD_E_VALUE,
                           "%.200s: [%zu].%s: %.100s is also the %s of [%zu]", reader->file,
                           entries[i].place, member, text, member, entries[i - 1].place);
        }
    }
    return 0;
}

/* Indexes by name, once the hosts stand in the order of their IDs. */
static void index_names(struct storage *storage, const struct entry *entries_by_name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        storage->by_name[i] =
            (uint32_t)pd_controller_inventory_find(&storage->inventory, entries_by_name[i].host.id);
    }
}

static int read_entries(const struct reader *reader, struct storage *storage, struct entry *entries)
{
    size_t len = json_array_size(storage->document);
    int err = 0;

    for (size_t i = 0; i < len && !err; i++) {
        entries[i].place = i;
        err = read_host(reader, i, json_array_get(storage->document, i), &entries[i].host);
    }
    if (!err) {
        err = sort_unique(reader, entries, len, "url", by_url);
    }
    if (!err) {
        err = sort_unique(reader, entries, len, "id", by_id);
    }
    if (err) {
        return err;
    }
    for (size_t i = 0; i < len; i++) {
        storage->inventory.hosts[i] = entries[i].host;
    }
    storage->inventory.hosts_len = len;
    err = sort_unique(reader, entries, len, "name", by_name);
    if (!err) {
        index_names(storage, entries, len);
    }
    return err;
}

static int fill(const struct reader *reader, struct storage *storage, const char *json,
                size_t bytes)
{
    json_error_t wrong;

    storage->document = json_loadb(json, bytes, JSON_REJECT_DUPLICATES, &wrong);
    if (!storage->document) {
        return pd_fail(reader->error, -PD_E_SYNTAX, "%.200s:%d:%d: %.150s", reader->file,
                       wrong.line, wrong.column, wrong.text);
    }
    if (!json_is_array(storage->document)) {
        return pd_fail(reader->error, -PD_E_SYNTAX,
                       "%.200s: expects an array [{\"id\", \"name\", \"url\"}, …]", reader->file);
    }

    size_t len = json_array_size(storage->document);
    struct entry *entries = calloc(len + 1, sizeof *entries);
    int err;

    storage->inventory.hosts = calloc(len + 1, sizeof *storage->inventory.hosts);
    storage->by_name = calloc(len + 1, sizeof *storage->by_name);
    if (entries && storage->inventory.hosts && storage->by_name) {
        err = read_entries(reader, storage, entries);
    } else {
        err = pd_fail(reader->error, -ENOMEM, "%.200s: %s", reader->file, strerror(ENOMEM));
    }
    free(entries);
    return err;
}

int pd_controller_inventory_parse(struct pd_topology *topology, const char *json, size_t bytes,
                                  const char *name, struct pd_inventory **ret_inventory,
                                  struct pd_error *error)
{
    const struct reader reader = {topology, name, error};
    struct storage *storage = calloc(1, sizeof *storage);
    int err;

    if (!storage) {
        pd_topology_free(topology);
        return pd_fail(error, -ENOMEM, "%s", strerror(ENOMEM));
    }
    storage->inventory.topology = topology;
    storage->inventory.storage = storage;
    atomic_init(&storage->references, 1);
    err = fill(&reader, storage, json, bytes);
    if (err) {
        pd_controller_inventory_free(&storage->inventory);
    } else {
        *ret_inventory = &storage->inventory;
    }
    return err;
}

static int read_text(const char *file, char **ret_text, size_t *ret_bytes, struct pd_error *error)
{
    FILE *in = fopen(file, "re");
    char *text = in ? malloc(PD_INVENTORY_FILE_BYTES + 1) : NULL;
    size_t bytes = text ? fread(text, 1, PD_INVENTORY_FILE_BYTES + 1, in) : 0;
    int err = 0;

    if (!in || ferror(in)) {
        err = pd_fail(error, errno ? -errno : -EIO, "%.200s: %s", file, strerror(errno));
    } else if (!text) {
        err = pd_fail(error, -ENOMEM, "%.200s: %s", file, strerror(ENOMEM));
    } else if (bytes > PD_INVENTORY_FILE_BYTES) {
        err = pd_fail(error, -PD_E_TOO_LARGE, "%.200s: more than %zu bytes", file,
                      PD_INVENTORY_FILE_BYTES);
    }
    if (in) {
        fclose(in);
    }
    if (err) {
        free(text);
        return err;
    }
    *ret_text = text;
    *ret_bytes = bytes;
    return 0;
}

int pd_controller_inventory_read(const char *topology_file, const char *hosts_file,
                                 struct pd_inventory **ret_inventory, struct pd_error *error)
{
    struct pd_topology *topology;
    char *text;
    size_t bytes;
    int err = pd_topology_read(topology_file, &topology, error);

    if (err) {
        return err;
    }
    err = read_text(hosts_file, &text, &bytes, error);
    if (err) {
        pd_topology_free(topology);
        return err;
    }
    err = pd_controller_inventory_parse(topology, text, bytes, hosts_file, ret_inventory, error);
    free(text);
    return err;
}

struct pd_inventory *pd_controller_inventory_hold(struct pd_inventory *inventory)
{
    struct storage *storage = inventory->storage;

    atomic_fetch_add_explicit(&storage->references, 1, memory_order_relaxed);
    return inventory;
}

void pd_controller_inventory_free(struct pd_inventory *inventory)
{
    struct storage *storage = inventory ? inventory->storage : NULL;

    if (!storage || atomic_fetch_sub_explicit(&storage->references, 1, memory_order_acq_rel) > 1) {
        return;
    }
    json_decref(storage->document);
    pd_topology_free(inventory->topology);
    free(inventory->hosts);
    free(storage->by_name);
    free(storage);
}

size_t pd_controller_inventory_find(const struct pd_inventory *inventory, uint32_t id)
{
    size_t low = 0, high = inventory->hosts_len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (inventory->hosts[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < inventory->hosts_len && inventory->hosts[low].id == id ? low : SIZE_MAX;
}

size_t pd_controller_inventory_find_name(const struct pd_inventory *inventory, const char *name)
{
    const struct storage *storage = inventory->storage;
    size_t low = 0, high = inventory->hosts_len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(inventory->hosts[storage->by_name[middle]].name, name);

        if (!order) {
            return storage->by_name[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return SIZE_MAX;
}
