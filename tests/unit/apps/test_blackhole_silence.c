/* SPDX-License-Identifier: Apache-2.0 */
/* The link that gets none of the flows that it is offered, while flows are stuck, is named, for
 * certain where nothing else explains both; and nothing where either is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps/blackhole/silence.h"
#include "tests/unit/localise/flows.h"

#define S UINT64_C(1000000)

/* So many that a share of 3 %, of which the bars are thrice as much, is not above them by chance:
 * of 40 rounds it was once in 120 times. */
enum { ROUNDS = 200 };

struct scene {
    struct pd_topology *topology;
    struct pd_app_world world;
    struct random random;
    struct flows flows;
    struct bh_silence silence;
    struct pd_report report;
    uint64_t now_us;
    struct pd_link_match black; /* packets over it are gone; {0, 0}: none */
    uint32_t rack;              /* only those for its hosts; 0: all */
    bool shows_stuck;           /* flows over it are told of */
    uint64_t some;    /* of so many flows over it each second or third … is gone; 0: all */
    uint32_t liar;    /* the only sender that tells: last bytes as digits; 0: all do */
    size_t flows_len; /* a period */
    uint16_t port;
};

static uint64_t now_us(void *context)
{
    return ((struct scene *)context)->now_us;
}

/* A second of ordinary flows; those over the black link arrive nowhere. */
static int observe(void *context, uint64_t from_us, uint64_t to_us, unsigned wanted,
                   const struct pd_evidence_sink *sink, struct pd_report *report,
                   struct pd_error *error)
{
    struct scene *scene = context;
    struct flows *flows = &scene->flows;

    (void)wanted, (void)report, (void)error;
    for (flows->len = 0; flows->len < scene->flows_len;) {
        bool black = false;
        struct pd_evidence_row *row = add_flow(flows, &scene->random, 9, 17, 0, 40);

        row->began = 1;
        row->flow.src_port = ++scene->port;
        if (scene->black.from) {
            const struct pd_path *path = &flows->paths[flows->len - 1];
            black = pd_path_crosses(path, scene->black) &&
                    (!scene->rack || path->switches[path->len - 1] == scene->rack) &&
                    (!scene->some || !random_below(&scene->random, scene->some));
        }
        if (black && scene->shows_stuck &&
            (!scene->liar || row->flow.src.bytes[1] * 100u + row->flow.src.bytes[2] * 10u +
                                     row->flow.src.bytes[3] ==
                                 scene->liar)) {
            row->lost = 1;
            row->ways_len = 0;
        } else if (black) {
            flows->len--;
        }
    }
    const struct pd_evidence_period period = {
        .from_us = from_us, .to_us = to_us, .rows = flows->rows, .rows_len = flows->len};
    return sink->take(sink->context, &period);
}

static const struct pd_app_world_ops ops = {.now_us = now_us, .observe = observe};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);

    if (!scene || pd_topology_fat_tree(4, &scene->topology, NULL)) {
        return -1;
    }
    scene->random.state = test_seed();
    scene->now_us = 1000 * S;
    scene->flows_len = 150;
    scene->world =
        (struct pd_app_world){.ops = &ops, .context = scene, .topology = scene->topology};
    pd_app_report_init(&scene->report);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;

    pd_app_report_done(&scene->report);
    pd_blackhole_silence_done(&scene->silence);
    pd_topology_free(scene->topology);
    free(scene);
    return 0;
}

static bool look(struct scene *scene, int seconds)
{
    const struct pd_app_call call = {.world = &scene->world};
    struct pd_error error;
    bool found = false;

    for (int i = 0; i < seconds; i++) {
        scene->now_us += S;
        assert_int_equal(
            pd_blackhole_silence_look(&scene->silence, &call, S, &scene->report, &error), 0);
    }
    pd_app_report_done(&scene->report);
    pd_app_report_init(&scene->report);
    assert_int_equal(pd_blackhole_silence_conclude(&scene->silence, &scene->report, &found), 0);
    return found;
}

static const struct pd_link_match links[] = {{9, 17}, {20, 14}, {3, 12}, {10, 2}};

enum { LINKS = sizeof links / sizeof *links };

static bool is_named(const struct scene *scene, struct pd_link_match link)
{
    const char *name = json_string_value(json_array_get(scene->report.links, 0));
    char text[PD_LINK_TEXT_BYTES];

    return json_array_size(scene->report.links) == 1 && !strcmp(name, pd_link_format(link, text));
}

/* Nothing is wrong for so long, then `black` is. */
static void begin(struct scene *scene, int seconds, struct pd_link_match black)
{
    scene->black = (struct pd_link_match){0, 0};
    scene->shows_stuck = true;
    pd_blackhole_silence_done(&scene->silence);
    assert_false(look(scene, seconds));
    scene->black = black;
}

