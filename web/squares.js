// SPDX-License-Identifier: Apache-2.0
// The matrix: a square for each directed link, all of them in one image.

import {FONT, STEPS, pixels, rgb} from './scale.js';

const SQUARE = 84;              // pixels, at most

// Less than a pixel cannot keep pods apart: they touch, and lines are drawn between them.
function closeGaps(steps, columns, y, high, last) {
    for (let row = y; row < y + high; row++) {
        for (let at = row * columns + 1; at <= row * columns + last; at++) {
            steps[at] = steps[at] === -2 ? steps[at - 1] : steps[at];
        }
    }
}

export class Squares {
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
        const across = (this.wide - 2 * left) / wide,
            down = (this.high - top - 14) / Math.max(1, y - gap);
        return {placed, wide, high: y, left, top, across: Math.max(0.2, Math.min(across, SQUARE)),
            down: Math.max(0.2, Math.min(down, SQUARE))};
    }

    paintMatrix(context) {
        const {panels, values, marks, most, colours} = this.view;
        this.grid = this.arrange();
        const {placed, wide, high, across} = this.grid;
        // Where a square would be less than a pixel, one pixel is the worst of those that it
        // covers.
        const columns = Math.min(wide,
            Math.max(1, Math.floor(wide * across * this.at.k * this.ratio)));
        const steps = new Int16Array(columns * high).fill(-2);  // -1: not known
        const scale = (STEPS - 1) / most;
        const marked = [];
        for (const {panel, y} of placed) {
            for (let row = 0, at = 0; row < panel.high; row++) {
                for (let column = 0; column < panel.wide; column++, at++) {
                    const i = panel.grid[at];
                    if (i < 0) {
                        continue;
                    }
                    const value = values[i], to = (y + row) * columns +
                        (columns === wide ? column : Math.floor(column * columns / wide));
                    const n = value === value
                        ? Math.max(0, Math.min(STEPS - 1, value * scale + 0.5 | 0)) : -1;
                    steps[to] = steps[to] > n ? steps[to] : n;
                    if (marks[i]) {
                        marked.push([column, y + row, marks[i]]);
                    }
                }
            }
        }
        if (columns < wide) {
            placed.forEach(({panel, y}) => closeGaps(steps, columns, y, panel.high,
                Math.floor((panel.wide - 1) * columns / wide)));
        }
        this.putSteps(steps, columns, high,
            pixels(colours, rgb(this.ink.unknown), rgb(this.ink.page)));
        this.squares(context, marked);
        if (panels.length) {
            this.paintLabels(context);
        }
    }

    putSteps(steps, wide, high, lut) {
        if (this.image.width !== wide || this.image.height !== high) {
            this.image.width = wide;
            this.image.height = high;
        }
        const image = new ImageData(wide, high);
        const out = new Uint32Array(image.data.buffer);
        for (let at = 0; at < out.length; at++) {
            out[at] = lut[steps[at] >= 0 ? steps[at] : STEPS - 1 - steps[at]];
        }
        this.image.getContext('2d').putImageData(image, 0, 0);
    }

    squares(context, marked) {
        const {wide, high, left, top, across, down} = this.grid;
        context.imageSmoothingEnabled = false;
        context.drawImage(this.image, this.at.applyX(left), this.at.applyY(top),
            wide * across * this.at.k, high * down * this.at.k);
        if (across * this.at.k > 8 && down * this.at.k > 8) {
            this.grille(context);
        } else if (across * this.at.k * this.ratio < 1) {
            this.fences(context);
        }
        context.strokeStyle = this.ink.bad;
        context.lineWidth = 2;
        const spots = [...marked, ...this.chosenSpot()];
        for (const [x, y, mark] of spots) {
            const size = [Math.max(6, across * this.at.k), Math.max(6, down * this.at.k)];
            const [px, py] = [this.at.applyX(left + (x + 0.5) * across),
                this.at.applyY(top + (y + 0.5) * down)];
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

    fences(context) {
        const {placed, left, top, across, down} = this.grid;
        context.fillStyle = this.ink.page;
        for (const {panel, y} of placed) {
            const first = this.at.applyY(top + y * down),
                last = this.at.applyY(top + (y + panel.high) * down);
            panel.starts.forEach(([column]) =>
                context.fillRect(Math.round(this.at.applyX(left + column * across)) - 1, first, 1,
                    last - first));
        }
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
            const line = this.at.applyY(top + y * down) - 4, first = this.at.applyX(left);
            context.fillText(panel.label, first, line);
            const free = first + context.measureText(panel.label).width + 8;
            panel.starts.forEach(([column, pod], n) => {
                const wide = ((panel.starts[n + 1]?.[0] ?? panel.wide) - column) *
                    across * this.at.k;
                const words = wide > 44 ? `pod ${pod}` : String(pod),
                    x = this.at.applyX(left + column * across);
                if (pod && x > free && context.measureText(words).width + 3 < wide) {
                    context.fillText(words, x, line);
                }
            });
        }
    }

    square(x, y) {
        if (!this.grid) {
            return -1;
        }
        const {placed, left, top, across, down} = this.grid;
        const column = Math.floor((this.at.invertX(x) - left) / across),
            row = Math.floor((this.at.invertY(y) - top) / down);
        const spot = placed.find(({panel, y: first}) => row >= first && row < first + panel.high);
        return spot && column >= 0 && column < spot.panel.wide
            ? spot.panel.grid[(row - spot.y) * spot.panel.wide + column] : -1;
    }
}
