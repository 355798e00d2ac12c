/* SPDX-License-Identifier: Apache-2.0 */
/* Rows with sums, checked, and amounts in words. */
#include "apps/sums.h"

#include <stdio.h>

#include "apps/rows.h"

int pd_app_objects(const json_t *answer, const char *list, struct pd_report *report,
                   bool (*visit)(void *context, const json_t *object), void *context,
                   struct pd_error *error)
{
    const json_t *rows = json_object_get(answer, list), *object;
    size_t i, wrong = 0;

    if (!json_is_array(rows)) {
        return pd_fail(error, -PD_E_VALUE, "an answer of the hosts has no list \"%s\"", list);
    }
    json_array_foreach((json_t *)(uintptr_t)rows, i, object)
    {
        wrong += !visit(context, object);
    }
    if (wrong) {
        pd_app_report_lacks(report, "%zu rows of an answer (%s) were not in order: left out", wrong,
                            list);
    }
    return 0;
}

bool pd_app_amounts_read(const json_t *object, uint64_t *ret_bytes, uint64_t *ret_pkts)
{
    return pd_app_number(object, "bytes", ret_bytes) && pd_app_number(object, "pkts", ret_pkts);
}

bool pd_app_link_exists(const struct pd_topology *topology, struct pd_link_match link)
{
    uint32_t from = pd_topology_switch(topology, link.from),
             to = pd_topology_switch(topology, link.to);

    return from != PD_NONE && to != PD_NONE && pd_topology_link(topology, from, to);
}

bool pd_app_link_read(const json_t *object, const struct pd_topology *topology,
                      struct pd_link_match *ret_link)
{
    const char *text = json_string_value(json_object_get(object, "link"));
    struct pd_link_match link;

    if (!text || pd_link_parse(text, &link) || !pd_app_link_exists(topology, link)) {
        return false;
    }
    *ret_link = link;
    return true;
}

json_t *pd_app_link_json(struct pd_link_match link)
{
    char text[PD_LINK_TEXT_BYTES];

    return json_string(pd_link_format(link, text));
}

/* Three digits with the unit that suits. */
static const char *with_unit(double value, const char *unit, char text[PD_APP_AMOUNT_BYTES])
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    unsigned i = 0;

    for (; value >= 999.5 && i + 1 < sizeof prefixes / sizeof *prefixes; i++) {
        value /= 1000;
    }
    snprintf(text, PD_APP_AMOUNT_BYTES, "%.3g %s%s", value, prefixes[i], unit);
    return text;
}

const char *pd_app_amount(double bytes, char text[PD_APP_AMOUNT_BYTES])
{
    return with_unit(bytes, "B", text);
}

const char *pd_app_rate(double bits_per_s, char text[PD_APP_AMOUNT_BYTES])
{
    return with_unit(bits_per_s, "b/s", text);
}
