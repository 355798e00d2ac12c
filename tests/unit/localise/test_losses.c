/* SPDX-License-Identifier: Apache-2.0 */
/* The loss model: its fit against a search over a grid, steps that never get worse, fading that
 * keeps the proportions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "localise/evidence/losses.h"
#include "tests/shared/random.h"

/* Three links: flows over 0 and 1, over 1 and 2, over 0 alone. */
static void fill(struct pd_losses *losses, struct random *random)
{
    static const struct pd_losses_member sets[3][2] = {
        {{0, 1}, {1, 1}}, {{1, 1}, {2, 1}}, {{0, 1}, {0, 0}}};
    static const size_t lens[3] = {2, 2, 1};
    assert_int_equal(pd_losses_reserve(losses, 3), 0);
    for (uint64_t key = 0; key < 3; key++) {
        double sent = 1000 + (double)random_below(random, 9000);
        double lost = (double)random_below(random, 60);
        losses->flows++;
        for (size_t i = 0; i < lens[key]; i++) {
            losses->sent[sets[key][i].link] += sent;
        }
        if (lost > 0) {
            assert_int_equal(pd_losses_add(losses, key, sets[key], lens[key], sent, lost), 0);
        }
    }
}

static double best_on_grid(const struct pd_losses *losses)
{
    double best = -INFINITY, rate[3];
    for (int a = 0; a <= 60; a++) {
        for (int b = 0; b <= 60; b++) {
            for (int c = 0; c <= 60; c++) {
                rate[0] = 1e-7 + a * 5e-4;
                rate[1] = 1e-7 + b * 5e-4;
                rate[2] = 1e-7 + c * 5e-4;
                double found = pd_losses_likelihood(losses, rate);
                best = found > best ? found : best;
            }
        }
    }
    return best;
}

static void the_fit_is_as_good_as_a_search(void **state)
{
    struct random random = {test_seed()};
    (void)state;
    for (int round = 0; round < 8; round++) {
        struct pd_losses losses = {0};
        fill(&losses, &random);
        double before = pd_losses_likelihood(&losses, losses.rate);
        for (int step = 0; step < 400; step++) {
            pd_losses_fit(&losses, losses.rate, 1, UINT32_MAX);
            double now = pd_losses_likelihood(&losses, losses.rate);
            assert_true(now >= before - 1e-6);
            before = now;
        }
        assert_true(before >= best_on_grid(&losses) - 0.05);
        pd_losses_done(&losses);
    }
}

static void a_fixed_rate_stays(void **state)
{
    struct random random = {test_seed()};
    struct pd_losses losses = {0};
    (void)state;
    fill(&losses, &random);
    losses.rate[1] = 0.25;
    pd_losses_fit(&losses, losses.rate, 50, 1);
    assert_true(losses.rate[1] == 0.25);
    pd_losses_done(&losses);
}

static void what_fades_keeps_its_rates(void **state)
{
    struct random random = {test_seed()};
    struct pd_losses losses = {0};
    (void)state;
    fill(&losses, &random);
    pd_losses_fit(&losses, losses.rate, 400, UINT32_MAX);
    double rate[3] = {losses.rate[0], losses.rate[1], losses.rate[2]};
    pd_losses_fade(&losses, 0.5);
    pd_losses_fit(&losses, losses.rate, 400, UINT32_MAX);
    for (int l = 0; l < 3; l++) {
        assert_true(fabs(losses.rate[l] - rate[l]) < 2e-4);
    }
    for (int i = 0; i < 40; i++) {
        pd_losses_fade(&losses, 0.5);
    }
    assert_int_equal(losses.groups_len, 0);
    assert_int_equal(losses.members_len, 0);
    pd_losses_done(&losses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fit_is_as_good_as_a_search),
        cmocka_unit_test(a_fixed_rate_stays),
        cmocka_unit_test(what_fades_keeps_its_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
