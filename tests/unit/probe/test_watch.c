/* SPDX-License-Identifier: Apache-2.0 */
/* Paths that lose probes get further ways, and one host's word changes nothing for the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probe/watch.h"
#include "topology/links.h"

enum { HOPS = 12, RATE = 100 };

struct scene {
    struct pd_topology *topology;
    struct pd_probe_watch *watch;
    uint32_t dead; /* directed link; PD_NONE: none */
    uint32_t liar; /* index of a host that says that nothing comes; PD_NONE: none */
};

static void begin(struct scene *scene, bool doubts)
{
    struct pd_error error = {0};

    *scene = (struct scene){.dead = PD_NONE, .liar = PD_NONE};
    assert_int_equal(pd_topology_fat_tree(4, &scene->topology, NULL), 0);
    const struct pd_probe_watch_config config = {
        .topology = scene->topology, .rate_hz = RATE, .max_hops = HOPS, .doubts = doubts};
    assert_int_equal(pd_probe_watch_new(&config, &scene->watch, &error), 0);
}

static void end(struct scene *scene)
{
    pd_probe_watch_free(scene->watch);
    pd_topology_free(scene->topology);
}

static bool arrives(const struct scene *scene, const struct pd_probe_way *way)
{
    bool well = way->dst != scene->liar;

    for (uint32_t i = 0; i + 1 < way->nodes_len; i++) {
        well &= way->links[i] != scene->dead;
    }
    return well;
}

/* Rounds of probes on all ways; whether ways were laid, and the network called another one. */
static void probe(struct scene *scene, unsigned rounds, bool *ret_laid, bool *ret_anew)
{
    *ret_laid = false;
    for (unsigned i = 0; i < rounds; i++) {
        struct pd_probe_way *way;
        bool laid = false;

        for (size_t n = 0; (way = pd_probe_watch_way(scene->watch, n)); n++) {
            pd_probe_watch_result(scene->watch, way, arrives(scene, way));
        }
        assert_int_equal(pd_probe_watch_step(scene->watch, &laid), 0);
        *ret_laid |= laid;
    }
    *ret_anew = pd_probe_watch_anew(scene->watch);
}

static void a_dead_direction_is_looked_into(void **state)
{
    struct scene scene;
    bool laid, anew;

    (void)state;
    begin(&scene, true);
    size_t planned = pd_probe_watch_ways_len(scene.watch);
    probe(&scene, 10, &laid, &anew);
    assert_true(!laid && !anew);
    scene.dead = pd_topology_links_by_ids(scene.topology, 9, 17, NULL);
    probe(&scene, 2, &laid, &anew);
    assert_true(!laid && !anew);
    probe(&scene, 1, &laid, &anew); /* three in a row */
    assert_true(laid && !anew);
    assert_true(pd_probe_watch_ways_len(scene.watch) > planned);
    probe(&scene, 4, &laid, &anew); /* others say so, too */
    assert_true(anew);
    scene.dead = PD_NONE;
    probe(&scene, 2 * RATE, &laid, &anew);
    assert_true(pd_probe_watch_forget(scene.watch));
    assert_int_equal(pd_probe_watch_ways_len(scene.watch), planned);
    end(&scene);
}

static void the_word_of_one_host_changes_nothing(void **state)
{
    for (int doubts = 0; doubts < 2; doubts++) {
        struct scene scene;
        bool laid, anew;

        (void)state;
        begin(&scene, doubts);
        scene.liar = pd_probe_watch_way(scene.watch, 0)->dst;
        probe(&scene, 20, &laid, &anew);
        assert_true(laid);
        assert_int_equal(anew, !doubts);
        end(&scene);
    }
}

/* Links of the topology that are dead for certain; one of them. */
static unsigned dead_links(const struct scene *scene, uint32_t *ret_one)
{
    unsigned found = 0;

    for (uint32_t link = 0; link < 2 * scene->topology->fabric_links_len; link++) {
        if (pd_probe_watch_is_dead(scene->watch, link)) {
            *ret_one = link;
            found++;
        }
    }
    return found;
}

/* One direction of the fabric after the other, with the ways that the one before has left. */
static void each_dead_direction_is_named_alone(void **state)
{
    struct scene scene;
    uint32_t one = PD_NONE;
    bool laid, anew;

    (void)state;
    begin(&scene, true);
    probe(&scene, 10, &laid, &anew);
    for (uint32_t link = 0; link < 2 * scene.topology->fabric_links_len; link++) {
        scene.dead = link;
        for (unsigned round = 0; round < 40; round++) {
            probe(&scene, 1, &laid, &anew);
            unsigned found = dead_links(&scene, &one);
            assert_true(!found || (found == 1 && one == link));
        }
        assert_int_equal(dead_links(&scene, &one), 1);
        scene.dead = PD_NONE;
        probe(&scene, 2 + link % 9, &laid, &anew); /* ways may stay */
        assert_int_equal(dead_links(&scene, &one), 0);
    }
    end(&scene);
}

/* Nothing comes to a host any more, or nothing is said by it: that is no link's fault. Results of
 * ways come one way at a time, in any order. */
