/* SPDX-License-Identifier: Apache-2.0 */
/* First byte: 4 or 6 an ICMP message of that family, else a chunk of further columns, which has to
 * come back as it was written. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace/icmp.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void read_answer(uint8_t ip_version, const uint8_t *bytes, size_t len)
{
    struct pd_trace_quote quote;

    if (!pd_trace_icmp_read(ip_version, bytes, len, &quote) &&
        (quote.flow.protocol != 6 || quote.flow.ip_version != ip_version)) {
        abort();
    }
}

static void read_chunk(const uint8_t *bytes, size_t len)
{
    static uint8_t back[PD_TRACE_EXTRA_BYTES_MAX];
    static struct pd_trace trace, again;

    memset(&trace, 0, sizeof trace);
    memset(&again, 0, sizeof again);
    if (pd_trace_extra_read(bytes, len, &trace)) {
        return;
    }
    size_t written = pd_trace_extra_write(&trace, back);
    if (written != len + 6 || pd_trace_extra_read(back + 6, len, &again) ||
        memcmp(&trace, &again, sizeof trace) != 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    uint8_t *exact = len ? malloc(len) : NULL;

    if (!exact) {
        return 0;
    }
    memcpy(exact, bytes + 1, len - 1);
    if (*bytes == 4 || *bytes == 6) {
        read_answer(*bytes, exact, len - 1);
    } else {
        read_chunk(exact, len - 1);
    }
    free(exact);
    return 0;
}
