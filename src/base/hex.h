/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes from hexadecimal digits. */
#ifndef PD_BASE_HEX_H
#define PD_BASE_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Reads "0a1B" into at most `room` bytes. 0, or -PD_E_VALUE for anything else, an odd number of
 * digits and more bytes; `bytes` may be half filled then. */
int pd_hex_parse(const char *text, uint8_t *bytes, size_t room, size_t *ret_bytes);

#endif
