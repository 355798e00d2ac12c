// SPDX-License-Identifier: Apache-2.0
// The page's state: what is chosen stands in the URL's fragment, what is known comes from the
// controller. Views read `store`; whoever changes it calls changed().

import {Network} from './model.js';
import {ask, follow, lastHeard, linkValues, ping, Refused} from './net.js';
import {ALARM, SUSPECT} from './draw.js';

export const VIEWS = ['fabric', 'matrix', 'link', 'flow', 'alarms', 'verdicts', 'ask'];
const TYPES = 'alarm,host,switch,verdict,reload,link';
const ALARM_S = 60;             // an alarm marks its links for so long
const GROUPS_MAX = 2000;
const PING_MS = 1000, PATIENCE_MS = 1700;
const HIDDEN_MS = 60000;        // a page that nobody sees lets its stream go
const TIMINGS = 200;

export const store = {
    choice: {},                 // of the fragment
    state: 'connecting',        // login, connecting, live, paused, lost
    generation: '',
    network: null, places: null,
    metrics: [], values: new Float32Array(0), fromUs: 0, toUs: 0, arrived: 0, complete: true,
    marks: new Uint8Array(0),
    hosts: new Map(), switches: new Map(), openflow: false,
    groups: new Map(), alarmTimes: [], groupsLost: 0,
    verdicts: new Map(),
    error: '',
    refused: '',
    version: 0,                 // of all this: a picture is drawn anew when it has grown
};

const listeners = new Set();
let waiting = false;

export function listen(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
}

// Whatever has changed since is shown with the next frame.
export function changed() {
    store.version++;
    if (!waiting) {
        waiting = true;
        setTimeout(() => {
            waiting = false;
            listeners.forEach(listener => listener());
        }, 16);
    }
}

// ---- timings ----

const timings = [];

export function timed(what, ms) {
    timings.push({what, ms: Math.round(ms * 100) / 100});
    if (timings.length > TIMINGS) {
        timings.shift();
    }
}

export const lastTimings = () => timings.slice();

// ---- the fragment ----

export function readChoice() {
    const given = new URLSearchParams(location.hash.slice(1));
    const choice = Object.fromEntries(given);
    choice.view = VIEWS.includes(choice.view) ? choice.view : 'fabric';
    const at = choice.at === 'pause' ? NaN : Number(choice.at);
    choice.at = choice.at && Number.isFinite(at) && at > 0 ? at : null;
    const window = Number(choice.window);
    choice.window = Number.isFinite(window) && window >= 1 && window <= 86400 ? window : 10;
    store.choice = choice;
}

export function href(change) {
    const next = {...store.choice, ...change};
    const words = new URLSearchParams();
    for (const [name, value] of Object.entries(next)) {
        const idle = value === null || value === undefined || value === '' || (name === 'window' && value === 10);
        if (!idle) {
            words.set(name, value);
        }
    }
    return `#${words.toString().replaceAll('%2C', ',').replaceAll('%3A', ':').replaceAll('%2F', '/')}`;
}

export function go(change) {
    location.hash = href(change);
}

// ---- what the controller knows ----

export function metric() {
    return store.metrics.find(each => each.name === metricName());
}

let fallback = null;            // where nobody has chosen and the first has nothing to show

export function metricName() {
    const names = store.metrics.map(each => each.name);
    const chosen = store.choice.metric;
    return (chosen && (!names.length || names.includes(chosen)) && chosen) || fallback || (names.includes('use') ? 'use' : names[0] || 'load_bps');
}

// What is not told is nothing of it, or not known, by the metric.
const COUNTED = new Set(['load_bps', 'use', 'alarms', 'suspicion']);
const blank = () => COUNTED.has(metricName()) ? 0 : NaN;

async function loadTopology() {
    const topology = await ask('/v1/topology?hosts=false');
    store.network = new Network(topology);
    store.values = new Float32Array(store.network.len).fill(NaN);
    store.marks = new Uint8Array(store.network.len);
    store.places = null;
    store.arrived = 0;
    placeFreely();
}

