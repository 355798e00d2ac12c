// SPDX-License-Identifier: Apache-2.0
// The two pictures of the network on a canvas: the fabric, and the matrix of all its links.

import './vendor/d3-zoom.js';
import {STEPS, css, pixels, step} from './scale.js';

const {zoom, zoomIdentity, select} = globalThis.d3;

export const ALARM = 1, SUSPECT = 2;
const LANE = 2.2;               // pixels between the two directions of a link
const NEAR = 7;                 // pixels within which a pointer means a line
const BUCKETS = 32;             // of colours, for lines
const FONT = '11px system-ui, sans-serif';
const SQUARE = 84;              // pixels, at most

const THEMES = {
    dark: {ink: '#e6edf3', soft: '#8b9aa8', node: '#2d3b49', rim: '#9fb0bf', page: '#10171e', unknown: '#3a4652',
        bad: '#ff6b4a', box: '#1a242e', paths: ['#56b4e9', '#e69f00', '#009e73', '#f0e442', '#cc79a7', '#d55e00']},
    light: {ink: '#17212b', soft: '#5b6b79', node: '#ffffff', rim: '#4c5b69', page: '#f7f9fa', unknown: '#c9d2d9',
        bad: '#c0280b', box: '#ffffff', paths: ['#0072b2', '#b85c00', '#007a5a', '#8a6d00', '#a3457a', '#b23a00']},
};

const rgb = hex => [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));

export class Surface {
    // on.pick({link} | {group}), on.hover(text), on.painted(what, ms)
    constructor(canvas, on) {
        this.canvas = canvas;
        this.context = canvas.getContext('2d', {alpha: false});
        this.on = on;
        this.at = zoomIdentity;
        this.view = null;
        this.dirty = false;
        this.since = 0;
        this.image = document.createElement('canvas');
        this.zoom = zoom().scaleExtent([1, 64]).on('zoom', event => {
            this.at = event.transform;
            this.touch();
        });
        select(canvas).call(this.zoom).on('dblclick.zoom', null);
        canvas.addEventListener('click', event => this.click(event));
        canvas.addEventListener('pointermove', event => this.hover(event));
        canvas.addEventListener('keydown', event => this.key(event));
        this.watcher = new ResizeObserver(() => this.resize());
        this.watcher.observe(canvas);
    }

    close() {
        this.watcher.disconnect();
        select(this.canvas).on('.zoom', null);
    }

    resize() {
        const ratio = window.devicePixelRatio || 1;
        this.wide = this.canvas.clientWidth;
        this.high = this.canvas.clientHeight;
        this.canvas.width = Math.max(1, Math.round(this.wide * ratio));
        this.canvas.height = Math.max(1, Math.round(this.high * ratio));
        this.ratio = ratio;
        this.zoom.extent([[0, 0], [this.wide, this.high]]).translateExtent([[0, 0], [this.wide, this.high]]);
        this.paint();           // at once: a canvas that was resized is black
    }

    // view: {kind, network, drawn, panels, values, marks, most, colours, theme, chosen, paths, away, lost}
    show(view, arrived) {
        this.view = view;
        this.since = arrived || this.since;
        this.touch();
    }

    touch() {
        if (!this.dirty) {
            this.dirty = true;
            requestAnimationFrame(() => this.paint());
        }
    }

    home() {
        select(this.canvas).call(this.zoom.transform, zoomIdentity);
    }

    paint() {
        this.dirty = false;
        if (!this.view || !this.wide || !this.high) {
            return;
        }
        const begun = performance.now();
        const context = this.context;
        this.ink = THEMES[this.view.theme];
        context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
        context.fillStyle = this.ink.page;
        context.fillRect(0, 0, this.wide, this.high);
        if (this.view.kind === 'matrix') {
            this.paintMatrix(context);
        } else {
            this.paintFabric(context);
        }
        this.on.painted(this.view.kind, performance.now() - begun, this.since ? performance.now() - this.since : 0);
        this.since = 0;
    }

    // ---- fabric ----

    place(item) {
        return [this.at.applyX(item.x * this.wide), this.at.applyY(item.y * this.high)];
    }

    // Traffic keeps to the right: both directions of a link lie side by side.
    lane(edge, from, to) {
        const [x1, y1] = from, [x2, y2] = to;
        const length = Math.hypot(x2 - x1, y2 - y1) || 1;
        const dx = -(y2 - y1) / length * LANE, dy = (x2 - x1) / length * LANE;
        return [x1 + dx, y1 + dy, x2 + dx, y2 + dy];
    }

