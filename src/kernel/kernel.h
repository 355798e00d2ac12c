/* SPDX-License-Identifier: Apache-2.0 */
/* Programs in the kernel: object files that stand in this program, opened, given their constants,
 * and explained when the kernel refuses them. */
#ifndef PD_KERNEL_KERNEL_H
#define PD_KERNEL_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What each loader of programs does alike. What follows (maps, ring, where they are attached)
 * belongs to the program, with libbpf's own functions.
 *
 *     PD_KERNEL_OBJECT(strip_object, PD_STRIP_OBJECT);
 *     err = pd_kernel_open(strip_object, strip_object_end, &object);
 *     err = err ? err : pd_kernel_constants(object, &values, sizeof values);
 *     err = err ? err : bpf_object__load(object);
 *
 * libbpf's own words are not printed: the error tells. Thread safety: an object has one user. */

struct bpf_object;

/* The object file FILE, put into this program by the assembler: NAME to NAME_end. */
#define PD_KERNEL_OBJECT(NAME, FILE)                 \
    __asm__(".pushsection .rodata\n"                 \
            ".balign 16\n" #NAME ":\n"               \
            ".incbin \"" FILE "\"\n" #NAME "_end:\n" \
            ".popsection\n");                        \
    extern const uint8_t NAME[], NAME##_end[]

/* Closed with bpf_object__close. 0 or -errno. */
int pd_kernel_open(const uint8_t *begin, const uint8_t *end, struct bpf_object **ret_object);
int pd_kernel_open_file(const char *file, struct bpf_object **ret_object);

/* What the program has as constants, before it is loaded; `bytes` is the size of all of them.
 * -EINVAL: it has none, or others. */
int pd_kernel_constants(struct bpf_object *object, const void *values, size_t bytes);

/* Sets the error and returns `err`, of libbpf or the kernel. `needs`: what a process must be
 * allowed
 * ("CAP_BPF and CAP_PERFMON"), told where the kernel says that it is not. */
int pd_kernel_fail(struct pd_error *error, int err, const char *what, const char *needs);

#endif
