/* SPDX-License-Identifier: Apache-2.0 */
/* One answer in the making: kept within the budget, or sent as it is made. */
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "http/private.h"

#define STALE_NS   PD_NS_PER_S          /* a reader has taken nothing for so long: others first */
#define HURRY_NS   (250 * PD_NS_PER_MS) /* the same, while others wait for what the maker holds */
#define LENIENT_NS (10 * PD_NS_PER_S)   /* of waiting, before the least speed counts */
#define TRIES      50
#define TRY_US     2000

struct flow {
    struct pd_http *http;
    struct pd_http_exchange *exchange;
    struct pd_http_pipe *pipe; /* NULL: nothing flows yet */
    uint64_t flowed_bytes, waited_ns;
};

static void count_slow(struct pd_http *http)
{
    http->service.count(http->service.context, PD_HTTP_SLOW);
}

/* ---- the budget ---- */

/* Whoever keeps others from it by taking nothing has to go; that takes a moment. */
static bool take(void *context, uint64_t bytes, bool on_disk)
{
    struct pd_http *http = ((struct flow *)context)->http;
    bool room = pd_http_budget_take(http->budget, bytes, on_disk);

    for (unsigned i = 0; !room && i < TRIES; i++) {
        if (pd_http_slots_end_slowest(http->slots, STALE_NS)) {
            count_slow(http);
        } else if (!i) {
            return false; /* all of them read */
        }
        usleep(TRY_US);
        room = pd_http_budget_take(http->budget, bytes, on_disk);
    }
    return room;
}

static void give(void *context, uint64_t bytes)
{
    pd_http_budget_give(((struct flow *)context)->http->budget, bytes);
}

/* ---- what flows ---- */

/* The head of the answer is what it says by now. */
static int begin(struct flow *flow, const struct pd_answer *answer)
{
    struct pd_http_exchange *exchange = flow->exchange;

    flow->pipe = pd_http_pipe_new(exchange->connection, flow->http->slots,
                                  pd_http_slot_of(exchange->connection));
    if (!flow->pipe) {
        return -ENOMEM;
    }
    exchange->pipe = flow->pipe;
    exchange->answer.http_status = answer->http_status;
    exchange->answer.type = answer->type;
    exchange->answered = true;
    MHD_resume_connection(exchange->connection);
    return 0;
}

static bool patience_over(void *context, uint64_t waited_ns)
{
    const struct flow *flow = context;
    struct pd_http *http = flow->http;
    uint64_t wait_ns = flow->waited_ns + waited_ns;

    return atomic_load_explicit(&http->stopping, memory_order_relaxed) ||
           waited_ns >= PD_HTTP_TIMEOUT_S * (uint64_t)PD_NS_PER_S ||
           (wait_ns >= LENIENT_NS &&
            flow->flowed_bytes < wait_ns / PD_NS_PER_S * PD_HTTP_ANSWER_BYTES_PER_S) ||
           (waited_ns >= HURRY_NS &&
            (pd_http_crew_busy(http->crew) ||
             (http->service.contended && http->service.contended(http->service.context))));
}

static int flow_out(void *context, const struct pd_answer *answer, const char *bytes, size_t len)
{
    struct flow *flow = context;
    const struct pd_http_patience patience = {patience_over, flow};
    int err = flow->pipe ? 0 : begin(flow, answer);
    uint64_t begun_ns = pd_clock_monotonic_ns();

    if (!err) {
        err = pd_http_pipe_write(flow->pipe, bytes, len, &patience);
        if (err == -PD_E_SILENT) {
            count_slow(flow->http);
        }
    }
    flow->waited_ns += pd_clock_monotonic_ns() - begun_ns;
    flow->flowed_bytes += len;
    return err;
}

/* ---- the request ---- */

static void refuse_unkept(struct flow *flow, struct pd_answer *answer)
{
    struct pd_problem problem = {0};

    flow->http->service.count(flow->http->service.context, PD_HTTP_REFUSED);
    pd_fail(&problem.error, -PD_E_BUSY,
            "answers that wait for their readers leave no room for this one; try again");
    pd_http_answer_problem(answer, &problem);
}

/* From the moment when the connection is taken up again what the exchange says belongs to the
 * server's thread. */
static void send_whole(struct flow *flow, struct pd_answer *answer)
{
    struct pd_http_exchange *exchange = flow->exchange;
    struct pd_answer_stream source;
    struct pd_http_pipe *pipe;
    bool streams;

    if (answer->len > PD_HTTP_SMALL_BYTES && !pd_http_answer_take(answer)) {
        refuse_unkept(flow, answer);
    }
    streams = pd_http_stream_begin(flow->http, exchange, answer, &source);
    exchange->taken_bytes = answer->taken_bytes;
    answer->taken_bytes = 0;
    answer->outlet = NULL;
    exchange->answer = *answer;
    pipe = exchange->pipe;
    exchange->answered = true;
    MHD_resume_connection(exchange->connection);
    if (streams) {
        pd_http_stream_run(flow->http, pipe, &source);
    }
}

void pd_http_answer(void *context)
{
    struct pd_http_exchange *exchange = context;
    struct flow flow = {.http = exchange->http, .exchange = exchange};
    const struct pd_answer_outlet outlet = {take, give, flow_out, &flow};
    struct pd_answer answer;

    pd_http_answer_init(&answer);
    answer.outlet = &outlet;
    pd_http_ask(exchange->http, exchange, &answer);
    if (answer.flowing && !flow.pipe) { /* no memory for the pipe */
        answer.flowing = answer.failed = false;
        refuse_unkept(&flow, &answer);
    }
    if (flow.pipe) {
        int err = pd_http_answer_finish(&answer);

        pd_http_pipe_end(flow.pipe, !err && !answer.failed);
        pd_http_answer_done(&answer);
    } else {
        send_whole(&flow, &answer);
    }
    pd_http_exchange_drop(exchange);
}
