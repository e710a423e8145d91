"use strict";
// Asks the server for the parts of the page that changed; each comes whole.
const state = document.getElementById("connection");
const curves = document.getElementById("curves");
let version = "";
function say(text, lost) {
	state.textContent = text;
	state.classList.toggle("lost", lost);
}
function place(part) {
	const old = document.getElementById(part.id);
	if (!part.html) {
		if (old) old.remove();
		return;
	}
	const holder = document.createElement("template");
	holder.innerHTML = part.html;
	const node = holder.content.firstElementChild;
	if (old) {
		if (old.outerHTML !== node.outerHTML) old.replaceWith(node);
		return;
	}
	const after = [...curves.children].find(e => e.dataset.key > node.dataset.key);
	curves.insertBefore(node, after || null);
}
async function ask() {
	try {
		const answer = await fetch("parts?since=" + version, {signal: AbortSignal.timeout(60000)});
		if (!answer.ok) throw answer.status;
		const changes = await answer.json();
		changes.parts.forEach(place);
		version = changes.version;
		say("Live, " + changes.now + ".", false);
	} catch {
		say("No connection to pipeline serve; trying again. If it was started anew, open the address it prints.", true);
	}
	setTimeout(ask, 2000);
}
ask();
