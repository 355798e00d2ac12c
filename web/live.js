// SPDX-License-Identifier: Apache-2.0
// How the page comes to know: what it loads, the stream that it follows, what it does when it is
// hidden, lost or reloaded.

import {Network, layoutOnce} from './model.js';
import {ask, follow, lastHeard, linkValues, ping, Refused} from './net.js';
import {blank, changed, fallBack, markLinks, metricName, opened, readChoice, setClock, store,
    takeAlarm, timed} from './store.js';

const TYPES = 'alarm,host,switch,verdict,reload,link';
const PING_MS = 1000, PATIENCE_MS = 1700;
const HIDDEN_MS = 10000;        // a page that nobody sees lets its stream go

// ---- what is loaded ----

// Long work is cut into turns: a hand's move waits for one of them at most.
const breath = () => new Promise(go => setTimeout(go));

async function makeNetwork(topology) {
    await breath();
    const network = new Network(topology);
    await breath();
    layoutOnce(network, opened(network), null);
    if (store.choice.view === 'matrix') {
        for (const _ of network.panelsInTurns()) {
            await breath();
        }
    }
    await breath();
    return network;
}

async function loadTopology(number) {
    const topology = await ask('/v1/topology?hosts=false');
    const network = await makeNetwork(topology);
    if (number !== turn) {
        return;
    }
    store.network = network;
    store.values = new Float32Array(network.len).fill(NaN);
    store.marks = new Uint8Array(network.len);
    store.places = null;
    store.arrived = store.toUs = 0;
    placeFreely();
}

// A graph of no regular shape is laid out in a worker, once.
function placeFreely() {
    const network = store.network;
    const isPlaced = node => node.x !== undefined && node.y !== undefined;
    if (network.regular || network.nodes.every(isPlaced)) {
        return;
    }
    const worker = new Worker('/map/force.js');
    worker.onmessage = event => {
        worker.terminate();
        if (store.network === network) {
            store.places = event.data;
            changed();
        }
    };
    worker.postMessage({nodes: network.nodes.length,
        links: network.links.map((_, i) => [network.from[2 * i], network.to[2 * i]])});
}

// Of a large network those alone that need a look: all of 27,648 hosts are megabytes of names.
async function loadHosts() {
    store.everyHost = !store.network.folds;
    const {hosts, all} = await ask(store.everyHost ? '/v1/hosts' : '/v1/hosts?state=missing');
    store.hosts = new Map(hosts.map(host => [host.id, host]));
    store.hostsLen = all ?? hosts.length;
}

function takeHost(host) {
    if (store.everyHost || host.state === 'missing') {
        store.hosts.set(host.id, host);
    } else {
        store.hosts.delete(host.id);
    }
    changed();
}

async function loadSwitches() {
    const {openflow, switches} = await ask('/v1/switches');
    store.openflow = Boolean(openflow);
    store.switches = new Map(switches.map(each => [each.id, each]));
}

async function loadAlarms(number) {
    const {alarms, last} = await ask('/v1/alarms?newest=2000');
    if (number !== turn) {
        return null;
    }
    store.groups = new Map();
    store.alarmTimes = [];
    alarms.forEach(takeAlarm);
    return last;
}

async function loadVerdicts(number) {
    const {watches} = await ask('/v1/watches');
    if (number === turn) {
        store.verdicts = new Map(watches.map(watch => [`watch ${watch.id}`, watch]));
        markLinks();
    }
}

// Of parts that this controller does not have, the page goes without.
async function optional(load, otherwise) {
    try {
        return await load();
    } catch (error) {
        if (error instanceof Refused && [403, 404, 405, 501].includes(error.status)) {
            return otherwise;
        }
        throw error;
    }
}

// ---- values ----

function arrive(values, fromUs, toUs) {
    store.values = values;
    store.fromUs = fromUs;
    store.toUs = toUs;
    store.arrived = performance.now();
    store.told++;
    if (!store.choice.at) {
        setClock(toUs);
    }
    changed();
    if (fallBack()) {
        restart();
    }
}

