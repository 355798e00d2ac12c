/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: Host headers and lists of allowed names of any bytes. What is known is known in any
 * case of its letters, and nothing is by a list that the check refuses alone. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char *text = malloc(len + 1), *list;
    struct pd_error error = {0};
    bool known;

    if (!text) {
        return 0;
    }
    memcpy(text, data, len);
    text[len] = '\0';
    list = text + strcspn(text, "\n");
    list += *list ? 1 : 0;
    text[strcspn(text, "\n")] = '\0';
    if (pd_http_host_check_list(list, &error) && (!*error.text || error.code != -PD_E_VALUE)) {
        abort();
    }
    known = pd_http_host_known(text, list);
    if (pd_http_host_known(text, NULL) && !known) {
        abort();
    }
    for (char *c = text; *c; c++) {
        *c = (char)toupper((unsigned char)*c);
    }
    if (pd_http_host_known(text, list) != known) {
        abort();
    }
    free(text);
    return 0;
}
