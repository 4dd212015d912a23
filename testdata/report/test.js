// Reads the reports of real runs in a real browser: node test.js GORUN DIRECTORY. The directory gets the journals, the
// reports and screenshots. CHROMIUM names the browser, if it is not the chromium on PATH.
import assert from "node:assert/strict";
import {execFileSync, spawn} from "node:child_process";
import {appendFileSync, existsSync, readFileSync, mkdirSync, rmSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import path from "node:path";
import {chromium} from "playwright-core";

const [gorun, directory] = process.argv.slice(2).map((p) => path.resolve(p));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const cpus = Number(execFileSync("nproc").toString());

// What is measured is short: the reports are what is tested.
const runs = {
	matrix: ["matrix", "primes", "--workers", "2,200", "--lock-thread=false,true", "--limit", "3000", "--samples", "26"],
	wide: ["matrix", "primes", "--workers", "2,20,200", "--lock-thread=false,true", "--nice", "0,5", "--limit", "3000", "--samples", "16"],
	rate: ["ab", "echo rate 100", "echo rate 80", "--metric", "rate (\\d+)", "--better", "higher", "--samples", "16"],
	primes: ["primes", "--limit", "20000", "--samples", "5"],
	contend: ["contend", "--op", "faa-go,cas-loop", "--load", "cpu-increase", "--time", "20ms", "--samples", "3"],
	numa: ["numa", "--samples", "2", "--accesses", "20000", "--buffer", "64KiB", "--cpu", "float,0"],
};
if (cpus > 1) runs.c2c = ["c2c", "--samples", "3"];
// Names without a blank, as paths are, and several figures.
const long = (name) => "/opt/a-directory/".repeat(6) + name;
runs.ab = ["ab", "-n", long("old"), "-n", long("new"), "/bin/true", "/bin/pwd", "--samples", "12"];

const file = (name, ending) => path.join(directory, `${name}.${ending}`);
mkdirSync(directory, {recursive: true});
for (const [name, args] of Object.entries(runs)) {
	rmSync(file(name, "jsonl"), {force: true});
	execFileSync(gorun, [...args, "--quiet", "--out", file(name, "jsonl")], {stdio: ["ignore", "ignore", "inherit"]});
}
// A run that was killed: without its footer, and in the middle of a line.
const whole = readFileSync(file("matrix", "jsonl"), "utf8").trimEnd().split("\n");
writeFileSync(file("killed", "jsonl"), whole.slice(0, -2).join("\n") + "\n" + whole.at(-2).slice(0, 40));
const reports = {...Object.fromEntries(Object.keys(runs).map((name) => [name, [name]])), killed: ["killed"],
	several: ["killed", "wide"]};
for (const [name, of] of Object.entries(reports)) {
	execFileSync(gorun, ["report", ...of.map((n) => file(n, "jsonl")), "-o", file(name, "html")]);
}

// An independent reading of a journal.
function readJournal(name) {
	const run = {samples: []};
	for (const line of readFileSync(file(name, "jsonl"), "utf8").split("\n")) {
		let entry;
		try {
			entry = JSON.parse(line);
		} catch {
			continue; // torn
		}
		if (entry.header) Object.assign(run, entry.header, {samples: []});
		if (entry.sample) run.samples.push(entry.sample);
		if (entry.footer) run.footer = entry.footer;
	}
	return run;
}

const good = (s) => !s.partial && s.quality.verdict !== "invalid";
// What a row sums up: on a busy machine none of its samples may be good, and then it has all of them.
const kept = (samples) => samples.some(good) ? samples.filter(good) : samples;
const sorted = (list) => [...list].sort((a, b) => a - b);
const median = (list) => {
	const s = sorted(list);
	return (s[(s.length - 1) >> 1] + s[s.length >> 1]) / 2;
};
// What the rows of a run are about, and what its cells are judged by, which charts draw.
const own = (run) => (s) => ({contend: s.values.ns_per_op / 1e9, c2c: s.values.ns / 1e9,
	numa: s.values.ns_per_access / 1e9})[run.experiment] ?? s.seconds;
const judged = (run) => {
	if (!run.matrix || run.matrix.order.design === "rows") return own(run);
	const {datum} = run.matrix;
	return (s) => datum ? s.values[datum] / (/^ns/.test(datum) ? 1e9 : 1) : s.seconds;
};
// A cell as a page calls it: "nice 0 · no lock-thread".
const named = (name) => name.startsWith("--") ?
	` ${name}`.split(" --").slice(1).map((flag) => flag.replace(/^(\S+)=false$/, "no $1")).join(" · ") : name;
// Sums may be made in another order.
const close = (got, want, what) =>
	assert.ok(Math.abs(got - want) <= 1e-12 * Math.abs(want), `${what}: ${got}, not ${want}`);

const signals = {
	"steal by the hypervisor": "steal_seconds", "other programs": "other_seconds", "waiting for a CPU": "run_queue_seconds",
	"throttled by the quota": "throttled_seconds", "CPU pressure": "cpu_pressure_seconds",
	"stopped by a signal": "stopped_seconds", "machine suspended": "suspended_seconds", "migrations of threads": "migrations",
	"switches, voluntary": "voluntary_switches", "switches, involuntary": "involuntary_switches",
	"page faults, minor": "minor_faults", "page faults, major": "major_faults",
	"a fixed loop before the sample": "canary_seconds", "clock, MHz": "mhz",
};

// What each table must hold by the journal: rows of numbers, by the text of their heads.
const tables = {
	verdicts(run, rows) {
		const compared = {numa: "time of an access", contend: "time of an operation", c2c: "time one way"}[run.experiment];
		const cells = run.footer?.cells ?? run.cells;
		if (!cells?.length) {
			for (const row of rows) {
				const of = kept(run.samples.filter((s) => (row.op ?? s.values.op) === s.values.op &&
					(row.CPUs ?? s.values.cpus) === s.values.cpus && (row.relation ?? s.values.relation) === s.values.relation));
				close(row[compared], median(of.map(own(run))), compared);
				if ("min" in row) close(row.min, median(of.map((s) => s.values.min / 1e9)), "min");
			}
			return;
		}
		assert.equal(rows.length, cells.length);
		cells.forEach((cell, i) => {
			// The wall time of a sample judges the rows of numa; the duplicate's samples are the baseline's too.
			const of = run.samples.filter((s) => s.cell === i && good(s));
			const row = rows[i];
			close(row.time ?? row.rate, median(of.map(judged(run))), `median of cell ${i}`);
			if (compared in row) close(row[compared], median(of.map(own(run))), `${compared} of cell ${i}`);
			if (!run.footer) return;
			assert.equal(row.time ?? row.rate, (row.time ? cell.summary.seconds : cell.summary.metric).median);
			if (!cell.verdict) return;
			assert.ok(row.verdict.startsWith(cell.words.split(/[:,;]/)[0]), row.verdict);
		});
	},
	summary(run, rows) {
		const of = {wall: (s) => s.seconds, "time one way": (s) => s.values.ns / 1e9, "round trip": (s) => s.values.round_trip_ns / 1e9,
			primes: (s) => s.values.primes};
		const known = rows.filter((row) => of[row.figure]);
		assert.ok(known.length > 1);
		for (const row of known) close(row.median, median(run.samples.filter(good).map(of[row.figure])), row.figure);
	},
	ratios(run, rows) {
		if (!run.footer) return;
		const cells = run.footer.cells.filter((c) => c.verdict);
		assert.equal(rows.length, cells.length);
		cells.forEach(({verdict, verdicts, words}, i) => {
			// A rate is judged by its inverse, and shown.
			const {ratio, lo, hi} = verdict.typical, shown = (x) => run.matrix.better === "higher" ? 1 / x : x;
			assert.equal(rows[i].verdict, words);
			close(rows[i]["typical sample"], shown(ratio), "typical sample");
			assert.equal(rows[i].interval[0] === "not bounded yet", lo == null && hi == null);
			if (["slower", "faster"].includes(verdict.kind)) assert.ok(words.includes(rows[i].interval[0]) || words.includes(rows[i].interval[1]), words);
			if (verdict.total) close(rows[i]["total of all samples"], shown(verdict.total.ratio), "total");
			for (const {column, label} of run.matrix.figures ?? []) {
				assert.equal(rows[i][label], verdicts?.[column]?.typical.ratio ?? "-", `${column} of cell ${i}`);
			}
		});
	},
	order(run, rows) {
		assert.deepEqual(rows.map((row) => row.line), rows.map((_, i) => i + 1));
		if (!run.footer) return;
		const lines = rows.map((row) => row.cells.split(", ")), all = [...new Set(lines.flat())];
		const verdict = (name) => run.footer.cells.find((c) => named(c.name) === name).verdict; // none of the baseline
		const interval = (v) => v ? v.typical : {lo: 1, hi: 1};
		const overlap = (a, b) => (a.lo ?? 0) <= (b.hi ?? Infinity) && (b.lo ?? 0) <= (a.hi ?? Infinity);
		const claims = (v) => ["slower", "faster", "mixed"].includes(v?.kind); // perhaps by the total
		for (const a of all) for (const b of all) {
			const v = verdict(a), w = verdict(b);
			const alike = a === b || overlap(interval(v), interval(w)) && !(!v && claims(w)) && !(!w && claims(v));
			assert.equal(lines.some((line) => line.includes(a) && line.includes(b)), alike, `${a} and ${b}`);
		}
	},
	samples(run, rows) {
		const want = run.samples.filter((s) => judged(run)(s) > 0);
		assert.equal(rows.length, want.length);
		const byIndex = new Map(want.map((s) => [s.index, s]));
		for (const row of rows) {
			const s = byIndex.get(row.sample);
			assert.ok(s, `sample ${row.sample}`);
			byIndex.delete(row.sample);
			const at = row["seconds since the start"];
			if (at !== undefined) assert.equal(at, s.elapsed_seconds);
			close(Object.values(row)[3], judged(run)(s), `sample ${s.index}`);
			assert.ok(row.verdict.startsWith(s.quality.verdict));
		}
	},
	times(run, rows) {
		const cells = run.footer?.cells ?? run.cells;
		for (const row of rows) {
			const cell = cells?.findIndex((c) => row.cell === named(c.name) || row.cell.startsWith(named(c.name) + " · "));
			const of = sorted(run.samples.filter((s) => good(s) && (cells?.length ? s.cell === cell :
				[`${s.values.op} CPUs ${s.values.cpus}`, s.values.relation].includes(row.cell))).map(judged(run)));
			assert.equal(row.samples, of.length, row.cell);
			close(row.median, median(of), row.cell);
			close(row.least, of[0], row.cell);
			close(row.greatest, of.at(-1), row.cell);
		}
	},
	parts(run, rows) {
		const cells = run.footer?.cells ?? run.cells;
		for (const row of rows) {
			const of = run.samples.filter((s) => good(s) && s.account && row.cell === named(cells[s.cell].name));
			assert.equal(row.samples, of.length, row.cell);
			for (const [head, part] of Object.entries({running: "running", "waiting for a CPU": "waiting", blocked: "blocked"})) {
				close(row[head], median(of.map((s) => s.account[part] / 1e9)), `${head} of ${row.cell}`);
			}
		}
	},
	curves(run, rows) {
		for (const row of rows) {
			const of = run.samples.filter((s) => s.values.op === row.operation && s.values.cpus === row.CPUs && good(s) &&
				s.values.operations > 0);
			assert.equal(row.samples, of.length);
			close(row["an operation"], median(of.map((s) => s.values.ns_per_op / 1e9)), "an operation");
			close(row["operations a second"], median(of.map((s) => s.values.ops_per_second)), "operations a second");
		}
	},
	cpus(run, rows) {
		for (const row of rows) {
			assert.ok(run.samples.some((s) => s.cpus?.some((c) => c.cpu === row.CPU && c.busy_seconds === row.busy)), `CPU ${row.CPU}`);
		}
	},
	busy(run, rows) {
		for (const row of rows) {
			for (const [head, share] of Object.entries(row)) {
				if (head === "CPU" || share === "-") continue;
				const cell = run.cells?.findIndex((c) => named(c.name) === head || head.startsWith(named(c.name) + " · "));
				const of = run.samples.filter((s) => good(s) && (run.cells?.length ? s.cell === cell :
					[head === "all samples" && head, `${s.values?.op} CPUs ${s.values?.cpus}`].includes(head)));
				assert.ok(of.length, head);
				const busy = of.flatMap((s) => s.cpus ?? []).filter((c) => c.cpu === row.CPU).map((c) => c.busy_seconds);
				const wall = of.filter((s) => s.cpus).map((s) => s.seconds);
				const sum = (list) => list.reduce((a, b) => a + b, 0);
				close(share, sum(busy) / sum(wall), `CPU ${row.CPU} in ${head}`);
			}
		}
	},
	quality(run, rows) {
		for (const row of rows) {
			assert.equal(row.samples, run.samples.filter((s) => s.quality.verdict === row.are).length, row.are);
		}
	},
	disturbances(run, rows) {
		for (const row of rows) {
			const name = signals[row.disturbance];
			const all = run.samples.map((s) => s.quality.signals[name]).filter((x) => x !== undefined);
			assert.equal(row["samples that know it"], all.length);
			if (all.length === 0) continue;
			close(row["median of a sample"], median(all), name);
		}
	},
	environment(run, rows) {
		const shown = rows.map((r) => String(r.value));
		for (const [name, value] of Object.entries(run.host)) {
			if (!value || typeof value === "object" || name.endsWith("_bytes")) continue;
			const hidden = ["topology", "mitigations", "hostname", "boot_id", "kernel_command_line"].includes(name);
			assert.equal(shown.includes(String(value)), !hidden, name);
		}
		assert.ok(!shown.includes(run.tool.sha256));
	},
};

// The tables of a section as objects by the text of their heads; a head that comes twice has a list.
const readTables = (section) => [...section.querySelectorAll("table")].map((table) => {
	const heads = [...table.tHead.rows[0].cells].map((c) => c.textContent);
	return {name: table.dataset.table, rows: [...table.tBodies[0].rows].map((row) => {
		const out = {};
		heads.forEach((head, i) => {
			const cell = row.cells[i], value = cell.dataset.value;
			const got = value === undefined ? cell.textContent : Number(value);
			out[head] = heads.filter((h) => h === head).length > 1 ? [...(out[head] ?? []), got] : got;
		});
		return out;
	}), shown: [...table.querySelectorAll("[data-value]")].map((c) => [c.textContent, c.dataset.value])};
});

const units = {B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1, k: 1e3, M: 1e6, G: 1e9, "%": 0.01};
// What a person reads is the number behind it, to its last decimal.
function readable([text, value]) {
	const [, digits, decimals = "", exponent, unit] = text.match(/^-?(\d+(?:\.(\d+))?)(?:e([+-]\d+))? ?(\S*)$/) ?? [];
	assert.ok(digits, `${text} for ${value}`);
	const scale = (units[unit] ?? 1) * 10 ** Number(exponent ?? 0);
	const off = Math.abs(Number(digits) * scale - Math.abs(Number(value)));
	assert.ok(off <= 0.5001 * scale * 10 ** -decimals.length, `${text} stands for ${value}`);
}

const options = {
	executablePath: process.env.CHROMIUM ??
		process.env.PATH.split(":").map((dir) => path.join(dir, "chromium")).find((name) => existsSync(name)),
	args: ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync"],
};
const browser = await chromium.launch(options);
try {
	for (const name of Object.keys(reports)) {
		for (const width of [390, 1440]) {
			await look(name, "light", width);
			if (name in runs) await look(name, "dark", width);
		}
	}
	await follow();
} finally {
	await browser.close();
}

async function look(name, colorScheme, width) {
	const where = `${name}, ${colorScheme}, ${width} px`;
	const page = await browser.newPage({colorScheme, viewport: {width, height: 900}});
	const faults = [], requests = [];
	page.on("console", (m) => { if (["error", "warning"].includes(m.type())) faults.push(m.text()); });
	page.on("pageerror", (e) => faults.push(String(e)));
	page.on("request", (r) => requests.push(r.url()));
	const url = `file://${file(name, "html")}`;
	await page.goto(url);
	assert.deepEqual(faults, [], where);
	assert.deepEqual(requests.filter((r) => !r.startsWith("data:")), [url], where);
	const [content, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
	assert.ok(content <= room, `${where}: the page is ${content} px wide`);

	const sections = await page.$$("main > section[id^=run]");
	assert.equal(sections.length, reports[name].length, where);
	let numbers = 0;
	for (const [i, section] of sections.entries()) {
		const run = readJournal(reports[name][i]);
		const found = await section.evaluate(readTables);
		for (const {name: table, rows, shown} of found) {
			shown.forEach(readable);
			if (shown.length > 0) assert.ok(tables[table], `${where}: nothing is known of table ${table}`);
			numbers += shown.length;
			tables[table]?.(run, rows);
		}
		const names = found.map((t) => t.name);
		for (const table of ["samples", "quality", "disturbances", "environment"]) {
			assert.ok(names.includes(table), `${where}: ${table}`);
		}
		assert.ok(names.includes("verdicts") || names.includes("summary"), where);
		const command = await section.$eval("pre", (pre) => pre.textContent);
		const quoted = run.command.map((word) => /[ ()\\]/.test(word) ? `'${word}'` : word);
		assert.equal(command, ["gorun", ...quoted].join(" "), where);
	}
	assert.ok(numbers > 20, `${where}: ${numbers} numbers`);
	const together = await page.$("#together");
	for (const {rows} of await together?.evaluate(readTables) ?? []) {
		const all = reports[name].map(readJournal);
		rows.forEach((row, i) => Object.values(row).slice(1, 1 + all.length).forEach((got, n) => {
			const of = all[n].samples.filter((s) => s.cell === i && good(s)).map(judged(all[n]));
			if (typeof got === "number") close(got, median(of), `${where}: cell ${i} of run ${n}`);
		}));
	}

	await page.evaluate(axe);
	const {violations} = await page.evaluate(() => axe.run(document, {resultTypes: ["violations"]}));
	const serious = violations.filter((v) => ["serious", "critical"].includes(v.impact));
	assert.deepEqual(serious.map((v) => [v.id, ...v.nodes.map((n) => n.target.join(" "))]), [], where);

	// The main table needs no scrolling on a screen, and on a telephone none up to the verdict.
	for (const table of await page.$$("[data-table=verdicts], [data-table=summary], [data-table=together]")) {
		const [right, verdict] = await table.evaluate((t) => {
			const at = [...t.tHead.rows[0].cells].findIndex((c) => /^verdict|against/.test(c.textContent));
			return [t, t.rows[1].cells[Math.max(1, at)]].map((e) => e.getBoundingClientRect().right);
		});
		assert.ok((width < 1000 ? verdict : right) <= width, `${where}: the table ends at ${right} px, its verdicts at ${verdict}`);
	}

	// On a screen the ratios stand next to the verdicts; on a telephone the time stands below its verdict. What scrolls has a shadow.
	if (name === "wide") {
		const [table, ratios, verdict, time] = await page.evaluate(() => {
			const cells = [...document.querySelector("[data-table=verdicts]").rows[2].cells];
			return [document.querySelector("[data-table=verdicts]"), document.querySelector("#run1-ratios"),
				cells.find((c) => c.dataset.head === "verdict"), cells.find((c) => c.dataset.head === "time")].map((e) => {
				const {left, right, top, bottom} = e.getBoundingClientRect();
				return {left, right, top, bottom};
			});
		});
		if (width > 1000) assert.ok(ratios.left >= table.right && ratios.top < table.bottom, where);
		else assert.ok(time.top >= verdict.bottom, where);
	}
	const bare = await page.$$eval(".scroll", (all) => all.filter((e) => e.scrollWidth > e.clientWidth &&
		!getComputedStyle(e).backgroundImage.includes("gradient")).length);
	assert.equal(bare, 0, `${where}: boxes that scroll without a hint`);

	// Question, answer, certainty, machine and date are above the fold, and drawings need no scrolling sideways.
	const fold = await page.evaluate(() => document.querySelector(".facts").getBoundingClientRect().bottom);
	assert.ok(fold <= (width > 1000 ? 900 : 1000), `${where}: the facts end at ${fold} px`); // the answer is longer where more differs
	const wide = await page.$$eval("figure .scroll > svg", (all) => all.filter((svg) =>
		svg.getBoundingClientRect().width > svg.parentElement.clientWidth + 1).length);
	assert.equal(wide, 0, `${where}: drawings wider than the page`);

	// Cells are filtered by the keyboard, in tables and drawings; Escape shows all again.
	const field = page.locator("#filter"), rows = () => page.locator("[data-table=verdicts] tr[data-cell]").count();
	assert.equal(await field.count(), await rows() > 8 ? 1 : 0, where);
	if (name === "wide") {
		const count = () => page.evaluate(() => ["[data-table=verdicts] tbody tr", "#run1-times svg [data-cell]"].map((parts) =>
			[...document.querySelectorAll(parts)].filter((p) => getComputedStyle(p).display !== "none").length));
		const tall = () => page.$eval("#run1-times svg", (svg) => svg.viewBox.baseVal.height);
		const whole = await tall();
		assert.deepEqual(await count(), [12, 12], where);
		await field.focus();
		await page.keyboard.type("200 no nice 5");
		const some = await count();
		assert.deepEqual(some, [1, 1], where);
		assert.equal(await tall(), whole - 40 * (12 - some[1]), where);
		await page.keyboard.press("Escape");
		assert.deepEqual([await count(), await tall()], [[12, 12], whole], where);
	}

	// A head sorts its column, by the keyboard too.
	const head = page.locator("table[data-table=disturbances] thead button").nth(1);
	await head.focus();
	await page.keyboard.press("Enter");
	const order = await page.locator("table[data-table=disturbances]").first().evaluate((t) =>
		[...t.tBodies[0].rows].map((r) => r.cells[1].dataset.value).filter((v) => v !== undefined).map(Number));
	assert.deepEqual(order, sorted(order), where);
	// On paper everything is black on white, whatever the screen was.
	await page.emulateMedia({media: "print", colorScheme});
	const inks = await page.$$eval("body, main svg", (all) => all.map((e) => getComputedStyle(e).color));
	assert.deepEqual([...new Set(inks)], ["rgb(0, 0, 0)"], where);
	await page.emulateMedia({media: "screen", colorScheme});
	await page.screenshot({path: file(`${name}-${colorScheme}-${width}`, "png"), fullPage: true});
	console.log(`ok ${where}: ${numbers} numbers, ${violations.length} lesser faults (${violations.map((v) => v.id)})`);
	await page.close();
}

// A page that is served follows its journal.
async function follow() {
	const growing = file("growing", "jsonl");
	writeFileSync(growing, whole.slice(0, 20).join("\n") + "\n");
	const server = spawn(gorun, ["report", growing, "--serve", "127.0.0.1:0"], {stdio: ["ignore", "inherit", "pipe"]});
	try {
		const url = await new Promise((found, lost) => {
			server.stderr.on("data", (text) => found(String(text).match(/http:\S+/)[0]));
			server.on("exit", lost);
		});
		const page = await browser.newPage();
		await page.goto(url);
		const count = () => page.locator("table[data-table=samples] tbody tr").count();
		assert.equal(await count(), 19);
		await page.locator("details").last().evaluate((d) => { d.open = true; });
		appendFileSync(growing, whole.slice(20, 30).join("\n") + "\n");
		await page.waitForFunction(() => document.querySelectorAll("table[data-table=samples] tbody tr").length === 29, null,
			{timeout: 60000});
		assert.ok(await page.locator("details").last().evaluate((d) => d.open), "what was open stays open");
		await page.close();
	} finally {
		server.kill("SIGINT");
	}
	const code = server.exitCode ?? await new Promise((ended) => server.on("exit", ended));
	assert.equal(code, 0);
	console.log("ok a served page follows its journal");
}
