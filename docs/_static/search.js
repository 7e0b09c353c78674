// A box above each table: only the lines that have every word typed are shown.
for (const table of document.querySelectorAll("table.searched")) {
  const box = document.createElement("input");
  const count = document.createElement("span");
  box.type = "search";
  box.placeholder = "words that lines must have";
  box.setAttribute("aria-label", box.placeholder);
  const lines = [...table.tBodies[0].rows].map((row) => [
    row,
    [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase(),
  ]);
  const search = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [row, text] of lines) {
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = ` ${shown.toLocaleString()} of ${lines.length.toLocaleString()} lines`;
  };
  box.addEventListener("input", search);
  const frame = document.createElement("div");
  frame.className = "table-wrapper";
  const head = document.createElement("p");
  head.append(box, count);
  table.before(head, frame);
  frame.append(table);
  search();
}
