// SPDX-License-Identifier: Apache-2.0
// The two pictures of the network on a canvas: the fabric, and (squares.js) the matrix of all its
// links.

import './vendor/d3-zoom.js';
import {FONT, STEPS, THEMES, css, fit, step} from './scale.js';
import {Squares} from './squares.js';

const {zoom, zoomIdentity, select} = globalThis.d3;

export const ALARM = 1, SUSPECT = 2;
const LANE = 2.2;               // pixels between the two directions of a link
const NEAR = 7;                 // pixels within which a pointer means a line
const BUCKETS = 32;             // of colours, for lines
const MANY = 180;               // lines: from here on those stand back that carry little
// of many lines: those are wide, at four times what a line of one pixel costs
const STANDS_OUT = 0.8;

export class Surface extends Squares {
    // on.pick({link} | {group}), on.hover(text), on.painted(what, ms)
    constructor(canvas, on) {
        super();
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
        this.zoom.extent([[0, 0], [this.wide, this.high]])
            .translateExtent([[0, 0], [this.wide, this.high]]);
        this.paint();           // at once: a canvas that was resized is black
    }

    // view: {kind, network, drawn, panels, values, marks, most, colours, theme, chosen, paths,
    // away, lost}
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
        this.on.painted(this.view.kind, performance.now() - begun, this.since
            ? performance.now() - this.since : 0);
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
        return this.lane(edge, this.anchor(items[edge.a], items[edge.b]),
            this.anchor(items[edge.b], items[edge.a]));
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
            buckets[known ? 1 + Math.floor(step(edge.worst, most) / STEPS * BUCKETS) : 0]
                .push(edge);
            if (edge.marks) {
                marked.push(edge);
            }
        }
        const dense = drawn.edges.length > MANY;
        buckets.forEach((edges, n) => {
            const share = n ? (n - 1) / (BUCKETS - 1) : 0;
            context.lineWidth = !dense ? 1.8 + 2.4 * share : share > STANDS_OUT ? 2.2 : 1;
            context.globalAlpha = dense ? 0.16 + 0.84 * share : n ? 1 : 0.6;
            context.strokeStyle = n ? css(colours[Math.round(share * (STEPS - 1))])
                : this.ink.unknown;
            context.setLineDash(n ? [] : [3, 3]);
            this.lines(context, edges);
        });
        context.setLineDash([]);
        context.globalAlpha = 1;
        this.paintChosen(context);
        marked.forEach(edge => this.paintMark(context, edge));
        (this.view.paths || []).forEach((path, n) => this.paintPath(context, path, n));
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
            this.arrow(context, x1 + (x2 - x1) * 0.62, y1 + (y2 - y1) * 0.62,
                Math.atan2(y2 - y1, x2 - x1), 9);
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
            this.arrow(context, x1 + shift + (x2 - x1) * 0.55, y1 + (y2 - y1) * 0.55,
                Math.atan2(y2 - y1, x2 - x1), 8);
        }
    }

    // Cased, so that its colour stays what it is.
    paintChosen(context) {
        const {drawn, chosen, most, colours} = this.view;
        const edge = drawn.edges[drawn.edgeOf[chosen]];
        if (!edge) {
            return;
        }
        const [x1, y1, x2, y2] = this.edgeEnds(edge);
        const known = edge.worst === edge.worst;
        for (const [width, colour] of [[9, this.ink.ink],
            [5, known ? css(colours[step(edge.worst, most)]) : this.ink.unknown]]) {
            context.strokeStyle = colour;
            context.lineWidth = width;
            context.beginPath();
            context.moveTo(x1, y1);
            context.lineTo(x2, y2);
            context.stroke();
        }
        context.fillStyle = this.ink.ink;
        this.arrow(context, (x1 + x2) / 2, (y1 + y2) / 2, Math.atan2(y2 - y1, x2 - x1), 11);
    }

    paintItems(context) {
        this.view.drawn.items.forEach(item => item.box ? this.paintBox(context, item)
            : this.paintNode(context, item, item.room * this.wide * this.at.k));
    }

    paintNode(context, item, room) {
        context.font = FONT;
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
            this.paintHosts(context, hosts, x, y + 20, room);
        }
        if (room > 58) {
            this.label(context, fit(context, item.label, room - 8), x,
                y + (hosts ? 42 : node.level ? -13 : 24));
        } else if (room > 15 && !this.view.network.folds) {
            this.slanted(context, fit(context, item.label, 84), x,
                y + (hosts ? 34 : node.level ? -12 : 16), node.level);
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

    paintHosts(context, hosts, x, y, room) {
        const shown = hosts.slice(0, 12), pitch = Math.min(12, (room - 6) / shown.length),
            size = Math.min(6, pitch - 1.5);
        shown.forEach((host, n) => {
            const at = x + (n - (shown.length - 1) / 2) * pitch;
            if (host.missing) {
                this.cross(context, at, y, size * 0.7);
            } else if (size > 1) {
                context.fillStyle = this.ink.soft;
                context.fillRect(at - size / 2, y - size / 2, size, size);
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
        this.nameBox(context, item, x + wide / 2, y - 5, wide);
    }

    // All of its name, its number, or each second or fifth number where there is no room.
    nameBox(context, item, x, y, wide) {
        context.font = FONT;
        const letters = String(this.view.network.groups.length).length;
        const short = context.measureText('0'.repeat(letters)).width, pitch = wide / 0.78;
        const every = [1, 2, 5, 10].find(n => short + 5 < n * pitch) ?? 20;
        if (context.measureText(item.label).width < wide - 4) {
            this.label(context, item.label, x, y);
        } else if (!(Number(item.short) % every) || item.marks) {
            this.label(context, item.short, x, y);
        }
    }

    // Readable above lines, too.
    label(context, text, x, y) {
        context.textAlign = 'center';
        this.words(context, text, x, y);
    }

    words(context, text, x, y) {
        context.font = FONT;
        context.lineWidth = 4;
        context.lineJoin = 'round';
        context.strokeStyle = this.ink.page;
        context.strokeText(text, x, y);
        context.fillStyle = this.ink.soft;
        context.fillText(text, x, y);
    }

    // Where there is no room side by side.
    slanted(context, text, x, y, level) {
        context.save();
        context.translate(x, y);
        context.rotate(level ? -Math.PI / 4 : Math.PI / 4);
        context.textAlign = 'left';
        this.words(context, text, 0, level ? 0 : 4);
        context.restore();
    }

    // ---- what is under the pointer ----

    where(event) {
        const box = this.canvas.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
    }

    line(x, y) {
        let best = null, least = NEAR;
        for (const edge of this.view.drawn.shown) {
            const [x1, y1, x2, y2] = this.edgeEnds(edge);
            const long = (x2 - x1) ** 2 + (y2 - y1) ** 2 || 1;
            const t = Math.max(0, Math.min(1,
                ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / long));
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
        const node = this.view.drawn.items.find(item => !item.box &&
            Math.hypot(...this.place(item).map((at, n) => at - [x, y][n])) < 7);
        if (node) {
            return {node: node.nodes[0]};
        }
        const edge = this.line(x, y);
        return edge && (edge.members.length === 1 ? {link: edge.members[0]} : {bundle: edge});
    }

    click(event) {
        const hit = this.view && this.under(...this.where(event));
        if (hit && hit.node === undefined) {
            this.on.pick(hit);
        }
    }

    hover(event) {
        if (this.view && !event.buttons) {
            const at = this.where(event);
            const hit = this.under(...at);
            this.canvas.style.cursor = hit && hit.node === undefined ? 'pointer' : 'grab';
            this.on.hover(hit, at);
        }
    }

    key(event) {
        const moves = {ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60],
            ArrowDown: [0, -60]};
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
            return spot && {x: box.left + this.at.applyX(left + (spot[0] + 0.5) * across),
                y: box.top + this.at.applyY(top + (spot[1] + 0.5) * down), bundle: false};
        }
        const edge = this.view.drawn.edges[this.view.drawn.edgeOf[i]];
        if (edge) {
            const [x1, y1, x2, y2] = this.edgeEnds(edge);
            return {x: box.left + x1 + (x2 - x1) * 0.3, y: box.top + y1 + (y2 - y1) * 0.3,
                bundle: edge.members.length > 1};
        }
        const item = this.view.drawn.items[this.view.drawn.itemOfInside[i]];
        if (!item) {
            return null;
        }
        const [x, y] = this.place(item);
        return {x: box.left + x, y: box.top + y, bundle: true};
    }
}
