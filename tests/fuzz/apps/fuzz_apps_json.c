/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any JSON as arguments of an application that takes one of each kind, as an answer of
 * hosts, and as an alarm. What is read keeps its bounds; what is refused says why, in one line
 * without control characters. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "apps/rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct pd_app_param params[] = {
#define X(id, given, got) {.name = #id, .kind = PD_APP_##id, .value = "V", .help = "h"},
    PD_APP_KINDS(X)
#undef X
        {0},
};
static const struct pd_app_ops app = {.name = "any", .params = params};

static struct pd_topology *topology;

static void check_words(const struct pd_error *error, int err)
{
    if (error->code != err || !*error->text) {
        abort();
    }
    for (const char *at = error->text; *at; at++) {
        if ((unsigned char)*at < ' ') {
            abort();
        }
    }
}

/* What came out is of the form that apps.h says, so it is read again as it is (times are seconds
 * when given, microseconds when read). */
static void check_args(json_t *args)
{
    struct pd_error error = {0};
    json_t *again;

    if (json_is_integer(json_object_get(args, "TIME"))) {
        json_object_del(args, "TIME");
    }
    if (pd_app_args_read(&app, topology, args, &again, &error)) {
        abort();
    }
    if (!json_equal(args, again)) {
        abort();
    }
    json_decref(again);
}

static void read_args(const json_t *json)
{
    struct pd_error error = {0};
    json_t *args;
    int err = pd_app_args_read(&app, topology, json, &args, &error);

    if (err) {
        check_words(&error, err);
        return;
    }
    check_args(args);
    json_decref(args);
}

static int visit(void *context, const struct pd_app_row *row, const json_t *object)
{
    char text[PD_APP_PATH_TEXT_BYTES];

    (void)context;
    if (!object || row->path.len > PD_PATH_MAX) {
        abort();
    }
    pd_app_path_text(&row->path, text);
    pd_app_path_exists(topology, &row->path);
    pd_app_host_of(topology, &row->flow.src, row->flow.ip_version);
    return 0;
}

static void read_answer(const json_t *json)
{
    struct pd_report report;
    struct pd_app_alarm alarm;
    json_t *object;

    pd_app_report_init(&report);
    pd_app_report_answer(&report, json);
    pd_app_rows(json, "flows", &report, visit, NULL, NULL);
    if (pd_app_alarm_read(json, &alarm) && strlen(alarm.reason) >= sizeof alarm.reason) {
        abort();
    }
    object = pd_app_report_json(&report, "any");
    if (!object) {
        abort();
    }
    json_decref(object);
    pd_app_report_done(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    json_t *json = json_loadb((const char *)data, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

    if (!topology && pd_topology_fat_tree(4, &topology, NULL)) {
        abort();
    }
    if (!json) {
        return 0;
    }
    read_args(json);
    read_answer(json);
    json_decref(json);
    return 0;
}
