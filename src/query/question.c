/* SPDX-License-Identifier: Apache-2.0 */
/* The table of questions. */
#include "query/question.h"

#include <string.h>

#include "pd_extensions.h"
#include "query/document.h"
#include "query/path_sums.h"
#include "query/poor.h"
#include "query/suffering.h"
#include "query/telemetry.h"
#include "query/traces.h"

#define X(symbol) extern const struct pd_question symbol;
PD_EXTENSION_QUESTION(X)
#undef X

// clang-format off
const struct pd_question *const pd_query_questions[] = {
#define X(id, name, help) &pd_query_question_queries[PD_QUERY_##id],
    PD_QUERIES(X)
#undef X
    &pd_query_question_poor,
    &pd_query_question_suffering,
    &pd_query_question_path_sums,
    &pd_query_question_program,
    &pd_query_question_traces,
    &pd_query_question_telemetry,
#define X(symbol) &(symbol),
    PD_EXTENSION_QUESTION(X)
#undef X
    NULL,
};
// clang-format on

#define X(symbol) +1
const size_t pd_questions_own =
    sizeof pd_query_questions / sizeof(void *) - 1 - (0 PD_EXTENSION_QUESTION(X));
#undef X

const struct pd_question *pd_query_question_find(const char *name)
{
    for (size_t i = 0; pd_query_questions[i]; i++) {
        if (!pd_query_questions[i]->member && !strcmp(pd_query_questions[i]->name, name)) {
            return pd_query_questions[i];
        }
    }
    return NULL;
}

const struct pd_question *pd_query_question_called(const char *call)
{
    for (size_t i = 0; pd_query_questions[i]; i++) {
        const struct pd_question_call *known = pd_query_questions[i]->call;

        if (known && known->name && !strcmp(known->name, call)) {
            return pd_query_questions[i];
        }
    }
    return NULL;
}

bool pd_query_question_takes(const struct pd_question *question, const char *name)
{
    const struct pd_question_param *param = question->params;

    while (param && param->name && strcmp(param->name, name) != 0) {
        param++;
    }
    return param && param->name && (!param->takers || param->takers >> question->place & 1);
}

struct pd_question_size pd_query_question_size(const struct pd_document *document,
                                               const struct pd_topology *topology)
{
    struct pd_question_size size = {.groups = document->question->groups, .groups_max = UINT64_MAX};

    if (document->question->size) {
        document->question->size(document->asked, topology, &size);
    }
    return size;
}

int pd_query_question_wrong(struct pd_error *error, const char *what)
{
    return pd_fail(error, -PD_E_VALUE, "its answer has %s", what);
}

int pd_query_question_number(const json_t *object, const char *name, uint64_t *ret_number)
{
    const json_t *number = json_object_get(object, name);

    if (!json_is_integer(number) || json_integer_value(number) < 0 ||
        (uint64_t)json_integer_value(number) > PD_TIB_SUM_MAX) {
        return -PD_E_VALUE;
    }
    *ret_number = (uint64_t)json_integer_value(number);
    return 0;
}
