/* SPDX-License-Identifier: Apache-2.0 */
/* Sent and come: what is lost, and what nobody can know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probe/join.h"

#define FIRST UINT32_C(4000000000)
enum { MS = 1000000, SLACK = 25 * MS, RATE = 1000 };

struct scene {
    struct pd_probe_join join;
    uint32_t arrived, lost, unknown;
    uint64_t now_ns;
};

static void count(void *context, bool arrived)
{
    struct scene *scene = context;

    *(arrived ? &scene->arrived : &scene->lost) += 1;
}

/* The sender has sent so many by now. */
static void sent(struct scene *scene, uint32_t first, uint32_t probes)
{
    const struct pd_probe_join_sent word = {first, first + probes};

    assert_true(pd_probe_join_sent(&scene->join, &word, RATE, scene->now_ns));
}

static void came(struct scene *scene, const struct pd_probe_join_came *word, uint32_t epoch)
{
    scene->unknown +=
        pd_probe_join_came(&scene->join, word, epoch, scene->now_ns, SLACK, count, scene);
}

/* The first few, all but those of the bits. */
static struct pd_probe_join_came some(uint32_t probes, uint64_t missing)
{
    return (struct pd_probe_join_came){
        .any = probes > 0, .first = FIRST, .newest = FIRST + probes - 1, .missing = missing};
}

static void check(const struct scene *scene, uint32_t arrived, uint32_t lost)
{
    assert_int_equal(scene->arrived, arrived);
    assert_int_equal(scene->lost, lost);
}

static void begin(struct scene *scene)
{
    const struct pd_probe_join_came none = {.any = false};

    *scene = (struct scene){.now_ns = 1000 * (uint64_t)MS};
    came(scene, &none, 1);
    sent(scene, FIRST, 0);
}

static void what_is_overtaken_is_lost(void **state)
{
    struct scene scene;
    struct pd_probe_join_came word = some(5, 4);

    (void)state;
    begin(&scene);
    came(&scene, &word, 1);
    check(&scene, 4, 1);
    came(&scene, &word, 1); /* said again */
    check(&scene, 4, 1);
}

static void silence_is_loss_only_of_what_was_sent(void **state)
{
    struct scene scene;
    struct pd_probe_join_came word = some(2, 0);

    (void)state;
    begin(&scene);
    sent(&scene, FIRST, 2);
    scene.now_ns += 500 * (uint64_t)MS; /* the sender has a break */
    came(&scene, &word, 1);
    check(&scene, 2, 0);
    sent(&scene, FIRST, 9);
    came(&scene, &word, 1); /* they may be under way */
    check(&scene, 2, 0);
    scene.now_ns += SLACK;
    came(&scene, &word, 1); /* made after the word before, and so after they were sent */
    check(&scene, 2, 7);
}

static void a_way_that_never_carried_any_is_silent(void **state)
{
    struct scene scene;
    const struct pd_probe_join_came none = {.any = false};

    (void)state;
    begin(&scene);
    sent(&scene, FIRST, 5);
    scene.now_ns += SLACK;
    came(&scene, &none, 1); /* it may be old */
    check(&scene, 0, 0);
    came(&scene, &none, 1);
    check(&scene, 0, 5);
}

static void who_begins_again_blames_nobody(void **state)
{
    struct scene scene;
    const struct pd_probe_join_came none = {.any = false};
    struct pd_probe_join_came word = some(3, 0);

    (void)state;
    begin(&scene);
    sent(&scene, FIRST, 100);
    scene.now_ns += SLACK;
    came(&scene, &none, 2); /* another collector */
    came(&scene, &none, 2);
    check(&scene, 0, 0);
    sent(&scene, FIRST + 1000, 3); /* another sender; the numbers wrap around on the way */
    came(&scene, &word, 2);        /* still of the one before */
    check(&scene, 0, 0);
    word.first += 1000;
    word.newest += 1000;
    came(&scene, &word, 2);
    check(&scene, 3, 0);
}

static void long_silence_is_cut(void **state)
{
    struct scene scene;
    const struct pd_probe_join_came none = {.any = false};

    (void)state;
    begin(&scene);
    for (uint32_t seconds = 1; seconds <= 10; seconds++) {
        scene.now_ns += 1000 * (uint64_t)MS;
        sent(&scene, FIRST, seconds * RATE);
    }
    scene.now_ns += SLACK;
    came(&scene, &none, 1);
    came(&scene, &none, 1);
    check(&scene, 0, PD_PROBE_JOIN_MOST);
    assert_int_equal(scene.unknown, 10 * RATE - PD_PROBE_JOIN_MOST);
}

/* A sender that says to have sent what it cannot have, and a collector that says to have got it. */
static void claims_beyond_the_rate_are_refused(void **state)
{
    struct scene scene;
    const struct pd_probe_join_came none = {.any = false};
    struct pd_probe_join_came word = some(1000000, 0);

    (void)state;
    begin(&scene);
    scene.now_ns += 100 * (uint64_t)MS;
    const struct pd_probe_join_sent claim = {FIRST, FIRST + 1000000};
    assert_false(pd_probe_join_sent(&scene.join, &claim, RATE, scene.now_ns));
    scene.now_ns += SLACK;
    came(&scene, &none, 1);
    came(&scene, &none, 1);
    assert_in_range(scene.lost, RATE / 10, RATE);
    uint32_t lost = scene.lost;
    came(&scene, &word, 1);
    assert_int_equal(scene.lost, lost);
    assert_in_range(scene.arrived + scene.unknown, 0, RATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_overtaken_is_lost),
        cmocka_unit_test(silence_is_loss_only_of_what_was_sent),
        cmocka_unit_test(a_way_that_never_carried_any_is_silent),
        cmocka_unit_test(who_begins_again_blames_nobody),
        cmocka_unit_test(long_silence_is_cut),
        cmocka_unit_test(claims_beyond_the_rate_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