/* The link that packets vanish on is named, alone, and soon for certain. */
static void the_silent_link_is_named(void **state)
{
    struct scene *scene = *state;
    unsigned certain = 0, named = 0;

    for (size_t i = 0; i < ROUNDS; i++) {
        begin(scene, 10, links[i % LINKS]);
        assert_true(look(scene, 2));
        named += is_named(scene, links[i % LINKS]);
        assert_false(scene->report.certain && !is_named(scene, links[i % LINKS]));
        assert_true(look(scene, 4));
        assert_true(is_named(scene, links[i % LINKS]));
        certain += scene->report.certain;
    }
    assert_in_range(named, ROUNDS - ROUNDS / 10, ROUNDS);
    assert_in_range(certain, ROUNDS - ROUNDS / 4, ROUNDS);
}

/* It carries packets again: it is named no more. */
static void what_ends_is_given_up(void **state)
{
    struct scene *scene = *state;

    begin(scene, 10, links[0]);
    assert_true(look(scene, 5));
    scene->black = (struct pd_link_match){0, 0};
    look(scene, 2);
    assert_false(scene->report.certain);
    look(scene, 40);
    assert_int_equal(json_array_size(scene->report.links), 0);
}

/* A link that swallows a third of its flows still carries others: it is named in time, and no other
 * one is for certain. */
static void a_link_that_swallows_some_is_named(void **state)
{
    struct scene *scene = *state;
    unsigned named = 0, wrong = 0;

    for (size_t i = 0; i < ROUNDS; i++) {
        begin(scene, 10, links[i % LINKS]);
        scene->some = 3;
        for (int s = 0; s < 20; s++) {
            look(scene, 1);
            assert_false(scene->report.certain && !is_named(scene, links[i % LINKS]));
        }
        named += is_named(scene, links[i % LINKS]);
        wrong += json_array_size(scene->report.links) && !is_named(scene, links[i % LINKS]);
        scene->some = 0;
    }
    assert_in_range(named, ROUNDS - ROUNDS / 5, ROUNDS);
    assert_in_range(wrong, 0, ROUNDS / 10);
}

/* That flows are stuck is the word of one host: it is certain of nothing. */
static void one_host_is_not_enough(void **state)
{
    struct scene *scene = *state;

    for (size_t i = 0; i < ROUNDS; i++) {
        begin(scene, 10, (struct pd_link_match){9, 17});
        scene->liar = 112;
        look(scene, 8);
        assert_false(scene->report.certain);
        scene->liar = 0;
    }
}

/* One that swallows what goes to one rack is named, by the rack's prefix; a neighbour that happens
 * to send little there, hardly ever, and never for certain. */
static void the_silent_rack_of_a_link_is_named(void **state)
{
    struct scene *scene = *state;
    unsigned alone = 0, wrong = 0;

    for (size_t i = 0; i < ROUNDS; i++) {
        begin(scene, 12, (struct pd_link_match){9, 17});
        scene->rack = 5;
        look(scene, 6);
        const json_t *named = json_array_get(scene->report.links, 0);
        const json_t *fault = json_array_get(json_object_get(scene->report.more, "faults"), 0);
        const json_t *what = json_array_get(json_object_get(fault, "what"), 0);
        wrong += named && strcmp(json_string_value(named), "9-17") != 0;
        assert_false(scene->report.certain && !is_named(scene, (struct pd_link_match){9, 17}));
        alone += what && !strcmp(json_string_value(what), "10.3.1.0/24") &&
                 !strcmp(json_string_value(json_object_get(fault, "kind")), "prefix");
    }
    assert_in_range(wrong, 0, ROUNDS / 20 + 1);
    assert_in_range(alone, ROUNDS - ROUNDS / 4, ROUNDS);
}

/* A link that nobody uses any more is none that swallows packets. */
static void silence_alone_is_no_blackhole(void **state)
{
    struct scene *scene = *state;

    assert_false(look(scene, 10));
    scene->black = (struct pd_link_match){9, 17};
    assert_false(look(scene, 10));
}

/* Where a second often passes without packets of a link, one more tells nothing. */
static void rare_traffic_tells_nothing(void **state)
{
    struct scene *scene = *state;

    scene->flows_len = 4;
    for (int i = 0; i < 40; i++) {
        look(scene, 1);
        assert_false(scene->report.certain);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_silent_link_is_named),           TEST(what_ends_is_given_up),
        TEST(a_link_that_swallows_some_is_named), TEST(one_host_is_not_enough),
        TEST(the_silent_rack_of_a_link_is_named), TEST(silence_alone_is_no_blackhole),
        TEST(rare_traffic_tells_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
