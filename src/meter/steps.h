/* SPDX-License-Identifier: Apache-2.0 */
/* The three CRC-32 of the rows of a meter, for programs here and in the kernel. */
#ifndef PD_METER_STEPS_H
#define PD_METER_STEPS_H

/* By the lower four bits of the rest, for the polynomials 0x04C11DB7, 0x1EDC6F41 and 0x741B8CD7,
 * reflected (docs/formats/meters.md). */
// clang-format off
#define PD_METER_STEPS                                                                            \
    {{0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158,         \
      0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4,         \
      0xa00ae278, 0xbdbdf21c},                                                                    \
     {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362,         \
      0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab,         \
      0xe330a81a, 0xf36e6f75},                                                                    \
     {0x00000000, 0x83cf0f3c, 0xd1fdae25, 0x5232a119, 0x7598ec17, 0xf657e32b, 0xa4654232,         \
      0x27aa4d0e, 0xeb31d82e, 0x68fed712, 0x3acc760b, 0xb9037937, 0x9ea93439, 0x1d663b05,         \
      0x4f549a1c, 0xcc9b9520}}
// clang-format on

#endif
