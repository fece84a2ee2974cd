"use strict";
// The matrix: filters, orders and draws what the page holds as data.  Without scripts a table stands in its place.
(() => {
  const source = document.querySelector(".matrix-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const words = data.words.map(([key, symbol, text, tone]) => ({ key, symbol, text, tone }));
  const rows = data.rows.map(([id, page, level, area, dialects, capabilities, text, cells], place) => ({
    id, page, level, area, dialects, capabilities, cells, place,
    words: cells.toLowerCase(), search: `${id} ${text}`.toLowerCase(), text,
  }));
  const letter = (number) => String.fromCharCode(97 + number);
  const numbers = new Map(words.map((word, number) => [word.key, number]));
  const unmet = new Set(words.flatMap((word, number) => (word.tone === "bad" || word.key === "waived" ? [letter(number)] : [])));
  const levels = ["must", "should", "may"];

  const section = source.closest(".page");
  const form = section.querySelector(".filters");
  const drawn = section.querySelector(".drawn");
  const still = section.querySelector(".static");
  const more = section.querySelector(".more");
  const shown = section.querySelector(".shown");
  const chips = [...form.querySelectorAll(".chip[data-kind]")];
  const isSingle = section.id !== "page";
  // So many rows are drawn at once, and more of them when a reader comes near the last.
  const STEP = Math.max(24, Math.floor(1500 / data.heads.length));
  let matching = [];
  let columns = [];
  let count = 0;

  const field = (name) => form.elements.namedItem(name);
  const pressed = (kind) =>
    chips.filter((chip) => chip.dataset.kind === kind && chip.getAttribute("aria-pressed") === "true")
      .map((chip) => chip.dataset.value);

  // -- the state, which the address keeps

  const state = () => {
    const values = new URLSearchParams();
    for (const kind of ["verdict", "level"]) if (pressed(kind).length) values.set(kind, pressed(kind).join(" "));
    const names = { area: data.areas, dialect: data.dialects, capability: data.capabilities };
    for (const [name, list] of Object.entries(names)) {
      if (field(name).value) values.set(name, list[Number(field(name).value)]);
    }
    for (const name of ["sort", "text"]) if (field(name).value) values.set(name, field(name).value);
    if (order) values.set("by", order);
    return values;
  };

  let order = "";

  const restore = () => {
    const hash = location.hash.slice(1);
    if (isSingle && !hash.includes("=")) return false;
    const values = new URLSearchParams(hash);
    for (const chip of chips) {
      const wanted = (values.get(chip.dataset.kind) || "").split(" ");
      chip.setAttribute("aria-pressed", String(wanted.includes(chip.dataset.value)));
    }
    const names = { area: data.areas, dialect: data.dialects, capability: data.capabilities };
    for (const [name, list] of Object.entries(names)) {
      const place = list.indexOf(values.get(name));
      field(name).value = place < 0 ? "" : String(place);
    }
    for (const name of ["sort", "text"]) field(name).value = values.get(name) || "";
    order = values.get("by") || "";
    return true;
  };

  const remember = () => {
    const hash = state().toString();
    if (hash !== location.hash.slice(1) && (hash || location.hash.includes("="))) {
      history.replaceState(null, "", hash ? `#${hash}` : "#");
    }
  };

  // -- what is shown

  const select = () => {
    const wanted = new Set(pressed("verdict").map((key) => letter(numbers.get(key))));
    const wantedLevels = pressed("level");
    const [area, dialect, capability] = ["area", "dialect", "capability"].map((name) => field(name).value);
    const search = field("text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const name = dialect === "" ? null : data.dialects[Number(dialect)];
    columns = data.heads.map((head, number) => number).filter((number) => name === null || data.heads[number].dialect === name);
    const every = columns.length === data.heads.length;
    const has = (row) => {
      if (every) {
        for (const one of wanted) if (row.words.includes(one)) return true;
        return false;
      }
      return columns.some((number) => wanted.has(row.words[number]));
    };
    matching = rows.filter((row) =>
      (area === "" || row.area === Number(area)) &&
      (name === null || row.dialects & (1 << Number(dialect))) &&
      (capability === "" || row.capabilities.includes(Number(capability))) &&
      (!wantedLevels.length || wantedLevels.includes(row.level)) &&
      search.every((word) => row.search.includes(word)) &&
      (!wanted.size || has(row)));
    const key = sorting();
    if (key) {
      const keys = new Map(matching.map((row) => [row, key(row)]));
      matching.sort((a, b) => {
        const [first, second] = [keys.get(a), keys.get(b)];
        return first < second ? -1 : first > second ? 1 : a.place - b.place;
      });
    }
    count = Math.min(STEP, matching.length);
  };

  const sorting = () => {
    const column = data.heads.findIndex((head) => head.name === order);
    if (column >= 0) return (row) => row.words.charCodeAt(column);
    switch (field("sort").value) {
      case "id": return (row) => row.id;
      case "level": return (row) => levels.indexOf(row.level);
      case "unmet": return (row) => -columns.reduce((sum, number) => sum + unmet.has(row.words[number]), 0);
      default: return null;
    }
  };

  // -- drawing

  const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  const escaped = (text) => text.replace(/[&<>"']/g, (character) => entities[character]);
  const inner = words.map((word) => `<span aria-hidden="true">${escaped(word.symbol)}</span> ${escaped(word.text)}`);
  const href = (path) => (isSingle ? `#${path.replaceAll("/", "--")}` : `${path}.html`);

  const cellOf = (row, number) => {
    const code = row.cells.charCodeAt(number);
    const hasPage = code < 97;
    const word = hasPage ? code - 65 : code - 97;
    const text = hasPage
      ? `<a href="${escaped(href(`failures/${data.heads[number].name}/${row.page}`))}">${inner[word]}</a>`
      : inner[word];
    return `<td class="${words[word].tone}">${text}</td>`;
  };

  const rowOf = (row) =>
    `<tr><th scope="row" title="${escaped(row.text)}"><a class="requirement-id" href="${escaped(href(`requirements/${row.page}`))}">${escaped(row.id)}</a></th>` +
    `<td>${escaped(row.level)}</td>${columns.map((number) => cellOf(row, number)).join("")}</tr>`;

  const headOf = () => {
    const cells = columns.map((number) => {
      const head = data.heads[number];
      const isOrder = order === head.name;
      const path = head.path.replace(/\.html$/, "");
      return `<th scope="col"${isOrder ? ' aria-sort="ascending"' : ""}><a href="${escaped(href(path))}">${escaped(head.label)}</a><br>` +
        `<button type="button" data-by="${escaped(head.name)}" aria-label="${isOrder ? "▲ worst first" : "sort"}: ${escaped(head.label)}">${isOrder ? "▲ worst first" : "sort"}</button></th>`;
    });
    return `<thead><tr><th scope="col">Requirement</th><th scope="col">Level</th>${cells.join("")}</tr></thead>`;
  };

  const bodies = (from, to) => {
    const isGrouped = !sorting();
    let html = "<tbody>";
    let area = isGrouped && from > 0 ? matching[from - 1].area : -1;
    for (const row of matching.slice(from, to)) {
      if (isGrouped && row.area !== area) {
        area = row.area;
        html += `</tbody><tbody><tr><th scope="rowgroup" colspan="${2 + columns.length}">${escaped(data.areas[area])}</th></tr>`;
      }
      html += rowOf(row);
    }
    return `${html}</tbody>`.replace("<tbody></tbody>", "");
  };

  const draw = () => {
    drawn.innerHTML = `<table><caption class="soft">Verdicts by requirement and record.</caption>${headOf()}${bodies(0, count)}</table>`;
    tell();
  };

  const extend = (to) => {
    const end = Math.min(to, matching.length);
    if (end > count) drawn.firstElementChild.insertAdjacentHTML("beforeend", bodies(count, end));
    count = end;
    tell();
  };

  const tell = () => {
    shown.textContent = `${matching.length} of ${rows.length} requirements match`;
    more.hidden = count >= matching.length;
  };

  const apply = () => {
    select();
    draw();
    drawn.scrollTop = 0;
    remember();
  };

  // -- what a reader does

  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
      apply();
    });
  }
  form.addEventListener("input", apply);
  form.addEventListener("reset", () => {
    for (const chip of chips) chip.setAttribute("aria-pressed", "false");
    order = "";
    setTimeout(apply);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  drawn.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-by]");
    if (!button) return;
    const name = button.dataset.by;
    order = order === name ? "" : name;
    apply();
    [...drawn.querySelectorAll("button[data-by]")].find((one) => one.dataset.by === name)?.focus();
  });
  const [next, all] = more.querySelectorAll("button");
  next.addEventListener("click", () => extend(count + STEP));
  all.addEventListener("click", () => extend(matching.length));
  drawn.addEventListener("scroll", () => {
    if (!more.hidden && drawn.scrollTop + 2 * drawn.clientHeight > drawn.scrollHeight) extend(count + STEP);
  }, { passive: true });
  addEventListener("hashchange", () => {
    if (restore()) apply();
  });
  addEventListener("beforeprint", () => extend(matching.length));

  restore();
  form.hidden = false;
  drawn.hidden = false;
  if (still) still.remove();
  apply();
})();
