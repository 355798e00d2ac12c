/* SPDX-License-Identifier: Apache-2.0 */
/* Any JSON as a host's answer to each question of the table: refused in words, or merged with
 * itself into an answer that is one as well. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "query/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
    if (!truth) {
        abort();
    }
}

static bool knows(void *context, uint32_t host)
{
    (void)context;
    return host < 100;
}

static int speak(void *context, uint32_t host)
{
    (void)context;
    (void)host;
    return 0;
}

/* Programs that have no merge(). */
static int able(void *context, const char *source, bool *ret_able, struct pd_error *error)
{
    (void)context;
    (void)source;
    (void)error;
    *ret_able = false;
    return 0;
}

static void begin(struct pd_question_run *run, const struct pd_question *question)
{
    run->all = json_object();
    require(!question->begin || !question->begin(run, NULL));
}

static void end(struct pd_question_run *run, const struct pd_question *question)
{
    if (question->end) {
        question->end(run);
    }
    json_decref(run->all);
}

#define MERGED 2

static void merge(struct pd_question_run *run, const struct pd_question *question,
                  const json_t *answer)
{
    const struct pd_question_hosts hosts = {
        .host = 21, .answered = MERGED, .knows = knows, .speak = speak};
    struct pd_error error = {0};

    for (uint32_t host = 1; host <= MERGED; host++) {
        json_t *one = json_deep_copy(answer);

        require(!question->merge(run, host, true, one, &error));
        json_decref(one);
    }
    require(!question->finish(run, &error));
    require(!question->check(run, run->all, &hosts, &error));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct pd_question_merger merger = {.able = able};
    static const struct pd_question_host host = {.merger = &merger};
    static const struct pd_document document;
    const struct pd_question_hosts hosts = {
        .host = 21, .alone = true, .answered = 1, .knows = knows, .speak = speak};
    json_t *answer = json_loadb((const char *)data, size, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);

    for (size_t i = 0; answer && i < pd_questions_own; i++) {
        struct pd_question_run run = {.document = &document, .host = &host};
        struct pd_error error = {0};

        if (pd_query_questions[i]->query) {
            continue; /* no object: fuzz_query_partial */
        }
        begin(&run, pd_query_questions[i]);
        if (pd_query_questions[i]->check(&run, answer, &hosts, &error)) {
            require(error.text[0]);
        } else {
            merge(&run, pd_query_questions[i], answer);
        }
        end(&run, pd_query_questions[i]);
    }
    json_decref(answer);
    return 0;
}
