/* SPDX-License-Identifier: Apache-2.0 */
/* The table of questions. */
#include "query/question.h"

#include <string.h>

#include "pd_extensions.h"
#include "query/poor.h"

#define X(symbol) extern const struct pd_question symbol;
PD_EXTENSION_QUESTION(X)
#undef X

const struct pd_question *const pd_questions[] = {
    &pd_question_poor,
#define X(symbol) &(symbol),
    PD_EXTENSION_QUESTION(X)
#undef X
        NULL,
};

#define X(symbol) +1
const size_t pd_questions_own =
    sizeof pd_questions / sizeof(void *) - 1 - (0 PD_EXTENSION_QUESTION(X));
#undef X

const struct pd_question *pd_question_find(const char *name)
{
    for (size_t i = 0; pd_questions[i]; i++) {
        if (!strcmp(pd_questions[i]->name, name)) {
            return pd_questions[i];
        }
    }
    return NULL;
}

int pd_question_wrong(struct pd_error *error, const char *what)
{
    return pd_fail(error, -PD_E_VALUE, "its answer has %s", what);
}

int pd_question_number(const json_t *object, const char *name, uint64_t *ret_number)
{
    const json_t *number = json_object_get(object, name);

    if (!json_is_integer(number) || json_integer_value(number) < 0 ||
        (uint64_t)json_integer_value(number) > PD_TIB_SUM_MAX) {
        return -PD_E_VALUE;
    }
    *ret_number = (uint64_t)json_integer_value(number);
    return 0;
}
