/* SPDX-License-Identifier: Apache-2.0 */
/* Coordinate descent: from what paths pass to what links pass. */
#ifndef PD_LOCALISE_CANARY_DESCENT_H
#define PD_LOCALISE_CANARY_DESCENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Paper 004, equation 3 (NetBouncer's): with y the share of packets that passed each path and x
 * that of each link,
 *
 *     minimise  Σ over paths (y − Π x over its links)²  +  λ Σ over links x (1 − x)
 *
 * link by link, in ascending order of their IDs: x starts at the mean y of the link's paths; then x
 * = clip((2 s1 − λ) / (2 (s2 − λ))) with s1 = Σ y r, s2 = Σ r², r the product of the path's other
 * links; where s2 <= λ the function is concave, and the better of 0 and 1 is taken. Sweeps go on
 * until the sum moves less than 1e-9, or 1,000 times.
 *
 * Paths that share no link, over whatever others, are problems of their own (the paper's one for
 * each pod); those whose paths all pass everything are not looked at. With many, all cores work.
 *
 * Internal to the folder. */

struct pd_descent {
    /* links of path p: links[starts[p]] … links[starts[p + 1] − 1], numbers below links_len */
    const uint32_t *starts, *links;
    const double *y;
    size_t paths_len;
    uint32_t links_len;
    const uint32_t *rank; /* by link: its place in the ascending order of IDs */
    double lambda;
    bool is_per_path; /* lambda is to be multiplied by how many paths a link has */
};

/* x by link into `ret_x`, 1 where nothing says otherwise. 0 or -ENOMEM. */
int pd_canary_descent_solve(const struct pd_descent *descent, double *ret_x, unsigned *ret_sweeps);

#endif
