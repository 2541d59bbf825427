// Light or dark: as the system, until somebody chooses.

const KEY = "trafficgen-theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");

function stored() {
  try {
    return localStorage.getItem(KEY) ?? "auto";
  } catch {
    return "auto";
  }
}

function apply(choice) {
  document.documentElement.dataset.theme =
    choice === "auto" ? (system.matches ? "dark" : "light") : choice;
}

/** Let a select choose the theme; `changed` is called when another one is shown. */
export function watchTheme(select, changed) {
  select.value = stored();
  apply(select.value);
  select.addEventListener("change", () => {
    try {
      localStorage.setItem(KEY, select.value);
    } catch {
      /* the choice then lasts until the page is left */
    }
    apply(select.value);
    changed();
  });
  system.addEventListener("change", () => {
    apply(select.value);
    changed();
  });
}
