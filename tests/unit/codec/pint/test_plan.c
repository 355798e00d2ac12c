/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: what is read, what it is written as, and what is refused with which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "codec/pint/plan.h"

#define HEAD "{\"version\":1,\"seed\":7,\"carrier\":\"tag\",\"bits\":16,\"queries\":["
#define PATH                                                                                     \
    "{\"name\":\"path\",\"aggregation\":\"static\",\"value\":\"switch-id\",\"coding\":\"hash\"," \
    "\"bits\":8,\"instances\":1,\"tau\":32768,\"xor\":[65536]}"
#define LATENCY                                                                                  \
    "{\"name\":\"latency\",\"aggregation\":\"dynamic\",\"value\":\"hop-latency-ns\",\"bits\":8," \
    "\"rounding\":\"nearest\",\"values\":[0,500,700],\"bounds\":[0,250,600]}"
#define WORST                                                                        \
    "{\"name\":\"worst\",\"aggregation\":\"packet\",\"function\":\"max\",\"value\":" \
    "\"utilisation-ppm\",\"bits\":8,\"rounding\":\"random\",\"values\":[0,10]}"
#define LOOP       "{\"name\":\"loop\",\"aggregation\":\"loop\",\"bits\":14,\"threshold\":3}"
#define SETS(text) "],\"sets\":[" text "]}"
#define ALL        SETS("{\"weight\":65536,\"queries\":[\"path\"]}")

static const char good[] = HEAD PATH
    "," LATENCY "," WORST "," LOOP SETS("{\"weight\":61440,\"queries\":[\"path\",\"latency\"]},"
                                        "{\"weight\":2048,\"queries\":[\"path\",\"worst\"]},"
                                        "{\"weight\":1024,\"queries\":[\"loop\"]}");

static void a_plan_reads_and_writes_back(void **state)
{
    struct pd_pint_plan *plan = NULL, *again = NULL;
    struct pd_error error = {0};
    (void)state;
    assert_int_equal(pd_pint_plan_parse(good, strlen(good), "p.json", &plan, &error), 0);
    assert_int_equal(plan->queries_len, 4);
    assert_int_equal(plan->queries[3].counter_bits, 2);
    assert_int_equal(plan->sets[1].fields[1].query, 2);
    assert_int_equal(plan->sets[1].fields[1].shift, 8);
    json_t *json = pd_pint_plan_json(plan);
    char *text = json_dumps(json, JSON_COMPACT);
    assert_int_equal(pd_pint_plan_parse(text, strlen(text), "again", &again, &error), 0);
    assert_memory_equal(plan, again, sizeof *plan);
    free(text);
    json_decref(json);
    pd_pint_plan_free(plan);
    pd_pint_plan_free(again);
}

static const struct {
    const char *text, *words;
} refused[] = {
    {"", "p.json: line 1: "},
    {"[]", "p.json: expects an object"},
    {"{}", "p.json: version: expects a number from 1 to 1"},
    {"{\"version\":2}", "p.json: version: expects"},
    {"{\"version\":1,\"seed\":7,\"seed\":8}", "p.json: line 1: duplicate"},
    {"{\"version\":1,\"sed\":7}", "p.json: sed: unknown member"},
    {"{\"version\":1,\"seed\":4294967296}", "p.json: seed: expects"},
    {"{\"version\":1,\"seed\":1,\"carrier\":\"dscp\",\"bits\":7}", "p.json: bits: expects a "
                                                                   "number from 1 to 6"},
    {HEAD "]}", "p.json: queries: expects a list of 1 to 16 members"},
    {HEAD "7]}", "p.json: queries[0]: expects an object"},
    {HEAD PATH "," PATH ALL, "p.json: queries[1].name: another query has it, too"},
    {HEAD PATH SETS(""), "p.json: sets: expects a list"},
    {HEAD PATH SETS("{\"weight\":65537,\"queries\":[]}"), "p.json: sets[0].weight: expects"},
    {HEAD PATH SETS("{\"weight\":1,\"queries\":[\"pth\"]}"),
     "p.json: sets[0].queries: [0]: no query has this name"},
    {HEAD PATH SETS("{\"weight\":1,\"queries\":[\"path\",\"path\"]}"),
     "p.json: sets[0].queries: [1]: named twice"},
    {HEAD PATH SETS("{\"weight\":65536,\"queries\":[]},{\"weight\":1,\"queries\":[]}"),
     "p.json: sets: the weights are more than 65536 together"},
    {HEAD PATH "," LATENCY
               "," WORST SETS("{\"weight\":9,\"queries\":[\"path\",\"latency\",\"worst\"]}"),
     "p.json: sets[0]: \"worst\" does not fit into 16 bits"},
    {HEAD "{\"name\":\"l\",\"aggregation\":\"dynamic\",\"value\":\"queue-bytes\",\"bits\":9}]}",
     "p.json: queries[0].bits: a code has at most 8 bits"},
    {HEAD "{\"name\":\"l\",\"aggregation\":\"dynamic\",\"value\":\"queue-bytes\",\"bits\":1,"
          "\"values\":[5,4],\"bounds\":[0,4]}]}",
     "p.json: queries[0].values: [1]: less than the one before"},
    {HEAD "{\"name\":\"l\",\"aggregation\":\"dynamic\",\"value\":\"queue-bytes\",\"bits\":1,"
          "\"values\":[4,5],\"bounds\":[0]}]}",
     "p.json: queries[0].bounds: expects a list of 2 to 2 members"},
    {HEAD "{\"name\":\"p\",\"aggregation\":\"static\",\"value\":\"ingress-port\",\"bits\":8,"
          "\"tau\":0,\"xor\":[1]}]}",
     "p.json: queries[0].coding: hash is for switch-id, expected fragment"},
    {HEAD "{\"name\":\"p\",\"aggregation\":\"static\",\"value\":\"switch-id\",\"bits\":8,"
          "\"tau\":0,\"xor\":[]}]}",
     "p.json: queries[0].xor: expects a list"},
    {HEAD "{\"name\":\"\",\"aggregation\":\"loop\"}]}", "p.json: queries[0].name: wrong"},
    {HEAD "{\"name\":\"x\",\"aggregation\":\"lop\"}]}",
     "p.json: queries[0].aggregation: expects \"static\", \"dynamic\", \"packet\" or \"loop\""},
};

static void bad_plans_are_refused_with_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct pd_pint_plan *plan = NULL;
        struct pd_error error = {0};
        int err =
            pd_pint_plan_parse(refused[i].text, strlen(refused[i].text), "p.json", &plan, &error);
        assert_true(err < 0);
        assert_int_equal(error.code, err);
        assert_null(plan);
        if (strncmp(error.text, refused[i].words, strlen(refused[i].words)) != 0) {
            fail_msg("`%s` instead of `%s`", error.text, refused[i].words);
        }
    }
}

static void files_that_are_not_there(void **state)
{
    struct pd_pint_plan *plan = NULL;
    struct pd_error error = {0};
    (void)state;
    assert_true(pd_pint_plan_read("/nowhere/plan.json", &plan, &error) < 0);
    assert_null(plan);
    assert_non_null(strstr(error.text, "/nowhere/plan.json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_reads_and_writes_back),
        cmocka_unit_test(bad_plans_are_refused_with_their_place),
        cmocka_unit_test(files_that_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
