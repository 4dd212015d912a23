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
// A page that is served looks for a newer version of itself, and comes back to where the reader was.
const {version, refresh} = document.documentElement.dataset;
if (version) {
	const kept = "gorun-report";
	const details = () => [...document.querySelectorAll("details")];
	try {
		const was = JSON.parse(sessionStorage.getItem(kept));
		if (was) {
			details().forEach((d, i) => { d.open = was.open[i] ?? d.open; });
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
			sessionStorage.setItem(kept, JSON.stringify({x: scrollX, y: scrollY, open: details().map((d) => d.open)}));
			location.reload();
		} catch {
			// The server has ended: the page stays as it is.
		}
	}, 1000 * refresh);
}
