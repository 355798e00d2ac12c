/* SPDX-License-Identifier: Apache-2.0 */
/* Two lines that begin with "Tcp:", names and then values, in the same order. */
#include "monitor/inet_diag/snmp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* How many words stand before the name in its line; -1: it is not there. */
static int column_of(char *names, const char *name)
{
    char *rest = names;
    int column = 0;

    for (char *word; (word = strsep(&rest, " ")); column++) {
        if (!strcmp(word, name)) {
            return column;
        }
    }
    return -1;
}

static int read_column(char *values, int column, uint64_t *ret_value)
{
    char *rest = values, *word = NULL, *end;
    unsigned long long value;

    for (int i = 0; i <= column; i++) {
        if (!(word = strsep(&rest, " "))) {
            return -PD_E_SYNTAX;
        }
    }
    if (!word || *word < '0' || *word > '9') {
        return -PD_E_SYNTAX;
    }
    errno = 0;
    value = strtoull(word, &end, 10);
    if (*end || errno) {
        return -PD_E_SYNTAX;
    }
    *ret_value = value;
    return 0;
}

int pd_inet_diag_snmp_retransmissions(char *text, size_t len, uint64_t *ret_retransmissions)
{
    char *rest = text, *names = NULL;
    int column;

    text[len] = '\0';
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (strncmp(line, "Tcp: ", 5)) {
            continue;
        }
        if (!names) {
            names = line;
            continue;
        }
        column = column_of(names, "RetransSegs");
        return column < 0 ? -PD_E_SYNTAX : read_column(line, column, ret_retransmissions);
    }
    return -PD_E_SYNTAX;
}
