"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const specs = read("charts"), config = read("config"), data = read("data") || {};
  const root = document.documentElement, views = new Map();
  let member = data.member;

  // Light and dark: as the system has it, until the button is pressed.
  const system = matchMedia("(prefers-color-scheme: dark)");
  let wished = null;
  try { wished = localStorage.getItem("polygait-theme"); } catch (_) { /* a file may not remember */ }
  const isDark = () => (wished ? wished === "dark" : system.matches);
  const night = {
    "white": "#1b2129", "#333333": "#e6ebf0", "#e4e4e4": "#303a45", "#999999": "#6b7885", "#777777": "#9fb0c0", "#000000": "#e6ebf0",
    "#0072B2": "#3d8fd1", "#009E73": "#22b78c", "#882255": "#cc5c93",
  };

  function dressed(value, dark) {
    if (!dark) return value;
    if (Array.isArray(value)) return value.map((one) => dressed(one, dark));
    if (value && typeof value === "object") {
      if (value.name === "plasma") return { ...value, extent: [0.3, 1] };
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, key === "data" || key === "datasets" ? one : dressed(one, dark)]));
    }
    return typeof value === "string" && value in night ? night[value] : value;
  }

  function look(dark) {
    const ink = dark ? "#e6ebf0" : "#333333";
    const plain = dressed(config, dark);
    return {
      ...plain, background: "transparent", padding: 4,
      legend: { ...plain.legend, labelColor: ink, titleColor: ink, orient: "bottom", direction: "horizontal", columns: 8 },
    };
  }

  async function draw(place) {
    const name = place.dataset.chart;
    if (views.has(name)) { views.get(name).finalize(); views.delete(name); }
    const dark = isDark(), spec = { ...dressed(specs[name], dark), config: look(dark) };
    const options = { mode: "vega-lite", actions: false, renderer: "svg", tooltip: { theme: dark ? "dark" : "light" } };
    const { view, finalize } = await vegaEmbed(place, spec, options);
    views.set(name, { view, finalize });
    emphasise(view);
    view.addEventListener("click", (_, item) => {
      const clicked = item && item.datum && item.datum.member;
      if (Number.isInteger(clicked)) select(clicked);
    });
  }

  function emphasise(view) {
    try { view.signal("selected", member).run(); } catch (_) { /* a chart without members */ }
  }

  const drawVisible = (again) => Promise.all(
    [...document.querySelectorAll(".plot")]
      .filter((place) => place.offsetParent !== null && (again || !views.has(place.dataset.chart)))
      .map(draw),
  );

  function setTheme() {
    root.dataset.theme = isDark() ? "dark" : "light";
    for (const { finalize } of views.values()) finalize();
    views.clear();
    return drawVisible(true);
  }

  // One member is shown; its number is part of the address.
  const tabs = [...document.querySelectorAll("[role=tab]")];
  function select(wanted, focus) {
    if (!tabs.some((tab) => Number(tab.dataset.member) === wanted)) return;
    member = wanted;
    for (const tab of tabs) {
      const mine = Number(tab.dataset.member) === wanted;
      tab.setAttribute("aria-selected", String(mine));
      tab.tabIndex = mine ? 0 : -1;
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !mine;
      if (mine && focus) tab.focus();
    }
    for (const { view } of views.values()) emphasise(view);
    drawVisible(false);
  }
  tabs.forEach((tab, place) => {
    tab.addEventListener("click", () => select(Number(tab.dataset.member)));
    tab.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: place + 1, ArrowDown: place + 1, ArrowLeft: place - 1, ArrowUp: place - 1, Home: 0, End: tabs.length - 1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      select(Number(tabs[(steps[event.key] + tabs.length) % tabs.length].dataset.member), true);
    });
  });

  // The map's axes.
  for (const choice of document.querySelectorAll("select[data-axis]")) {
    choice.addEventListener("change", () => {
      const axes = [...document.querySelectorAll("select[data-axis]")];
      const wanted = Object.fromEntries(axes.map((one) => [one.dataset.axis, one.selectedOptions[0]]));
      specs.map = withAxes(specs.map, wanted);
      draw(document.getElementById("plot-population-map"));
    });
  }
  function withAxes(spec, wanted) {
    const encoded = (layer) => {
      const encoding = { ...layer.encoding };
      for (const axis of ["x", "y"]) {
        const { value, text, dataset } = wanted[axis], old = encoding[axis];
        const scale = { ...old.scale, domain: JSON.parse(dataset.domain) };
        const ticks = { ...old.axis, format: dataset.format, tickMinStep: Number(dataset.step) };
        encoding[axis] = { ...old, field: value, title: text, scale, axis: ticks };
        if (encoding[axis + "2"]) encoding[axis + "2"] = { field: value };
      }
      if (encoding.tooltip) {
        encoding.tooltip = [encoding.tooltip[0], ...["x", "y"].map((axis) => (
          { field: wanted[axis].value, title: wanted[axis].text, format: wanted[axis].dataset.format, type: "quantitative" }))];
      }
      return { ...layer, encoding };
    };
    const axes = `${wanted.x.value} ${wanted.y.value}`;
    const params = spec.params.map((one) => (one.name === "axes" ? { ...one, value: axes } : one));
    return { ...spec, params, layer: spec.layer.map(encoded) };
  }

  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      const text = button.previousElementSibling.textContent;
      try { await navigator.clipboard.writeText(text); } catch (_) { getSelection().selectAllChildren(button.previousElementSibling); return; }
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
  }
  document.getElementById("theme").addEventListener("click", () => {
    wished = isDark() ? "light" : "dark";
    try { localStorage.setItem("polygait-theme", wished); } catch (_) { /* as above */ }
    setTheme();
  });
  system.addEventListener("change", () => { if (!wished) setTheme(); });
  function follow() {
    const asked = /^#member-(\d+)$/.exec(location.hash);
    if (asked) select(Number(asked[1]));
  }
  addEventListener("hashchange", follow);
  follow();
  setTheme().then(() => { root.dataset.ready = "true"; });
})();
