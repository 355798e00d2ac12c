/* SPDX-License-Identifier: Apache-2.0 */
/* Hexadecimal digits read. */
#include "base/hex.h"

#include "base/error.h"

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

int pd_hex_parse(const char *text, uint8_t *bytes, size_t room, size_t *ret_bytes)
{
    size_t len = 0;
    for (; *text; text += 2, len++) {
        int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);
        if (low < 0 || len == room) {
            return -PD_E_VALUE;
        }
        bytes[len] = (uint8_t)(high << 4 | low);
    }
    *ret_bytes = len;
    return 0;
}
