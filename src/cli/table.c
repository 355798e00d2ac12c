/* SPDX-License-Identifier: Apache-2.0 */
/* What commands with tables share. */
#include "cli/table.h"

#include "cli/pager.h"

int pd_cli_table_check(const struct pd_cli_table *table, bool json, struct pd_error *error)
{
    if (json && table->csv) {
        return pd_fail(error, -PD_E_VALUE, "either --json or --csv");
    }
    if (table->utc && table->local) {
        return pd_fail(error, -PD_E_VALUE, "either --utc or --local");
    }
    return 0;
}

struct pd_style pd_cli_table_style(const struct pd_cli_table *table)
{
    struct pd_style style = pd_row_style_as(stdout, table->csv);

    style.local = table->local;
    pd_cli_pager_begin();
    return style;
}
