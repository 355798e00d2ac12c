/* SPDX-License-Identifier: Apache-2.0 */
/* Programs in the real worker: what they can do, what they cannot, and that each limit ends them
 * with words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>
#include <sys/types.h>

#include "base/clock.h"
#include "program/program.h"

#define FLOWS        3000 /* several pages of lines */
#define INSTRUCTIONS 20000000
#define DEADLINE_MS  120000 /* never reached, on a busy machine under a sanitizer either */

static struct pd_programs *programs;
static struct pd_error error;

/* A host whose get_flows gives FLOWS rows {"n":1} …, get_count [7,8], get_paths one path, and
 * refuses the rest. */
static int answer(void *context, const char *name, const json_t *args, FILE *lines,
                  struct pd_error *ret_error)
{
    (void)args;
    ++*(unsigned *)context;
    if (!strcmp(name, "get_flows")) {
        for (int i = 1; i <= FLOWS; i++) {
            fprintf(lines, "{\"n\":%d,\"flow_id\":{\"src_ip\":\"10.1.1.%d\"}}\n", i, i % 256);
        }
        return 0;
    }
    if (!strcmp(name, "get_count")) {
        return fputs("[7,8]\n", lines) < 0;
    }
    if (!strcmp(name, "get_paths")) {
        return fputs("[1,9,17]\n", lines) < 0;
    }
    return pd_fail(ret_error, -PD_E_VALUE, "link: expected two switch IDs, as in 9-17");
}

static unsigned calls;
static const struct pd_program_host host = {&calls, answer};

static struct pd_program_limits limits(uint64_t ms)
{
    return (struct pd_program_limits){INSTRUCTIONS, PD_PROGRAM_MEMORY_DEFAULT_BYTES,
                                      pd_clock_monotonic_ns() + ms * PD_NS_PER_MS};
}

