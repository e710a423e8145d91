"use strict";
// Replaces the parts of the page that the server sends; each comes whole.
const state = document.getElementById("connection");
const curves = document.getElementById("curves");
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
		old.replaceWith(node);
		return;
	}
	const after = [...curves.children].find(e => e.dataset.key > node.dataset.key);
	curves.insertBefore(node, after || null);
}
function connect() {
	const source = new EventSource("events");
	source.addEventListener("part", e => place(JSON.parse(e.data)));
	source.addEventListener("now", e => say("Live, " + e.data + ".", false));
	source.onerror = () => {
		say("No connection to pipeline serve; trying again. If it was started anew, open the address it prints.", true);
		if (source.readyState === EventSource.CLOSED) setTimeout(connect, 3000);
	};
}
connect();
