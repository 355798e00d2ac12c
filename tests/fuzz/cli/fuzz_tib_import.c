/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: lines of JSON as records. What is read is written again, and has to read as the
 * same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ndjson.h"
#include "query/rows/out.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int write_out(void *context, const char *bytes, size_t len)
{
    return fwrite(bytes, 1, len, context) == len ? 0 : -1;
}

static int take(void *context, const struct pd_tib_record *records, size_t n, uint64_t bytes)
{
    FILE *out = context;
    const struct pd_query_sink sink = {out, write_out};
    struct pd_rows_out json;
    (void)bytes;
    pd_rows_out_begin(&json, PD_FORM_NDJSON, &sink);
    for (size_t i = 0; i < n; i++) {
        const struct pd_tib_record *r = &records[i];
        if (r->etime_us < r->stime_us || r->etime_us > PD_TIB_SUM_MAX ||
            r->path->len > PD_PATH_MAX || (r->claim && r->claim->path != r->path) ||
            !pd_tib_extra_valid(r->extra, r->extra_bytes) ||
            (r->flow.ip_version != 4 && r->flow.ip_version != 6)) {
            abort();
        }
        pd_rows_out_record(&json, r);
        pd_rows_out_text(&json, "\n");
    }
    return pd_rows_out_end(&json);
}

/* Copies what can be read of `text`; its value of pd_cli_ndjson_read. */
static int copy(const void *text, size_t len, char **ret_text, size_t *ret_len)
{
    FILE *in = fmemopen((void *)(uintptr_t)text, len, "r"),
         *out = open_memstream(ret_text, ret_len);
    struct pd_error error = {0};
    if (!in || !out) {
        abort();
    }
    const struct pd_ndjson_taker taker = {take, out};
    int err = pd_cli_ndjson_read(in, &taker, &error);
    if (err && !*error.text) {
        abort();
    }
    fclose(in);
    fclose(out);
    return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char *once = NULL, *twice = NULL;
    size_t once_len = 0, twice_len = 0;
    if (!len) {
        return 0;
    }
    copy(data, len, &once, &once_len);
    if (once_len && (copy(once, once_len, &twice, &twice_len) || twice_len != once_len ||
                     memcmp(once, twice, once_len) != 0)) {
        abort();
    }
    free(once);
    free(twice);
    return 0;
}
