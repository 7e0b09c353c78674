// Follows a study: when the log has grown, the page is fetched again and its live parts change
// places. Also: the switch of colours, tables without a new page, and which option is followed
// in every chart and table. Everything but that works without this.
"use strict";

const PAUSE = 250; // milliseconds between two requests, at least
const REST = 2; // times as long as a request took, there is no other: a busy server is asked less
const LONGEST = 1000; // milliseconds of such a rest
const SLOW = 5000; // the same, when the page is hidden or the server does not answer
const pulse = document.getElementById("pulse");

// Colours

const themes = ["", "light", "dark"];
const themeNames = { "": "Auto", light: "Light", dark: "Dark" };
const switcher = document.getElementById("theme");

function nameTheme() {
  const now = document.documentElement.dataset.theme || "";
  switcher.textContent = themeNames[now];
  switcher.setAttribute("aria-label", `${themeNames[now]}: colours ${now ? "as chosen" : "as the system says"}`);
}

if (switcher) {
  nameTheme();
  switcher.addEventListener("click", () => {
    const now = document.documentElement.dataset.theme || "";
    const next = themes[(themes.indexOf(now) + 1) % themes.length];
    if (next) document.documentElement.dataset.theme = next;
    else delete document.documentElement.dataset.theme;
    localStorage.setItem("psips-theme", next);
    nameTheme();
    document.dispatchEvent(new Event("psips:theme"));
  });
}

// The option that is followed

const followed = {
  key: pulse ? `psips-option-${pulse.dataset.study}` : "",
  get name() { return this.key && sessionStorage.getItem(this.key); },
  set name(name) {
    if (name) sessionStorage.setItem(this.key, name);
    else sessionStorage.removeItem(this.key);
    showFollowed();
    document.dispatchEvent(new Event("psips:option"));
  },
};
window.psipsFollowed = followed;

function showFollowed() {
  const name = followed.name;
  for (const part of document.querySelectorAll("[data-option]")) {
    part.classList.toggle("picked", Boolean(name) && part.dataset.option === name);
  }
  for (const button of document.querySelectorAll("[data-pick]")) {
    button.setAttribute("aria-pressed", String(button.dataset.pick === name));
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-pick]");
  if (button) followed.name = button.dataset.pick === followed.name ? "" : button.dataset.pick;
});

// Marks of the static picture can be reached by the arrow keys

function read(mark) {
  const reading = document.getElementById("reading");
  if (reading) reading.textContent = mark.querySelector("title").textContent;
}

for (const kind of ["focusin", "mouseover"]) {
  document.addEventListener(kind, (event) => {
    const mark = event.target.closest && event.target.closest(".point");
    if (mark) read(mark);
  });
}

document.addEventListener("keydown", (event) => {
  const mark = event.target.closest(".point");
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!mark || !step) return;
  const all = [...document.querySelectorAll(".points .point")];
  const next = all[(all.indexOf(mark) + step + all.length) % all.length];
  mark.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
  event.preventDefault();
});

// Forms and links that change a part of the page

document.addEventListener("change", (event) => {
  const form = event.target.closest("[data-choices], form[data-swap]");
  if (form && !form.dataset.drawn) form.requestSubmit();
});

async function swap(part, address) {
  const answer = await fetch(address, { redirect: "error" });
  if (!answer.ok) { location.assign(address); return; }
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const other = fresh.getElementById(part.id);
  const focused = document.activeElement && document.activeElement.id;
  part.replaceChildren(...other.childNodes);
  history.replaceState(null, "", address);
  showFollowed();
  const again = focused && document.getElementById(focused);
  if (again) {
    again.focus();
    if (again.setSelectionRange && again.value) again.setSelectionRange(again.value.length, again.value.length);
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  const part = form.closest("[data-live]");
  if (!form.matches("form[data-swap]") || !part) return;
  event.preventDefault();
  const given = [...new FormData(form)].filter(([, text]) => text !== "");
  swap(part, `${location.pathname}?${new URLSearchParams(given)}`);
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-swap]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  swap(link.closest("[data-live]"), link.href);
});