    edgeEnds(edge) {
        const {items} = this.view.drawn;
        return this.lane(edge, this.anchor(items[edge.a], items[edge.b]), this.anchor(items[edge.b], items[edge.a]));
    }

    // Lines begin at the rim of a box.
    anchor(item, other) {
        const [x, y] = this.place(item);
        if (!item.box) {
            return [x, y];
        }
        const half = item.high * this.high * this.at.k / 2;
        return [x, y + (other.y < item.y ? -half : half)];
    }

    paintFabric(context) {
        const {drawn, most, colours} = this.view;
        const buckets = Array.from({length: BUCKETS + 1}, () => []);
        const marked = [];
        for (const edge of drawn.shown) {
            const known = edge.worst === edge.worst;
            buckets[known ? 1 + Math.floor(step(edge.worst, most) / STEPS * BUCKETS) : 0].push(edge);
            if (edge.marks) {
                marked.push(edge);
            }
        }
        const dense = drawn.edges.length > 600;
        buckets.forEach((edges, n) => {
            const share = n ? (n - 1) / (BUCKETS - 1) : 0;
            context.lineWidth = (dense ? 0.8 : 1.8) + (dense ? 1.8 : 2.4) * share;
            context.globalAlpha = dense ? 0.16 + 0.84 * share : n ? 1 : 0.6;
            context.strokeStyle = n ? css(colours[Math.round(share * (STEPS - 1))]) : this.ink.unknown;
            context.setLineDash(n ? [] : [3, 3]);
            this.lines(context, edges);
        });
        context.setLineDash([]);
        context.globalAlpha = 1;
        marked.forEach(edge => this.paintMark(context, edge));
        (this.view.paths || []).forEach((path, n) => this.paintPath(context, path, n));
        this.paintChosen(context);
        this.paintItems(context);
    }

    lines(context, edges) {
        context.beginPath();
        for (const edge of edges) {
            const [x1, y1, x2, y2] = this.edgeEnds(edge);
            context.moveTo(x1, y1);
            context.lineTo(x2, y2);
        }
        context.stroke();
    }

    // Suspicion is red, and wide; an alarm is a triangle. Both also where nobody sees colours.
    paintMark(context, edge) {
        const [x1, y1, x2, y2] = this.edgeEnds(edge);
        context.strokeStyle = context.fillStyle = this.ink.bad;
        if (edge.marks & SUSPECT) {
            context.lineWidth = 5;
            context.beginPath();
            context.moveTo(x1, y1);
            context.lineTo(x2, y2);
            context.stroke();
            this.arrow(context, x1 + (x2 - x1) * 0.62, y1 + (y2 - y1) * 0.62, Math.atan2(y2 - y1, x2 - x1), 9);
        }
        if (edge.marks & ALARM) {
            const x = x1 + (x2 - x1) * 0.4, y = y1 + (y2 - y1) * 0.4;
            context.beginPath();
            context.moveTo(x, y - 8);
            context.lineTo(x + 7, y + 5);
            context.lineTo(x - 7, y + 5);
            context.closePath();
            context.fill();
            context.lineWidth = 1.5;
            context.strokeStyle = this.ink.page;
            context.stroke();
        }
    }

    arrow(context, x, y, angle, size) {
        context.beginPath();
        for (const [n, turn] of [0, 2.5, -2.5].entries()) {
            const px = x + size * Math.cos(angle + turn), py = y + size * Math.sin(angle + turn);
            n ? context.lineTo(px, py) : context.moveTo(px, py);
        }
        context.closePath();
        context.fill();
    }

    paintPath(context, path, n) {
        const colour = this.ink.paths[n % this.ink.paths.length];
        context.strokeStyle = context.fillStyle = colour;
        context.lineWidth = 4;
        for (const i of path) {
            const edge = this.view.drawn.edges[this.view.drawn.edgeOf[i]];
            if (!edge) {
                continue;
            }
            const [x1, y1, x2, y2] = this.edgeEnds(edge);
            const shift = 3 * (n - (this.view.paths.length - 1) / 2);
            context.beginPath();
            context.moveTo(x1 + shift, y1);
            context.lineTo(x2 + shift, y2);
            context.stroke();
            this.arrow(context, x1 + shift + (x2 - x1) * 0.55, y1 + (y2 - y1) * 0.55, Math.atan2(y2 - y1, x2 - x1), 8);
        }
    }

