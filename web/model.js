// SPDX-License-Identifier: Apache-2.0
// The network: switches and links as the topology has them, and what of them is drawn: each by
// itself, or folded into boxes and bundles.

const LEVELS = {tor: 0, leaf: 0, agg: 1, spine: 2, core: 2, intermediate: 2, switch: 0};
export const EACH_MAX = 64;      // switches that are drawn each by itself
export const LINES_MAX = 4096;   // lines that are drawn at once

const LONG = 16;                 // letters of a name

const byPlace = (a, b) => (a.pod || 0) - (b.pod || 0) || (a.position || 0) - (b.position || 0) ||
    a.id - b.id;

// How much all names begin with alike, whole words of it.
function alike(names) {
    let len = Math.min(...names.map(name => name.length));
    for (const name of names) {
        while (len && !name.startsWith(names[0].slice(0, len))) {
            len--;
        }
    }
    while (len && !/[-._/: ]/.test(names[0][len - 1])) {
        len--;
    }
    return len;
}

const backwards = name => [...name].reverse().join('');

// Names without what all of them have, "ams-3-tor-1.example.net" as "tor-1", where they are long.
function nameBriefly(nodes) {
    const names = nodes.map(node => node.name);
    const head = names.length > 1 ? alike(names) : 0;
    const tail = names.length > 1 ? alike(names.map(name => backwards(name.slice(head)))) : 0;
    const cut = name => {
        const letters = [...name.slice(head)];
        return letters.slice(0, letters.length - tail).join('');
    };
    const worth = head + tail >= 8 && Math.max(...names.map(name => name.length)) > LONG &&
        names.every(cut);
    nodes.forEach(node => { node.brief = worth ? cut(node.name) : node.name; });
}

export class Network {
    constructor(topology) {
        this.title = String(topology.name || '');
        this.nodes = topology.nodes.filter(node => node.role !== 'host').map(node => ({
            id: node.id, name: String(node.name ?? node.id), role: node.role, pod: node.pod || 0,
            position: node.position || 0, hosts: node.hosts || 0, x: node.x, y: node.y,
            level: LEVELS[node.role] ?? 0,
        }));
        nameBriefly(this.nodes);
        this.index = new Map(this.nodes.map((node, i) => [node.id, i]));
        this.links = topology.links.filter(link => this.index.has(link.source) &&
            this.index.has(link.target));
        this.len = 2 * this.links.length;
        this.from = new Int32Array(this.len);
        this.to = new Int32Array(this.len);
        this.links.forEach((link, i) => {
            this.from[2 * i] = this.to[2 * i + 1] = this.index.get(link.source);
            this.to[2 * i] = this.from[2 * i + 1] = this.index.get(link.target);
        });
        this.regular = this.nodes.some(node => node.role !== 'switch');
        this.levels = [...new Set(this.nodes.map(node => node.level))].sort((a, b) => a - b);
        this.folds = this.nodes.length > EACH_MAX && this.regular;
        this.groups = this.regular ? groupsOf(this) : null;
    }

    // "9-17", as everything else names this directed link.
    link(i) {
        return `${this.nodes[this.from[i]].id}-${this.nodes[this.to[i]].id}`;
    }

    words(i) {
        return `${this.nodes[this.from[i]].name} → ${this.nodes[this.to[i]].name}`;
    }

    // The same where there is little room.
    brief(i) {
        return `${this.nodes[this.from[i]].brief} → ${this.nodes[this.to[i]].brief}`;
    }

    // The number of a directed link, "9-17"; -1: there is none. "9:3-17:5" is one of several in
    // parallel.
    find(name) {
        const text = String(name), dash = text.indexOf('-');
        const from = this.index.get(parseInt(text, 10)),
            to = this.index.get(parseInt(text.slice(dash + 1), 10));
        if (dash < 1 || from === undefined || to === undefined) {
            return -1;
        }
        return text.includes(':') ? this.findPort(text, from) : this.findBetween(from, to);
    }

    // For many names, which events have in the order of the links: each is looked for behind the
    // one before. Names in no order are found one by one.
    seeker() {
        this.names ??= Array.from({length: this.len}, (_, i) => this.link(i));
        let next = 0, steps = 2 * this.len;
        return name => {
            let at = next;
            while (at < this.len && steps > 0 && this.names[at] !== name) {
                at++;
                steps--;
            }
            const found = at < this.len && this.names[at] === name ? at : this.find(name);
            next = found >= 0 ? found + 1 : next;
            return found;
        };
    }

