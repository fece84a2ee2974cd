"use strict";
// Filters only: with scripting off, the bar stays hidden and every requirement is shown.
(() => {
  const bar = document.querySelector(".filters");
  if (!bar) return;
  const rows = [...document.querySelectorAll("tr[data-verdicts]")];
  const groups = [...document.querySelectorAll("tbody.area")];
  const chips = [...bar.querySelectorAll(".chip")];
  const search = bar.querySelector("input");
  const shown = bar.querySelector(".shown");

  const pressed = (kind) =>
    chips.filter((chip) => chip.dataset.kind === kind && chip.getAttribute("aria-pressed") === "true")
      .map((chip) => chip.dataset.value);

  const apply = () => {
    const verdicts = pressed("verdict");
    const levels = pressed("level");
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const row of rows) {
      const has = row.dataset.verdicts.split(" ");
      const text = row.textContent.toLowerCase();
      row.hidden = !(
        (!verdicts.length || verdicts.some((verdict) => has.includes(verdict))) &&
        (!levels.length || levels.includes(row.dataset.level)) &&
        words.every((word) => text.includes(word))
      );
      count += row.hidden ? 0 : 1;
    }
    for (const group of groups) group.hidden = !group.querySelector("tr[data-verdicts]:not([hidden])");
    shown.textContent = `${count} of ${rows.length} requirements shown`;
  };

  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
      apply();
    });
  }
  search.addEventListener("input", apply);
  bar.addEventListener("reset", () => {
    for (const chip of chips) chip.setAttribute("aria-pressed", "false");
    setTimeout(apply);
  });
  bar.addEventListener("submit", (event) => event.preventDefault());
  // A link to a requirement that a filter hides must still lead there.
  addEventListener("hashchange", () => {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (row && rows.includes(row) && row.hidden) {
      bar.reset();
      setTimeout(() => row.scrollIntoView());
    }
  });
  bar.hidden = false;
  apply();
})();
