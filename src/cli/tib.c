/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump tib …`: what is in a store, whether it is sound, its records out and in, its bytes
 * given back. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/ndjson.h"
#include "cli/progress.h"
#include "query/rows/out.h"
#include "query/rows/record.h"
#include "query/rows/text.h"
#include "tib/tib.h"

/* Records of one transaction of an import: fewer than a store buffers, so that one that fails loses
 * all that is not committed, and nothing behind a loss is stored. */
#define COMMIT_RECORDS 16384

struct settings {
    const char *tib;
    bool json;
    bool csv; /* of export */
};

#define OPTION_TIB                                                 \
    {                                                              \
        .name = "tib", .type = PD_OPTION_STRING, .value = "DIR",   \
        .offset = offsetof(struct settings, tib),                  \
        .help = "the folder of the TIB, or mongodb://HOST:PORT/DB" \
    }

static const struct pd_option options[] = {
    OPTION_TIB,
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object, for programs"},
    {0},
};
static const struct pd_option export_options[] = {
    OPTION_TIB,
    {.name = "csv",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, csv),
     .help = "write CSV instead, as tables of queries have it"},
    {0},
};

/* ---- what the commands share ---- */

static int open_tib(const struct settings *set, enum pd_tib_mode mode, struct pd_tib **ret_tib,
                    struct pd_error *error)
{
    char shown[PD_TIB_SHOWN_BYTES];

    if (mode == PD_TIB_WRITE && strncmp(set->tib, "mongodb://", strlen("mongodb://")) == 0) {
        return pd_fail(error, -PD_E_UNSUPPORTED,
                       "%s: only agents write to a store that hosts share; this needs a folder",
                       pd_tib_shown(set->tib, shown));
    }
    return pd_tib_open(set->tib, mode, &(struct pd_tib_config){0}, ret_tib, error);
}

static int fail(const struct settings *set, int err, struct pd_error *error)
{
    char text[PD_TIB_SHOWN_BYTES]; /* the location may hold a password */
    return pd_fail(error, err, "%s: %s", pd_tib_shown(set->tib, text), pd_error_text(err));
}

static void print_number(const char *what, uint64_t number)
{
    char text[PD_TEXT_NUMBER_BYTES];
    printf("%-13s %s\n", what, pd_row_text_number(number, text));
}

static void print_bytes(const char *what, uint64_t bytes)
{
    char text[PD_TEXT_NUMBER_BYTES];
    printf("%-13s %s\n", what, pd_row_text_bytes(bytes, text));
}

static void print_time(const char *what, uint64_t wall_us)
{
    char text[PD_TIME_TEXT_BYTES];
    printf("%-13s %s\n", what, pd_time_format(wall_us, text));
}

/* ---- stat ---- */

static json_t *stat_json(const struct pd_tib_stat *stat)
{
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "records", (json_int_t)stat->records, "segments",
        (json_int_t)stat->segments, "paths", (json_int_t)stat->paths, "bytes_used",
        (json_int_t)stat->bytes_used, "bytes_file", (json_int_t)stat->bytes_file, "min_stime_us",
        stat->records ? json_integer((json_int_t)stat->min_stime_us) : json_null(), "max_etime_us",
        stat->records ? json_integer((json_int_t)stat->max_etime_us) : json_null());
}

static void stat_print(const struct pd_tib_stat *stat)
{
    print_number("records", stat->records);
    print_number("segments", stat->segments);
    print_number("paths", stat->paths);
    print_bytes("used", stat->bytes_used);
    print_bytes("file", stat->bytes_file);
    if (!stat->records) {
        return;
    }
    printf("%-13s %.1f bytes\n", "per record", (double)stat->bytes_used / (double)stat->records);
    print_time("first packet", stat->min_stime_us);
    print_time("last packet", stat->max_etime_us);
}

static int run_stat(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_tib_stat stat;
    struct pd_tib *tib;
    (void)words;
    int err = open_tib(set, PD_TIB_READ, &tib, error);
    if (err) {
        return err;
    }
    err = pd_tib_stat(tib, &stat);
    pd_tib_close(tib);
    if (err) {
        return fail(set, err, error);
    }
    if (set->json) {
        return pd_cli_json_print(stat_json(&stat), error);
    }
    stat_print(&stat);
    return PD_CLI_OK;
}

const struct pd_cli_command pd_cli_tib_stat = {
    .name = "tib stat",
    .synopsis = "--tib DIR [--json]",
    .help = "say what is in a TIB",
    .details =
        "Prints how many records, segments and paths there are, how many bytes they take and "
        "the time they span. A daemon may be writing meanwhile.",
    .options = options,
    .required = "tib",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run_stat,
};

/* ---- check ---- */

struct findings {
    bool json;
    json_t *list; /* with --json; else they are printed */
    size_t len;
};

/* A folder's name may be no UTF-8, which JSON cannot hold. */
static json_t *sound_text(const char *text)
{
    json_t *string = json_string(text);
    return string ? string : json_string("the store's name is not UTF-8");
}

static void take_finding(void *context, const char *finding)
{
    struct findings *findings = context;
    findings->len++;
    if (findings->json) {
        json_array_append_new(findings->list, sound_text(finding));
    } else {
        printf("damaged: %s\n", finding);
    }
}

/* A store that cannot be opened for what is in its file is damaged as well. */
static bool is_damage(int err)
{
    return err == -PD_E_CORRUPT || err == -PD_E_VERSION || err == -PD_E_TRUNCATED ||
           err == -PD_E_SYNTAX || err == -PD_E_EOF;
}

static int check_tib(const struct settings *set, struct findings *findings,
                     struct pd_tib_stat *ret_stat, struct pd_error *error)
{
    struct pd_tib *tib;
    int err = open_tib(set, PD_TIB_READ, &tib, error);
    if (err) {
        if (is_damage(err)) {
            take_finding(findings, error->text);
        }
        return is_damage(err) ? 0 : err;
    }
    if (pd_tib_stat(tib, ret_stat)) {
        *ret_stat = (struct pd_tib_stat){0}; /* the check says why */
    }
    err = pd_tib_check(tib, take_finding, findings);
    pd_tib_close(tib);
    if (is_damage(err)) {
        if (!findings->len) {
            take_finding(findings, pd_error_text(err));
        }
        err = 0;
    }
    return err ? fail(set, err, error) : 0;
}

static int print_check(const struct findings *findings, const struct pd_tib_stat *stat,
                       struct pd_error *error)
{
    char segments[PD_TEXT_NUMBER_BYTES], records[PD_TEXT_NUMBER_BYTES];
    if (findings->json) {
        return pd_cli_json_print(json_pack("{s:I, s:I, s:O}", "segments",
                                           (json_int_t)stat->segments, "records",
                                           (json_int_t)stat->records, "damaged", findings->list),
                                 error);
    }
    printf("%s segment%s, %s record%s, ", pd_row_text_number(stat->segments, segments),
           stat->segments == 1 ? "" : "s", pd_row_text_number(stat->records, records),
           stat->records == 1 ? "" : "s");
    printf(findings->len ? "%zu damaged\n" : "no damage\n", findings->len);
    return PD_CLI_OK;
}

static int run_check(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct findings findings = {.json = set->json, .list = json_array()};
    struct pd_tib_stat stat = {0};
    (void)words;
    int err = check_tib(set, &findings, &stat, error);
    if (!err) {
        err = print_check(&findings, &stat, error);
    }
    json_decref(findings.list);
    return err ? err : findings.len ? PD_CLI_FAILED : PD_CLI_OK;
}

const struct pd_cli_command pd_cli_tib_check = {
    .name = "tib check",
    .synopsis = "--tib DIR [--json]",
    .help = "verify every checksum of a TIB",
    .details =
        "Reads the whole store and says which parts are damaged. Queries leave those out and "
        "say that their answer is not complete; all other records stay good. A daemon may be "
        "writing meanwhile.\n"
        "Exits with 1 when something is damaged.",
    .options = options,
    .required = "tib",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .check = NULL,
    .run = run_check,
};

/* ---- compact ---- */

static int compact_tib(const struct settings *set, struct pd_tib *tib, struct pd_tib_stat *before,
                       struct pd_tib_stat *after, struct pd_error *error)
{
    struct pd_progress progress;
    int err = pd_tib_stat(tib, before);
    if (!err) {
        pd_cli_progress_begin(&progress, "compact");
        err = pd_tib_compact(tib, pd_cli_progress_step, &progress);
        pd_cli_progress_end(&progress);
    }
    if (!err) {
        err = pd_tib_stat(tib, after);
    }
    return err ? fail(set, err, error) : 0;
}

static int run_compact(const void *settings, const struct pd_cli_words *words,
                       struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_tib_stat before, after;
    struct pd_tib *tib;
    (void)words;
    /* What is to be written to has to be there: a slip of the name must not make a new store. */
    int err = open_tib(set, PD_TIB_READ, &tib, error);
    if (err) {
        return err;
    }
    pd_tib_close(tib);
    err = open_tib(set, PD_TIB_WRITE, &tib, error);
    if (err) {
        return err;
    }
    err = compact_tib(set, tib, &before, &after, error);
    pd_tib_close(tib);
    if (err) {
        return err;
    }
    if (set->json) {
        return pd_cli_json_print(json_pack("{s:I, s:I, s:I}", "records", (json_int_t)after.records,
                                           "bytes_before", (json_int_t)before.bytes_file,
                                           "bytes_after", (json_int_t)after.bytes_file),
                                 error);
    }
    print_number("records", after.records);
    print_bytes("before", before.bytes_file);
    print_bytes("after", after.bytes_file);
    return PD_CLI_OK;
}

const struct pd_cli_command pd_cli_tib_compact = {
    .name = "tib compact",
    .synopsis = "--tib DIR [--json]",
    .help = "give back the bytes that a TIB does not need",
    .details =
        "Packs the segments and writes the store anew, without the room that removed records "
        "left. No record is lost, whenever it is interrupted. The daemon that writes into this "
        "store has to be stopped first; a second writer is refused.",
    .options = options,
    .required = "tib",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run_compact,
};

/* ---- export ---- */

struct export
{
    struct pd_rows_out out;
    struct pd_rows_table *rows; /* CSV; NULL: JSON */
    struct pd_progress progress;
    uint64_t done, all;
};

static int write_stdout(void *context, const char *bytes, size_t len)
{
    (void)context;
    return fwrite(bytes, 1, len, stdout) == len ? 0 : -(errno ? errno : EIO);
}

static int export_records(void *context, const struct pd_tib_record *records, size_t n)
{
    struct export *export = context;
    for (size_t i = 0; i < n; i++) {
        if (export->rows) {
            pd_rows_record(export->rows, &records[i]);
            continue;
        }
        pd_rows_out_record(&export->out, &records[i]);
        pd_rows_out_text(&export->out, "\n");
    }
    export->done += n;
    pd_cli_progress_step(&export->progress, export->done, export->all);
    return export->rows && ferror(stdout) ? -EIO : export->out.error;
}

static int export_tib(const struct settings *set, struct pd_tib_snapshot *snapshot,
                      struct export *export, struct pd_error *error)
{
    static const struct pd_query_sink sink = {NULL, write_stdout};
    const struct pd_tib_filter all = PD_TIB_FILTER_ALL;
    const struct pd_style style = {.csv = true};
    pd_rows_out_begin(&export->out, PD_FORM_NDJSON, &sink);
    if (set->csv) {
        export->rows = pd_rows_new(pd_rows_record_columns, PD_ROWS_RECORD_COLUMNS, &style);
        if (!export->rows) {
            return pd_fail(error, -ENOMEM, "no memory");
        }
        pd_rows_stream(export->rows, stdout);
    }
    pd_cli_progress_begin(&export->progress, "export");
    int err = pd_tib_scan(snapshot, &all, export_records, export);
    int written = pd_rows_out_end(&export->out);
    pd_cli_progress_end(&export->progress);
    pd_rows_free(export->rows);
    export->rows = NULL;
    if (written) {
        return pd_fail(error, written, "standard output: %s", pd_error_text(written));
    }
    return err ? fail(set, err, error) : 0;
}

static int run_export(const void *settings, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    const struct settings *set = settings;
    struct pd_tib_snapshot *snapshot = NULL;
    struct pd_tib_stat stat = {0};
    struct pd_tib *tib;
    struct export export = {.done = 0};
    (void)words;
    int err = open_tib(set, PD_TIB_READ, &tib, error);
    if (err) {
        return err;
    }
    err = pd_tib_snapshot(tib, &snapshot);
    if (err) {
        fail(set, err, error);
    } else {
        export.all = pd_tib_stat(tib, &stat) ? 0 : stat.records;
        err = export_tib(set, snapshot, &export, error);
    }
    bool damaged = !err && pd_tib_snapshot_damaged(snapshot);
    pd_tib_release(snapshot);
    pd_tib_close(tib);
    if (!damaged) {
        return err;
    }
    fflush(stdout);
    fputs("pathdump tib export: a part of the store could not be read and is left out\n", stderr);
    return PD_CLI_PARTIAL;
}

const struct pd_cli_command pd_cli_tib_export = {
    .name = "tib export",
    .synopsis = "--tib DIR [--csv] > FILE",
    .help = "write all records of a TIB as lines of JSON, or as CSV",
    .details =
        "Writes one JSON object a line for each record, in no order: flow_id, path (and where "
        "the tags fit no path, the mark), stime_us, etime_us, bytes, pkts. The records are "
        "those of one moment; a daemon may be writing meanwhile.\n"
        "--csv has the columns of `query getFlows --csv`; only JSON can be imported again.\n"
        "Exits with 3 when a part of the records could not be read.",
    .options = export_options,
    .required = "tib",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run_export,
};

/* ---- import ---- */

struct import {
    struct pd_tib *tib;
    struct pd_progress progress;
    uint64_t file_bytes;    /* of standard input; 0: not known */
    uint64_t taken, stored; /* records */
    int store_error;
};

static int commit_import(struct import *import)
{
    int err = pd_tib_commit(import->tib);
    if (!err) {
        import->stored = import->taken;
    } else {
        import->store_error = err;
    }
    return err;
}

static int import_records(void *context, const struct pd_tib_record *records, size_t n,
                          uint64_t bytes)
{
    struct import *import = context;
    import->store_error = pd_tib_append(import->tib, records, n);
    import->taken += n;
    if (!import->store_error && import->taken - import->stored >= COMMIT_RECORDS) {
        commit_import(import);
    }
    pd_cli_progress_step(&import->progress, import->file_bytes ? bytes : import->taken,
                         import->file_bytes);
    return import->store_error;
}

static uint64_t size_of_stdin(void)
{
    struct stat stat;
    return fstat(STDIN_FILENO, &stat) || !S_ISREG(stat.st_mode) ? 0 : (uint64_t)stat.st_size;
}

/* How many records are stored is told whatever happens. */
static int import_tib(const struct settings *set, struct import *import, struct pd_error *error)
{
    const struct pd_ndjson_taker taker = {import_records, import};
    struct pd_error inner = {0};
    import->file_bytes = size_of_stdin();
    pd_cli_progress_begin(&import->progress, "import");
    int err = pd_cli_ndjson_read(stdin, &taker, &inner);
    if (!import->store_error && import->taken > import->stored) {
        commit_import(import);
    }
    pd_cli_progress_end(&import->progress);
    if (import->store_error) {
        err = fail(set, import->store_error, &inner);
    }
    return err ? pd_fail(error, err, "%.350s; %" PRIu64 " records were stored before", inner.text,
                         import->stored)
               : 0;
}

static int run_import(const void *settings, const struct pd_cli_words *words,
                      struct pd_error *error)
{
    const struct settings *set = settings;
    struct import import = {.taken = 0};
    (void)words;
    int err = open_tib(set, PD_TIB_WRITE, &import.tib, error);
    if (err) {
        return err;
    }
    err = import_tib(set, &import, error);
    pd_tib_close(import.tib);
    if (err) {
        return err;
    }
    if (set->json) {
        return pd_cli_json_print(json_pack("{s:I}", "records", (json_int_t)import.stored), error);
    }
    print_number("records", import.stored);
    return PD_CLI_OK;
}

const struct pd_cli_command pd_cli_tib_import = {
    .name = "tib import",
    .synopsis = "--tib DIR [--json] < FILE",
    .help = "store records from lines of JSON",
    .details =
        "Reads what tib export writes and adds the records to the store, which is made when it "
        "is not there. Nothing is looked up: importing a file twice stores its records twice. "
        "The daemon that writes into this store has to be stopped first.\n"
        "A line that is not as expected ends the import: the error names the line, what is "
        "wrong in it, and how many records before it were stored.",
    .options = options,
    .required = "tib",
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .run = run_import,
};