    // Links that leave a switch: out[first[n]] to out[first[n + 1] - 1].
    leaving() {
        const first = new Int32Array(this.nodes.length + 1), out = new Int32Array(this.len);
        this.from.forEach(n => { first[n + 1]++; });
        first.forEach((_, n) => { first[n] += n ? first[n - 1] : 0; });
        const next = first.slice();
        this.from.forEach((n, i) => { out[next[n]++] = i; });
        return {first, out};
    }

    findBetween(from, to) {
        const {first, out} = this.left ??= this.leaving();
        for (let at = first[from]; at < first[from + 1]; at++) {
            if (this.to[out[at]] === to) {
                return out[at];
            }
        }
        return -1;
    }

    findPort(name, from) {
        for (let i = 0; i < this.len; i++) {
            const link = this.from[i] === from && this.links[i >> 1];
            const ends = link && [`${link.source}:${link.source_port}`,
                `${link.target}:${link.target_port}`];
            if (ends && name === (i & 1 ? `${ends[1]}-${ends[0]}` : `${ends[0]}-${ends[1]}`)) {
                return i;
            }
        }
        return -1;
    }

    // Of the matrix.
    panels() {
        return this.made ??= [...matrixInTurns(this)].at(-1);
    }

    // The same; between two steps something else may run.
    *panelsInTurns() {
        for (const panels of matrixInTurns(this)) {
            yield;
            this.made = panels ?? this.made;
        }
    }

    node(id) {
        return this.nodes[this.index.get(id)];
    }

    // Directed links of a path, a list of switches' IDs.
    along(path) {
        const links = [];
        for (let i = 1; i < path.length; i++) {
            links.push(this.find(`${path[i - 1]}-${path[i]}`));
        }
        return links.filter(i => i >= 0);
    }
}

// ---- groups: what is folded into a box ----

// Pods; switches of the top with the same neighbours; without pods so many neighbours at a time.
function groupsOf(network) {
    const top = Math.max(...network.levels);
    const least = new Int32Array(network.nodes.length).fill(network.nodes.length),
        degree = new Int32Array(network.nodes.length);
    for (let i = 0; i < network.len; i++) {
        least[network.from[i]] = Math.min(least[network.from[i]], network.to[i]);
        degree[network.from[i]]++;
    }
    const groups = new Map();
    const order = network.nodes.map((_, i) => i)
        .sort((a, b) => byPlace(network.nodes[a], network.nodes[b]));
    const counts = new Map();
    for (const i of order) {
        const node = network.nodes[i];
        let key = node.pod ? `pod${node.pod}` : null;
        if (!key && node.level === top && network.levels.length > 1) {
            key = `top${least[i]}x${degree[i]}`;
        }
        if (!key) {
            const n = counts.get(node.level) || 0;
            counts.set(node.level, n + 1);
            key = `${node.role}${Math.floor(n / 16) + 1}`;
        }
        if (!groups.has(key)) {
            groups.set(key, {key, top: node.level === top && !node.pod, pod: node.pod, nodes: []});
        }
        groups.get(key).nodes.push(i);
    }
    let number = 0;
    for (const group of groups.values()) {
        group.label = group.pod ? `pod ${group.pod}`
            : group.top ? `${network.nodes[group.nodes[0]].role} group ${++number}`
            : group.key.replace(/(\d+)$/, ' block $1');
        group.short = group.pod ? String(group.pod)
            : group.top ? String(number) : group.key.replace(/\D+/, '');
    }
    return [...groups.values()];
}

// ---- layout: where things are, from 0 to 1 ----

const LEFT = 0.03, RIGHT = 0.97, TOP = 0.09, BOTTOM = 0.84, BOTTOM_FOLDED = 0.9;

function levelY(network, level) {
    const at = network.levels.indexOf(level), last = network.levels.length - 1;
    const bottom = network.folds ? BOTTOM_FOLDED : BOTTOM;
    return last ? bottom - (bottom - TOP) * at / last : (TOP + bottom) / 2;
}

// Columns for groups of one storey, as wide as what is in them.
function columns(groups, width) {
    const whole = groups.reduce((sum, group) => sum + width(group), 0) || 1;
    let at = LEFT;
    return new Map(groups.map(group => {
        const wide = (RIGHT - LEFT) * width(group) / whole;
        const column = {left: at, wide};
        at += wide;
        return [group.key, column];
    }));
}

function placeNodes(network, group, column, items) {
    for (const level of network.levels) {
        const nodes = group.nodes.filter(i => network.nodes[i].level === level);
        nodes.forEach((i, n) => {
            const node = network.nodes[i];
            items.push({
                key: `node${node.id}`, label: node.brief, nodes: [i], box: false, group: group.key,
                room: column.wide / nodes.length,
                x: node.x ?? column.left + column.wide * (n + 0.5) / nodes.length,
                y: node.y ?? levelY(network, level),
            });
        });
    }
}