store.told = 0;

function takeLinks(told) {
    if (told.metric !== metricName() || store.choice.at || !store.network) {
        return;
    }
    const begun = performance.now();
    const values = told.full ? new Float32Array(store.network.len).fill(blank())
        : store.values.slice();
    const seek = store.network.seeker();
    for (const [name, value] of told.values) {
        const i = seek(name);
        if (i >= 0) {
            values[i] = value === null ? NaN : value;
        }
    }
    timed('decode', performance.now() - begun);
    arrive(values, told.from_us, told.to_us);
    becomeLive();
}

// An answer may come after what was asked later, and after newer values from the stream.
async function loadValues(number) {
    const {at, window} = store.choice;
    const times = at ? {from: at - window, to: at} : null;
    const begun = performance.now();
    const told = await linkValues(metricName(), times, store.network.len);
    if (number === turn && told.toUs >= store.toUs) {
        timed('values', performance.now() - begun);
        arrive(told.values, told.fromUs, told.toUs);
    }
}

// ---- the stream ----

// Whoever asks anew takes the next turn: what others are told after that is nobody's any more.
let stream = null, lastAlarm = null, turn = 0;
let loading = false;            // begin() is at it: what is chosen meanwhile it takes itself
let asleep = false;

function become(state) {
    if (store.state !== state) {
        store.state = state;
        changed();
    }
}

function becomeLive() {
    if (store.arrived && stream?.opened && !asleep) {
        become(store.choice.at ? 'paused' : 'live');
        if (!store.first) {
            store.first = performance.now();
            timed('first', store.first);
        }
    }
}

const TAKE = {
    link: takeLinks,
    alarm: alarm => { takeAlarm(alarm); remark(); },
    host: takeHost,
    switch: each => { store.switches.set(each.id, each); changed(); },
    verdict: verdict => {
        store.verdicts.set(verdict.id ? `watch ${verdict.id}` : `app ${verdict.app}`, verdict);
        remark();
    },
    reload: () => begin(),
};

let marking = false;

function remark() {
    if (!marking) {
        marking = true;
        setTimeout(() => {
            marking = false;
            markLinks();
            changed();
        }, 100);
    }
}

function take(event) {
    if (event.type === 'alarm') {
        lastAlarm = event.id ?? lastAlarm;
    }
    try {
        TAKE[event.type]?.(JSON.parse(event.data));
    } catch (error) {
        store.error = `an event could not be read: ${error.message}`;
        changed();
    }
}

function lose(error) {
    if (error instanceof Refused && error.status === 401) {
        logIn(error.message);
    } else {
        become('lost');
    }
}

function openStream(number) {
    stream?.stop();
    const own = {opened: false, before: false};
    const handle = follow(TYPES, metricName(), lastAlarm, {
        open: () => {
            if (number !== turn) {
                return;
            }
            const again = own.before;
            own.opened = own.before = true;
            if (again) {
                begin();        // hosts, verdicts and the topology may be others by now
            } else {
                becomeLive();
            }
        },
        event: event => number === turn && take(event),
        lost: error => {
            own.opened = false;
            if (number === turn) {
                lose(error);
            }
        },
    });
    stream = {...handle, get opened() { return own.opened; }};
}

export function logIn(why) {
    stream?.stop();
    turn++;
    store.refused = why;
    become('login');
}

// ---- life ----

async function loadAll(number) {
    await Promise.all([loadTopology(number), optional(loadMetrics)]);
    const last = await optional(() => loadAlarms(number), null);
    await optional(() => loadVerdicts(number));
    if (number === turn) {
        lastAlarm = last;
        markLinks();
    }
}

// What the first picture does not wait for: of large networks it is megabytes.
function loadRest() {
    for (const load of [loadHosts, loadSwitches]) {
        optional(load).then(changed, error => { store.error = error.message; changed(); });
    }
}

