// Copying networks in a page: itekit/model.py again, for one string at a time, and a panel.
//
// A network is {tokens, matrices, weights, layers, heads, base, shared}: tokens by identifier (0 padding,
// 1 end, 2 start, then the characters); the embedding matrices U, one for each draw of the random
// parts, each a list of rows; tensors by name, as in the checkpoint; the numbers of layers (of each
// side) and heads; RoPE's base; and how many columns of U are learned, where the others are a vertex
// of the hypercube, else null. A vector is an array of D numbers. Names and steps are those of Python.

const END = 1, START = 2, LONGEST = 60;

// A network as Python packs it: all float32 numbers one after another, in base64.
function unpack({ sizes, numbers, ...network }) {
  const bytes = Uint8Array.from(atob(numbers), (one) => one.charCodeAt(0));
  const floats = new Float32Array(bytes.buffer), weights = {};
  let at = 0;
  for (const [name, size] of sizes) weights[name] = floats.subarray(at, (at += size));
  const { matrices, ...others } = weights, V = network.tokens.length;
  const D = others["encoder.0.norm_attention.bias"].length, rows = [];
  for (let i = 0; i < matrices.length; i += D) rows.push(Array.from(matrices.subarray(i, i + D)));
  const draws = Array.from({ length: rows.length / V }, (_, draw) => rows.slice(draw * V, (draw + 1) * V));
  return { ...network, weights: others, matrices: draws };
}

const dot = (a, b, from = 0, to = a.length) => {
  let sum = 0;
  for (let i = from; i < to; i++) sum += a[i] * b[i];
  return sum;
};
const sum = (a) => a.reduce((x, y) => x + y, 0);
const add = (a, b) => a.map((x, i) => x + b[i]);

// Weights [outputs, D] times x, plus the bias.
function linear({ weights }, name, x) {
  const W = weights[name + ".weight"], D = x.length;
  return Array.from(weights[name + ".bias"], (bias, row) => {
    let y = bias;
    for (let i = 0; i < D; i++) y += W[row * D + i] * x[i];
    return y;
  });
}

// Layer norm: mean 0 and variance 1, then a learned scale and shift.
function norm({ weights }, name, x) {
  const mean = sum(x) / x.length, centred = x.map((v) => v - mean);
  const deviation = Math.sqrt(dot(centred, centred) / x.length + 1e-6);
  const scale = weights[name + ".weight"], shift = weights[name + ".bias"];
  return centred.map((v, i) => (v / deviation) * scale[i] + shift[i]);
}

// RoPE: each head turns its pairs (x_2j, x_2j+1) by the angle position × base^(-2j / d).
function rotate({ heads, base }, x, position) {
  const d = x.length / heads, turned = [...x];
  for (let i = 0; i < x.length; i += 2) {
    const angle = position * base ** (-(i % d) / d);
    const cosine = Math.cos(angle), sine = Math.sin(angle);
    turned[i] = x[i] * cosine - x[i + 1] * sine;
    turned[i + 1] = x[i] * sine + x[i + 1] * cosine;
  }
  return turned;
}

// In each head: softmax(query · keys / √d), a weight for each value, and the mean of the values.
function attend({ heads }, query, keys, values) {
  const D = query.length, d = D / heads, mixed = new Array(D).fill(0);
  for (let from = 0; from < D; from += d) {
    const scores = keys.map((key) => dot(query, key, from, from + d) / Math.sqrt(d));
    const highest = Math.max(...scores), parts = scores.map((s) => Math.exp(s - highest));
    const total = sum(parts);
    values.forEach((value, k) => {
      for (let i = from; i < from + d; i++) mixed[i] += (parts[k] / total) * value[i];
    });
  }
  return mixed;
}

// The query of a token; its key and value join those that can be looked at.
function look(network, layer, x, position, seen) {
  const D = x.length, all = linear(network, `${layer}.attention.query_key_value`, x);
  seen.keys.push(rotate(network, all.slice(D, 2 * D), position));
  seen.values.push(all.slice(2 * D));
  return rotate(network, all.slice(0, D), position);
}

// A part of a layer adds what it finds to x, and a norm follows.
const finish = (network, layer, part, x, found) => norm(network, `${layer}.norm_${part}`, add(x, found));

function attention(network, layer, part, x, query, { keys, values }) {
  const mixed = attend(network, query, keys, values);
  return finish(network, layer, part, x, linear(network, `${layer}.${part}.output`, mixed));
}

function feedForward(network, layer, x) {
  const inner = linear(network, `${layer}.feed_forward.inner`, x).map((v) => Math.max(v, 0));
  return finish(network, layer, "feed_forward", x, linear(network, `${layer}.feed_forward.outer`, inner));
}

// The source through the encoder: every token looks at all tokens.
function encode(network, xs) {
  for (let number = 0; number < network.layers; number++) {
    const layer = `encoder.${number}`, seen = { keys: [], values: [] };
    const queries = xs.map((x, position) => look(network, layer, x, position, seen));
    xs = xs.map((x, i) => attention(network, layer, "attention", x, queries[i], seen));
    xs = xs.map((x) => feedForward(network, layer, x));
  }
  return xs;
}