function placeBox(network, group, column, items) {
    const ys = group.nodes.map(i => network.nodes[i].y ?? levelY(network, network.nodes[i].level));
    const xs = group.nodes.map(i => network.nodes[i].x);
    const given = xs.every(x => x !== undefined);
    const low = Math.min(...ys), high = Math.max(...ys);
    items.push({
        key: group.key, label: group.label, short: group.short, nodes: group.nodes, box: true,
        group: group.key,
        x: given ? xs.reduce((a, b) => a + b) / xs.length : column.left + column.wide / 2,
        y: (low + high) / 2, wide: column.wide * 0.78,
        high: Math.max(high - low, 0.05) * (group.top ? 1 : 0.72),
    });
}

function placeFolded(network, open) {
    const items = [];
    for (const top of [true, false]) {
        const groups = network.groups.filter(group => group.top === top);
        const width = group => network.folds && !open.has(group.key) ? 1
            : Math.max(1, Math.min(group.nodes.length, 24) / (network.folds ? 2 : 1));
        const at = columns(groups, width);
        for (const group of groups) {
            const shut = network.folds && !open.has(group.key);
            (shut ? placeBox : placeNodes)(network, group, at.get(group.key), items);
        }
    }
    return items;
}

// Any graph: places from the worker, or a ring until they are there.
function placeFree(network, places) {
    return network.nodes.map((node, i) => {
        const angle = 2 * Math.PI * i / network.nodes.length;
        const at = places ? places[i] : [0.5 + 0.4 * Math.cos(angle), 0.5 + 0.4 * Math.sin(angle)];
        return {key: `node${node.id}`, label: node.brief, nodes: [i], box: false, group: '',
            room: 0.7 / Math.sqrt(network.nodes.length), x: node.x ?? at[0], y: node.y ?? at[1]};
    });
}

const DENSE = 1 << 20;          // pairs of items: up to here an array finds their line, then a map

// The numbers of lines by a pair of items, -1: none yet.
function pairs(items) {
    if (items.length * items.length > DENSE) {
        const known = new Map();
        return {get: key => known.get(key) ?? -1, set: (key, n) => known.set(key, n)};
    }
    const known = new Int32Array(items.length * items.length).fill(-1);
    return {get: key => known[key], set: (key, n) => { known[key] = n; }};
}

function bundle(network, items) {
    const itemOf = new Int32Array(network.nodes.length), known = pairs(items);
    items.forEach((item, n) => item.nodes.forEach(i => { itemOf[i] = n; }));
    const edges = [], edgeOf = new Int32Array(network.len).fill(-1);
    const inside = items.map(() => []), itemOfInside = new Int32Array(network.len).fill(-1);
    for (let i = 0; i < network.len; i++) {
        const a = itemOf[network.from[i]], b = itemOf[network.to[i]];
        if (a === b) {
            inside[a].push(i);
            itemOfInside[i] = a;
            continue;
        }
        let n = known.get(a * items.length + b);
        if (n < 0) {
            n = edges.push({a, b, members: [], worst: NaN, mean: NaN, marks: 0}) - 1;
            known.set(a * items.length + b, n);
        }
        edges[n].members.push(i);
        edgeOf[i] = n;
    }
    return {edges, inside, edgeOf, itemOfInside};
}

// Of lines that are too many, those of what is open are drawn, then the worst.
const isNear = (edge, items, open) =>
    open.has(items[edge.a].group) || open.has(items[edge.b].group);

function countLines(network, open) {
    const items = placeFolded(network, open);
    return bundle(network, items).edges.filter(edge => isNear(edge, items, open)).length;
}

// What is open stays so as long as all of it fits: the first opened are shut first.
export function fitOpen(network, open) {
    const kept = [...open].filter(key => network.groups?.some(group => group.key === key));
    while (kept.length && countLines(network, new Set(kept)) > LINES_MAX) {
        kept.shift();
    }
    return new Set(kept);
}

export function layout(network, open, places) {
    const items = network.regular ? placeFolded(network, open) : placeFree(network, places);
    const {edges, inside, edgeOf, itemOfInside} = bundle(network, items);
    items.forEach((item, n) =>
        Object.assign(item, {inside: inside[n], worst: NaN, mean: NaN, marks: 0}));
    const folded = network.len -
        edges.reduce((sum, edge) => sum + (edge.members.length === 1 ? 1 : 0), 0);
    edges.forEach(edge => { edge.near = isNear(edge, items, open); });
    return {items, edges, shown: edges.slice(0, LINES_MAX), edgeOf, itemOfInside, folded};
}

