/* SPDX-License-Identifier: Apache-2.0 */
/* Exhaustive verification of fat-trees: wall time, CPU time and paths per second.
 *
 * Usage: bench_verify [MAX_HOPS [K …]]      6, 8 12 16 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "codec/verify.h"

static double cpu_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int run(uint32_t k, unsigned max_hops)
{
    struct pd_topology *topology = NULL;
    struct pd_codec *codec = NULL;
    struct pd_verification found;
    struct pd_error error = {0};
    if (pd_topology_fat_tree(k, &topology, &error) || pd_codec_new(topology, &codec, &error)) {
        fprintf(stderr, "%s\n", error.text);
        pd_topology_free(topology);
        return 1;
    }
    uint64_t start_ns = pd_clock_monotonic_ns();
    double start_cpu_s = cpu_s();
    int failed = pd_codec_verify(codec, PD_VERIFY_ALL, max_hops, NULL, NULL, &found);
    double wall_s = (double)(pd_clock_monotonic_ns() - start_ns) / 1e9,
           used_s = cpu_s() - start_cpu_s;
    if (!failed) {
        printf("{\"bench\":\"verify\",\"topology\":\"fat-tree\",\"k\":%u,\"max_hops\":%u,"
               "\"paths\":%llu,\"ambiguous\":%llu,\"undecodable\":%llu,\"punted\":%llu,"
               "\"wall_s\":%.3f,\"cpu_s\":%.3f,\"cpu_ns_per_path\":%.1f}\n",
               k, max_hops, (unsigned long long)found.paths, (unsigned long long)found.ambiguous,
               (unsigned long long)found.undecodable, (unsigned long long)found.punted, wall_s,
               used_s, used_s * 1e9 / (double)found.paths);
    }
    fflush(stdout);
    pd_codec_free(codec);
    pd_topology_free(topology);
    return failed != 0;
}

int main(int argc, char **argv)
{
    static const uint32_t usual[] = {8, 12, 16};
    unsigned max_hops = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 6;
    int failed = 0;
    for (int i = 2; i < argc; i++) {
        failed |= run((uint32_t)strtoul(argv[i], NULL, 10), max_hops);
    }
    for (int i = 0; argc <= 2 && i < 3; i++) {
        failed |= run(usual[i], max_hops);
    }
    return failed;
}