    paintChosen(context) {
        const edge = this.view.drawn.edges[this.view.drawn.edgeOf[this.view.chosen]];
        if (edge) {
            const [x1, y1, x2, y2] = this.edgeEnds(edge);
            context.strokeStyle = context.fillStyle = this.ink.ink;
            context.lineWidth = 2;
            context.beginPath();
            context.moveTo(x1, y1);
            context.lineTo(x2, y2);
            context.stroke();
            this.arrow(context, (x1 + x2) / 2, (y1 + y2) / 2, Math.atan2(y2 - y1, x2 - x1), 10);
        }
    }

    paintItems(context) {
        this.view.drawn.items.forEach(item => item.box ? this.paintBox(context, item)
            : this.paintNode(context, item, item.room * this.wide * this.at.k));
    }

    paintNode(context, item, room) {
        const node = this.view.network.nodes[item.nodes[0]];
        const [x, y] = this.place(item);
        const away = this.view.away.switches.has(node.id);
        const size = room > 26 ? 7 : room > 12 ? 4.5 : 3;
        context.beginPath();
        context.arc(x, y, size, 0, 2 * Math.PI);
        context.fillStyle = away ? this.ink.page : this.ink.node;
        context.strokeStyle = away ? this.ink.bad : this.ink.rim;
        context.lineWidth = 1.5;
        context.setLineDash(away ? [2, 2] : []);
        context.fill();
        context.stroke();
        context.setLineDash([]);
        if (away) {
            this.cross(context, x, y, size * 0.6);
        }
        const hosts = room > 26 && this.view.hostsOf.get(node.id);
        if (hosts) {
            this.paintHosts(context, hosts, x, y + 20);
        }
        if (room > 58) {
            this.label(context, item.label.slice(0, 24), x, y + (hosts ? 42 : node.level ? -13 : 24));
        }
    }

    cross(context, x, y, size) {
        context.strokeStyle = this.ink.bad;
        context.lineWidth = 2;
        context.beginPath();
        context.moveTo(x - size, y - size);
        context.lineTo(x + size, y + size);
        context.moveTo(x + size, y - size);
        context.lineTo(x - size, y + size);
        context.stroke();
    }

    paintHosts(context, hosts, x, y) {
        const step = Math.min(12, 60 / hosts.length);
        hosts.slice(0, 12).forEach((host, n) => {
            const at = x + (n - (Math.min(hosts.length, 12) - 1) / 2) * step;
            if (host.missing) {
                this.cross(context, at, y, 4);
            } else {
                context.fillStyle = this.ink.soft;
                context.fillRect(at - 3, y - 3, 6, 6);
            }
        });
    }

    boxEnds(item) {
        const [x, y] = this.place(item);
        const wide = item.wide * this.wide * this.at.k, high = item.high * this.high * this.at.k;
        return [x - wide / 2, y - high / 2, wide, high];
    }

    // Its rim is the mean of the links in it, its band the worst of them.
    paintBox(context, item) {
        const {most, colours, network, away} = this.view;
        const [x, y, wide, high] = this.boxEnds(item);
        context.fillStyle = this.ink.box;
        context.strokeStyle = item.marks ? this.ink.bad : this.ink.rim;
        context.lineWidth = item.marks ? 3 : 1;
        context.beginPath();
        context.roundRect(x, y, wide, high, Math.min(6, wide / 4));
        context.fill();
        context.stroke();
        if (item.worst === item.worst) {
            const band = Math.max(2, high * 0.3);
            context.fillStyle = css(colours[step(item.worst, most)]);
            context.fillRect(x + 2, y + high - band - 2, wide - 4, band);
            context.fillStyle = css(colours[step(item.mean, most)]);
            context.fillRect(x + 2, y + high - 2 * band - 3, wide - 4, band);
        }
        const gone = item.nodes.filter(i => away.switches.has(network.nodes[i].id)).length;
        if (gone || item.nodes.some(i => this.view.missingIn.has(network.nodes[i].id))) {
            this.cross(context, x + wide / 2, y + 8, 4);
        }
        context.font = FONT;
        const words = context.measureText(item.label).width < wide - 4 ? item.label : item.short;
        this.label(context, words, x + wide / 2, y - 5);
    }

    // Readable above lines, too.
    label(context, text, x, y) {
        context.font = FONT;
        context.textAlign = 'center';
        context.lineWidth = 4;
        context.lineJoin = 'round';
        context.strokeStyle = this.ink.page;
        context.strokeText(text, x, y);
        context.fillStyle = this.ink.soft;
        context.fillText(text, x, y);
    }

