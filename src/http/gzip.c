/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that are made once and read often are packed once, by zlib. */
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "http/answer.h"

#define GZIP_WINDOW_BITS (MAX_WBITS + 16) /* with the head of gzip, in place of zlib's own */
#define MEMORY_LEVEL     8                /* zlib's default */

static int pack(z_stream *stream, char **ret_packed, size_t *ret_len)
{
    size_t room = deflateBound(stream, stream->avail_in);
    char *packed = malloc(room);

    if (!packed) {
        return -ENOMEM;
    }
    stream->next_out = (Bytef *)packed;
    stream->avail_out = (uInt)room;
    if (deflate(stream, Z_FINISH) != Z_STREAM_END) {
        free(packed);
        return -ENOMEM;
    }
    *ret_packed = packed;
    *ret_len = stream->total_out;
    return 0;
}

int pd_http_answer_gzip(const char *bytes, size_t len, char **ret_packed, size_t *ret_len)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)len};
    int err;

    if (len > UINT32_MAX / 2) {
        return -PD_E_TOO_LARGE;
    }
    err = deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW_BITS, MEMORY_LEVEL,
                       Z_DEFAULT_STRATEGY) == Z_OK
              ? 0
              : -ENOMEM;
    if (!err) {
        err = pack(&stream, ret_packed, ret_len);
        deflateEnd(&stream);
    }
    return err;
}