// The tokens and U of a draw, with a row for each new character of a text: the shared part, and a vertex
// that no other character has. `strange` is a new character for which there is no such row.
function extended({ tokens, matrices, shared }, text, draw = 0) {
  const U = matrices[draw % matrices.length], last = U[U.length - 1];
  const strange = [...new Set(text)].filter((one) => tokens.indexOf(one) <= START);
  if (!shared) return { tokens, U, strange: strange[0] };
  const corner = (row) => row.slice(shared).reduce((bits, x) => 2 * bits + (x > 0), 0);
  const width = last.length - shared, taken = new Set(U.slice(START + 1).map(corner));
  const free = Array.from({ length: 2 ** width }, (_, code) => code).filter((code) => !taken.has(code));
  const first = (draw * 13) % free.length, codes = [...free.slice(first), ...free.slice(0, first)];
  const random = (code) => Array.from({ length: width }, (_, i) =>
    Math.abs(last[shared]) * (code & (1 << (width - 1 - i)) ? 1 : -1));
  const rows = strange.slice(0, free.length).map((_, i) => [...last.slice(0, shared), ...random(codes[i])]);
  return { tokens: [...tokens, ...strange], U: [...U, ...rows], strange: strange[free.length] };
}

// Greedy decoding: the copy of a text, at most twice as long. A token looks at those before it and
// at the source. What is written is the row of U with the largest cosine to the features, which are
// as long for all rows; only the end and the characters can be.
function copy(network, text, draw = 0) {
  const { tokens, U } = extended(network, text, draw), characters = [...text];
  const D = U[0].length, vector = (id) => U[id].map((v) => v * Math.sqrt(D));
  const ids = [...characters.map((one) => tokens.indexOf(one)), END];
  const source = encode(network, ids.map(vector));
  const layers = Array.from({ length: network.layers }, (_, number) => {
    const name = `decoder.${number}`;
    const pairs = source.map((x) => linear(network, `${name}.cross.key_value`, x));
    const keys = pairs.map((pair, position) => rotate(network, pair.slice(0, D), position));
    const values = pairs.map((pair) => pair.slice(D));
    return { name, seen: { keys: [], values: [] }, source: { keys, values } };
  });
  let written = "", token = START;
  for (let position = 0; position < 2 * characters.length; position++) {
    let x = vector(token);
    for (const { name, seen, source } of layers) {
      x = attention(network, name, "attention", x, look(network, name, x, position, seen), seen);
      const query = rotate(network, linear(network, `${name}.cross.query`, x), position);
      x = attention(network, name, "cross", x, query, source);
      x = feedForward(network, name, x);
    }
    const logits = U.map((row, id) => (id === END || id > START ? dot(row, x) : -Infinity));
    token = logits.indexOf(Math.max(...logits));
    if (token === END) break;
    written += tokens[token];
  }
  return written;
}

// The panel

// The fewest edits from one string to another: [sign, what is written], "·" where a character is
// missing. Signs: " " kept, "≠" replaced, "−" left out, "+" too many.
function edits(before, after) {
  const costs = [...before, ""].map(() => []);
  for (let i = before.length; i >= 0; i--)
    for (let j = after.length; j >= 0; j--) {
      const rest = (di, dj) => costs[i + di]?.[j + dj] ?? Infinity;
      const same = i < before.length && before[i] === after[j];
      const last = i === before.length && j === after.length;
      costs[i][j] = last ? 0 : same ? rest(1, 1) : 1 + Math.min(rest(1, 1), rest(1, 0), rest(0, 1));
    }
  const found = [];
  for (let i = 0, j = 0; i < before.length || j < after.length; ) {
    const cost = costs[i][j], [both, less] = [costs[i + 1]?.[j + 1], costs[i + 1]?.[j]];
    if (before[i] === after[j] && both === cost) found.push([" ", after[j]]), i++, j++;
    else if (both === cost - 1) found.push(["≠", after[j]]), i++, j++;
    else if (less === cost - 1) found.push(["−", "·"]), i++;
    else found.push(["+", after[j]]), j++;
  }
  return found;
}

const COLOURS = { "≠": "#E69F00", "−": "#CC79A7", "+": "#56B4E9" };
const STYLE = `
.copies { font: 14px/1.5 system-ui, sans-serif; max-width: 840px }
.copies .controls { display: flex; flex-wrap: wrap; gap: .6em 1.2em; align-items: center }
.copies label { display: flex; gap: .5em; align-items: center; margin: 0 }
.copies .text { flex: 1 1 100% }
.copies .text input { flex: 1; min-width: 0; font: 14px monospace; padding: .3em }
.copies .old { opacity: .35 }
.copies .answer { display: grid; grid-template-columns: max-content 1fr; gap: .3em 1.5em; margin: 1em 0 .3em }
.copies code { white-space: pre-wrap; background: none; color: inherit; padding: 0; border: 0; font: 14px/1.3 monospace; overflow-wrap: anywhere }
.copies .signed { display: inline-block; text-align: center; min-width: 1ch; vertical-align: top }
.copies .signed i { display: block; height: 1.2em; font-style: normal }
.copies .rows { display: grid; background: white; color: #222; padding: .4em; font-size: 12px }
.copies .rows b { font-weight: normal; padding-right: .5em; text-align: right; white-space: nowrap }
.copies .rows i { min-height: 1.5em }
.copies .cut { border-left: 2px solid black }
`;