// The last one is kept: it was made while the page began, in a turn of its own.
export function layoutOnce(network, open, places) {
    const key = [...open].join(), last = network.laidOut;
    if (!last || last.key !== key || last.places !== places) {
        network.laidOut = {key, places, drawn: layout(network, open, places)};
    }
    return network.laidOut.drawn;
}

// ---- values on it ----

function sumUp(target, members, values, marks) {
    let worst = NaN, sum = 0, known = 0, all = 0;
    for (const i of members) {
        const value = values[i];
        if (value === value) {
            worst = worst >= value ? worst : value;
            sum += value;
            known++;
        }
        all |= marks[i];
    }
    target.worst = worst;
    target.mean = known ? sum / known : NaN;
    target.marks = all;
}

export function colour(drawn, values, marks) {
    for (const edge of drawn.edges) {
        sumUp(edge, edge.members, values, marks);
    }
    if (drawn.edges.length > LINES_MAX) {
        const rank = edge => (edge.near ? 4 : 0) + (edge.marks ? 2 : 0) +
            (edge.worst > 0 ? edge.worst / (1 + edge.worst) : 0);
        drawn.shown = [...drawn.edges].sort((a, b) => rank(b) - rank(a)).slice(0, LINES_MAX);
    }
    for (const item of drawn.items) {
        if (item.box) {
            sumUp(item, item.inside, values, marks);
        }
    }
}

// ---- the matrix: a square for each directed link ----

const STEP = 1 << 15;           // links that are looked at in one turn

// Tier by tier, up and down: a column for each lower switch, a row for each of its upper
// neighbours. The panels come last; whatever comes before is a rest on the way.
function* matrixInTurns(network) {
    const order = network.nodes.map((_, i) => i)
        .sort((a, b) => byPlace(network.nodes[a], network.nodes[b]));
    const rank = new Int32Array(network.nodes.length),
        level = Int32Array.from(network.nodes, node => node.level);
    order.forEach((i, n) => { rank[i] = n; });
    const tiers = new Map();
    let tier = null, last = -1;
    for (let i = 0; i < network.len; i++) {
        const from = network.from[i], to = network.to[i];
        const up = level[from] !== level[to] ? level[from] < level[to] : rank[from] < rank[to];
        const lower = up ? from : to;
        const key = 16 * Math.min(level[from], level[to]) + Math.max(level[from], level[to]);
        if (key !== last) {
            tier = tierOf(tiers, key, network.nodes[lower], network.nodes[up ? to : from]);
            last = key;
        }
        const ways = tier.lowers[lower] ??= {up: [], down: []};
        (up ? ways.up : ways.down).push(i);
        if (i % STEP === STEP - 1) {
            yield null;
        }
    }
    const panels = [];
    for (const [, each] of [...tiers].sort(([a], [b]) => a - b)) {
        for (const way of ['up', 'down']) {
            yield null;
            panels.push(panelOf(network, each, way, rank));
        }
    }
    yield panels;
}

// Links of switches of two levels; `lowers` by the number of the lower switch.
function tierOf(tiers, key, lower, upper) {
    if (!tiers.has(key)) {
        tiers.set(key, {lowers: [], role: [lower.role, upper.role]});
    }
    return tiers.get(key);
}

function panelOf(network, tier, way, rank) {
    const lowers = [...tier.lowers.keys()].filter(lower => tier.lowers[lower])
        .sort((a, b) => rank[a] - rank[b]);
    const uppers = way === 'up' ? network.to : network.from;
    const high = Math.max(...lowers.map(lower => tier.lowers[lower][way].length));
    const starts = [];
    const columns = [];
    let column = 0, pod = -1;
    for (const lower of lowers) {
        if (pod !== -1 && network.nodes[lower].pod !== pod) {
            column++;           // a gap between pods
        }
        if (network.nodes[lower].pod !== pod) {
            pod = network.nodes[lower].pod;
            starts.push([column, pod]);
        }
        tier.lowers[lower][way].sort((a, b) => rank[uppers[a]] - rank[uppers[b]]);
        columns.push(column++);
    }
    const grid = new Int32Array(column * high).fill(-1);
    lowers.forEach((lower, n) => tier.lowers[lower][way]
        .forEach((i, row) => { grid[row * column + columns[n]] = i; }));
    const [low, up] = tier.role;
    return {label: way === 'up' ? `${low} → ${up}` : `${up} → ${low}`, wide: column, high,
        grid, starts};
}
