// Prints the suite's results as a table. usage: node mcp-table.mjs DIR BASELINE
import fs from "node:fs";
import path from "node:path";

const [dir, baseline] = process.argv.slice(2);
const why = new Map();
for (const line of fs.readFileSync(baseline, "utf8").split("\n")) {
  const m = line.match(/^ +- ([\w-]+) *# *(.*)$/);
  if (m) why.set(m[1], m[2]);
}
const rows = [];
for (const d of fs.readdirSync(dir).sort()) {
  const file = path.join(dir, d, "checks.json");
  if (!fs.existsSync(file)) continue;
  const name = d.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[^/]*$/, "");
  const checks = JSON.parse(fs.readFileSync(file)).filter((c) => c.status !== "INFO" && c.status !== "SKIPPED");
  const bad = checks.filter((c) => c.status === "FAILURE").length;
  const warned = checks.filter((c) => c.status === "WARNING").length;
  const result = bad ? "does not apply" : warned ? "passed, warned" : "passed";
  rows.push([name, result, `${checks.length - bad}/${checks.length}`, bad || warned ? why.get(name) ?? "NOT EXPECTED" : ""]);
}
console.log("| scenario | result | checks | why |\n|---|---|---|---|");
for (const r of rows) console.log(`| ${r.join(" | ")} |`);
const passed = rows.filter((r) => r[1].startsWith("passed")).length;
console.log(`\n${passed} of ${rows.length} passed, ${rows.length - passed} do not apply`);