static int run(const char *source, const char *args, uint64_t ms, char **ret_text)
{
    struct pd_program_limits limit = limits(ms);
    json_t *given = json_loads(args, 0, NULL), *result = NULL;
    assert_non_null(given);
    error = (struct pd_error){0};
    int err = pd_programs_run(programs, source, given, &limit, &host, &result, &error);
    *ret_text = err ? NULL : json_dumps(result, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    json_decref(result);
    json_decref(given);
    return err;
}

static void expect(const char *source, const char *args, const char *wanted)
{
    char *text;
    int err = run(source, args, DEADLINE_MS, &text);
    if (err) {
        fail_msg("%s: %s", source, error.text);
    }
    assert_string_equal(text, wanted);
    free(text);
}

static void expect_failure(const char *source, int wanted, const char *words)
{
    char *text;
    int err = run(source, "{}", DEADLINE_MS, &text);
    if (err != wanted || !strstr(error.text, words)) {
        fail_msg("%.100s: %d (%s) instead of %d (%s)", source, err, error.text, wanted, words);
    }
}

static void results_are_json(void **state)
{
    (void)state;
    expect("function run(args) return args end", "{\"a\":[1,2.5,\"x\",true,{\"b\":null}]}",
           "{\"a\":[1,2.5,\"x\",true,[]]}");
    expect("function run() return {[1]=\"a\",[3]=\"c\"} end", "{}", "{\"1\":\"a\",\"3\":\"c\"}");
    expect("function run() return nil end", "{}", "null");
    expect("function run() return {1, {}, {x = 1 << 40}} end", "{}",
           "[1,[],{\"x\":1099511627776}]");
    expect("function run() return (\"a,b\"):gsub(\",\", \";\") end", "{}", "\"a;b\"");
}

/* A check looks at the source and runs none of it. */
static void syntax_is_checked(void **state)
{
    (void)state;
    assert_int_equal(pd_programs_check(programs, "function run() while true do end end", &error),
                     0);
    assert_int_equal(pd_programs_check(programs, "while true do end", &error), 0);
    assert_int_equal(pd_programs_check(programs, "function run()\n\nlocal x = = 1\nend", &error),
                     -PD_E_VALUE);
    assert_non_null(strstr(error.text, "program:3:"));
    assert_int_equal(pd_programs_check(programs, "\x1bLua", &error), -PD_E_VALUE);
}

static void records_come_as_iterators(void **state)
{
    (void)state;
    expect("function run() local n = 0 for f in get_flows{} do n = n + f.n end return n end", "{}",
           "4501500");
    expect("function run() for f in get_flows{} do if f.n == 5 then return f.flow_id.src_ip end "
           "end end",
           "{}", "\"10.1.1.5\"");
    expect("function run() local b, p = get_count{link = \"1-9\"} return {b, p} end", "{}",
           "[7,8]");
    /* Asked again while the answer is gone through, more often than answers may be open at once. */
    expect("function run() local n = 0 for f in get_flows{} do for p in get_paths(f.flow_id) do n "
           "= n + #p end end return n end",
           "{}", "9000");
    expect("function run() local n = 0 for i = 1, 200 do for f in get_flows{} do n = n + 1 break "
           "end end return n end",
           "{}", "200");
}

static void errors_of_the_host_are_told(void **state)
{
    (void)state;
    expect_failure("function run() get_duration{link = \"x\"} end", -PD_E_PROGRAM,
                   "get_duration: link: expected two switch IDs");
    expect("function run() return (pcall(get_duration, {})) end", "{}", "false");
    expect_failure("function run() get_flows(7) end", -PD_E_PROGRAM, "table expected");
    expect_failure("function run() get_flows{1, 2} end", -PD_E_PROGRAM, "they are a list");
    expect_failure("function run() local t = {} for i = 1, 100 do t[i] = {get_flows{}} end end",
                   -PD_E_PROGRAM, "too many calls are open");
}

static void wrong_programs_are_refused(void **state)
{
    (void)state;
    expect_failure("function run(", -PD_E_PROGRAM, "program:1:");
    expect_failure("x = 1", -PD_E_PROGRAM, "no function run");
    expect_failure("\x1bLua", -PD_E_PROGRAM, "attempt to load a binary chunk");
    expect_failure("function run() return run end", -PD_E_PROGRAM, "not a JSON value");
    expect_failure("function run() local t = {} t.t = t return t end", -PD_E_PROGRAM,
                   "in themselves");
    expect_failure("function run() return 0/0 end", -PD_E_PROGRAM, "not finite");
    expect_failure("function run() return \"\\xff\" end", -PD_E_PROGRAM, "not UTF-8");
    expect_failure("function run() return \"a\\0b\" end", -PD_E_PROGRAM, "zero byte");
    expect_failure("function run() return {[\"a\\0b\"] = 1, [\"a\\0c\"] = 2} end", -PD_E_PROGRAM,
                   "zero byte");
    expect_failure("function run() return {[1] = 1, [\"1\"] = 2} end", -PD_E_PROGRAM,
                   "two keys are the same text");
    expect_failure("function run() get_count{link = \"9-17\\0\"} end", -PD_E_PROGRAM,
                   "arguments of get_count: a text has a zero byte");
    expect_failure("function run() error({}) end", -PD_E_PROGRAM, "not a text");
    expect_failure("function run() error(\"no such rack\", 0) end", -PD_E_PROGRAM, "no such rack");
}

static void nothing_is_in_reach(void **state)
{
    static const char *const names[] = {"os",       "io",   "package",     "require",
                                        "debug",    "load", "dofile",      "print",
                                        "loadfile", "warn", "string.dump", "collectgarbage"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char source[100];
        snprintf(source, sizeof source, "function run() return %s == nil end", names[i]);
        expect(source, "{}", "true");
    }
    expect_failure("function run() setmetatable({}, {__gc = function() end}) end", -PD_E_PROGRAM,
                   "__gc is not to be had");
    expect("function run() return setmetatable({}, {__index = {x = 3}}).x end", "{}", "3");
    expect("function run() return getmetatable(\"\").__index.dump == nil end", "{}", "true");
}

/* Also inside of library calls that never come back, and past pcall. */
static void limits_hold(void **state)
{
    (void)state;
    expect_failure("function run() while true do end end", -PD_E_LIMIT, "instructions");
    expect_failure("function run() while true do pcall(function() while true do end end) end end",
                   -PD_E_LIMIT, "instructions");
    expect_failure("function run() return coroutine.wrap(function() while true do end end)() end",
                   -PD_E_LIMIT, "instructions");
    expect_failure(
        "function run() local t = {} while true do t[#t + 1] = (\"x\"):rep(1000) end end",
        -PD_E_LIMIT, "memory");
    expect_failure("function run() return (\"x\"):rep(1 << 30) end", -PD_E_LIMIT, "memory");
}

/* Where Lua by itself counts no instructions: in a handler or a __close that an error of the count
 * has run, and at the start of each coroutine. */
static void instructions_count_everywhere(void **state)
{
    (void)state;
    expect_failure(
        "function run() xpcall(error, function() while true do end end, \"x\") return 1 end",
        -PD_E_LIMIT, "instructions");
    expect_failure("function run() coroutine.wrap(function() local x <close> = setmetatable({}, "
                   "{__close = function() while true do end end}) while true do end end)() end",
                   -PD_E_LIMIT, "instructions");
    expect_failure("function run() for n = 1, 30000 do coroutine.wrap(function() for i = 1, 900 do "
                   "end end)() end end",
                   -PD_E_LIMIT, "instructions");
    expect("function run() return coroutine.wrap(function(a) return a + 1 end)(5) end", "{}", "6");
}

/* A text of 30 MB that is used a thousand times is 30 GB of JSON. */
static void results_and_arguments_are_bounded(void **state)
{
    static const char texts[] =
        "local s, t = (\"x\"):rep(30000000), {} for i = 1, 1000 do t[i] = s end";
    char source[256];
    (void)state;
    snprintf(source, sizeof source, "function run() %s return t end", texts);
    expect_failure(source, -PD_E_PROGRAM, "larger than 16 MiB");
    snprintf(source, sizeof source, "function run() %s get_count{path = t} end", texts);
    expect_failure(source, -PD_E_PROGRAM, "arguments of get_count: its texts are larger");
    expect_failure("function run() get_count{path = (\"\\1\"):rep(4000000)} end", -PD_E_PROGRAM,
                   "arguments of get_count: they are larger");
}

static void the_deadline_holds(void **state)
{
    static const char endless[] =
        "function run() return (\" \"):rep(1e5):match((\" *\"):rep(30) .. \"x\") end";
    char *text;
    (void)state;
    uint64_t begun_ns = pd_clock_monotonic_ns();
    assert_int_equal(run(endless, "{}", 200, &text), -PD_E_DEADLINE);
    assert_in_range(pd_clock_monotonic_ns() - begun_ns, 190 * PD_NS_PER_MS, 5 * PD_NS_PER_S);
    /* Few instructions, much work for each: whichever comes first. */
    int code =
        run("function run() local function f() return pcall(f) end while true do f() end end", "{}",
            300, &text);
    assert_true(code == -PD_E_DEADLINE || code == -PD_E_LIMIT);
    expect("function run() return 1 end", "{}", "1");
}

static void merges_combine(void **state)
{
    struct pd_program_limits limit = limits(DEADLINE_MS);
    json_t *a = json_pack("[i]", 1), *b = json_pack("[i]", 2), *result;
    (void)state;
    assert_int_equal(pd_programs_merge(programs, "function merge(a, b) return {a[1] + b[1]} end", a,
                                       b, &limit, &result, &error),
                     0);
    assert_int_equal(json_integer_value(json_array_get(result, 0)), 3);
    json_decref(result);
    assert_int_equal(pd_programs_merge(programs,
                                       "function merge(a, b) for f in get_flows{} do end end", a, b,
                                       &limit, &result, &error),
                     -PD_E_PROGRAM);
    assert_non_null(strstr(error.text, "cannot ask"));
    json_decref(a);
    json_decref(b);
}

static void runs_leave_nothing_behind(void **state)
{
    (void)state;
    expect("leak = 5 function run() return leak end", "{}", "5");
    expect("function run() return leak == nil end", "{}", "true");
    expect("function run() string.rep = nil return 1 end", "{}", "1");
    expect("function run() return (\"x\"):rep(2) end", "{}", "\"xx\"");
}

static void *many(void *context)
{
    static char wrong[] = "a run that was wrong";
    (void)context;
    for (int i = 0; i < 20; i++) {
        struct pd_program_limits limit = limits(60000);
        unsigned own_calls = 0;
        struct pd_program_host own = {&own_calls, answer};
        json_t *args = json_pack("{s:i}", "i", i), *result = NULL;
        int err = pd_programs_run(
            programs,
            "function run(a) for f in get_flows{} do if f.n == 9 then return a.i end end end", args,
            &limit, &own, &result, NULL);
        json_decref(args);
        if (err || json_integer_value(result) != i || own_calls != 1) {
            return wrong;
        }
        json_decref(result);
    }
    return NULL;
}

static void threads_run_at_once(void **state)
{
    pthread_t threads[6];
    void *wrong;
    (void)state;
    for (int i = 0; i < 6; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, many, NULL), 0);
    }
    for (int i = 0; i < 6; i++) {
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    struct pd_program_counters counters;
    pd_programs_counters(programs, &counters);
    assert_true(counters.runs >= 120 && counters.started <= counters.runs);
}

