// Predicts by a plain model of dpforest (docs/plain_model.md), in plain JavaScript: Node 18 or later,
// or a browser. It needs no package.
//
//     import { PlainModel } from "./plain_model.mjs";
//     const model = new PlainModel(JSON.parse(text));
//     model.predictProba([[39, "State-gov", null]]);
//
// It also runs alone, for JSON lists of records on standard input:
//
//     node plain_model.mjs model.json < records.json
//
// It trusts the file: `dpforest.read_plain` checks one.

const FORMAT = "dpforest-plain";
const VERSION = 2;

// What surrounds a text and is no part of it. String.prototype.trim takes others.
const IS_SPACE = /[\t\n\v\f\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
const DIGITS = "[0-9](?:_?[0-9])*";
// No flag "u": with it, "i" would fold letters beyond ASCII.
const DECIMAL = new RegExp(
  `^[+-]?(?:${DIGITS}(?:\\.(?:${DIGITS})?)?|\\.${DIGITS})(?:e[+-]?${DIGITS})?$`,
  "i",
);
const INFINITE = /^([+-]?)inf(?:inity)?$/i;
const NOT_A_NUMBER = /^[+-]?nan$/i;
const REAL = "(?:[0-9]+(?:\\.[0-9]+)?(?:e[+-][0-9]+)?|inf|nan)";
const IMAGINARY = new RegExp(`^()(-?${REAL})j$`);
const COMPLEX = new RegExp(`^\\((-?${REAL})([+-]${REAL})j\\)$`);
const TIME = new RegExp(
  "^(?:-?[0-9]{3,}-[0-9]{2}-[0-9]{2}" +
    "(?:[ T][0-9]{2}(?::[0-9]{2}){0,2}(?:\\.[0-9]+)?" +
    "(?: ?(?:[A-Za-z][A-Za-z0-9_/+-]*|[+-][0-9]{2}(?::?[0-9]{2}){0,2}))?)?" +
    "|-?[0-9]+ days?,? [+-]?[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]+)?)$",
);
// What a date or a complex number means: a text that no category is.
const NOTHING = "";
// Beyond this an exponential is as good as 0 or infinity.
const LARGEST_STEPS = 700;

// What is neither missing (null) nor a number or category.
const UNKNOWN = Symbol("unknown");

export class PlainModel {
  constructor(content) {
    if (content?.format !== FORMAT || content.version !== VERSION) {
      throw new Error(`not a ${FORMAT} model of version ${VERSION}`);
    }
    this.score = content.score;
    this.link = content.link;
    this.features = content.features;
    this.digits = new Map();
    for (const zero of content.digits) {
      for (let digit = 0; digit < 10; digit += 1) {
        this.digits.set(String.fromCodePoint(zero.codePointAt(0) + digit), String(digit));
      }
    }
    this.known = content.features.map((feature) => {
      const places = new Map();
      (feature.categories ?? []).forEach((category, place) => places.set(this.meaning(category), place));
      return places;
    });
    this.featureNames = content.features.map((feature) => feature.name);
    this.classes = content.link.classes ?? null;
    this.nColumns = this.classes === null ? 2 : this.classes.length;
  }

  // Probabilities of `classes` for each record.
  predictProba(records) {
    if (this.classes === null) {
      throw new Error("the model predicts means, not probabilities: use predict");
    }
    return records.map((record) => this.linked(this.scoresOf(this.score, this.read(record))));
  }

  // The most probable label of each record, or the expected target.
  predict(records) {
    if (this.classes === null) {
      return records.map((record) => this.mean(this.scoresOf(this.score, this.read(record))));
    }
    return this.predictProba(records).map((row) => this.classes[row.indexOf(Math.max(...row))]);
  }

  // -- what a value means --------------------------------------------------------------------

  // null for what is missing; a number; or text that reads as none.
  meaning(value) {
    if (value === null) return null;
    if (typeof value === "boolean") return Number(value);
    if (typeof value === "number") return Number.isNaN(value) ? null : value;
    if (typeof value === "string") return this.meaningOfText(value);
    throw new Error("a record holds null, true, false, numbers and text");
  }

  meaningOfText(given) {
    const text = stripped(given);
    if (text === "") return null;
    const plain = Array.from(text, (character) => this.digits.get(character) ?? character).join("");
    if (NOT_A_NUMBER.test(plain)) return null;
    if (DECIMAL.test(plain)) return Number(plain.replaceAll("_", ""));
    const infinite = INFINITE.exec(plain);
    if (infinite) return infinite[1] === "-" ? -Infinity : Infinity;
    const complex = COMPLEX.exec(text) ?? IMAGINARY.exec(text);
    if (complex) return meaningOfComplex(complex[1], complex[2]);
    if (TIME.test(text)) return NOTHING;
    const word = text.toLowerCase();
    if (word === "true" || word === "false") return Number(word === "true");
    return text;
  }

  // The values of a record as numbers and positions of categories.
  read(record) {
    if (record.length !== this.features.length) {
      throw new Error(`a record has ${this.features.length} values`);
    }
    return record.map((value, place) => this.readValue(place, this.meaning(value)));
  }

  readValue(place, meaning) {
    const feature = this.features[place];
    const known = this.known[place];
    if (meaning === null) return null;
    if (feature.kind === "numeric") return typeof meaning === "number" ? meaning : UNKNOWN;
    if (known.has(meaning)) return known.get(meaning);
    if (feature.numbers === "positions" && Number.isInteger(meaning)) {
      if (meaning >= 0 && meaning < known.size) return meaning;
    }
    return UNKNOWN;
  }

  // -- scores --------------------------------------------------------------------------------

  scoresOf(part, read) {
    if (part.kind === "rules") return this.rules(part, read);
    if (part.kind === "trees") return this.trees(part, read);
    let total = part.base;
    part.parts.forEach((member, place) => {
      const scores = this.scoresOf(member, read);
      total = total.map((own, column) => own + part.weights[place] * scores[column]);
    });
    return total;
  }

  trees(part, read) {
    let total = part.base;
    for (const table of part.start ?? []) {
      total = added(total, this.entry(table, read));
    }
    for (const nodes of part.trees) {
      let node = nodes[0];
      while (node.values === undefined) {
        node = nodes[node[side(node, read[node.feature])]];
      }
      total = added(total, node.values);
    }
    const scores = new Array(this.nColumns).fill(0);
    part.columns.forEach((column, place) => {
      scores[column] = total[place];
    });
    return scores;
  }

  // What a feature's value adds by a table.
  entry(table, read) {
    const value = read[table.feature];
    if (value === null) return table.missing;
    if (value === UNKNOWN) return table.unknown;
    const { kind, edges } = this.features[table.feature];
    return table.places[kind === "numeric" ? countBelow(edges, value) : value];
  }

  rules(part, read) {
    const soft = new Array(part.nodes.length).fill(0);
    const hard = new Array(part.nodes.length).fill(0);
    soft[0] = 1;
    hard[0] = 1;
    let total = new Array(this.nColumns).fill(0);
    part.nodes.forEach((node, place) => {
      // Children come after their parents.
      if (node.probabilities !== undefined) {
        let share = hard[place];
        if (part.steepness !== null) {
          share = (soft[place] + part.hard_weight * share) / (1 + part.hard_weight);
        }
        total = total.map((own, column) => own + share * node.probabilities[column]);
        return;
      }
      const value = node.sum.reduce((sum, table) => sum + this.entry(table, read), 0);
      const steps = (value - node.threshold - 0.5) / node.width;
      const right = sigmoid((part.steepness ?? 0) * steps);
      const passed = value > node.threshold ? 1 : 0;
      for (const [share, beyond] of [[soft, right], [hard, passed]]) {
        share[node.left] = share[place] * (1 - beyond);
        share[node.right] = share[place] * beyond;
      }
    });
    return total.map(Math.log);
  }

  // Probabilities from scores.
  linked(scores) {
    const largest = Math.max(...scores);
    const weights =
      this.link.kind === "softmax" ? scores.map((score) => Math.exp(score - largest)) : scores;
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return weights.map((weight) => weight / total);
  }

  mean(scores) {
    const [low, high] = this.link.range;
    const share = sigmoid(scores[1] - scores[0]);
    return low * (1 - share) + high * share;
  }
}


// Text without NULs at its end, then without space at either end.
function stripped(text) {
  let end = text.length;
  while (end > 0 && text[end - 1] === "\0") end -= 1;
  while (end > 0 && IS_SPACE.test(text[end - 1])) end -= 1;
  let start = 0;
  while (start < end && IS_SPACE.test(text[start])) start += 1;
  return text.slice(start, end);
}

// Which child a value goes to.
// Its real part where there is no other; missing with NaN in it, or no finite other; else nothing.
function meaningOfComplex(real, imaginary) {
  const [one, other] = [partOf(real), partOf(imaginary)];
  if (Number.isNaN(one) || !Number.isFinite(other)) return null;
  return other === 0 ? one : NOTHING;
}

function partOf(text) {
  return text === "" ? 0 : Number(text.replace("inf", "Infinity"));
}

function side(node, value) {
  if (value === null) return node.missing;
  if (value === UNKNOWN) return node.unknown;
  if (node.categories !== undefined) return node.categories.includes(value) ? "left" : "right";
  return node.threshold === null || value <= node.threshold ? "left" : "right";
}

// How many of the rising edges lie below a number.
function countBelow(edges, value) {
  let low = 0;
  let high = edges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (edges[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function added(total, values) {
  return total.map((own, place) => own + values[place]);
}

function sigmoid(score) {
  return 1 / (1 + Math.exp(-Math.max(-LARGEST_STEPS, Math.min(LARGEST_STEPS, score))));
}

async function main() {
  const { readFileSync } = await import("node:fs");
  const model = new PlainModel(JSON.parse(readFileSync(process.argv[2], "utf8")));
  const records = JSON.parse(readFileSync(0, "utf8"));
  const found = model.classes === null ? model.predict(records) : model.predictProba(records);
  process.stdout.write(JSON.stringify(found));
}

async function runsAlone() {
  const script = typeof process === "undefined" ? undefined : process.argv[1];
  if (script === undefined) return false;
  const { existsSync, realpathSync } = await import("node:fs");
  const { pathToFileURL } = await import("node:url");
  return existsSync(script) && pathToFileURL(realpathSync(script)).href === import.meta.url;
}

if (await runsAlone()) {
  await main();
}
