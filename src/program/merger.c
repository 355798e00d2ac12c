/* SPDX-License-Identifier: Apache-2.0 */
/* merge() of programs, each time in a worker. */
#include "program/merger.h"

static int able(void *context, const char *source, bool *ret_able, struct pd_error *error)
{
    const struct pd_program_merger *merger = context;

    return pd_programs_can_merge(merger->programs, source, &merger->limits, ret_able, error);
}

static int merge(void *context, const char *source, json_t *a, json_t *b, json_t **ret_merged,
                 struct pd_error *error)
{
    const struct pd_program_merger *merger = context;

    return pd_programs_merge(merger->programs, source, a, b, &merger->limits, ret_merged, error);
}

void pd_program_merger_init(struct pd_program_merger *merger, struct pd_programs *programs,
                            const struct pd_program_limits *limits)
{
    *merger = (struct pd_program_merger){
        .merger = {merger, able, merge}, .programs = programs, .limits = *limits};
}
