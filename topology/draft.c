/* SPDX-License-Identifier: Apache-2.0 */
/* Storage of a topology that is being read or generated. */
#include "topology/draft.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* Makes room for `more` elements behind the first `len`. */
static int grow(void **array, size_t *room, size_t len, size_t more, size_t element_bytes)
{
    if (len + more <= *room) {
        return 0;
    }
    void *larger = pd_grow(*array, room, len + more, element_bytes, SIZE_MAX);
    if (!larger) {
        return -ENOMEM;
    }
    *array = larger;
    return 0;
}

int pd_topology_draft_string(struct pd_draft *draft, const char *text, size_t bytes,
                             uint32_t *ret_offset)
{
    if (draft->strings_bytes + bytes + 1 > UINT32_MAX ||
        grow((void **)&draft->strings, &draft->strings_room, draft->strings_bytes, bytes + 1, 1)) {
        return -ENOMEM;
    }
    memcpy(draft->strings + draft->strings_bytes, text, bytes);
    draft->strings[draft->strings_bytes + bytes] = 0;
    *ret_offset = (uint32_t)draft->strings_bytes;
    draft->strings_bytes += bytes + 1;
    return 0;
}

int pd_topology_draft_init(struct pd_draft *draft)
{
    memset(draft, 0, sizeof *draft);
    return pd_topology_draft_string(draft, "", 0, &draft->name);
}

void pd_topology_draft_done(struct pd_draft *draft)
{
    free(draft->nodes);
    free(draft->links);
    free(draft->addrs);
    free(draft->strings);
    free(draft->by_id);
}

int pd_topology_draft_node(struct pd_draft *draft, uint32_t id, enum pd_switch_role role,
                           uint32_t pod)
{
    if (grow((void **)&draft->nodes, &draft->nodes_room, draft->nodes_len, 1,
             sizeof *draft->nodes)) {
        return -ENOMEM;
    }
    draft->nodes[draft->nodes_len++] = (struct pd_draft_node){.id = id,
                                                              .pod = pod,
                                                              .role = (uint8_t)role,
                                                              .addrs = (uint32_t)draft->addrs_len,
                                                              .x = NAN,
                                                              .y = NAN};
    return 0;
}

static int add_addr(struct pd_draft *draft, const struct pd_prefix *prefix, uint8_t *len)
{
    if (draft->addrs_len >= UINT32_MAX || grow((void **)&draft->addrs, &draft->addrs_room,
                                               draft->addrs_len, 1, sizeof *draft->addrs)) {
        return -ENOMEM;
    }
    draft->addrs[draft->addrs_len++] = *prefix;
    ++*len;
    return 0;
}

int pd_topology_draft_addr(struct pd_draft *draft, const struct pd_prefix *prefix)
{
    return add_addr(draft, prefix, &draft->nodes[draft->nodes_len - 1].addrs_len);
}

int pd_topology_draft_interface(struct pd_draft *draft, const struct pd_prefix *prefix)
{
    return add_addr(draft, prefix, &draft->nodes[draft->nodes_len - 1].interfaces_len);
}

int pd_topology_draft_link(struct pd_draft *draft, uint32_t source, uint32_t target)
{
    if (grow((void **)&draft->links, &draft->links_room, draft->links_len, 1,
             sizeof *draft->links)) {
        return -ENOMEM;
    }
    draft->links[draft->links_len++] =
        (struct pd_draft_link){.ids = {source, target}, .addrs = (uint32_t)draft->addrs_len};
    return 0;
}

int pd_topology_draft_link_addr(struct pd_draft *draft, int end, const struct pd_prefix *prefix)
{
    return add_addr(draft, prefix, &draft->links[draft->links_len - 1].addrs_len[end]);
}

int pd_topology_draft_codec(struct pd_draft *draft, const char *name, const char *options)
{
    struct pd_draft_codec *codec = &draft->codecs[draft->codecs_len++];
    *codec = (struct pd_draft_codec){.tpid = PD_TPID_DEFAULT};
    int error = pd_topology_draft_string(draft, name, strlen(name), &codec->name);
    return error ? error
                 : pd_topology_draft_string(draft, options, strlen(options), &codec->options);
}