let typing = 0;
document.addEventListener("input", (event) => {
  if (!event.target.matches("form[data-swap] input[type=search]")) return;
  clearTimeout(typing);
  typing = setTimeout(() => event.target.form && event.target.form.requestSubmit(), 250);
});

// Following a study

function isTyping(part) {
  const active = document.activeElement;
  return part.contains(active) && active.matches("input, textarea, select");
}

// Put back the pictures that were shown; each stays until the next one is there.
function keep(pictures) {
  for (const shown of pictures) {
    const next = document.getElementById(shown.id);
    if (!next) continue;
    next.addEventListener("load", () => document.getElementById(next.id)?.replaceWith(next));
    next.replaceWith(shown);
  }
}

// Whether a script draws the front here, and puts its picture for print in its place.
const drawnHere = () => document.documentElement.classList.contains("drawn-by-script");

function exchange(fresh) {
  const focused = document.activeElement && document.activeElement.id;
  for (const part of document.querySelectorAll("[data-live]")) {
    const other = fresh.getElementById(part.id);
    if (!other || isTyping(part) || (part.id === "front" && drawnHere())) continue;
    for (const opened of part.querySelectorAll("details[open]")) {
      other.querySelector(`#${opened.id}`)?.setAttribute("open", "");
    }
    if (part.innerHTML !== other.innerHTML) {
      const pictures = [...part.querySelectorAll("img[id]")];
      part.replaceChildren(...other.childNodes);
      keep(pictures);
    }
    if (other.dataset.event) part.dataset.event = other.dataset.event;
  }
  const card = document.querySelector(".card.answer");
  const newCard = fresh.querySelector(".card.answer");
  if (card && newCard) card.className = newCard.className;
  showFollowed();
  const again = focused && document.getElementById(focused);
  if (again && again !== document.activeElement) again.focus();
  document.dispatchEvent(new Event("psips:news"));
}

async function follow() {
  if (!pulse) return;
  let pause = PAUSE;
  try {
    const began = performance.now();
    const answer = await fetch(pulse.dataset.changes, { redirect: "error" });
    if (!answer.ok) throw new Error(answer.statusText);
    pause = Math.min(Math.max(PAUSE, REST * (performance.now() - began)), LONGEST);
    const { event } = await answer.json();
    if (String(event) !== pulse.dataset.event) {
      const here = new URL(pulse.dataset.here, location.href);
      if (here.pathname === location.pathname) here.search = location.search;
      here.searchParams.delete("done");
      const headers = drawnHere() ? { "x-psips-drawn": "1" } : {};
      const page = await fetch(here, { redirect: "error", headers });
      if (!page.ok) throw new Error(page.statusText);
      exchange(new DOMParser().parseFromString(await page.text(), "text/html"));
    }
  } catch {
    pause = SLOW;
  }
  setTimeout(follow, document.hidden ? SLOW : pause);
}

// A design: one more row for a metric

document.getElementById("more-metrics")?.addEventListener("click", (event) => {
  const row = document.querySelector(".metric.spare");
  if (!row) return;
  row.classList.remove("spare");
  row.querySelector("input").focus();
  event.currentTarget.hidden = !document.querySelector(".metric.spare");
});

// Entering: the first field has the focus, and what was entered can be undone for a minute

const undo = document.getElementById("undo");
if (undo) setTimeout(() => undo.remove(), 1000 * Number(undo.dataset.seconds));

const wrong = document.querySelector("[aria-invalid]") || document.getElementById("wrong");
const ticket = document.querySelector("#tell input[type=hidden][name=ticket]");
const first = ticket && document.querySelector("#tell .values input");
const target = wrong || (matchMedia("(pointer: fine)").matches || document.getElementById("said") ? first : null)
  || document.getElementById("said");
if (target) target.focus();
showFollowed();
setTimeout(follow, PAUSE);
