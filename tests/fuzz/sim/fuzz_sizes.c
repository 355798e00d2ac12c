/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of flow sizes of any bytes: refused with words, or they give sizes within their bounds. */
#include <stdlib.h>
#include <string.h>

#include "sim/sizes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct pd_sim_sizes sizes;
    struct pd_error error = {0};
    struct pd_sim_random random = {len};
    if (pd_sim_sizes_parse((const char *)bytes, len, "input", &sizes, &error)) {
        if (error.code >= 0 || strncmp(error.text, "input:", 6) != 0) {
            abort();
        }
        return 0;
    }
    for (int i = 0; i < 100; i++) {
        double drawn = pd_sim_sizes_draw(&sizes, &random);
        if (!(drawn >= 1 && drawn <= PD_SIZES_BYTES_MAX)) {
            abort();
        }
    }
    pd_sim_sizes_done(&sizes);
    return 0;
}
