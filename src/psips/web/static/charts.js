// Charts that can be zoomed and pointed at, drawn by Plotly. Plotly reads tags, entities and
// templates into texts, so that names go through `text` first, which makes them texts again.
"use strict";

(() => {
  const chart = document.getElementById("chart");
  const front = document.getElementById("front");
  const reading = document.getElementById("reading");
  const followed = window.psipsFollowed;
  const source = document.getElementById("charts-script").dataset.plotly;
  const SYMBOLS = ["diamond", "circle", "circle-open", "x-thin-open"];
  const RADIUS = 2.4477468306808161; // of a standard normal in the plane that holds 95%
  const NAMED = 25; // options whose names are written next to them
  const ROWS = 40; // options of a chart of intervals
  const config = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: "reset" };
  let data = null; // of the options
  let series = null; // over time
  let view = "";
  let at = -1; // option that the arrow keys have come to

  // Names as texts: without tags, and with letters from right to left kept to themselves.
  function text(name) {
    const plain = String(name).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\$/g, "&#36;");
    return `\u2068${plain}\u2069`;
  }

  function short(name, most = 18) {
    const letters = [...name];
    return letters.length <= most ? name : `${letters.slice(0, most - 1).join("")}…`;
  }

  function colour(name) {
    const probe = document.createElement("span");
    probe.className = `probe-${name}`;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }

  let ink = {};
  function mix() {
    for (const name of ["text", "soft", "line", "card", "accent", "m0", "m1", "m2", "m3"]) ink[name] = colour(name);
  }

  const faded = (rgb, share) => `rgba(${rgb.match(/[\d.]+/g).slice(0, 3).join(",")},${share})`;
  const markColour = (option) => ink[`m${option.mark}`];
  const share = (option) => (followed.name && followed.name !== option.name ? 0.25 : 1);

  function shown() {
    const hide = document.getElementById("hide");
    return data.options.filter((o) => !(hide && hide.checked && o.mark === 3));
  }

  function axis(title, more = {}) {
    return { title: { text: text(title), font: { size: 13 } }, gridcolor: ink.line, zeroline: false,
      linecolor: ink.line, tickcolor: ink.line, automargin: true, fixedrange: false, ...more };
  }

  // The title of a metric's axis, cut where its side of the chart is too short for it.
  function titled(metric, px) {
    const way = metric.title.slice(metric.title.lastIndexOf(" ("));
    return short(metric.title.slice(0, -way.length), Math.max(8, Math.floor(px / 7.2) - way.length)) + way;
  }

  function layout(more) {
    return { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
      font: { family: "system-ui, sans-serif", size: 12, color: ink.text }, hovermode: "closest",
      hoverlabel: { bgcolor: ink.card, bordercolor: ink.soft, font: { color: ink.text, size: 13 }, align: "left", namelength: -1 },
      margin: { l: 60, r: 16, t: 16, b: 48 }, dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom", ...more };
  }

  function tip(option) {
    const lines = [`${text(option.name)}`];
    data.metrics.forEach((metric, c) => {
      const mean = option.means[c];
      const error = option.errors[c];
      if (mean === null) return;
      const digits = error ? Math.max(0, Math.min(8, 1 - Math.floor(Math.log10(error)))) : 6;
      const numbers = error ? `${mean.toFixed(digits)} ± ${error.toFixed(digits)}` : `${+mean.toPrecision(6)}`;
      lines.push(`${text(short(metric.name, 40))}: ${numbers}`);
    });
    lines.push(text(option.label));
    return lines.join("<br>");
  }

  function ellipse(option, x, y) {
    const C = option.covariance;
    if (!C || [C[x][x], C[x][y], C[y][y]].some((v) => v === null)) return [];
    const a = Math.sqrt(Math.max(C[x][x], 0)); // a factor of the covariance
    const b = a ? C[x][y] / a : 0;
    const c = Math.sqrt(Math.max(C[y][y] - b * b, 0));
    const corners = data.options.length > 100 ? 20 : 48;
    return Array.from({ length: corners + 1 }, (_, k) => {
      const turn = (2 * Math.PI * k) / corners;
      const [u, v] = [RADIUS * Math.cos(turn), RADIUS * Math.sin(turn)];
      return [option.means[x] + a * u, option.means[y] + b * u + c * v];
    });
  }

  function reach(values) {
    const known = values.filter((v) => v !== null && Number.isFinite(v));
    if (!known.length) return [0, 1];
    const [low, high] = [Math.min(...known), Math.max(...known)];
    const room = 0.06 * (high - low) || 0.5 * Math.abs(high) || 0.5;
    return [low - room, high + room];
  }

  function marks(options, xs, ys, more = {}) {
    return { type: "scatter", mode: "markers", x: xs, y: ys, hoverinfo: "text",
      hovertext: options.map(tip), customdata: options.map((o) => o.name), cliponaxis: false,
      marker: { symbol: options.map((o) => SYMBOLS[o.mark]), size: options.map((o) => (followed.name === o.name ? 15 : o.mark === 3 ? 8 : 11)),
        color: options.map(markColour), opacity: options.map(share), line: { width: 2, color: options.map(markColour) } }, ...more };
  }

  // Names next to points, where there is room.
  function names(options, x, y, rangeX, rangeY) {
    const wide = chart.clientWidth - 80;
    const high = chart.clientHeight - 64;
    const px = (o) => (wide * (o.means[x] - rangeX[0])) / (rangeX[1] - rangeX[0]);
    const py = (o) => high * (1 - (o.means[y] - rangeY[0]) / (rangeY[1] - rangeY[0]));
    const taken = options.map((o) => [px(o) - 6, py(o) - 6, px(o) + 6, py(o) + 6]);
    const h = data.metrics[x].better; // the border of what is dominated runs on the other side
    const v = -data.metrics[y].better; // in pixels, which count downwards
    const spot = ([right, down]) => [["right", "center", "left"][right + 1], ["bottom", "middle", "top"][down + 1],
      right * (down ? 8 : 10), down * (right ? 7 : 9)];
    const named = (options.length > NAMED ? options.filter((o) => o.candidate).slice(0, NAMED) : options);
    const found = [];
    for (const o of [...named].sort((a, b) => a.mark - b.mark)) {
      const label = short(o.name);
      const size = 7 * [...label].length;
      const spots = [[h, 0], [0, v], [h, v], [-h, v], [h, -v], [-h, 0], [0, -v], [-h, -v]].map(spot);
      for (const [xanchor, yanchor, dx, dy] of spots) {
        const left = px(o) + dx - (xanchor === "left" ? 0 : xanchor === "right" ? size : size / 2);
        const top = py(o) + dy - (yanchor === "top" ? 0 : yanchor === "bottom" ? 15 : 7);
        const box = [left, top, left + size, top + 15];
        const clash = box[0] < -4 || box[2] > wide + 8 || box[1] < -8 || box[3] > high + 4 ||
          taken.some((t, k) => options[k] !== o && box[0] < t[2] && t[0] < box[2] && box[1] < t[3] && t[1] < box[3]);
        if (clash) continue;
        taken.push(box);
        found.push({ x: o.means[x], y: o.means[y], text: text(label), showarrow: false, xanchor, yanchor, xshift: dx, yshift: -dy,
          font: { size: 12, color: faded(ink.text, share(o)) }, captureevents: false });
        break;
      }
    }
    return found;
  }

  function stairs(options, x, y, rangeX, rangeY) {
    const [sx, sy] = [data.metrics[x].better, data.metrics[y].better];
    const inside = (data.limited ? options.filter((o) => o.candidate) : options).filter((o) => !options.some((p) =>
      (!data.limited || p.candidate) && sx * p.means[x] >= sx * o.means[x] && sy * p.means[y] >= sy * o.means[y] &&
      (p.means[x] !== o.means[x] || p.means[y] !== o.means[y])));
    inside.sort((a, b) => sx * (a.means[x] - b.means[x]));
    if (!inside.length) return null;
    const worst = [sx > 0 ? rangeX[0] : rangeX[1], sy > 0 ? rangeY[0] : rangeY[1]];
    const xs = [worst[0]];
    const ys = [inside[0].means[y]];
    inside.forEach((o, i) => {
      xs.push(o.means[x], o.means[x]);
      ys.push(o.means[y], i + 1 < inside.length ? inside[i + 1].means[y] : worst[1]);
    });
    return { type: "scatter", mode: "lines", x: xs, y: ys, hoverinfo: "skip",
      line: { color: faded(ink.m1, 0.7), width: 1.5, dash: data.metrics.length === 2 ? "solid" : "dash" } };
  }

  function plane() {
    const options = shown().filter((o) => o.means.every((m) => m !== null));
    const [x, y] = ["across", "up"].map((id) => document.getElementById(id).selectedIndex);
    const shapes = options.map((o) => ellipse(o, x, y));
    const rangeX = reach([...options.map((o) => o.means[x]), ...shapes.flat().map((p) => p[0])]);
    const rangeY = reach([...options.map((o) => o.means[y]), ...shapes.flat().map((p) => p[1])]);
    const traces = [3, 2, 1, 0].map((m) => {
      const xs = [];
      const ys = [];
      options.forEach((o, k) => {
        if (o.mark !== m || !shapes[k].length) return;
        xs.push(...shapes[k].map((p) => p[0]), null);
        ys.push(...shapes[k].map((p) => p[1]), null);
      });
      return { type: "scatter", mode: "lines", x: xs, y: ys, fill: "toself", hoverinfo: "skip",
        line: { width: 0 }, fillcolor: faded(ink[`m${m}`], followed.name ? 0.06 : 0.15) };
    });
    const one = options.findIndex((o) => o.name === followed.name);
    if (one >= 0 && shapes[one].length) {
      traces.push({ type: "scatter", mode: "lines", x: shapes[one].map((p) => p[0]), y: shapes[one].map((p) => p[1]), fill: "toself",
        hoverinfo: "skip", line: { width: 1.5, color: markColour(options[one]) }, fillcolor: faded(markColour(options[one]), 0.25) });
    }
    const line = stairs(options, x, y, rangeX, rangeY);
    if (line) traces.push(line);
    const order = [...options].sort((a, b) => b.mark - a.mark);
    traces.push(marks(order, order.map((o) => o.means[x]), order.map((o) => o.means[y])));
    const beyond = data.limits.filter((l) => l.metric === x || l.metric === y).map((l) => {
      const [range, ref] = l.metric === x ? [rangeX, "x"] : [rangeY, "y"];
      const bound = Math.min(Math.max(l.at, range[0]), range[1]);
      const ends = l.above ? [bound, range[1]] : [range[0], bound];
      return ref === "x" ? { type: "rect", x0: ends[0], x1: ends[1], yref: "paper", y0: 0, y1: 1, fillcolor: ink.m2, opacity: 0.14, line: { width: 0 }, layer: "below" }
        : { type: "rect", y0: ends[0], y1: ends[1], xref: "paper", x0: 0, x1: 1, fillcolor: ink.m2, opacity: 0.14, line: { width: 0 }, layer: "below" };
    });
    const annotations = names(options, x, y, rangeX, rangeY);
    if (data.note) annotations.push(remark(data.note, chart.clientWidth < 500));
    return [traces, layout({ xaxis: axis(titled(data.metrics[x], chart.clientWidth - 76), { range: rangeX }), yaxis: axis(titled(data.metrics[y], chart.clientHeight - 80), { range: rangeY }), shapes: beyond, annotations, margin: { l: 60, r: 16, t: data.note ? (chart.clientWidth < 500 ? 44 : 32) : 16, b: 48 } })];
  }

  function remark(said, narrow = false) {
    const half = said.indexOf(" ", said.length / 2);
    const lines = narrow ? `${text(said.slice(0, half))}<br>${text(said.slice(half))}` : text(said);
    return { xref: "paper", yref: "paper", x: 0, y: 1, yshift: narrow ? 36 : 24, xanchor: "left", align: "left", showarrow: false, text: lines, font: { size: 12, color: ink.soft } };
  }

  function intervals() {
    const every = [...shown()].sort((a, b) => a.mark - b.mark || a.place - b.place);
    const options = every.slice(0, ROWS).reverse();
    const d = data.metrics.length;
    const narrow = chart.clientWidth < 230 * d;
    const rows = options.map((_, k) => k);
    const traces = [];
    const more = { annotations: every.length > ROWS ? [remark(`The first ${ROWS} of ${every.length} options.`)] : [] };
    const gap = narrow ? 0.12 : 0.06;
    const part = (1 - gap * (d - 1)) / d;
    data.metrics.forEach((metric, c) => {
      const [ax, ay] = [`x${c ? c + 1 : ""}`, `y${c ? c + 1 : ""}`];
      traces.push(marks(options, options.map((o) => o.means[c]), rows, { xaxis: ax, yaxis: ay,
        error_x: { type: "data", array: options.map((o) => 1.96 * (o.errors[c] || 0)), color: faded(ink.soft, 0.7), thickness: 2, width: 0 } }));
      const span = [c * (part + gap), c * (part + gap) + part];
      more[`xaxis${c ? c + 1 : ""}`] = axis(titled(metric, (chart.clientWidth - 110) * (narrow ? 1 : part)), { domain: narrow ? [0, 1] : span, anchor: ay,
        range: reach(options.flatMap((o) => [-1, 1].map((k) => (o.means[c] === null ? null : o.means[c] + k * 1.96 * (o.errors[c] || 0))))) });
      more[`yaxis${c ? c + 1 : ""}`] = { domain: narrow ? [1 - span[1], 1 - span[0]] : [0, 1], anchor: ax, tickvals: rows, gridcolor: ink.line, zeroline: false,
        ticktext: narrow || c === 0 ? options.map((o) => text(short(o.name, 16))) : rows.map(() => ""), range: [-0.6, options.length - 0.4], automargin: true, fixedrange: true };
    });
    const one = Math.max(180, 26 * options.length + 60);
    return [traces, layout({ ...more, height: narrow ? d * (one + 30) : one + 30 })];
  }

  function parallel() {
    const options = [...shown()].filter((o) => o.means.every((m) => m !== null)).sort((a, b) => b.mark - a.mark);
    const ranges = data.metrics.map((_, c) => reach(options.map((o) => o.means[c])));
    const place = (o, c) => {
      const part = (o.means[c] - ranges[c][0]) / (ranges[c][1] - ranges[c][0]);
      return data.metrics[c].better > 0 ? part : 1 - part;
    };
    const across = data.metrics.map((_, c) => c);
    const traces = options.map((o) => ({ type: "scatter", mode: "lines+markers", cliponaxis: false, x: across, y: across.map((c) => place(o, c)), hoverinfo: "text",
      hovertext: across.map(() => tip(o)), customdata: across.map(() => o.name), opacity: share(o),
      line: { color: markColour(o), width: followed.name === o.name ? 4 : o.candidate ? 2 : 1 },
      marker: { color: markColour(o), size: 7, symbol: SYMBOLS[o.mark], line: { color: markColour(o), width: 1.5 } } }));
    const annotations = [];
    data.metrics.forEach((metric, c) => {
      const best = metric.better > 0 ? ranges[c][1] : ranges[c][0];
      const worst = metric.better > 0 ? ranges[c][0] : ranges[c][1];
      const anchor = c === 0 ? "left" : c === data.metrics.length - 1 ? "right" : "center";
      const most = Math.max(5, Math.floor(chart.clientWidth / data.metrics.length / 8));
      const letters = most < 11 ? 2 * most : most;
      const up = most < 11 && c % 2 ? 54 : 36; // on a narrow screen every other one is higher
      annotations.push({ x: c, y: 1, yshift: up, xanchor: anchor, text: text(short(metric.name, letters)), showarrow: false, font: { size: 13 } });
      annotations.push({ x: c, y: 1, yshift: 16, xanchor: anchor, text: `${+best.toPrecision(3)}`, showarrow: false, font: { color: ink.soft } });
      annotations.push({ x: c, y: 0, yshift: -14, xanchor: anchor, text: `${+worst.toPrecision(3)}`, showarrow: false, font: { color: ink.soft } });
    });
    annotations.push({ xref: "paper", yref: "paper", x: 0, y: 0, yshift: -34, xanchor: "left", text: "Higher is better in every metric.", showarrow: false, font: { color: ink.soft } });
    const lines = across.map((c) => ({ type: "line", x0: c, x1: c, y0: 0, y1: 1, line: { color: ink.line, width: 1.5 }, layer: "below" }));
    return [traces, layout({ xaxis: { visible: false, range: [-0.05, data.metrics.length - 0.95], fixedrange: true }, yaxis: { visible: false, range: [-0.02, 1.02], fixedrange: true },
      annotations, shapes: lines, margin: { l: 24, r: 24, t: 72, b: 48 } })];
  }

  function space() {
    const options = shown().filter((o) => o.means.every((m) => m !== null));
    const of = (c) => options.map((o) => o.means[c]);
    const trace = { type: "scatter3d", mode: "markers", x: of(0), y: of(1), z: of(2), hoverinfo: "text", hovertext: options.map(tip), customdata: options.map((o) => o.name),
      marker: { symbol: options.map((o) => ["diamond", "circle", "circle-open", "x"][o.mark]), size: options.map((o) => (followed.name === o.name ? 10 : 6)), color: options.map((o) => faded(markColour(o), share(o))),
        line: { color: options.map((o) => faded(markColour(o), share(o))), width: 1 } } };
    const narrow = chart.clientWidth < 500;
    const far = narrow ? 1.75 : 1.3; // how far the eye is, so that the titles are in the picture
    const side = (c) => ({ title: { text: short(narrow ? data.metrics[c].name : data.metrics[c].title, narrow ? 14 : 28), font: { size: 12 } }, gridcolor: ink.line, color: ink.soft, backgroundcolor: "rgba(0,0,0,0)", showspikes: false });
    return [[trace], layout({ scene: { xaxis: side(0), yaxis: side(1), zaxis: side(2), dragmode: "turntable", camera: { eye: { x: far, y: far, z: 0.8 * far }, center: { x: 0, y: 0, z: -0.15 } }, uirevision: "space" }, margin: { l: 0, r: 0, t: 0, b: 0 } })];
  }

  const VIEWS = { plane: ["Plane", plane], intervals: ["Each metric", intervals], space: ["Space", space], parallel: ["Parallel", parallel] };

  function possible() {
    const d = data.metrics.length;
    return ["plane", "intervals", "space", "parallel"].filter((name) =>
      name === "intervals" || (name === "plane" && d > 1) || (name === "space" && d === 3) || (name === "parallel" && d > 2));
  }

  function buttons() {
    const group = document.getElementById("views");
    group.replaceChildren(...possible().map((name) => {
      const button = document.createElement("button");
      button.type = "button";
      button.id = `view-${name}`;
      button.textContent = VIEWS[name][0];
      button.setAttribute("aria-pressed", String(name === view));
      button.addEventListener("click", () => { view = name; buttons(); draw(); });
      return button;
    }));
    group.hidden = group.children.length < 2;
    for (const id of ["across", "up"]) {
      const select = document.getElementById(id);
      if (select) select.parentElement.hidden = view !== "plane";
    }
  }

  let kind = "";
  async function draw() {
    mix();
    if (!shown().length) { document.documentElement.classList.remove("drawn-by-script"); chart.hidden = true; return; }
    chart.hidden = false;
    document.documentElement.classList.add("drawn-by-script");
    const [traces, arranged] = VIEWS[view][1]();
    const next = `${view} ${["across", "up"].map((id) => document.getElementById(id)?.selectedIndex)}`;
    if (view === "plane") keepZoom(arranged, kind === next);
    if (kind.split(" ")[0] !== view) Plotly.purge(chart);
    kind = next;
    chart.classList.toggle("tall", view === "intervals");
    await Plotly.react(chart, traces, arranged, config);
    if (!chart.dataset.heard) listen();
    chart.dataset.view = view;
  }

  // A zoom stays while the study goes on.
  function keepZoom(arranged, same) {
    for (const name of ["xaxis", "yaxis"]) {
      const now = chart.layout && chart.layout[name];
      const zoomed = same && now && JSON.stringify(now.range) !== chart.dataset[name];
      chart.dataset[name] = JSON.stringify(arranged[name].range);
      if (zoomed) arranged[name].range = now.range;
    }
  }

  function listen() {
    chart.dataset.heard = "yes";
    chart.on("plotly_click", (event) => {
      const name = event.points[0] && event.points[0].customdata;
      if (name !== undefined) followed.name = name === followed.name ? "" : name;
    });
    chart.on("plotly_hover", (event) => {
      const option = data.options.find((o) => o.name === event.points[0].customdata);
      if (option) reading.textContent = option.said;
    });
  }

  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const options = data ? shown() : [];
    if (event.key === "Escape" && followed.name) followed.name = "";
    if (!step || !options.length) return;
    at = (at + step + options.length) % options.length;
    followed.name = options[at].name;
    reading.textContent = options[at].said;
    event.preventDefault();
  });

  // Over time

  function lines(box, traces, more) {
    return Plotly.react(box, traces, layout({ margin: { l: 56, r: 12, t: 12, b: 44 }, ...more }), config);
  }

  // Counts have no tenths.
  const whole = ([low, high]) => (high - low < 6 ? { dtick: 1 } : {});

  // Names at the ends of lines, with room between them.
  function ends(arms, box, palette) {
    const most = Math.max(...arms.map((arm) => arm.counts.at(-1)), 1);
    const line = (15 * most) / Math.max(box.clientHeight - 56, 100);
    let free = -Infinity;
    const places = arms.map((arm, rank) => [arm.counts.at(-1), rank]).sort((a, b) => a[0] - b[0]).map(([count, rank]) => {
      free = Math.max(count, free + line);
      return [free, rank];
    });
    return places.map(([y, rank]) => ({ x: series.results.at(-1), y, xanchor: "left", yanchor: "middle", xshift: 4, showarrow: false,
      text: text(short(arms[rank].name, 13)), font: { size: 11, color: palette[rank] } }));
  }

  function overTime() {
    const palette = [ink.m1, "#E69F00", ink.m0, ink.m2, "#CC79A7", "#56B4E9", ink.text];
    const pulls = series.arms.map((arm, rank) => {
      const faint = followed.name && series.answers ? followed.name !== arm.name : rank >= palette.length;
      return { type: "scatter", mode: "lines", x: series.results, y: arm.counts, hoverinfo: "text", customdata: series.results.map(() => arm.name),
        hovertext: arm.counts.map((n, k) => `${text(arm.name)}<br>${n} of ${series.results[k]}`), opacity: faint ? 0.35 : 1,
        line: { shape: "linear", width: faint ? 1 : followed.name === arm.name ? 4 : 2, color: rank < palette.length ? palette[rank] : ink.m3 } };
    }).reverse();
    const box = document.getElementById("pulls-chart");
    const named = ends(series.arms.slice(0, palette.length), box, palette);
    const most = 1.06 * Math.max(1, series.arms[0].counts.at(-1), ...named.map((one) => one.y));
    lines(box, pulls, { xaxis: axis("measurements in all", { range: [0, series.results.at(-1)], ...whole([0, series.results.at(-1)]) }),
      yaxis: axis("measurements", { range: [0, most], ...whole([0, most]) }),
      annotations: named, margin: { l: 56, r: box.clientWidth < 360 ? 84 : 104, t: 12, b: 44 } });
    if (!box.dataset.heard) {
      box.dataset.heard = "yes";
      box.on("plotly_click", (event) => { followed.name = event.points[0].customdata === followed.name ? "" : event.points[0].customdata; });
    }
    const e = series.evidence;
    document.getElementById("evidence").hidden = !e.results;
    document.getElementById("no-evidence").hidden = Boolean(e.results);
    if (!e.results) return;
    const right = document.getElementById("evidence-chart");
    const name = e.log ? "probability of another set" : e.unit;
    const found = [
      { type: "scatter", mode: "lines", x: e.results, y: e.value, line: { color: ink.m1, width: 2 }, hoverinfo: "x+y", name },
      { type: "scatter", mode: "lines", x: e.results, y: e.threshold, line: { color: ink.m2, width: 2, dash: "dash" }, hoverinfo: "text", hovertext: e.results.map(() => "the study stops here") },
    ];
    const span = [e.results[0], Math.max(e.results.at(-1), e.results[0] + 1)];
    const stops = [...series.saved].sort((a, b) => a.at - b.at);
    const shapes = stops.map((one) => ({ type: "line", x0: one.at, x1: one.at, yref: "paper", y0: 0, y1: 1, line: { color: ink.m3, dash: "dot", width: 1.5 } }));
    lines(right, found, { xaxis: axis("measurements in all", { range: span, ...whole(span) }), yaxis: axis(name, { type: e.log ? "log" : "linear", rangemode: e.log ? "normal" : "tozero" }),
      shapes, annotations: letters(stops, span, right.clientWidth - 72), margin: { l: 56, r: 16, t: stops.length ? 26 : 12, b: 44 } });
    listStops(stops);
  }

  // A letter above each dotted line; lines that are too close for that share one label.
  function letters(stops, [low, high], wide) {
    const labels = [];
    stops.forEach((one, k) => {
      const letter = String.fromCharCode(97 + k);
      const px = (wide * (one.at - low)) / (high - low);
      const near = labels.at(-1);
      if (near && px - near.px < 7 * near.text.length + 14) {
        near.text += ` ${letter}`;
        near.x = (near.first + one.at) / 2;
        near.px = px;
      } else labels.push({ text: letter, x: one.at, first: one.at, px });
    });
    return labels.map((label) => ({ x: label.x, yref: "paper", y: 1, yanchor: "bottom", yshift: 2, text: label.text, showarrow: false, font: { size: 12, color: ink.soft } }));
  }

  // What the letters stand for, below the chart, where there is room for long names.
  function listStops(stops) {
    const list = document.getElementById("evidence-stops");
    list.hidden = !stops.length;
    list.querySelector("dl").replaceChildren(...stops.flatMap((one, k) => {
      const [letter, said] = [document.createElement("dt"), document.createElement("dd")];
      letter.textContent = String.fromCharCode(97 + k);
      said.textContent = `${one.at.toLocaleString("en")} measurements with \u2068${one.said}\u2069`;
      return [letter, said];
    }));
  }

  // Do something again when there is news, and rest five times as long as it took.
  function rested(task) {
    let busy = false;
    let due = false;
    return async function again() {
      if (busy) { due = true; return; }
      busy = true;
      const began = performance.now();
      await task().catch(() => {});
      setTimeout(() => {
        busy = false;
        if (due) { due = false; again(); }
      }, 5 * (performance.now() - began));
    };
  }

  async function load(address) {
    const answer = await fetch(address, { redirect: "error" });
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.json();
  }

  // The picture that is printed; names in it are escaped by the server.
  function printed() {
    const page = new DOMParser().parseFromString(data.picture, "text/html");
    front.replaceChildren(...page.body.childNodes);
  }

  async function show() {
    const asked = new URLSearchParams(new FormData(document.querySelector("[data-choices]")));
    data = await load(`${chart.dataset.source}?${asked}`);
    if (document.documentElement.classList.contains("drawn-by-script")) printed();
    if (!possible().includes(view)) view = data.metrics.length > 3 ? "parallel" : possible()[0];
    buttons();
    await draw();
  }

  async function showTimeSeries() {
    series = await load(document.getElementById("pulls-chart").dataset.source);
    if (!series.results.length || !document.getElementById("pulls-picture")) return;
    document.getElementById("time-charts").hidden = false;
    mix();
    overTime();
    document.documentElement.classList.add("time-drawn");
  }

  function again() { if (data && shown().length) draw(); if (series) { mix(); overTime(); } }

  function start() {
    const script = document.createElement("script");
    script.src = source;
    script.addEventListener("load", () => {
      show().catch(() => {});
      showTimeSeries().catch(() => {});
      document.addEventListener("psips:news", rested(show));
      document.addEventListener("psips:news", rested(showTimeSeries));
    });
    document.head.append(script);
    document.addEventListener("psips:option", again);
    document.addEventListener("psips:theme", again);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    const form = document.querySelector("[data-choices]");
    form.dataset.drawn = "yes";
    form.addEventListener("change", () => { if (data) draw(); });
  }

  if (chart && front) start();
})();
