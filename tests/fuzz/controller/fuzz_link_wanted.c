/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of /v1/links and below, of any bytes: what is taken lies within its limits, what is
 * refused is so in words that may be printed. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/links/wanted.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void need(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_taken(const struct pd_links_wanted *wanted)
{
    unsigned named = 0;

    for (unsigned m = 0; pd_link_metrics[m]; m++) {
        named += wanted->metrics[m];
    }
    need(named > 0 && pd_link_metrics[wanted->metric] && wanted->metrics[wanted->metric]);
    need(!wanted->metrics_len || wanted->metrics_len == named);
    need(!wanted->has_from || !wanted->has_to || wanted->from_us < wanted->to_us);
    need(wanted->step_us % 1000 == 0 && wanted->step_us <= UINT64_C(86400) * PD_US_PER_S);
    need(wanted->form <= PD_LINKS_JSON);
}

static void check_words(const char *text)
{
    need(*text != '\0');
    for (; *text; text++) {
        need((unsigned char)*text >= ' ' && *text != 0x7f);
    }
}

static void check(const char *target, size_t len, const char *allowed)
{
    struct pd_call call = {.parameters = {target, target + len}};
    struct pd_problem problem = {0};
    struct pd_links_wanted wanted;
    int err = pd_links_read_wanted(&call, allowed, &wanted, &problem);

    if (err) {
        need(err < 0);
        check_words(problem.error.text);
    } else {
        need(problem.parameter[0] == '\0');
        check_taken(&wanted);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *target = malloc(len + 1); /* of its own, so that what reads beyond it is seen */

    need(target);
    memcpy(target, bytes, len);
    check(target, len, "metrics from to");
    check(target, len, "metric from to step_ms format");
    free(target);
    return 0;
}
