/* SPDX-License-Identifier: Apache-2.0 */
/* From a compiled program's text to a pipeline's configuration. */
#include "swx/spec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Of DPDK 22.11 (lib/pipeline/rte_swx_pipeline_spec.h, which is not installed). */
struct pipeline_spec;
struct pipeline_spec *pipeline_spec_parse(FILE *spec, uint32_t *err_line, const char **err_msg);
int pipeline_spec_configure(struct rte_swx_pipeline *pipeline, struct pipeline_spec *spec,
                            const char **err_msg);
void pipeline_spec_free(struct pipeline_spec *spec);

#define LINE_BYTES     1024
#define METADATA_BYTES 256

/* "metadata instanceof NAME" */
static void find_metadata(FILE *in, char ret_name[100])
{
    char line[LINE_BYTES];
    ret_name[0] = '\0';
    while (!ret_name[0] && fgets(line, sizeof line, in)) {
        if (sscanf(line, " metadata instanceof %99s", ret_name) != 1) {
            ret_name[0] = '\0';
        }
    }
    rewind(in);
}

static unsigned bits_of_struct(FILE *in, const char *wanted)
{
    char line[LINE_BYTES], name[100];
    bool inside = false;
    unsigned bits, sum = 0;
    while (fgets(line, sizeof line, in)) {
        if (sscanf(line, " struct %99s {", name) == 1) {
            inside = !strcmp(name, wanted);
        } else if (inside && sscanf(line, " bit<%u>", &bits) == 1) {
            sum += bits < UINT16_MAX ? bits : UINT16_MAX;
        } else if (strchr(line, '}')) {
            inside = false;
        }
    }
    rewind(in);
    return sum;
}

/* SWX keeps a field's offset in one byte: what lies behind would be written over what is first. */
static int check_metadata(FILE *in, const char *file, struct pd_error *error)
{
    char name[100];
    find_metadata(in, name);
    unsigned bytes = bits_of_struct(in, name) / 8;
    return bytes <= METADATA_BYTES
               ? 0
               : pd_fail(error, -PD_E_VALUE,
                         "%s: %u bytes of metadata, but SWX finds its way in %d only", file, bytes,
                         METADATA_BYTES);
}

static int configure(struct rte_swx_pipeline *pipeline, FILE *in, const char *file,
                     struct pd_error *error)
{
    uint32_t line = 0;
    const char *words = "";
    struct pipeline_spec *spec = pipeline_spec_parse(in, &line, &words);
    if (!spec) {
        return pd_fail(error, -PD_E_SYNTAX, "%s:%u: %s", file, line, words);
    }
    int err = pipeline_spec_configure(pipeline, spec, &words);
    pipeline_spec_free(spec);
    return err ? pd_fail(error, -PD_E_VERSION, "%s: this DPDK does not take it: %s (%s)", file,
                         words, strerror(err < 0 ? -err : err))
               : 0;
}

int pd_swx_spec_load(struct rte_swx_pipeline *pipeline, const char *file, struct pd_error *error)
{
    FILE *in = fopen(file, "re");
    if (!in) {
        return pd_fail(error, -errno, "%s: %s", file, strerror(errno));
    }
    int err = check_metadata(in, file, error);
    err = err ? err : configure(pipeline, in, file, error);
    fclose(in);
    return err;
}