    // ---- matrix ----

    // Where each panel is, in squares: one above the other, all as wide as the widest.
    arrange() {
        const {panels} = this.view;
        const wide = Math.max(...panels.map(panel => panel.wide), 1);
        let y = 0;
        const gap = Math.max(2, Math.ceil(panels.reduce((sum, panel) => sum + panel.high, 0) / 20));
        const placed = panels.map(panel => {
            const at = {panel, y};
            y += panel.high + gap;
            return at;
        });
        const left = 16, top = 22;
        const across = (this.wide - 2 * left) / wide, down = (this.high - top - 14) / Math.max(1, y - gap);
        return {placed, wide, high: y, left, top, across: Math.max(0.2, Math.min(across, SQUARE)), down: Math.max(0.2, Math.min(down, SQUARE))};
    }

    paintMatrix(context) {
        const {panels, values, marks, most, colours} = this.view;
        this.grid = this.arrange();
        const {placed, wide, high} = this.grid;
        const lut = pixels(colours, rgb(this.ink.unknown));
        if (this.image.width !== wide || this.image.height !== high) {
            this.image.width = wide;
            this.image.height = high;
        }
        const image = new ImageData(wide, high);
        const out = new Uint32Array(image.data.buffer);
        const scale = (STEPS - 1) / most;
        const marked = [];
        for (const {panel, y} of placed) {
            for (let row = 0, at = 0; row < panel.high; row++) {
                for (let column = 0; column < panel.wide; column++, at++) {
                    const i = panel.grid[at];
                    if (i < 0) {
                        continue;
                    }
                    const value = values[i];
                    const n = value === value ? Math.max(0, Math.min(STEPS - 1, value * scale + 0.5 | 0)) : STEPS;
                    out[(y + row) * wide + column] = lut[n];
                    if (marks[i]) {
                        marked.push([column, y + row, marks[i]]);
                    }
                }
            }
        }
        this.image.getContext('2d').putImageData(image, 0, 0);
        this.squares(context, marked);
        if (panels.length) {
            this.paintLabels(context);
        }
    }

    squares(context, marked) {
        const {wide, high, left, top, across, down} = this.grid;
        context.imageSmoothingEnabled = false;
        context.drawImage(this.image, this.at.applyX(left), this.at.applyY(top), wide * across * this.at.k, high * down * this.at.k);
        if (across * this.at.k > 8 && down * this.at.k > 8) {
            this.grille(context);
        }
        context.strokeStyle = this.ink.bad;
        context.lineWidth = 2;
        const spots = [...marked, ...this.chosenSpot()];
        for (const [x, y, mark] of spots) {
            const size = [Math.max(6, across * this.at.k), Math.max(6, down * this.at.k)];
            const [px, py] = [this.at.applyX(left + (x + 0.5) * across), this.at.applyY(top + (y + 0.5) * down)];
            context.strokeStyle = mark ? this.ink.bad : this.ink.ink;
            context.strokeRect(px - size[0] / 2, py - size[1] / 2, size[0], size[1]);
        }
    }

    // Thin lines between squares that are large enough for them.
    grille(context) {
        const {placed, left, top, across, down} = this.grid;
        context.strokeStyle = this.ink.page;
        context.lineWidth = 1;
        context.beginPath();
        for (const {panel, y} of placed) {
            for (let column = 0; column <= panel.wide; column++) {
                const x = this.at.applyX(left + column * across);
                context.moveTo(x, this.at.applyY(top + y * down));
                context.lineTo(x, this.at.applyY(top + (y + panel.high) * down));
            }
            for (let row = 0; row <= panel.high; row++) {
                const py = this.at.applyY(top + (y + row) * down);
                context.moveTo(this.at.applyX(left), py);
                context.lineTo(this.at.applyX(left + panel.wide * across), py);
            }
        }
        context.stroke();
    }

    chosenSpot() {
        const spot = this.view.chosen >= 0 && this.spotOf(this.view.chosen);
        return spot ? [[spot[0], spot[1], 0]] : [];
    }

    spotOf(i) {
        for (const {panel, y} of this.grid?.placed || []) {
            const at = panel.grid.indexOf(i);
            if (at >= 0) {
                return [at % panel.wide, y + Math.floor(at / panel.wide)];
            }
        }
        return null;
    }