// A graph of no regular shape is laid out in a worker, once.
function placeFreely() {
    const network = store.network;
    if (network.regular || network.nodes.every(node => node.x !== undefined && node.y !== undefined)) {
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
    worker.postMessage({nodes: network.nodes.length, links: network.links.map((_, i) => [network.from[2 * i], network.to[2 * i]])});
}

async function loadHosts() {
    const {hosts} = await ask('/v1/hosts');
    store.hosts = new Map(hosts.map(host => [host.id, host]));
}

async function loadSwitches() {
    const {openflow, switches} = await ask('/v1/switches');
    store.openflow = Boolean(openflow);
    store.switches = new Map(switches.map(each => [each.id, each]));
}

async function loadAlarms() {
    const {alarms, last} = await ask('/v1/alarms?newest=2000');
    store.groups = new Map();
    store.alarmTimes = [];
    alarms.forEach(takeAlarm);
    return last;
}

async function loadVerdicts() {
    const {watches} = await ask('/v1/watches');
    store.verdicts = new Map(watches.map(watch => [`watch ${watch.id}`, watch]));
    markLinks();
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

// ---- alarms ----

const names = alarm => (alarm.paths || []).flatMap(path => store.network ? store.network.along(path) : []);

// By reason and where: the one link or path that it names, else its host.
function subjectOf(alarm) {
    const path = alarm.paths?.[0];
    return path && path.length > 1 && alarm.paths.length === 1 ? {kind: path.length === 2 ? 'link' : 'path', text: path.join('-'), path}
        : {kind: 'host', text: alarm.host ? `host ${alarm.host}` : 'controller', path: null};
}

export function takeAlarm(alarm) {
    const subject = subjectOf(alarm);
    const key = `${alarm.reason} ${alarm.host ?? ''} ${subject.text}`;
    let group = store.groups.get(key);
    if (!group) {
        if (store.groups.size >= GROUPS_MAX) {
            store.groupsLost++;
            return;
        }
        group = {key, reason: String(alarm.reason), subject, host: alarm.host, count: 0, firstUs: alarm.time_us, lastUs: 0, last: null};
        store.groups.set(key, group);
    }
    group.count += Math.max(1, alarm.count || 1);
    group.firstUs = Math.min(group.firstUs, alarm.time_us);
    if (alarm.time_us >= group.lastUs) {
        group.lastUs = alarm.time_us;
        group.last = alarm;
        group.links = names(alarm);
    }
    store.alarmTimes.push(alarm.time_us);
    if (store.alarmTimes.length > 20000) {
        store.alarmTimes.splice(0, 10000);
    }
}

// The controller's time, whatever the clock of this machine says.
let clockUs = 0, clockAt = 0;

function setClock(us) {
    if (us && us > nowUs()) {
        clockUs = us;
        clockAt = performance.now();
    }
}

export function nowUs() {
    return clockUs ? clockUs + (performance.now() - clockAt) * 1000 : 0;
}

export const momentUs = () => store.choice.at ? store.choice.at * 1e6 : nowUs();

export function alarmsAMinute() {
    const from = momentUs() - ALARM_S * 1e6;
    return store.alarmTimes.reduce((sum, us) => sum + (us >= from && us <= momentUs() + 5e6), 0);
}

export function reports() {
    return [...store.verdicts.values()].filter(each => each.report);
}

// Which links hold an alarm of the last minute, or are suspected by the last reports.
export function markLinks() {
    const {network, marks} = store;
    if (!network) {
        return;
    }
    marks.fill(0);
    const from = momentUs() - ALARM_S * 1e6;
    for (const group of store.groups.values()) {
        if (group.lastUs >= from && group.firstUs <= momentUs() + 5e6) {
            (group.links || []).forEach(i => { marks[i] |= ALARM; });
        }
    }
    for (const {report} of reports()) {
        report.links.forEach(name => {
            const i = network.find(name);
            if (i >= 0) {
                marks[i] |= SUSPECT;
            }
        });
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
    chooseMetric();
    changed();
}

store.told = 0;

// Where the speed of the links is not known nothing can be said of their use: then their load.
function chooseMetric() {
    if (!store.choice.metric && !fallback && metricName() === 'use' && !store.values.some(value => value > 0)
        && store.metrics.some(each => each.name === 'load_bps')) {
        fallback = 'load_bps';
        restart();
    }
}

function takeLinks(told) {
    if (told.metric !== metricName() || store.choice.at || !store.network) {
        return;
    }
    const begun = performance.now();
    const values = told.full ? new Float32Array(store.network.len).fill(blank()) : store.values.slice();
    for (const [name, value] of told.values) {
        const i = store.network.find(name);
        if (i >= 0) {
            values[i] = value === null ? NaN : value;
        }
    }
    timed('decode', performance.now() - begun);
    arrive(values, told.from_us, told.to_us);
    becomeLive();
}

async function loadValues() {
    const {at, window} = store.choice;
    const times = at ? {from: at - window, to: at} : null;
    const name = metricName();
    const begun = performance.now();
    const told = await linkValues(name, times, store.network.len);
    if (name === metricName() && at === store.choice.at) {
        timed('values', performance.now() - begun);
        arrive(told.values, told.fromUs, told.toUs);
    }
}

// ---- the stream ----

let stream = null, lastAlarm = null, turn = 0;

function become(state) {
    if (store.state !== state) {
        store.state = state;
        changed();
    }
}

function becomeLive() {
    if (store.arrived && stream?.opened) {
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
    host: host => { store.hosts.set(host.id, host); changed(); },
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

async function loadAll() {
    await Promise.all([loadTopology(), optional(loadMetrics)]);
    lastAlarm = await optional(loadAlarms, null);
    await optional(loadVerdicts);
    markLinks();
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
    const short = store.metrics.some(each => each.name === 'suspicion') ? 'suspicion' : metricName();
    const told = await ask(`/v1/links?metrics=${short}`);
    store.generation = String(told.generation ?? '');
    store.complete = told.complete !== false;
    (told.hosts?.missing || []).forEach(host => noteMissing(host));
}

function noteMissing(host) {
    const id = host.id ?? host;
    store.hosts.set(id, {name: `host ${id}`, ...store.hosts.get(id), id, state: 'missing', error: host.reason || ''});
}

// From nothing, or anew after a reload or a loss: what is chosen stays.
export async function begin() {
    const number = ++turn;
    try {
        await loadAll();
        if (number !== turn) {
            return;
        }
        if (store.choice.at) {
            setClock(store.choice.at * 1e6);
        }
        openStream(number);
        store.error = '';
        await Promise.all([loadValues(), optional(loadGeneration)]);
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
    const number = ++turn;
    if (!store.network || store.state === 'login') {
        return;
    }
    store.values = new Float32Array(store.network.len).fill(NaN);
    markLinks();
    openStream(number);
    try {
        await loadValues();
        store.error = '';
    } catch (error) {
        store.error = error.message;
        if (!(error instanceof Refused)) {
            become('lost');
        }
    }
    becomeLive();
    changed();
}

// A stream is silent while nothing is new, so something else has to tell that the controller is there. A word
// that only waits behind others (a browser has six connections) is no loss while those are answered.
let silences = 0;

async function watchOver() {
    if (store.state !== 'login' && !document.hidden) {
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

let hiddenSince = null;

function onVisibility() {
    clearTimeout(hiddenSince);
    if (document.hidden) {
        hiddenSince = setTimeout(() => { stream?.stop(); turn++; become('connecting'); }, HIDDEN_MS);
    } else if (store.state === 'connecting' && store.first) {
        begin();
    }
}

function onFragment() {
    const before = {...store.choice, metric: metricName()};
    readChoice();
    const after = store.choice;
    if (before.metric !== metricName() || before.at !== after.at || before.window !== after.window) {
        restart();
    }
    changed();
}

export function start() {
    readChoice();
    window.addEventListener('hashchange', onFragment);
    document.addEventListener('visibilitychange', onVisibility);
    begin();
    setTimeout(watchOver, PING_MS);
    setInterval(() => { markLinks(); changed(); }, 5000);
}
