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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