static void no_worker_is_an_error(void **state)
{
    struct pd_programs *none;
    struct pd_program_limits limit = limits(1000);
    json_t *args = json_object(), *result;
    (void)state;
    assert_int_equal(pd_programs_new("/nonexistent/pathdump-program", &none), 0);
    assert_int_equal(
        pd_programs_run(none, "function run() end", args, &limit, &host, &result, &error),
        -PD_E_UNSUPPORTED);
    json_decref(args);
    pd_programs_free(none);
}

/* The worker that waits for the next run: a child of this thread. */
static void the_worker_is_walled_in(void **state)
{
    char path[64], line[100];
    int pid = 0, mode = -1;
    FILE *file = fopen("/proc/thread-self/children", "r");
    (void)state;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    fclose(file);
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "Seccomp: %d", &mode);
    }
    fclose(file);
    assert_int_equal(mode, PD_SANITIZED ? 0 : 2); /* 2: a filter */
}

static int set_up(void **state)
{
    (void)state;
    return pd_programs_new(PD_BIN_DIR "/pathdump-program", &programs);
}

static int tear_down(void **state)
{
    (void)state;
    pd_programs_free(programs);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_json),
        cmocka_unit_test(syntax_is_checked),
        cmocka_unit_test(records_come_as_iterators),
        cmocka_unit_test(errors_of_the_host_are_told),
        cmocka_unit_test(wrong_programs_are_refused),
        cmocka_unit_test(nothing_is_in_reach),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(instructions_count_everywhere),
        cmocka_unit_test(results_and_arguments_are_bounded),
        cmocka_unit_test(the_deadline_holds),
        cmocka_unit_test(merges_combine),
        cmocka_unit_test(runs_leave_nothing_behind),
        cmocka_unit_test(the_worker_is_walled_in),
        cmocka_unit_test(threads_run_at_once),
        cmocka_unit_test(no_worker_is_an_error),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