static void a_collector_that_died_blames_no_link(void **state)
{
    struct scene scene;
    uint32_t one = PD_NONE;
    struct pd_probe_way *way;
    bool laid, anew;

    (void)state;
    begin(&scene, true);
    probe(&scene, 10, &laid, &anew);
    scene.liar = pd_probe_watch_way(scene.watch, 0)->dst;
    probe(&scene, 4, &laid, &anew);
    assert_true(laid);
    for (size_t n = 0; (way = pd_probe_watch_way(scene.watch, n)); n++) {
        for (unsigned i = 0; i < 3; i++) {
            pd_probe_watch_result(scene.watch, way, arrives(&scene, way));
            assert_int_equal(pd_probe_watch_step(scene.watch, &laid), 0);
            assert_int_equal(dead_links(&scene, &one), 0);
        }
    }
    end(&scene);
}

/* The fault moves on the path while ways of the first one are there: what they told is old. */
static void what_was_told_before_is_of_another_moment(void **state)
{
    struct scene scene;
    uint32_t one = PD_NONE;
    struct pd_probe_way *way;
    bool laid, anew;

    (void)state;
    begin(&scene, true);
    probe(&scene, 10, &laid, &anew);
    const struct pd_probe_way *path = pd_probe_watch_way(scene.watch, 0);
    const uint32_t first = path->links[2], second = path->links[3], number = path->number;
    scene.dead = first;
    probe(&scene, 20, &laid, &anew);
    scene.dead = PD_NONE;
    probe(&scene, 5, &laid, &anew);
    scene.dead = second;
    for (unsigned i = 0; i < 40; i++) { /* some hosts tell later than others */
        for (size_t n = 0; (way = pd_probe_watch_way(scene.watch, n)); n++) {
            if (way->number == number || (i + way->dst) % 3 == 0) {
                pd_probe_watch_result(scene.watch, way, arrives(&scene, way));
            }
        }
        assert_int_equal(pd_probe_watch_step(scene.watch, &laid), 0);
        unsigned found = dead_links(&scene, &one);
        assert_true(!found || (found == 1 && one == second));
    }
    assert_int_equal(dead_links(&scene, &one), 1);
    end(&scene);
}

/* Two directions of one path: both, and no other. */
static void two_dead_directions_are_both_named(void **state)
{
    struct scene scene;
    bool laid, anew;

    (void)state;
    begin(&scene, true);
    probe(&scene, 10, &laid, &anew);
    const struct pd_probe_way *path = pd_probe_watch_way(scene.watch, 0);
    const uint32_t both[] = {path->links[2], path->links[4]};
    for (unsigned i = 0; i < 60; i++) {
        struct pd_probe_way *way;

        for (size_t n = 0; (way = pd_probe_watch_way(scene.watch, n)); n++) {
            scene.dead = both[0];
            bool arrived = arrives(&scene, way);
            scene.dead = both[1];
            pd_probe_watch_result(scene.watch, way, arrived && arrives(&scene, way));
        }
        assert_int_equal(pd_probe_watch_step(scene.watch, &laid), 0);
        for (uint32_t link = 0; link < 2 * scene.topology->fabric_links_len; link++) {
            assert_true(link == both[0] || link == both[1] ||
                        !pd_probe_watch_is_dead(scene.watch, link));
        }
    }
    assert_true(pd_probe_watch_is_dead(scene.watch, both[0]));
    assert_true(pd_probe_watch_is_dead(scene.watch, both[1]));
    end(&scene);
}

static void a_hint_is_believed_for_a_while(void **state)
{
    struct scene scene;
    bool laid, anew;

    (void)state;
    begin(&scene, true);
    size_t planned = pd_probe_watch_ways_len(scene.watch);
    pd_probe_watch_suspect(scene.watch, pd_probe_watch_way(scene.watch, 1));
    assert_int_equal(pd_probe_watch_step(scene.watch, &laid), 0);
    assert_true(laid);
    assert_int_equal(pd_probe_watch_state(scene.watch, 1), PD_PROBE_LOSSY);
    probe(&scene, 1, &laid, &anew); /* it was wrong */
    assert_false(anew);
    assert_true(pd_probe_watch_forget(scene.watch));
    assert_int_equal(pd_probe_watch_ways_len(scene.watch), planned);
    pd_probe_watch_suspect(scene.watch, pd_probe_watch_way(scene.watch, 1));
    assert_int_equal(pd_probe_watch_step(scene.watch, &laid), 0);
    for (int i = 0; i < 30; i++) { /* nobody says anything more */
        pd_probe_watch_forget(scene.watch);
    }
    assert_int_equal(pd_probe_watch_ways_len(scene.watch), planned);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dead_direction_is_looked_into),
        cmocka_unit_test(the_word_of_one_host_changes_nothing),
        cmocka_unit_test(a_hint_is_believed_for_a_while),
        cmocka_unit_test(each_dead_direction_is_named_alone),
        cmocka_unit_test(a_collector_that_died_blames_no_link),
        cmocka_unit_test(what_was_told_before_is_of_another_moment),
        cmocka_unit_test(two_dead_directions_are_both_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
