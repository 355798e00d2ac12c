/* SPDX-License-Identifier: Apache-2.0 */
/* Programs in the kernel: what each loader does alike. */
#include "kernel/kernel.h"

#include <errno.h>
#include <string.h>

#include <bpf/libbpf.h>

static int ignore_words(enum libbpf_print_level level, const char *format, va_list values)
{
    (void)level;
    (void)format;
    (void)values;
    return 0;
}

/* From version 1.0 on: NULL and errno. */
static int take(struct bpf_object *object, struct bpf_object **ret_object)
{
    if (!object) {
        return errno ? -errno : -EINVAL;
    }
    *ret_object = object;
    return 0;
}

int pd_kernel_open(const uint8_t *begin, const uint8_t *end, struct bpf_object **ret_object)
{
    libbpf_set_print(ignore_words);
    return take(bpf_object__open_mem(begin, (size_t)(end - begin), NULL), ret_object);
}

int pd_kernel_open_file(const char *file, struct bpf_object **ret_object)
{
    libbpf_set_print(ignore_words);
    return take(bpf_object__open_file(file, NULL), ret_object);
}

int pd_kernel_constants(struct bpf_object *object, const void *values, size_t bytes)
{
    struct bpf_map *constants = bpf_object__find_map_by_name(object, ".rodata");

    return constants ? bpf_map__set_initial_value(constants, values, bytes) : -EINVAL;
}

int pd_kernel_fail(struct pd_error *error, int err, const char *what, const char *needs)
{
    if (err == -EPERM || err == -EACCES) {
        return pd_fail(error, err, "%s: no permission (needs %s)", what, needs);
    }
    return pd_fail(error, err, "%s: %s", what, strerror(-err));
}
