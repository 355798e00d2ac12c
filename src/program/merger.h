/* SPDX-License-Identifier: Apache-2.0 */
/* merge() of programs, for questions whose answers meet here. */
#ifndef PD_PROGRAM_MERGER_H
#define PD_PROGRAM_MERGER_H

#include "program/program.h"
#include "query/question.h"

/* Thread safety: as of pd_programs_merge. */

struct pd_program_merger {
    struct pd_question_merger merger; /* its context is this struct: it must not move */
    struct pd_programs *programs;
    struct pd_program_limits limits;
};

void pd_program_merger_init(struct pd_program_merger *merger, struct pd_programs *programs,
                            const struct pd_program_limits *limits);

#endif
