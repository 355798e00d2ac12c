/* SPDX-License-Identifier: Apache-2.0 */
/* Reports: what an application found, how sure it is, why, and what it could not see. */
#ifndef PD_APPS_REPORT_H
#define PD_APPS_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/flow_id.h"

/* In JSON:
 * {"app","verdict","links":["9-17"],"switches":[9],"flows":[{"flow_id":{…},…}],"certain",
 * "confidence","evidence":["…"],"lacks":["…"],"results":{…}}. Links are directed. "results" is
 * there when the application has figures to show: its members are arrays of flat objects, which
 * people get as tables, or texts of several lines. "missing":[ID,…] is there when hosts did not
 * answer; "lacks" has the reasons. An application may have further members (silent-drops: "faults",
 * "detects" …).
 *
 * Everything that can grow is bounded; what is beyond is counted in "lacks". Without memory a
 * report goes on as far as it can, and says so when it is finished. Belongs to one thread. */

#define PD_REPORT_LINKS_MAX  256
#define PD_REPORT_FLOWS_MAX  1000
#define PD_REPORT_WORDS_MAX  200 /* pieces of evidence, and of what is lacking */
#define PD_REPORT_ROWS_MAX   10000
#define PD_REPORT_TEXT_BYTES 512

struct pd_report {
    char verdict[PD_REPORT_TEXT_BYTES]; /* a sentence */
    json_t *links, *switches, *flows, *evidence, *lacks, *results;
    json_t *more;    /* members of an application's own; NULL: none */
    json_t *missing; /* IDs of hosts that did not answer, each once; NULL: none */
    bool certain;
    double confidence; /* 0 … 1 */
    uint64_t left_out; /* members that had no room */
    bool failed;       /* memory ran out */
};

void pd_app_report_init(struct pd_report *report);
void pd_app_report_done(struct pd_report *report); /* works on zeroed memory */

/* The verdict's sentence. */
void pd_app_report_say(struct pd_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A reason for it; something that could not be seen. The same words twice are kept once. */
void pd_app_report_evidence(struct pd_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void pd_app_report_lacks(struct pd_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Each kept once. */
void pd_app_report_link(struct pd_report *report, uint32_t from, uint32_t to);
void pd_app_report_switch(struct pd_report *report, uint32_t id);
/* `flow`: {"flow_id":{…},…more}; taken over. */
void pd_app_report_flow(struct pd_report *report, json_t *flow);

/* A row of results.NAME, a flat object; taken over. */
void pd_app_report_row(struct pd_report *report, const char *name, json_t *row);
/* results.NAME as text. */
void pd_app_report_text(struct pd_report *report, const char *name, const char *text);

/* A member of an application's own beside those of all reports; `value` is taken over. */
void pd_app_report_member(struct pd_report *report, const char *name, json_t *value);

/* What an answer of the world lacks: hosts that are missing, with their reasons, or that it was cut
 * off. */
void pd_app_report_answer(struct pd_report *report, const json_t *answer);

/* The JSON object; NULL without memory. A report that lacks anything is never certain: `certain` is
 * then false, whatever the application said. */
json_t *pd_app_report_json(struct pd_report *report, const char *app);

#endif