async function loadMetrics() {
    store.metrics = (await ask('/v1/links/metrics')).metrics;
}

async function loadGeneration() {
    const short = store.metrics.some(each => each.name === 'suspicion') ? 'suspicion'
        : metricName();
    const told = await ask(`/v1/links?metrics=${short}`);
    store.generation = String(told.generation ?? '');
    store.complete = told.complete !== false;
    (told.hosts?.missing || []).forEach(host => noteMissing(host));
}

function noteMissing(host) {
    const id = host.id ?? host;
    store.hosts.set(id, {name: `host ${id}`, ...store.hosts.get(id), id, state: 'missing',
        error: host.reason || ''});
}

// From nothing, or anew after a reload or a loss: what is chosen stays.
export async function begin() {
    const number = ++turn;
    loading = true;
    try {
        await loadAll(number);
        if (number !== turn) {
            return;
        }
        loading = false;
        if (store.choice.at) {
            setClock(store.choice.at * 1e6);
        }
        openStream(number);
        store.error = '';
        await Promise.all([loadValues(number), optional(loadGeneration)]);
        becomeLive();
        loadRest();
        changed();
    } catch (error) {
        if (number === turn) {
            begun(error, number);
        }
    }
}

function begun(error, number) {
    if (error instanceof Refused && error.status === 401) {
        logIn(store.first ? error.message : '');
        return;
    }
    store.error = error.message;
    become('lost');
    setTimeout(() => number === turn && begin(), 1000);
}

// Another metric or another time: the rest stays.
export async function restart() {
    if (loading || asleep || !store.network || store.state === 'login') {
        return;
    }
    const number = ++turn;
    store.toUs = 0;
    store.values = new Float32Array(store.network.len).fill(NaN);
    markLinks();
    openStream(number);
    try {
        await loadValues(number);
        store.error = '';
    } catch (error) {
        if (number !== turn) {
            return;
        }
        store.error = error.message;
        if (!(error instanceof Refused)) {
            become('lost');
        }
    }
    becomeLive();
    changed();
}

// A stream is silent while nothing is new, so something else has to tell that the controller is
// there. A word that only waits behind others (a browser has six connections) is no loss while
// those are answered.
let silences = 0;

async function watchOver() {
    if (store.state !== 'login' && !asleep && !document.hidden) {
        const begun = performance.now();
        try {
            await ping(PATIENCE_MS);
            silences = 0;
            if (store.state === 'lost') {
                becomeLive();
            }
        } catch {
            if (lastHeard() < begun && store.state !== 'login') {
                become('lost');
                if (++silences > 1) {
                    stream?.again();
                }
            }
        }
    }
    setTimeout(watchOver, PING_MS);
}

// A browser has six connections to one server, for all its tabs and for the pages that "back" may
// show again: what nobody sees takes none.
let drowsy = null;

function sleep() {
    clearTimeout(drowsy);
    if (store.state !== 'login' && !asleep) {
        asleep = true;
        stream?.stop();
        turn++;
        become('connecting');
    }
}

function wake() {
    clearTimeout(drowsy);
    if (asleep) {
        asleep = false;
        begin();
    }
}

function onVisibility() {
    clearTimeout(drowsy);
    if (document.hidden) {
        drowsy = setTimeout(sleep, HIDDEN_MS);
    } else {
        wake();
    }
}

function onFragment() {
    const before = {...store.choice, metric: metricName()};
    readChoice();
    const after = store.choice;
    if (before.metric !== metricName() || before.at !== after.at ||
        before.window !== after.window) {
        restart();
    }
    changed();
}

export function start() {
    readChoice();
    window.addEventListener('hashchange', onFragment);
    document.addEventListener('visibilitychange', onVisibility);
    window.addEventListener('pagehide', sleep);
    window.addEventListener('pageshow', wake);
    begin();
    onVisibility();
    setTimeout(watchOver, PING_MS);
    setInterval(() => { markLinks(); changed(); }, 5000);
}
