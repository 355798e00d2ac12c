/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: answers of hostile agents, shown as tables. The first byte chooses the query. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Nothing of an answer may reach the terminal but printable text, and a refused one prints nothing.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct pd_style style = {.utf8 = false};
    struct pd_error error = {0};
    char *text = NULL;
    size_t bytes = 0;
    struct pd_cli_outcome outcome;
    if (!len) {
        return 0;
    }
    FILE *out = open_memstream(&text, &bytes);
    if (!out) {
        return 0;
    }
    int err = pd_cli_view(&pd_query_question_queries[data[0] % PD_QUERY_COUNT],
                          (const char *)data + 1, len - 1, &style, out, &outcome, &error);
    fclose(out);
    if (err && bytes) {
        abort();
    }
    for (size_t i = 0; i < bytes; i++) {
        if ((text[i] < ' ' || text[i] > '~') && text[i] != '\n') {
            abort();
        }
    }
    free(text);
    return 0;
}
