"use strict";
// Column heads become buttons that sort. Without this script the tables stand as they were written.
for (const table of document.querySelectorAll("table")) {
	const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
	if (body.rows.length < 3) continue;
	heads.forEach((head, column) => {
		if (!head.textContent) return;
		const button = document.createElement("button");
		button.type = "button";
		button.textContent = head.textContent;
		head.replaceChildren(button);
		button.addEventListener("click", () => {
			const down = head.getAttribute("aria-sort") === "ascending";
			heads.forEach((h) => h.removeAttribute("aria-sort"));
			head.setAttribute("aria-sort", down ? "descending" : "ascending");
			const key = (row) => {
				const cell = row.cells[column];
				return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
			};
			const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
			// What has no number comes last, whichever way.
			const rank = (x) => typeof x === "number" ? 0 : x === "" ? 2 : 1;
			const rows = [...body.rows].map((row) => [key(row), row]);
			rows.sort(([a], [b]) => rank(a) - rank(b) || (down ? order(b, a) : order(a, b)));
			body.append(...rows.map(([, row]) => row));
		});
	});
}
// A filter by cell hides the rows of tables and figures whose cell does not have every word that was typed. A figure's rows
// move up where others are hidden.
const named = new Set();
const filtered = [...document.querySelectorAll("tr[data-cell]")].map((row) => [row, row.dataset.cell]);
const drawings = [...document.querySelectorAll("figure svg")].filter((svg) => svg.querySelector("[data-cell]"));
for (const row of document.querySelectorAll("[data-table=verdicts] tr[data-cell]")) named.add(row.dataset.cell);
function place(part, up) {
	part.dataset.x ??= part.transform.baseVal[0].matrix.e;
	part.dataset.y ??= part.transform.baseVal[0].matrix.f;
	part.transform.baseVal[0].setTranslate(Number(part.dataset.x), Number(part.dataset.y) - up);
}
function filterCells(text) {
	const words = text.toLowerCase().split(/\s+/).filter(Boolean);
	const shown = (name) => words.every((word) => name.toLowerCase().includes(word));
	for (const [row, name] of filtered) row.hidden = !shown(name);
	for (const svg of drawings) {
		let up = 0;
		for (const part of svg.querySelectorAll("[data-cell], [data-below]")) {
			const hidden = part.dataset.cell !== undefined && !shown(part.dataset.cell);
			part.style.display = hidden ? "none" : "";
			place(part, up);
			if (hidden) up += Number(part.dataset.tall);
		}
		const box = svg.viewBox.baseVal;
		svg.dataset.height ??= box.height;
		box.height = Number(svg.dataset.height) - up;
	}
	return [...named].filter(shown).length;
}
let filter;
if (named.size > 8) {
	const form = document.createElement("p"), label = document.createElement("label"), count = document.createElement("output");
	filter = document.createElement("input");
	form.className = "filter";
	filter.type = "search";
	filter.id = "filter";
	label.htmlFor = "filter";
	label.textContent = "Show only cells with";
	const apply = () => { count.textContent = `${filterCells(filter.value)} of ${named.size} shown`; };
	filter.addEventListener("input", apply);
	filter.addEventListener("keydown", (event) => {
		if (event.key !== "Escape") return;
		filter.value = "";
		apply();
	});
	form.append(label, filter, count);
	document.querySelector("nav").after(form);
	apply();
}
// A page that is served looks for a newer version of itself, and comes back to where the reader was.
const {version, refresh} = document.documentElement.dataset;
if (version) {
	const kept = "gorun-report";
	const details = () => [...document.querySelectorAll("details")];
	try {
		const was = JSON.parse(sessionStorage.getItem(kept));
		if (was) {
			details().forEach((d, i) => { d.open = was.open[i] ?? d.open; });
			if (filter && was.filter) {
				filter.value = was.filter;
				filter.dispatchEvent(new Event("input"));
			}
			scrollTo(was.x, was.y);
		}
	} catch {
		// A browser that keeps nothing begins at the top.
	}
	setInterval(async () => {
		if (document.hidden) return;
		try {
			const answer = await fetch("version", {cache: "no-store"});
			if (!answer.ok || await answer.text() === version) return;
			sessionStorage.setItem(kept, JSON.stringify({x: scrollX, y: scrollY, open: details().map((d) => d.open),
				filter: filter?.value}));
			location.reload();
		} catch {
			// The server has ended: the page stays as it is.
		}
	}, 1000 * refresh);
}