    paintLabels(context) {
        const {placed, left, top, across, down} = this.grid;
        context.fillStyle = this.ink.soft;
        context.font = FONT;
        context.textAlign = 'left';
        for (const {panel, y} of placed) {
            context.fillText(panel.label, this.at.applyX(left), this.at.applyY(top + y * down) - 4);
            panel.starts.forEach(([column, pod], n) => {
                const wide = ((panel.starts[n + 1]?.[0] ?? panel.wide) - column) * across * this.at.k;
                if (pod && n && wide > 44) {
                    context.fillText(`pod ${pod}`, this.at.applyX(left + column * across), this.at.applyY(top + y * down) - 4);
                }
            });
        }
    }

    // ---- what is under the pointer ----

    where(event) {
        const box = this.canvas.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
    }

    square(x, y) {
        if (!this.grid) {
            return -1;
        }
        const {placed, left, top, across, down} = this.grid;
        const column = Math.floor((this.at.invertX(x) - left) / across), row = Math.floor((this.at.invertY(y) - top) / down);
        const spot = placed.find(({panel, y: first}) => row >= first && row < first + panel.high);
        return spot && column >= 0 && column < spot.panel.wide ? spot.panel.grid[(row - spot.y) * spot.panel.wide + column] : -1;
    }

    line(x, y) {
        let best = null, least = NEAR;
        for (const edge of this.view.drawn.shown) {
            const [x1, y1, x2, y2] = this.edgeEnds(edge);
            const long = (x2 - x1) ** 2 + (y2 - y1) ** 2 || 1;
            const t = Math.max(0, Math.min(1, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / long));
            const away = Math.hypot(x - x1 - t * (x2 - x1), y - y1 - t * (y2 - y1));
            if (away < least) {
                least = away;
                best = edge;
            }
        }
        return best;
    }

    box(x, y) {
        return this.view.drawn.items.find(item => {
            const [left, top, wide, high] = item.box ? this.boxEnds(item) : [0, 0, -1, -1];
            return x >= left && x <= left + wide && y >= top && y <= top + high;
        });
    }

    under(x, y) {
        if (this.view.kind === 'matrix') {
            const i = this.square(x, y);
            return i >= 0 ? {link: i} : null;
        }
        const box = this.box(x, y);
        if (box) {
            return {group: box.key, item: box};
        }
        const edge = this.line(x, y);
        return edge && (edge.members.length === 1 ? {link: edge.members[0]} : {bundle: edge});
    }

    click(event) {
        const hit = this.view && this.under(...this.where(event));
        if (hit) {
            this.on.pick(hit);
        }
    }

    hover(event) {
        if (this.view && !event.buttons) {
            const at = this.where(event);
            const hit = this.under(...at);
            this.canvas.style.cursor = hit ? 'pointer' : 'grab';
            this.on.hover(hit, at);
        }
    }

    key(event) {
        const moves = {ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60]};
        const canvas = select(this.canvas);
        if (moves[event.key]) {
            canvas.call(this.zoom.translateBy, ...moves[event.key].map(n => n / this.at.k));
        } else if (event.key === '+' || event.key === '=' || event.key === '-') {
            canvas.call(this.zoom.scaleBy, event.key === '-' ? 1 / 1.4 : 1.4);
        } else if (event.key === '0') {
            this.home();
        } else {
            return;
        }
        event.preventDefault();
    }

    // Where a link is, or the bundle that it is in, on the screen.
    locate(i) {
        const box = this.canvas.getBoundingClientRect();
        if (!this.view || i < 0) {
            return null;
        }
        if (this.view.kind === 'matrix') {
            const spot = this.spotOf(i);
            const {left, top, across, down} = this.grid || {};
            return spot && {x: box.left + this.at.applyX(left + (spot[0] + 0.5) * across), y: box.top + this.at.applyY(top + (spot[1] + 0.5) * down), bundle: false};
        }
        const edge = this.view.drawn.edges[this.view.drawn.edgeOf[i]];
        if (edge) {
            const [x1, y1, x2, y2] = this.edgeEnds(edge);
            return {x: box.left + x1 + (x2 - x1) * 0.3, y: box.top + y1 + (y2 - y1) * 0.3, bundle: edge.members.length > 1};
        }
        const item = this.view.drawn.items[this.view.drawn.itemOfInside[i]];
        if (!item) {
            return null;
        }
        const [x, y] = this.place(item);
        return {x: box.left + x, y: box.top + y, bundle: true};
    }
}
