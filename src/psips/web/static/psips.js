// Follows a study: when the log has grown, the page is fetched anew and its live parts change
// places. Marks of the front can be reached by the arrow keys. Everything works without this.
"use strict";

document.documentElement.classList.add("js");

const PAUSE = 500; // milliseconds between two looks
const SLOW = 5000; // the same, when nobody looks or the server does not answer

function marks() {
  return [...document.querySelectorAll(".points .point")];
}

function read(mark) {
  const reading = document.getElementById("reading");
  if (reading) reading.textContent = mark.querySelector("title").textContent;
}

document.addEventListener("focusin", (event) => {
  const mark = event.target.closest(".point");
  if (mark) read(mark);
});

document.addEventListener("mouseover", (event) => {
  const mark = event.target.closest(".point");
  if (mark) read(mark);
});

document.addEventListener("keydown", (event) => {
  const mark = event.target.closest(".point");
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!mark || !step) return;
  const all = marks();
  const next = all[(all.indexOf(mark) + step + all.length) % all.length];
  mark.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
  event.preventDefault();
});

document.addEventListener("change", (event) => {
  const form = event.target.closest("[data-choices]");
  if (form) form.requestSubmit();
});

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

function exchange(fresh) {
  const focused = document.activeElement && document.activeElement.id;
  for (const part of document.querySelectorAll("[data-live]")) {
    const other = fresh.getElementById(part.id);
    if (!other || isTyping(part)) continue;
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
  const again = focused && document.getElementById(focused);
  if (again && again !== document.activeElement) again.focus();
}

async function follow() {
  const headline = document.querySelector("[data-changes]");
  if (!headline) return;
  let pause = PAUSE;
  try {
    const answer = await fetch(headline.dataset.changes, { redirect: "error" });
    if (!answer.ok) throw new Error(answer.statusText);
    const { event } = await answer.json();
    if (String(event) !== headline.dataset.event) {
      const here = new URL(location.href);
      for (const name of ["done", "ticket"]) here.searchParams.delete(name);
      if (!/^\/studies\/[^/]+$/.test(here.pathname)) {
        here.pathname = headline.dataset.changes.replace(/\/changes$/, "");
        here.search = "";
      }
      const page = await fetch(here, { redirect: "error" });
      if (!page.ok) throw new Error(page.statusText);
      exchange(new DOMParser().parseFromString(await page.text(), "text/html"));
    }
  } catch {
    pause = SLOW;
  }
  setTimeout(follow, document.hidden ? SLOW : pause);
}

const wrong = document.querySelector("[aria-invalid]") || document.getElementById("said");
if (wrong) wrong.focus();
setTimeout(follow, PAUSE);
