// SPDX-License-Identifier: Apache-2.0
// The page's state: what is chosen stands in the URL's fragment, what is known comes from the
// controller (live.js). Views read `store`; whoever changes it calls changed().

import {ALARM, SUSPECT} from './draw.js';
import {fitOpen} from './model.js';

export const VIEWS = ['fabric', 'matrix', 'link', 'flow', 'alarms', 'verdicts', 'ask'];
const ALARM_S = 60;             // an alarm marks its links for so long
const GROUPS_MAX = 2000;
const TIMINGS = 200;

export const store = {
    choice: {},                 // of the fragment
    state: 'connecting',        // login, connecting, live, paused, lost
    generation: '',
    network: null, places: null,
    metrics: [], values: new Float32Array(0), fromUs: 0, toUs: 0, arrived: 0, complete: true,
    marks: new Uint8Array(0),
    hosts: new Map(), hostsLen: 0, everyHost: true,     // else those that are missing
    switches: new Map(), openflow: false,
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
        const idle = value === null || value === undefined || value === '' ||
            (name === 'window' && value === 10);
        if (!idle) {
            words.set(name, value);
        }
    }
    return `#${words.toString().replaceAll('%2C', ',').replaceAll('%3A', ':')
        .replaceAll('%2F', '/')}`;
}

// Which boxes are.
export const opened = network =>
    fitOpen(network, new Set((store.choice.open || '').split(',').filter(Boolean)));

export function go(change) {
    location.hash = href(change);
}

// ---- metrics ----

export function metric() {
    return store.metrics.find(each => each.name === metricName());
}

let fallback = null;            // where nobody has chosen and the first has nothing to show

// Where the speed of the links is not known nothing can be said of their use: then their load.
// True: another metric than before is shown now.
export function fallBack() {
    const idle = !store.choice.metric && !fallback && metricName() === 'use' &&
        !store.values.some(value => value > 0);
    if (idle && store.metrics.some(each => each.name === 'load_bps')) {
        fallback = 'load_bps';
    }
    return idle && fallback !== null;
}

export function metricName() {
    const names = store.metrics.map(each => each.name);
    const chosen = store.choice.metric;
    return (chosen && (!names.length || names.includes(chosen)) && chosen) || fallback ||
        (names.includes('use') ? 'use' : names[0] || 'load_bps');
}

// What is not told is nothing of it, or not known, by the metric.
const COUNTED = new Set(['load_bps', 'use', 'alarms', 'suspicion']);
export const blank = () => COUNTED.has(metricName()) ? 0 : NaN;

// ---- alarms ----

const names = alarm =>
    (alarm.paths || []).flatMap(path => store.network?.along(path) ?? []);

// By reason and where: the one link or path that it names, else its host.
function subjectOf(alarm) {
    const path = alarm.paths?.[0];
    return path && path.length > 1 && alarm.paths.length === 1
        ? {kind: path.length === 2 ? 'link' : 'path', text: path.join('-'), path}
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
        group = {key, reason: String(alarm.reason), subject, host: alarm.host, count: 0,
            firstUs: alarm.time_us, lastUs: 0, last: null};
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

export function setClock(us) {
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
