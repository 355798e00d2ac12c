// SPDX-License-Identifier: Apache-2.0
// Asking the controller: documents, link values as floats, and the stream of events.

export class Refused extends Error {
    constructor(status, detail) {
        super(detail);
        this.status = status;
    }
}

let heard = 0;

// When the controller has said anything last, by performance.now().
export const lastHeard = () => heard;

const TYPE_LINKS = 'application/vnd.pathdump.links';

async function detailOf(answer) {
    try {
        const problem = await answer.json();
        return problem.detail || problem.title || `status ${answer.status}`;
    } catch {
        return `status ${answer.status}`;
    }
}

// An answer that is late, cut or no JSON is an error in words, never half a state.
async function call(path, {method = 'GET', body, accept = 'application/json', timeoutMs = 30000,
    signal} = {}) {
    const late = AbortSignal.timeout(timeoutMs);
    const answer = await fetch(path, {
        method,
        headers: {Accept: accept, ...(body ? {'Content-Type': 'application/json'} : {})},
        body: body ? JSON.stringify(body) : undefined,
        signal: signal ? AbortSignal.any([late, signal]) : late,
        redirect: 'error',
    });
    heard = performance.now();
    if (!answer.ok) {
        throw new Refused(answer.status, await detailOf(answer));
    }
    return answer;
}

export async function ask(path, options) {
    const answer = await call(path, options);
    return answer.status === 204 ? null : answer.json();
}

export function execute(query, args, signal) {
    return ask('/v1/execute', {method: 'POST', body: {hosts: 'all', query, args}, signal});
}

// Is the controller there? A word without a body.
export async function ping(timeoutMs) {
    const answer = await fetch('/map', {method: 'HEAD', cache: 'no-store', priority: 'high',
        signal: AbortSignal.timeout(timeoutMs)});
    return answer.ok;
}

// Values of all directed links, in the order of the topology. "PDLY", u32 1, u64 from, u64 to, u32
// n, u32 0, floats.
export function decodeLinks(buffer, linksLen) {
    const view = new DataView(buffer);
    const fits = buffer.byteLength >= 32 && view.getUint32(0, false) === 0x50444c59 &&
        view.getUint32(4, true) === 1;
    const len = fits ? view.getUint32(24, true) : 0;
    if (!fits || buffer.byteLength !== 32 + 4 * len || len !== linksLen) {
        throw new Error('the values of the links are not of this topology');
    }
    return {
        fromUs: Number(view.getBigUint64(8, true)),
        toUs: Number(view.getBigUint64(16, true)),
        values: new Float32Array(buffer, 32, len),
    };
}

export async function linkValues(metric, window, linksLen) {
    const times = window ? `&from=${window.from}&to=${window.to}` : '';
    const answer = await call(`/v1/links?metrics=${encodeURIComponent(metric)}${times}`,
        {accept: TYPE_LINKS});
    return decodeLinks(await answer.arrayBuffer(), linksLen);
}

// ---- events ----

function parseEvent(block) {
    const event = {type: 'message', data: '', id: null};
    for (const line of block.split('\n')) {
        if (line.startsWith('data:')) {
            event.data += line.slice(5).trimStart();
        } else if (line.startsWith('event:')) {
            event.type = line.slice(6).trim();
        } else if (line.startsWith('id:')) {
            event.id = line.slice(3).trim();
        }
    }
    return event.data ? event : null;
}

async function readEvents(body, on) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let pieces = [];            // of what has no end yet: an event may be megabytes
    for (;;) {
        const {value, done} = await reader.read();
        heard = performance.now();
        if (done) {
            return;
        }
        const closes = value.includes('\n\n') ||
            (value.startsWith('\n') && pieces.at(-1)?.endsWith('\n'));
        pieces.push(value);
        if (!closes) {
            continue;
        }
        const parts = pieces.join('').split('\n\n');
        pieces = [parts.pop()];
        for (const event of parts.map(parseEvent)) {
            if (event) {
                on.event(event);
            }
        }
    }
}

// Follows the stream until stopped, again and again: on.open, on.event({type, data, id}),
// on.lost(error). What resumes is told every alarm since the last one.
export function follow(types, metrics, lastId, on) {
    let stopped = false;
    let abort = null;
    let last = lastId;
    const turn = async () => {
        abort = new AbortController();
        const answer = await fetch(
            `/v1/events?types=${types}&metrics=${encodeURIComponent(metrics)}`, {
            headers: {Accept: 'text/event-stream',
                ...(last === null ? {} : {'Last-Event-ID': String(last)})},
            signal: abort.signal,
            cache: 'no-store',
        });
        if (!answer.ok) {
            throw new Refused(answer.status, await detailOf(answer));
        }
        on.open();
        await readEvents(answer.body, {
            event: event => {
                last = event.id === null ? last : event.id;
                on.event(event);
            },
        });
        throw new Error('the stream has ended');
    };
    const loop = async () => {
        while (!stopped) {
            try {
                await turn();
            } catch (error) {
                if (!stopped) {
                    on.lost(error);
                    await new Promise(done => setTimeout(done, 700));
                }
            }
        }
    };
    loop();
    return {
        stop: () => {
            stopped = true;
            abort.abort();
        },
        again: () => abort.abort(),
    };
}
