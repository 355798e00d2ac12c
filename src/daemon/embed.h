/* SPDX-License-Identifier: Apache-2.0 */
/* A file's bytes inside the program. */
#ifndef PD_DAEMON_EMBED_H
#define PD_DAEMON_EMBED_H

/* PD_EMBED("symbol", "/path/of/the.file") in one source file defines `const char symbol[]`, the
 * file's bytes and a NUL. CMake has to know that the source depends on the file (OBJECT_DEPENDS).
 */
#define PD_EMBED(symbol, file)                         \
    __asm__(".pushsection .rodata\n"                   \
            ".global " symbol "\n"                     \
            ".type " symbol ", %object\n" symbol ":\n" \
            ".incbin \"" file "\"\n"                   \
            ".byte 0\n"                                \
            ".size " symbol ", . - " symbol "\n"       \
            ".popsection\n")

#endif
