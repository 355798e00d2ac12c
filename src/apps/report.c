/* SPDX-License-Identifier: Apache-2.0 */
/* Reports: bounded lists that are filled piece by piece, and their JSON. */
#include "apps/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"

void pd_app_report_init(struct pd_report *report)
{
    *report = (struct pd_report){
        .links = json_array(),
        .switches = json_array(),
        .flows = json_array(),
        .evidence = json_array(),
        .lacks = json_array(),
    };
    report->failed = !report->links || !report->switches || !report->flows || !report->evidence ||
                     !report->lacks;
}

void pd_app_report_done(struct pd_report *report)
{
    json_decref(report->links);
    json_decref(report->switches);
    json_decref(report->flows);
    json_decref(report->evidence);
    json_decref(report->lacks);
    json_decref(report->results);
    json_decref(report->more);
    json_decref(report->missing);
    *report = (struct pd_report){0};
}

static bool holds(const json_t *list, const json_t *value)
{
    size_t i;
    const json_t *member;

    json_array_foreach(list, i, member)
    {
        if (json_equal(member, value)) {
            return true;
        }
    }
    return false;
}

/* Takes the value over. */
static void add(struct pd_report *report, json_t *list, size_t most, json_t *value)
{
    if (!value || !list) {
        report->failed = true;
    } else if (json_array_size(list) >= most) {
        report->left_out++;
    } else if (json_array_append(list, value)) {
        report->failed = true;
    }
    json_decref(value);
}

static void add_once(struct pd_report *report, json_t *list, size_t most, json_t *value)
{
    if (value && holds(list, value)) {
        json_decref(value);
    } else {
        add(report, list, most, value);
    }
}

/* A character of which the end did not fit goes as a whole: the text stays UTF-8. */
static void end_whole(char *text, int wanted)
{
    size_t len = strlen(text), at = len;

    if (wanted < PD_REPORT_TEXT_BYTES || !len) {
        return;
    }
    while (at > 1 && ((unsigned char)text[at - 1] & 0xc0) == 0x80) {
        at--;
    }
    unsigned char first = (unsigned char)text[at - 1];
    size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;

    if (len - (at - 1) < bytes) {
        text[at - 1] = '\0';
    }
}

__attribute__((format(printf, 3, 0))) static void add_words(struct pd_report *report, json_t *list,
                                                            const char *format, va_list values)
{
    char words[PD_REPORT_TEXT_BYTES] = "";
    int wanted = vsnprintf(words, sizeof words, format, values);

    end_whole(words, wanted);
    add_once(report, list, PD_REPORT_WORDS_MAX, json_string(words));
}

void pd_app_report_say(struct pd_report *report, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    end_whole(report->verdict, vsnprintf(report->verdict, sizeof report->verdict, format, values));
    va_end(values);
}

void pd_app_report_evidence(struct pd_report *report, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    add_words(report, report->evidence, format, values);
    va_end(values);
}

void pd_app_report_lacks(struct pd_report *report, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    add_words(report, report->lacks, format, values);
    va_end(values);
}

void pd_app_report_link(struct pd_report *report, uint32_t from, uint32_t to)
{
    char text[PD_LINK_TEXT_BYTES];

    add_once(report, report->links, PD_REPORT_LINKS_MAX,
             json_string(pd_link_format((struct pd_link_match){from, to}, text)));
}

void pd_app_report_switch(struct pd_report *report, uint32_t id)
{
    add_once(report, report->switches, PD_REPORT_LINKS_MAX, json_integer(id));
}

void pd_app_report_flow(struct pd_report *report, json_t *flow)
{
    add(report, report->flows, PD_REPORT_FLOWS_MAX, flow);
}

static json_t *results(struct pd_report *report)
{
    if (!report->results) {
        report->results = json_object();
    }
    return report->results;
}

void pd_app_report_row(struct pd_report *report, const char *name, json_t *row)
{
    json_t *rows = json_object_get(results(report), name);

    if (!rows) {
        rows = json_array();
        if (json_object_set_new(report->results, name, rows)) {
            rows = NULL;
        }
    }
    add(report, rows, PD_REPORT_ROWS_MAX, row);
}

void pd_app_report_text(struct pd_report *report, const char *name, const char *text)
{
    if (json_object_set_new(results(report), name, json_string(text))) {
        report->failed = true;
    }
}

void pd_app_report_member(struct pd_report *report, const char *name, json_t *value)
{
    report->more = report->more ? report->more : json_object();
    if (json_object_set_new(report->more, name, value)) {
        report->failed = true;
    }
}

/* An application may ask several questions: a host is missing once. */
static void note_missing(struct pd_report *report, json_int_t host)
{
    json_t *id = json_integer(host);

    report->missing = report->missing ? report->missing : json_array();
    if (!id || !report->missing) {
        report->failed = true;
    } else if (!holds(report->missing, id)) {
        report->failed |= json_array_append(report->missing, id) != 0;
    }
    json_decref(id);
}

void pd_app_report_answer(struct pd_report *report, const json_t *answer)
{
    const json_t *missing = json_object_get(json_object_get(answer, "hosts"), "missing"), *host;
    size_t i;

    json_array_foreach(missing, i, host)
    {
        const char *reason = json_string_value(json_object_get(host, "reason"));
        json_int_t id = json_integer_value(json_object_get(host, "id"));

        pd_app_report_lacks(report, "host %" JSON_INTEGER_FORMAT " did not answer: %s", id,
                            reason ? reason : "no reason given");
        note_missing(report, id);
    }
    if (json_is_false(json_object_get(answer, "complete")) && !json_array_size(missing)) {
        pd_app_report_lacks(report, "an answer of the hosts was not complete");
    }
}

json_t *pd_app_report_json(struct pd_report *report, const char *app)
{
    double confidence = isfinite(report->confidence) ? report->confidence : 0;
    json_t *object;

    if (report->left_out) {
        pd_app_report_lacks(report, "%" PRIu64 " findings more, for which this report has no room",
                            report->left_out);
    }
    if (report->failed) {
        return NULL;
    }
    confidence = confidence < 0 ? 0 : confidence > 1 ? 1 : confidence;
    object =
        json_pack("{s:s, s:s, s:O, s:O, s:O, s:b, s:f, s:O, s:O}", "app", app, "verdict",
                  report->verdict, "links", report->links, "switches", report->switches, "flows",
                  report->flows, "certain", report->certain && !json_array_size(report->lacks),
                  "confidence", confidence, "evidence", report->evidence, "lacks", report->lacks);
    if (object && ((report->more && json_object_update_missing(object, report->more)) ||
                   (report->results && json_object_set(object, "results", report->results)) ||
                   (report->missing && json_object_set(object, "missing", report->missing)))) {
        json_decref(object);
        return NULL;
    }
    return object;
}