const escaped = (text) => text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);

// HTML: a network's answer with its distance, every edit marked by a sign and a colour.
function answerHtml(name, network, text, draw) {
  const { strange } = extended(network, text, draw), answer = strange ? "" : copy(network, text, draw);
  const found = edits([...text], [...answer]), distance = found.filter(([sign]) => sign !== " ").length;
  const signed = found.map(([sign, one]) => `<span class="signed"${sign === " " ? "" :
    ` style="background:${COLOURS[sign]};color:black"`}>${escaped(one)}<i>${sign}</i></span>`).join("");
  const shown = strange ? `<em>(empty: no embedding for '${escaped(strange)}')</em>`
    : `<code>${distance ? signed : escaped(text)}</code>`;
  return `<b>${name}</b><div data-answer="${escaped(answer)}" data-distance="${distance}">${shown}<br>
    <small>distance <b>${distance}</b></small></div>`;
}

// HTML: the rows of U that a text uses, blue below zero and red above.
function rowsHtml(network, text, draw) {
  const { tokens, U } = extended(network, text, draw), D = U[0].length, shared = network.shared;
  const used = [END, START, ...new Set([...text].map((one) => tokens.indexOf(one)))].sort((a, b) => a - b);
  const limit = Math.max(...used.flatMap((id) => U[id].map(Math.abs)));
  const cell = (value, column) => `<i class="${column === shared ? "cut" : ""}" style="background:rgba(${
    value < 0 ? "33,102,172" : "178,24,43"},${(Math.abs(value) / limit).toFixed(2)})"></i>`;
  const lines = used.map((id) => `<b>${tokens[id] === " " ? "␣" : escaped(tokens[id])}</b>${U[id].map(cell).join("")}`).join("");
  const head = shared ? `<b></b><span style="grid-column:span ${shared}">learned</span>
    <span class="cut" style="grid-column:span ${D - shared}">random</span>` : "";
  const widths = shared ? `repeat(${shared},1fr) repeat(${D - shared},3fr)` : `repeat(${D},1fr)`;
  return `<div class="rows" style="grid-template-columns:4.5em ${widths}">${head}${lines}</div>`;
}

function panel(root, packed, first) {
  const networks = Object.entries(packed).map(([name, one]) => [name, unpack(one)]);
  const [last, drawn] = networks[networks.length - 1], names = drawn.tokens.slice(START + 1);
  root.innerHTML = `<style>${STYLE}</style><div class="controls">
    <label class="text"><b>Type your name</b> <input spellcheck="false" autocomplete="off" autocapitalize="off"></label>
    <label>random draw <input type="range" data-lm-suppress-shortcuts="true" min="0" max="${drawn.matrices.length - 1}" value="0">
    <output>0</output></label><button>Rename at random</button></div>
    <div role="status"></div><div aria-live="polite"></div>`;
  const [box, slider] = root.querySelectorAll("input"), rename = root.querySelector("button");
  const [, status, found] = root.querySelectorAll("div");
  const work = (said = "") => {
    const text = box.value, draw = Number(slider.value), many = [...text].length;
    const { strange, U } = extended(drawn, text, draw);
    const wrong = !many ? "nothing is typed: expected at least one character"
      : many > LONGEST ? `${many} characters are typed: expected at most ${LONGEST}`
      : strange && `no vertex is left for '${strange}': ${U.length - START - 1} other characters have them`;
    status.textContent = wrong ? `✗ ${wrong}` : said;
    found.classList.toggle("old", Boolean(wrong));  // what was found last stays, in grey
    if (wrong) return;
    root.querySelector("output").textContent = draw;
    const answers = networks.map(([name, one]) => answerHtml(name, one, text, draw)).join("");
    const legend = answers.includes("signed") ? "<small>≠ another character · − left out · + too many</small>" : "";
    found.innerHTML = `<div class="answer">${answers}</div>${legend}
      <p>The rows of U that <b>${last}</b> uses, random draw ${draw}:</p>${rowsHtml(drawn, text, draw)}`;
  };
  box.oninput = slider.oninput = () => work();
  rename.onclick = () => {
    const left = [...new Set([...names, ...box.value])], to = {};
    for (const one of box.value)
      if (!(one in to)) [to[one]] = left.splice(Math.floor(Math.random() * left.length), 1);
    box.value = [...box.value].map((one) => to[one]).join("");
    work(`Renamed: ${Object.entries(to).map((pair) => pair.join(" → ")).join(", ")}`);
  };
  box.value = first;
  work();
}
