/* SPDX-License-Identifier: Apache-2.0 */
/* The forms there are, and folders of files. */
#include "p4/writers.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static const struct pd_p4_writer *const writers[] = {&pd_p4_swx,  &pd_p4_json,      &pd_p4_bmv2,
                                                     &pd_p4_bfrt, &pd_p4_p4runtime, NULL};

const struct pd_p4_writer *pd_p4_writer_find(const char *name)
{
    for (size_t i = 0; writers[i]; i++) {
        if (!strcmp(writers[i]->name, name)) {
            return writers[i];
        }
    }
    return NULL;
}

bool pd_p4_has_priority(const struct pd_p4_table *table)
{
    for (uint32_t i = 0; i < table->keys_len; i++) {
        if (table->keys[i].match == PD_P4_TERNARY) {
            return true;
        }
    }
    return false;
}

const char *pd_p4_source_name(const char *compiled)
{
    const char *dot = strrchr(compiled, '.');
    const char *name = dot ? dot + 1 : compiled;
    static const char prefix[] = "local_metadata_";
    return !strncmp(name, prefix, sizeof prefix - 1) ? name + sizeof prefix - 1 : name;
}

/* ---- folders */

struct folder {
    const char *path;
    const struct pd_p4_list *list;
    struct pd_error *error;
};

static FILE *create(const struct folder *folder, const char *name, const char *ending)
{
    char file[PATH_MAX];
    int len = snprintf(file, sizeof file, "%s/%s.%s", folder->path, name, ending);
    FILE *out = (size_t)len < sizeof file ? fopen(file, "we") : NULL;
    if (!out) {
        pd_fail(folder->error, errno ? -errno : -ENAMETOOLONG, "%.300s/%s.%s: %s", folder->path,
                name, ending, strerror(errno));
    }
    return out;
}

static int finish(const struct folder *folder, FILE *out)
{
    int bad = ferror(out);
    bad |= fclose(out);
    return bad ? pd_fail(folder->error, errno ? -errno : -EIO, "%.300s: %s", folder->path,
                         strerror(errno))
               : 0;
}

static int write_tables(const struct pd_p4_writer *writer, const struct folder *folder)
{
    const struct pd_p4_list *list = folder->list;
    int err = 0;
    for (size_t i = 0; i < list->rows_len && !err; i++) {
        if (i && list->rows[i - 1].table == list->rows[i].table) {
            continue;
        }
        FILE *out = create(folder, list->rows[i].table->name, writer->name);
        if (!out) {
            return -EIO;
        }
        writer->write_table(list, list->rows[i].table, out);
        err = finish(folder, out);
    }
    return err;
}

static int write_arrays(const struct pd_p4_writer *writer, const struct folder *folder)
{
    const struct pd_p4_list *list = folder->list;
    int err = 0;
    for (size_t i = 0; i < list->numbers_len && !err; i++) {
        if (i && !strcmp(list->numbers[i - 1].array, list->numbers[i].array)) {
            continue;
        }
        FILE *out = create(folder, list->numbers[i].array, "array");
        if (!out) {
            return -EIO;
        }
        writer->write_array(list, list->numbers[i].array, out);
        err = finish(folder, out);
    }
    return err;
}

static int make_folder(const char *path, struct pd_error *error)
{
    char part[PATH_MAX];
    int len = snprintf(part, sizeof part, "%s", path);
    if ((size_t)len >= sizeof part) {
        return pd_fail(error, -ENAMETOOLONG, "%.300s: too long", path);
    }
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(part, 0777);
        *slash = '/';
    }
    return mkdir(path, 0777) && errno != EEXIST
               ? pd_fail(error, -errno, "%.300s: %s", path, strerror(errno))
               : 0;
}

int pd_p4_write_folder(const struct pd_p4_writer *writer, const struct pd_p4_list *list,
                       const char *p4info, const char *path, struct pd_error *error)
{
    const struct folder folder = {.path = path, .list = list, .error = error};
    int err = make_folder(path, error);
    if (err) {
        return err;
    }
    if (writer->write_table) {
        err = write_tables(writer, &folder);
        return err ? err : write_arrays(writer, &folder);
    }
    FILE *out = create(&folder, "tables", writer->name);
    if (!out) {
        return -EIO;
    }
    err = writer->write(list, p4info, out, error);
    int closed = finish(&folder, out);
    return err ? err : closed;
}
